//! What may happen to a connection, and a host that lets it.

use std::time::Duration;

use mcp_proto::op::{Connect, CustomRequest, ListTools, Ping};
use mcp_proto::{
    Answer, CallId, EraChoice, ExitStatus, Hearing, Input, IoFailure, Mailbox, ProcessId,
    QuestionId, Setting, StdioInput,
};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::words::{Say, good, said};
use crate::support::{Bench, Split, config, options, tool};

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    stream: bool,
    era: EraChoice,
    metadata: bool,
    /// Bounds so small that they are met.
    small: bool,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Begin {
        kind: u8,
        progress: bool,
        timeout: Option<u64>,
    },
    Cancel(u64),
    Pull(u64),
    Answer(u64, u8),
    Set(u8),
    Disconnect,
    Close,
    Say(Say),
    /// Several lines in one stretch, or a stretch that ends within a line.
    SayMore(Vec<Say>, Vec<u8>),
    Signal {
        back: u64,
        signal: Signal,
    },
    Wait(u64),
    Deadline,
    Early,
}

#[derive(Clone, Debug)]
pub(super) enum Signal {
    Spawned,
    SpawnFailed,
    StdoutClosed,
    Stderr(Vec<u8>),
    StderrClosed,
    Written(u64),
    WriteFailed,
    Exited(i32),
}

pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let era = prop_oneof![
        4 => Just(EraChoice::Auto),
        1 => Just(EraChoice::Modern),
        1 => Just(EraChoice::Legacy),
    ];
    (any::<bool>(), era, any::<bool>(), any::<bool>())
        .prop_map(|(stream, era, metadata, small)| Setup { stream, era, metadata, small })
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    let begin = (0u8..6, any::<bool>(), prop::option::of(0u64..20_000))
        .prop_map(|(kind, progress, timeout)| Act::Begin { kind, progress, timeout });
    let more = (prop::collection::vec(said(), 0..4), prop::collection::vec(any::<u8>(), 0..8));
    prop_oneof![
        8 => begin,
        2 => (1u64..8).prop_map(Act::Cancel),
        3 => (1u64..8).prop_map(Act::Pull),
        3 => (1u64..6, 0u8..3).prop_map(|(id, how)| Act::Answer(id, how)),
        1 => (0u8..3).prop_map(Act::Set),
        1 => Just(Act::Disconnect),
        1 => prop::bool::weighted(0.2).prop_map(|b| if b { Act::Close } else { Act::Disconnect }),
        10 => good().prop_map(Act::Say),
        10 => said().prop_map(Act::Say),
        3 => more.prop_map(|(all, rest)| Act::SayMore(all, rest)),
        6 => (prop::sample::select(vec![0, 0, 0, 0, 1, 2]), signal())
            .prop_map(|(back, signal)| Act::Signal { back, signal }),
        3 => (0u64..8000).prop_map(Act::Wait),
        4 => Just(Act::Deadline),
        1 => Just(Act::Early),
    ]
}

fn signal() -> impl Strategy<Value = Signal> {
    prop_oneof![
        Just(Signal::Spawned),
        Just(Signal::SpawnFailed),
        Just(Signal::StdoutClosed),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Signal::Stderr),
        Just(Signal::StderrClosed),
        (0u64..2000).prop_map(Signal::Written),
        Just(Signal::WriteFailed),
        (0i32..3).prop_map(Signal::Exited),
    ]
}

/// Lets everything happen, then lets time heal what can be healed. Returns all outputs.
pub(super) fn play(setup: Setup, acts: &[Act], split: Split) -> String {
    let mut config = config();
    config.era = setup.era;
    if setup.metadata {
        config.hears = vec![Hearing::RequestMeta, Hearing::Elicitation];
    }
    if setup.small {
        config.max_message_bytes = 600;
        config.max_pages = 3;
        config.max_list_bytes = 200;
        config.max_pending_items = 2;
        config.max_pending_item_bytes = 150;
        config.max_reply_bytes = 90;
        config.max_server_requests = 2;
    }
    let mut bench = if setup.stream { Bench::stream(config) } else { Bench::stdio(config) };
    bench.split = split;
    bench.reads = false;
    for act in acts {
        happens(&mut bench, act);
    }
    heal(&mut bench);
    bench.end();
    bench.whole_trace()
}

