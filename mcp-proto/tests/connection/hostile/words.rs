//! What a server may say, from honest to absurd.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Sent, discovered, initialized};

/// A line of the server's.
#[derive(Clone, Debug)]
pub(super) enum Say {
    /// An answer to a request of the client's, counted from the latest: of those without an answer
    /// first, then of all.
    Answer {
        back: usize,
        id: IdStyle,
        body: Body,
    },
    /// A request of its own.
    Request {
        method: &'static str,
        id: &'static str,
    },
    Notify(&'static str),
    /// Progress under the token of a request, counted likewise.
    Progress {
        back: usize,
        spelled: bool,
        progress: &'static str,
    },
    Junk(&'static str),
    Batch(Vec<Say>),
}

/// How an answer spells the id.
#[derive(Clone, Copy, Debug)]
pub(super) enum IdStyle {
    Number,
    Text,
    Decimal,
    Null,
    Foreign,
    Absent,
}

/// What an answer holds.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// What a good server would say, among several things.
    Good(u8),
    Result(&'static str),
    Error(&'static str),
    /// Neither.
    Empty,
    /// A result that never ends.
    Endless(usize),
}

const RESULTS: &[&str] = &[
    "{}",
    "null",
    "5",
    "[]",
    r#"{"resultType":"complete"}"#,
    r#"{"resultType":"bogus"}"#,
    r#"{"resultType":null,"tools":[]}"#,
    r#"{"resultType":"input_required","inputRequests":{}}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"a"}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"b"}"#,
    r#"{"tools":[],"nextCursor":"c"}"#,
    r#"{"resultType":"complete","tools":[{"name":"x"}],"nextCursor":""}"#,
    r#"{"resultType":"complete","tools":[{}],"nextCursor":null}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":7}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"\q"}"#,
    r#"{"resultType":"complete","tools":[],"nextCursor":"\ud800"}"#,
    r#"{"resultType":"complete","tools":[tru],"nextCursor":"z"}"#,
    r#"{"supportedVersions":["2026-07-28"],"x":tru}"#,
    r#"{"supportedVersions":["2026-07-28"]}"#,
    r#"{"supportedVersions":["2025-06-18","1999-01-01"]}"#,
    r#"{"supportedVersions":[]}"#,
    r#"{"protocolVersion":"2024-11-05"}"#,
    r#"{"protocolVersion":"2026-07-28"}"#,
    r#"{"protocolVersion":7}"#,
    r#"{"a":1,"a":2,"nextCursor":"x","nextCursor":"y"}"#,
];

const ERRORS: &[&str] = &[
    r#"{"code":-32601,"message":"no"}"#,
    r#"{"code":-32602,"message":"no","data":{"supported":["2024-11-05"]}}"#,
    r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#,
    r#"{"code":-32022,"message":"no","data":{"supported":["2025-03-26"]}}"#,
    r#"{"code":-32022}"#,
    r#"{"code":-32021,"message":"no","data":{"requiredCapabilities":{"roots":{}}}}"#,
    r#"{"code":1e400}"#,
    r#"{"code":99999999999999999999,"message":[1]}"#,
    "[]",
    "7",
    r#""text""#,
    "null",
];

const METHODS: &[&str] = &[
    "ping",
    "roots/list",
    "elicitation/create",
    "sampling/createMessage",
    "",
    "a\\u0000b",
    "tools/call",
];

const IDS: &[&str] = &[
    "0",
    "1",
    "\"1\"",
    "-9007199254740993",
    r#""a\u0000b""#,
    "\"\"",
    "1.5",
    "null",
    "{}",
    "[1]",
    // No JSON: none of it may be sent back.
    "hello",
    "007",
    "-",
    r#""\q""#,
    "\"\u{1}\"",
];

const NOTIFICATIONS: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"x","data":[1]}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[3,1]}"#,
    r#"{"method":"x"}"#,
    r#"{"method":null}"#,
];

const JUNK: &[&str] = &[
    "",
    " ",
    "\r",
    "hello",
    "{",
    "}",
    "[",
    "[]",
    "[[]]",
    "null",
    "7",
    "{}",
    r#"{"id":1}"#,
    r#"{"id":2,"result":{}"#,
    r#"{"id":3,"result":{},"result":{}}"#,
    r#"{"id":4,"id":5,"result":{}}"#,
    r#"{"id":2,"result":{},"error":{"code":1}}"#,
    r#"{"id":2,"method":"ping","result":{}}"#,
    r#"{"id":3,"error":"#,
    r#""a string""#,
    "\u{feff}{}",
    "é\u{0}\u{7f}",
];

const PROGRESS: &[&str] = &["0.5", "1", "1e999", "\"x\"", "null", "-0"];

pub(super) fn said() -> impl Strategy<Value = Say> {
    let leaf = prop_oneof![
        8 => answer(),
        2 => (one(METHODS), one(IDS)).prop_map(|(method, id)| Say::Request { method, id }),
        1 => one(NOTIFICATIONS).prop_map(Say::Notify),
        8 => (0usize..4, any::<bool>(), one(PROGRESS))
            .prop_map(|(back, spelled, progress)| Say::Progress { back, spelled, progress }),
        1 => one(JUNK).prop_map(Say::Junk),
    ];
    leaf.prop_recursive(1, 4, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Say::Batch))
}

