//! How far a start is: what was asked, and what the answers have told.

use crate::ProtocolVersion;

/// How far the two questions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Neither was asked.
    Nothing,
    /// `server/discover` is out.
    Discover(Before),
    /// `initialize` is out.
    Initialize(Before),
    /// Both are: the first has gone unanswered for long.
    Both,
    /// Nothing yet: the stream of HTTP+SSE is being opened.
    Events,
    /// Nothing is left to ask.
    All,
}

/// What became of the other question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    NotAsked,
    Refused,
    /// The server died of it. It is not asked again.
    Deadly,
}

/// What the server's refusals have told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    /// It refused a modern version and named another that both speak, which only modern servers do.
    /// That was asked for once more.
    Modern,
    /// The newest legacy version that it listed.
    Legacy(ProtocolVersion),
}

impl Asked {
    pub(super) fn waits_for_discover(self) -> bool {
        matches!(self, Asked::Discover(_) | Asked::Both)
    }

    pub(super) fn waits_for_initialize(self) -> bool {
        matches!(self, Asked::Initialize(_) | Asked::Both)
    }
}