fn happens(bench: &mut Bench, act: &Act) {
    match act {
        Act::Begin { kind, progress, timeout } => begin(bench, *kind, *progress, *timeout),
        Act::Cancel(id) => bench.input(Input::Cancel(CallId::new(*id))),
        Act::Pull(id) => bench.input(Input::Pull(Mailbox::Call(CallId::new(*id)))),
        Act::Answer(id, how) => {
            let mut meta = Map::new();
            meta.insert(String::from("progressToken"), json!(id));
            let answer = match how {
                0 => Answer::RequestMeta(meta),
                1 => Answer::Elicit(json!({ "action": "accept" })),
                _ => Answer::Failed,
            };
            bench.reply(QuestionId::new(*id), answer);
        }
        Act::Set(0) => bench.input(Input::Set(Setting::Hear(Hearing::RequestMeta))),
        Act::Set(1) => bench.input(Input::Set(Setting::Hear(Hearing::Elicitation))),
        Act::Set(_) => bench.input(Input::Set(Setting::Meta(Map::new()))),
        Act::Disconnect => bench.input(Input::Disconnect),
        Act::Close => bench.input(Input::Close),
        Act::Say(say) => bench.line(&say.text(&bench.sent)),
        Act::SayMore(all, rest) => {
            let all: Vec<_> = all.iter().map(|say| say.text(&bench.sent) + "\n").collect();
            bench.stdout(&[all.concat().as_bytes(), rest].concat());
        }
        Act::Signal { back, signal } => signals(bench, *back, signal),
        Act::Wait(millis) => bench.advance(Duration::from_millis(*millis)),
        Act::Deadline => {
            if bench.deadline().is_some() {
                bench.next_deadline();
            }
        }
        Act::Early => bench.timeout(),
    }
}

fn begin(bench: &mut Bench, kind: u8, progress: bool, timeout: Option<u64>) {
    let with = options(timeout.map(Duration::from_millis), progress);
    match kind {
        0 => drop(bench.begin_with(Connect, with)),
        1 => drop(bench.begin_with(Ping, with)),
        2 | 3 => drop(bench.begin_with(ListTools, with)),
        4 => drop(bench.begin_with(CustomRequest::new("x/y", Map::new()), with)),
        _ => {
            let arguments = json!({ "n": 1, "_meta": { "progressToken": "own" } });
            drop(bench.begin_with(tool("x", arguments), with));
        }
    }
}

fn signals(bench: &mut Bench, back: u64, signal: &Signal) {
    // Mostly the process of now, at times one of the past or none that there ever was.
    let id = ProcessId::new((bench.process().number() + 1).saturating_sub(back + 1).max(1));
    let failure = || IoFailure { kind: "Other".into(), text: "failed".into() };
    let input = match signal {
        Signal::Spawned => StdioInput::Spawned { pid: 7 },
        Signal::SpawnFailed => StdioInput::SpawnFailed(failure()),
        Signal::StdoutClosed => StdioInput::StdoutClosed,
        Signal::Stderr(bytes) => StdioInput::Stderr(bytes),
        Signal::StderrClosed => StdioInput::StderrClosed,
        Signal::Written(total) => StdioInput::Written(*total),
        Signal::WriteFailed => StdioInput::WriteFailed(failure()),
        Signal::Exited(code) => StdioInput::Exited(ExitStatus::Code(*code)),
    };
    bench.input(Input::Stdio(id, input));
}

/// From now on the performer keeps its promises: a killed process ends. Time alone must end every
/// call.
fn heal(bench: &mut Bench) {
    for _ in 0..1000 {
        if bench.watch.is_dying() {
            bench.signal(StdioInput::Exited(ExitStatus::Signal(9)));
        } else if bench.deadline().is_some() {
            bench.next_deadline();
        } else {
            break;
        }
    }
    assert_eq!(bench.watch.open_calls(), [], "calls without an end");
    assert_eq!(bench.deadline(), None, "deadlines without an end");
}
