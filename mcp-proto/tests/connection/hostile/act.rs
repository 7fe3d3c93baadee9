//! What may happen to a connection, and a host that lets it.

use std::time::Duration;

use mcp_proto::op::{Connect, CustomRequest, ListTools, Ping};
use mcp_proto::{
    Answer, CallId, Era, EraChoice, ExitStatus, Hearing, Input, IoFailure, Mailbox, ProcessId,
    QuestionId, Setting, StdioInput,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, json};

use super::words::{Memory, Say, good, said};
use crate::support::{Bench, INITIALIZED, Split, discovered, initialized, options, quick, tool};

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    stream: bool,
    era: EraChoice,
    /// Whether the server behaves until it is ready.
    ready: Option<Era>,
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
    Cancel(Index),
    Pull(Index),
    Answer(Index, u8),
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
    /// All but these.
    WrittenBut(u64),
    WriteFailed,
    Exited(i32),
}

pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let era = prop_oneof![
        4 => Just(EraChoice::Auto),
        1 => Just(EraChoice::Modern),
        1 => Just(EraChoice::Legacy),
    ];
    let ready = prop_oneof![
        1 => Just(None),
        1 => Just(Some(Era::Modern)),
        1 => Just(Some(Era::Legacy)),
    ];
    let metadata = prop::bool::weighted(0.3);
    (any::<bool>(), era, ready, metadata, any::<bool>()).prop_map(
        |(stream, era, ready, metadata, small)| Setup { stream, era, ready, metadata, small },
    )
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    let begin = (0u8..6, any::<bool>(), prop::option::of(0u64..20_000))
        .prop_map(|(kind, progress, timeout)| Act::Begin { kind, progress, timeout });
    let more = (prop::collection::vec(said(), 0..4), prop::collection::vec(any::<u8>(), 0..8));
    let wait = prop_oneof![3 => 0u64..300, 1 => 0u64..8000];
    prop_oneof![
        14 => begin,
        2 => any::<Index>().prop_map(Act::Cancel),
        8 => any::<Index>().prop_map(Act::Pull),
        10 => (any::<Index>(), 0u8..4).prop_map(|(id, how)| Act::Answer(id, how)),
        1 => (0u8..3).prop_map(Act::Set),
        1 => prop::bool::weighted(0.3).prop_map(|b| if b { Act::Close } else { Act::Disconnect }),
        16 => good().prop_map(Act::Say),
        24 => said().prop_map(Act::Say),
        6 => more.prop_map(|(all, rest)| Act::SayMore(all, rest)),
        4 => harmless().prop_map(|signal| Act::Signal { back: 0, signal }),
        2 => fatal().prop_map(|signal| Act::Signal { back: 0, signal }),
        2 => (0u64..3, fatal()).prop_map(|(back, signal)| Act::Signal { back, signal }),
        4 => wait.prop_map(Act::Wait),
        2 => Just(Act::Deadline),
        1 => Just(Act::Early),
    ]
}

fn harmless() -> impl Strategy<Value = Signal> {
    prop_oneof![
        Just(Signal::Spawned),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Signal::Stderr),
        (0u64..2000).prop_map(Signal::Written),
        (0u64..20).prop_map(Signal::WrittenBut),
    ]
}

fn fatal() -> impl Strategy<Value = Signal> {
    prop_oneof![
        Just(Signal::SpawnFailed),
        Just(Signal::StdoutClosed),
        Just(Signal::StderrClosed),
        Just(Signal::WriteFailed),
        (0i32..3).prop_map(Signal::Exited),
    ]
}

/// Lets everything happen, then lets time heal what can be healed. Returns all outputs.
pub(super) fn play(setup: Setup, acts: &[Act], split: Split) -> String {
    let mut config = quick();
    // The journal of one way of it is enough.
    config.journal = split == Split::Whole;
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
    if let Some(era) = setup.ready {
        comes_up(&mut bench, era);
    }
    let mut memory = Memory::default();
    for act in acts {
        happens(&mut bench, act, &mut memory);
    }
    heal(&mut bench);
    bench.end();
    bench.whole_trace()
}

/// A server of this era starts, unless the other one is forced.
fn comes_up(bench: &mut Bench, era: Era) {
    bench.begin(Connect);
    while let Some(sent) = bench.take_messages().pop() {
        match (sent.method(), era) {
            ("server/discover", Era::Modern) => bench.result(&sent, discovered(&["2026-07-28"])),
            ("initialize", Era::Legacy) => bench.result(&sent, initialized("2025-11-25")),
            (INITIALIZED, _) => {}
            _ => bench.refuse(&sent, -32601, "no"),
        }
    }
}

/// One of the calls, those that are open first.
fn which(bench: &Bench, index: &Index) -> CallId {
    let mut calls = bench.watch.open_calls();
    calls.push(CallId::new(1));
    *index.get(&calls)
}

fn happens(bench: &mut Bench, act: &Act, memory: &mut Memory) {
    match act {
        Act::Begin { kind, progress, timeout } => begin(bench, *kind, *progress, *timeout),
        Act::Cancel(index) => bench.input(Input::Cancel(which(bench, index))),
        Act::Pull(index) => bench.input(Input::Pull(Mailbox::Call(which(bench, index)))),
        Act::Answer(index, how) => {
            let mut open = bench.watch.open_questions();
            open.push(QuestionId::new(1));
            let mut meta = Map::new();
            meta.insert(String::from("progressToken"), json!(how));
            let answer = match how {
                0 | 1 => Answer::RequestMeta(meta),
                2 => Answer::Elicit(json!({ "action": "accept" })),
                _ => Answer::Failed,
            };
            bench.reply(*index.get(&open), answer);
        }
        Act::Set(0) => bench.input(Input::Set(Setting::Hear(Hearing::RequestMeta))),
        Act::Set(1) => bench.input(Input::Set(Setting::Hear(Hearing::Elicitation))),
        Act::Set(_) => bench.input(Input::Set(Setting::Meta(Map::new()))),
        Act::Disconnect => bench.input(Input::Disconnect),
        Act::Close => bench.input(Input::Close),
        Act::Say(say) => bench.line(&memory.text(say, &bench.sent)),
        Act::SayMore(all, rest) => {
            let all: Vec<_> = all.iter().map(|say| memory.text(say, &bench.sent) + "\n").collect();
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
        Signal::WrittenBut(rest) => StdioInput::Written(bench.watch.queued().saturating_sub(*rest)),
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
