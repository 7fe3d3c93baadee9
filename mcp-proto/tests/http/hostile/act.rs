//! What may happen to a connection over HTTP.

use mcp_proto::{Era, EraChoice, HttpFailureKind, Sent};
use proptest::prelude::*;
use proptest::sample::Index;

use super::words::{Say, good, said};
use crate::support::*;

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) era: EraChoice,
    /// Whether the server behaves until it is ready.
    pub(super) ready: Option<Era>,
    pub(super) session: bool,
    pub(super) metadata: bool,
    /// Bounds so small that they are met.
    pub(super) small: bool,
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
    /// A good answer to the latest request.
    Good {
        back: u8,
        stream: bool,
        say: Say,
    },
    Head {
        to: u8,
        status: u16,
        head: Vec<Header>,
    },
    /// A whole answer without a body.
    Refuse {
        to: u8,
        status: u16,
    },
    /// Messages, each as an event or not, compressed or not.
    Say {
        to: u8,
        all: Vec<(Say, Frame)>,
        gzip: Option<Flaw>,
    },
    Bytes(u8, Vec<u8>),
    End(u8),
    Fail {
        to: u8,
        kind: HttpFailureKind,
        sent: Sent,
    },
    /// The performer lets go of what it was told to.
    LetGo,
    Wait(u64),
    Deadline,
    Early,
}

type Header = (&'static str, &'static str);

/// How a message is framed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    Bare,
    Lf,
    CrLf,
    /// Without its empty line.
    Open,
    Named,
}

/// What is wrong with a compressed body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flaw {
    None,
    Cut(usize),
    Flip(usize),
}

pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let era = prop_oneof![
        8 => Just(EraChoice::Auto),
        1 => Just(EraChoice::Modern),
        1 => Just(EraChoice::Legacy),
    ];
    let ready = prop_oneof![
        1 => Just(None),
        3 => Just(Some(Era::Modern)),
        3 => Just(Some(Era::Legacy)),
    ];
    let metadata = prop::bool::weighted(0.3);
    (era, ready, any::<bool>(), metadata, any::<bool>()).prop_map(
        |(era, ready, session, metadata, small)| Setup { era, ready, session, metadata, small },
    )
}

const STATUSES: &[u16] = &[
    200, 200, 200, 200, 200, 200, 200, 202, 204, 0, 101, 299, 301, 302, 304, 307, 307, 308, 400,
    401, 403, 404, 404, 404, 405, 422, 429, 500, 503, 599, 999,
];

const HEADERS: &[Header] = &[
    ("content-type", "application/json"),
    ("content-type", "text/event-stream"),
    ("Content-Type", "Text/Event-Stream; charset=utf-8"),
    ("content-type", "text/html"),
    ("content-encoding", "gzip"),
    ("content-encoding", "br"),
    ("mcp-session-id", "s-1"),
    ("mcp-session-id", "s-2"),
    ("mcp-session-id", "no id"),
    ("location", "/mcp/"),
    ("location", "http://other.test/"),
    ("location", "\u{0}"),
    ("www-authenticate", "Bearer"),
];

const KINDS: &[HttpFailureKind] = &[
    HttpFailureKind::Resolve,
    HttpFailureKind::Connect,
    HttpFailureKind::Tls,
    HttpFailureKind::Proxy,
    HttpFailureKind::Closed,
    HttpFailureKind::Closed,
    HttpFailureKind::Malformed,
    HttpFailureKind::Aborted,
];

pub(super) fn act() -> impl Strategy<Value = Act> {
    let begin = (0u8..6, any::<bool>(), prop::option::of(0u64..20_000))
        .prop_map(|(kind, progress, timeout)| Act::Begin { kind, progress, timeout });
    let wait = prop_oneof![3 => 0u64..300, 1 => 0u64..40_000];
    // The latest exchange most of the time.
    let to = || prop_oneof![3 => Just(0u8), 2 => 1u8..6];
    let headers = prop::collection::vec(prop::sample::select(HEADERS.to_vec()), 0..4);
    let odd = (prop::sample::select(STATUSES.to_vec()), headers);
    let begins = prop_oneof![
        6 => Just((200, SSE.to_vec())),
        1 => Just((200, vec![SSE[0], ("content-encoding", "gzip")])),
        2 => Just((200, JSON.to_vec())),
        1 => Just((200, vec![JSON[0], ("content-encoding", "gzip")])),
        1 => Just((307, vec![("location", "/mcp/")])),
        5 => odd,
    ];
    let head = (to(), begins).prop_map(|(to, (status, head))| Act::Head { to, status, head });
    let frame = prop_oneof![
        2 => Just(Frame::Bare),
        6 => Just(Frame::Lf),
        1 => Just(Frame::CrLf),
        1 => Just(Frame::Open),
        1 => Just(Frame::Named),
    ];
    let flaw = prop_oneof![
        Just(Flaw::None),
        (0usize..60).prop_map(Flaw::Cut),
        (10usize..120).prop_map(Flaw::Flip),
    ];
    let says = (
        to(),
        prop::collection::vec((prop_oneof![good(), said()], frame), 0..4),
        prop::option::weighted(0.2, flaw),
    )
        .prop_map(|(to, all, gzip)| Act::Say { to, all, gzip });
    let bytes = prop::collection::vec(any::<u8>(), 0..12);
    let fail = (
        to(),
        prop::sample::select(KINDS.to_vec()),
        prop::sample::select(vec![Sent::None, Sent::Some, Sent::All]),
    )
        .prop_map(|(to, kind, sent)| Act::Fail { to, kind, sent });
    let ends = prop::bool::weighted(0.3).prop_map(|b| if b { Act::Close } else { Act::Disconnect });
    prop_oneof![
        12 => begin,
        2 => any::<Index>().prop_map(Act::Cancel),
        6 => any::<Index>().prop_map(Act::Pull),
        6 => (any::<Index>(), 0u8..4).prop_map(|(id, how)| Act::Answer(id, how)),
        1 => (0u8..3).prop_map(Act::Set),
        1 => ends,
        12 => (0u8..3, any::<bool>(), good())
            .prop_map(|(back, stream, say)| Act::Good { back, stream, say }),
        10 => head,
        8 => (to(), prop::sample::select(vec![404, 404, 503, 401, 307, 202]))
            .prop_map(|(to, status)| Act::Refuse { to, status }),
        30 => says,
        2 => (to(), bytes).prop_map(|(to, bytes)| Act::Bytes(to, bytes)),
        8 => to().prop_map(Act::End),
        4 => fail,
        8 => Just(Act::LetGo),
        4 => wait.prop_map(Act::Wait),
        2 => Just(Act::Deadline),
        1 => Just(Act::Early),
    ]
}
