//! A host and a performer that let everything happen.

use std::time::Duration;

use mcp_proto::op::{Connect, CustomRequest, ListTools, Ping};
use mcp_proto::{
    Answer, CallId, Era, Hearing, HttpFailure, HttpInput, Input, Mailbox, Method, QuestionId,
    Setting,
};
use proptest::sample::Index;
use serde_json::{Map, json};

use super::act::{Act, Flaw, Frame, Setup};
use super::words::{Memory, Say};
use crate::support::*;

/// Lets everything happen, then lets time heal what can be healed. Returns all outputs.
pub(super) fn play(setup: Setup, acts: &[Act], split: Split, journal: bool) -> String {
    let mut config = config();
    config.journal = journal;
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
        config.max_server_requests = 2;
    }
    let mut bench = Bench::new(config, target());
    bench.split = split;
    if let Some(era) = setup.ready {
        comes_up(&mut bench, era, setup.session);
    }
    bench.lets_go = false;
    let mut memory = Memory::default();
    for act in acts {
        happens(&mut bench, act, &mut memory);
    }
    heal(&mut bench);
    bench.end();
    bench.whole_trace()
}

/// A server of this era starts, unless the other one is forced.
fn comes_up(bench: &mut Bench, era: Era, session: bool) {
    bench.begin(Connect);
    while let Some(post) = bench.take_posts().pop() {
        match (post.method(), era) {
            ("server/discover", Era::Modern) => bench.result(&post, discovered(&["2026-07-28"])),
            ("initialize", Era::Legacy) => {
                bench.welcome(&post, "2025-11-25", session.then_some("s-0"));
            }
            (INITIALIZED, _) => bench.accepts(&post),
            _ => bench.says(&post, 400, &refusal(&post, -32601)),
        }
    }
}

/// One of the calls, those that are open first.
fn which(bench: &Bench, index: &Index) -> CallId {
    let mut calls = bench.watch.open_calls();
    calls.push(CallId::new(1));
    *index.get(&calls)
}

/// What was sent on one of the exchanges that are open, counted back from the latest.
fn post(bench: &Bench, back: u8) -> Option<Posted> {
    let exchange = *bench.watch.open_exchanges().iter().rev().nth(usize::from(back))?;
    bench.posts.iter().find(|post| post.exchange == exchange).cloned()
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
        Act::LetGo => bench.let_go(),
        Act::Wait(millis) => bench.advance(Duration::from_millis(*millis)),
        Act::Deadline => {
            if bench.deadline().is_some() {
                bench.next_deadline();
            }
        }
        Act::Early => bench.timeout(),
        Act::Good { back, stream, say } => answers(bench, *back, *stream, say, memory),
        Act::Head { to, status, head } => {
            if let Some(post) = post(bench, *to) {
                bench.head(&post, *status, head);
            }
        }
        Act::Refuse { to, status } => {
            if let Some(post) = post(bench, *to) {
                bench.whole(&post, *status, &[("location", "/mcp/")], b"");
            }
        }
        Act::Say { to, all, gzip } => says(bench, *to, all, *gzip, memory),
        Act::Bytes(to, bytes) => {
            if let Some(post) = post(bench, *to) {
                bench.body(&post, bytes);
            }
        }
        Act::End(to) => {
            if let Some(post) = post(bench, *to) {
                bench.ends(&post);
            }
        }
        Act::Fail { to, kind, sent } => {
            if let Some(post) = post(bench, *to) {
                let failure = HttpFailure::new(*kind, *sent, false, "failed");
                bench.http(post.exchange, HttpInput::Failed(failure));
            }
        }
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

/// A good server answers one of the latest messages.
fn answers(bench: &mut Bench, back: u8, stream: bool, say: &Say, memory: &mut Memory) {
    let Some(post) = post(bench, back) else { return };
    if post.id().is_null() {
        return bench.accepts(&post);
    }
    let text = memory.text(say, std::slice::from_ref(&post));
    if stream {
        bench.streams(&post, &event(&text));
    } else {
        bench.says(&post, 200, &text);
    }
}

fn says(bench: &mut Bench, to: u8, all: &[(Say, Frame)], coded: Option<Flaw>, memory: &mut Memory) {
    let Some(post) = post(bench, to) else { return };
    if !bench.watch.was_answered(post.exchange) {
        let coding = coded.map(|_| ("content-encoding", "gzip"));
        let head: Vec<_> = SSE.iter().copied().chain(coding).collect();
        bench.head(&post, 200, &head);
    }
    let mut body = Vec::new();
    for (n, (say, frame)) in all.iter().enumerate() {
        // Mostly of the request of this exchange, at times of any.
        let about = if n == 2 { &bench.posts } else { std::slice::from_ref(&post) };
        let text = memory.text(say, about);
        body.extend(
            match frame {
                Frame::Bare => text,
                Frame::Lf => event(&text),
                Frame::CrLf => event(&text).replace('\n', "\r\n"),
                Frame::Open => format!("data: {text}\n"),
                Frame::Named => format!("event: other\ndata: {text}\n\n"),
            }
            .into_bytes(),
        );
    }
    match coded {
        None => {}
        Some(flaw) => {
            body = gzip(&body);
            match flaw {
                Flaw::None => {}
                Flaw::Cut(bytes) => body.truncate(body.len().saturating_sub(bytes)),
                Flaw::Flip(at) => {
                    let at = at % body.len();
                    body[at] ^= 0x55;
                }
            }
        }
    }
    bench.body(&post, &body);
}

/// From now on the performer keeps its promises: it lets go of what it was told to. Time alone must
/// end every call and every exchange.
fn heal(bench: &mut Bench) {
    bench.lets_go = true;
    bench.let_go();
    for _ in 0..1000 {
        for post in bench.take_posts() {
            // A stream that is offered is opened again and again.
            if post.request.method == Method::Get {
                bench.whole(&post, 405, &[], b"");
            }
        }
        if bench.deadline().is_none() {
            break;
        }
        bench.next_deadline();
    }
    assert_eq!(bench.deadline(), None, "deadlines without an end");
    assert_eq!(bench.watch.open_calls(), [], "calls without an end");
    assert_eq!(bench.watch.open_exchanges(), [], "exchanges without an end");
}