/// An answer that a good server would give.
pub(super) fn good() -> impl Strategy<Value = Say> {
    (0usize..3, 0u8..8).prop_map(|(back, n)| Say::Answer {
        back,
        id: IdStyle::Number,
        body: Body::Good(n),
    })
}

fn answer() -> impl Strategy<Value = Say> {
    let id = prop_oneof![
        8 => Just(IdStyle::Number),
        1 => Just(IdStyle::Text),
        1 => Just(IdStyle::Decimal),
        1 => Just(IdStyle::Null),
        1 => Just(IdStyle::Foreign),
        1 => Just(IdStyle::Absent),
    ];
    let body = prop_oneof![
        4 => (0u8..8).prop_map(Body::Good),
        3 => one(RESULTS).prop_map(Body::Result),
        3 => one(ERRORS).prop_map(Body::Error),
        1 => Just(Body::Empty),
        1 => (0usize..600).prop_map(Body::Endless),
    ];
    (0usize..4, id, body).prop_map(|(back, id, body)| Say::Answer { back, id, body })
}

fn one(from: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(from)
}

/// The requests that the server has answered, in whatever way.
#[derive(Default)]
pub(super) struct Memory(BTreeSet<u64>);

impl Memory {
    /// Counts back over the messages: those that want an answer first.
    fn find<'a>(&self, back: usize, sent: &'a [Sent]) -> Option<&'a Sent> {
        let requests = || sent.iter().rev().filter(|sent| !sent.id().is_null());
        let open = |sent: &&Sent| sent.id().as_u64().is_some_and(|id| !self.0.contains(&id));
        requests().filter(open).chain(requests()).nth(back)
    }

    /// The text of what is said to a client that has sent these messages.
    pub(super) fn text(&mut self, say: &Say, sent: &[Sent]) -> String {
        match say {
            Say::Answer { back, id, body } => {
                let request = self.find(*back, sent);
                let number = request.and_then(|it| it.id().as_u64()).unwrap_or(1);
                self.0.insert(number);
                let id = match id {
                    IdStyle::Number => format!(r#""id":{number},"#),
                    IdStyle::Text => format!(r#""id":"{number}","#),
                    IdStyle::Decimal => format!(r#""id":{number}.0,"#),
                    IdStyle::Null => String::from(r#""id":null,"#),
                    IdStyle::Foreign => String::from(r#""id":"server-error","#),
                    IdStyle::Absent => String::new(),
                };
                format!(r#"{{"jsonrpc":"2.0",{id}{}}}"#, body.member(request))
            }
            Say::Request { method, id } => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
            }
            Say::Notify(text) | Say::Junk(text) => String::from(*text),
            Say::Progress { back, spelled, progress } => {
                let asks = |sent: &&Sent| !sent.meta()["progressToken"].is_null();
                let asking: Vec<_> = sent.iter().filter(asks).cloned().collect();
                let request = self.find(*back, &asking);
                let token = request.map_or(Value::Null, |it| it.meta()["progressToken"].clone());
                let token = if *spelled { token.to_string().into() } else { token };
                format!(
                    r#"{{"method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
                )
            }
            Say::Batch(all) => {
                let all: Vec<_> = all.iter().map(|say| self.text(say, sent)).collect();
                format!("[{}]", all.join(","))
            }
        }
    }
}

impl Body {
    fn member(&self, request: Option<&Sent>) -> String {
        match self {
            Body::Good(7) => format!(r#""error":{OLD}"#),
            Body::Good(n) => format!(r#""result":{}"#, fitting(request, *n)),
            Body::Result(text) => format!(r#""result":{text}"#),
            Body::Error(text) => format!(r#""error":{text}"#),
            Body::Empty => String::from(r#""jsonrpc":"2.0""#),
            Body::Endless(size) => format!(r#""result":{{"x":"{}"}}"#, "é".repeat(*size)),
        }
    }
}

/// A refusal of the version that this client speaks, by a server that speaks it.
const OLD: &str = r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;

fn fitting(request: Option<&Sent>, n: u8) -> Value {
    match (request.map_or("", Sent::method), n) {
        ("server/discover", _) => discovered(&["2026-07-28"]),
        ("initialize", 0) => initialized("2024-11-05"),
        ("initialize", _) => initialized("2025-11-25"),
        ("tools/list", 0..3) => json!({ "resultType": "complete", "tools": [{ "name": "x" }] }),
        ("tools/list", _) => json!({ "tools": [], "nextCursor": "abc".get(..usize::from(n) - 3) }),
        ("tools/call", 0) => json!({ "resultType": "input_required", "inputRequests": {} }),
        ("tools/call", _) => json!({ "resultType": "complete", "content": [] }),
        _ => json!({}),
    }
}
