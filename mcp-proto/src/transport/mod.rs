//! Messages to and from the bytes of pipes and the exchanges of HTTP.
//!
//! The rest of the core speaks with a [`Link`]: it sends messages, and is told what happened. It
//! never asks which transport it is.

mod failure;
mod happening;
pub(crate) mod http;
mod link;
pub(crate) mod stderr;
pub(crate) mod stdio;

pub(crate) use self::failure::Failure;
pub(crate) use self::happening::{Happening, close_stage};
pub(crate) use self::link::Link;
use crate::Raw;
use crate::interface::Owner;
use crate::wire::jsonrpc;

/// A message on its way out.
#[derive(Debug)]
pub(crate) enum Outgoing<'a> {
    Request {
        id: u64,
        method: &'a str,
        /// What intermediaries may route by: the tool, prompt or resource.
        name: Option<&'a str>,
        /// The arguments that stand in headers, over HTTP.
        mirrored: &'a [(String, String)],
        /// The whole message, as one line.
        line: Vec<u8>,
        owner: Owner,
        /// Whether it goes out under a modern revision.
        modern: bool,
    },
    Notification {
        method: &'a str,
        params: Option<&'a str>,
    },
    Reply {
        id: &'a Raw,
        outcome: Result<&'a str, (i64, &'a str)>,
    },
}

impl Outgoing<'_> {
    fn into_line(self) -> Vec<u8> {
        match self {
            Outgoing::Request { line, .. } => line,
            Outgoing::Notification { method, params } => jsonrpc::notification_line(method, params),
            Outgoing::Reply { id, outcome } => jsonrpc::response_line(id, outcome),
        }
    }

    fn into_body(self) -> Vec<u8> {
        let mut line = self.into_line();
        line.pop();
        line
    }
}

/// Which request's exchange brought a message. Over stdio nobody knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) request: u64,
    pub(crate) owner: Owner,
    /// The status of an answer that is no success.
    pub(crate) refused: Option<u16>,
}
