//! A small server that speaks both eras: the one that examples call when no other is named.
//!
//! [`Demo`] is the pure part: one message in, [`Action`]s out, no I/O and no clock. [`Runner`]
//! performs the actions over any writer, [`serve`] reads lines for it, and [`run_stdio`] is that
//! over the standard streams; [`HttpDemo`] serves it over HTTP. [`main_from_args`] lets a program
//! be the demo server itself.
//!
//! # What it serves
//!
//! | Tool | Arguments | Answer |
//! |---|---|---|
//! | `echo` | `message` | the message, as text |
//! | `add` | `a`, `b` | the sum, as text and as `structuredContent.sum` |
//! | `fail` | | a text with `isError: true` |
//! | `slow` | `steps`, `millis`, `until_cancelled` | `steps` progress notifications (to those who gave a token), then a text |
//! | `blob` | `bytes` | one text of that many bytes |
//!
//! The prompts `greeting` and `review`, the resources `demo://readme` (text) and `demo://pixel`
//! (a blob), and the template `demo://greeting/{name}`.
//!
//! # Which era
//!
//! A request whose `_meta` carries a modern key is served statelessly, at any time. `initialize`
//! selects the legacy era for the requests without those keys, for the rest of the process. The
//! server is strict where a client should notice its own mistakes: a modern request without its
//! metadata, a legacy request before `notifications/initialized`, and an unknown cursor are
//! errors.

mod catalog;
mod cli;
mod http;
mod legacy;
mod message;
mod methods;
mod modern;
mod revision;
mod serve;
mod slow;
mod tools;

pub(crate) use http::{Endpoint, Next};
pub(crate) use message::fill;

pub use cli::{http_options, main, main_from_args};
pub use http::{Answers, Counters, HttpDemo, HttpOptions};
pub use message::Outgoing;
pub use revision::Revision;
pub use serve::{Runner, over_pipe, run_stdio, serve};
pub use slow::SlowCall;

use message::{Failure, Incoming};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which eras the server offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eras {
    /// Modern and legacy clients alike.
    #[default]
    Both,
    /// Only clients of revision 2026-07-28.
    Modern,
    /// Only clients that start with `initialize`.
    Legacy,
}

/// What kind of demo server it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// The eras offered.
    pub eras: Eras,
    /// The items a list page holds; `None` sends each list whole.
    pub page_size: Option<usize>,
    /// How long a modern client may keep a list or a resource.
    pub ttl_ms: u64,
    /// The error code with which a legacy-only server answers whatever comes before `initialize`.
    /// Deployed servers differ in it; `None` is one that stays silent.
    pub refusal: Option<i64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            eras: Eras::Both,
            page_size: None,
            ttl_ms: 60_000,
            refusal: Some(message::METHOD_NOT_FOUND),
        }
    }
}

/// What the server does about a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write this message.
    Send(Outgoing),
    /// Perform a call that takes its time, beside whatever else comes in.
    Run(SlowCall),
    /// Stop the call of this request id, and send nothing more for it.
    Cancel(Value),
}

/// How far the legacy handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    None,
    /// `initialize` is answered; `notifications/initialized` has not come yet.
    Answered(Revision),
    Complete(Revision),
}

/// The demo server's state: one process on stdio, one session on HTTP.
#[derive(Clone, Debug)]
pub struct Demo {
    options: Options,
    handshake: Handshake,
}

impl Demo {
    /// A server to which nobody has spoken yet.
    pub fn new(options: Options) -> Self {
        Demo { options, handshake: Handshake::None }
    }

    /// A server that has agreed on a legacy revision already.
    fn agreed(options: Options, revision: Revision) -> Self {
        Demo { options, handshake: Handshake::Complete(revision) }
    }

    /// Takes one message (a line, or the body of a POST) and says what to do about it.
    pub fn receive(&mut self, message: &[u8]) -> Vec<Action> {
        match message::parse(message) {
            Ok(incoming) => self.take(incoming),
            Err(failure) => vec![Action::Send(failure.answer(Value::Null))],
        }
    }

    fn take(&mut self, incoming: Incoming) -> Vec<Action> {
        match incoming {
            Incoming::Blank | Incoming::Response => Vec::new(),
            Incoming::Notification { method, params } => self.notified(&method, &params),
            Incoming::Request { id, method, params } => {
                match self.requested(&id, &method, &params) {
                    Ok(actions) => actions,
                    Err(failure) => vec![Action::Send(failure.answer(id))],
                }
            }
        }
    }

    /// The legacy revision that was negotiated, when there was a handshake.
    pub fn negotiated(&self) -> Option<Revision> {
        match self.handshake {
            Handshake::None => None,
            Handshake::Answered(revision) | Handshake::Complete(revision) => Some(revision),
        }
    }

    fn requested(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> Result<Vec<Action>, Failure> {
        if self.options.eras == Eras::Legacy {
            return self.legacy_request(id, method, params);
        }
        if modern::is_marked(params) {
            return self.modern_request(id, method, params);
        }
        let legacy = method == "initialize" || self.handshake != Handshake::None;
        match self.options.eras {
            Eras::Both if legacy || method == "ping" => self.legacy_request(id, method, params),
            Eras::Both => self.modern_request(id, method, params),
            _ if method == "initialize" => Err(modern::refuse_initialize(params)),
            _ => self.modern_request(id, method, params),
        }
    }

    fn notified(&mut self, method: &str, params: &Value) -> Vec<Action> {
        match (method, self.handshake) {
            ("notifications/initialized", Handshake::Answered(revision)) => {
                self.handshake = Handshake::Complete(revision);
                Vec::new()
            }
            ("notifications/cancelled", _) => {
                let id = params.get("requestId").filter(|id| !id.is_null());
                id.cloned().map(Action::Cancel).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
