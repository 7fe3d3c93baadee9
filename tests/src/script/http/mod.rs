//! A scripted server over HTTP: honest, sloppy or hostile, byte for byte.
//!
//! An [`HttpScript`] is a list of requests that are expected, each with the steps that follow it.
//! [`HttpScript::start`] plays it on connections of its own and records what the client sent: the
//! [`HttpTranscript`].
//!
//! ```
//! use mcp_tests::script::{HttpScript, Reply};
//!
//! let script = HttpScript::modern()
//!     .expect("tools/list").result(r#"{"resultType":"complete","tools":[]}"#)
//!     .expect("tools/call").events().sse(": wait\n\n").reset()
//!     .expect("tools/call").respond(Reply::new(503));
//! let server = script.start();
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! ```
//!
//! # Requests
//!
//! Requests are taken in the order in which they arrive, whatever their connection, and each has to
//! be the next that is expected; [`HttpScript::in_any_order`] lets calls arrive side by side. A
//! request that is not expected is answered with status 500 and fails
//! [`HttpTranscript::check`], but for GET and DELETE: those a client may always try, and unless
//! they are expected they are answered with 405.
//!
//! # Steps
//!
//! After its steps the connection reads its next request. Without any step a request is never
//! answered. Texts may hold the names of [`Script`](super::Script): `$id` is the id of the request
//! at hand, and `$a.id` that of the request expected as `a`, on whatever connection it came.

mod play;
mod reply;
mod step;
mod transcript;

use std::net::{IpAddr, Ipv4Addr};

use crate::demo::HttpOptions;

pub use play::HttpPlaying;
pub use reply::Reply;
pub use step::{Accept, HttpStep};
pub use transcript::{HttpTranscript, Recorded};

use step::{Turn, Wants};

/// What a server over HTTP does, request by request.
#[derive(Clone, Debug)]
pub struct HttpScript {
    host: IpAddr,
    accepts: Vec<Accept>,
    turns: Vec<Turn>,
    in_any_order: bool,
    rest: bool,
    demo: HttpOptions,
}

impl Default for HttpScript {
    fn default() -> Self {
        HttpScript::new()
    }
}

impl HttpScript {
    /// A server that expects nothing.
    pub fn new() -> Self {
        HttpScript {
            host: Ipv4Addr::LOCALHOST.into(),
            accepts: Vec::new(),
            turns: Vec::new(),
            in_any_order: false,
            rest: false,
            demo: HttpOptions { sessions: false, ..HttpOptions::default() },
        }
    }

    /// A modern server that has answered the probe.
    pub fn modern() -> Self {
        HttpScript::new().expect("server/discover").demo()
    }

    /// A legacy server that has refused the probe and done the handshake of this revision, without
    /// a session.
    pub fn legacy(version: &str) -> Self {
        HttpScript::new().refuse_probe().handshake(version, Reply::new(200))
    }

    /// A legacy server that has given a session.
    pub fn with_session(version: &str, session: &str) -> Self {
        let reply = Reply::new(200).header("Mcp-Session-Id", session);
        HttpScript::new().refuse_probe().handshake(version, reply)
    }

    /// The probe comes and is refused, as most deployed servers do.
    pub fn refuse_probe(self) -> Self {
        self.expect("server/discover").error(400, -32000, "Bad Request: Server not initialized")
    }

    /// The legacy handshake comes and is answered with this revision, and with the status and the
    /// headers of the reply.
    pub fn handshake(self, version: &str, reply: Reply) -> Self {
        let info = r#"{"name":"scripted","version":"1"}"#;
        let result = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{info}}}"#
        );
        let reply = reply.json(&result_message(&result));
        self.expect("initialize").respond(reply).expect("notifications/initialized").status(202)
    }

    // What the server is

    /// Listens at this loopback address.
    pub fn at(mut self, host: IpAddr) -> Self {
        self.host = host;
        self
    }

    /// Says what becomes of the next connection that nothing was said about; those after the last
    /// one are served.
    pub fn accept(mut self, accept: Accept) -> Self {
        self.accepts.push(accept);
        self
    }

    /// Expected requests may arrive in any order: each is the first that fits.
    pub fn in_any_order(mut self) -> Self {
        self.in_any_order = true;
        self
    }

    /// What is not expected is answered as the demo server does.
    pub fn rest(mut self) -> Self {
        self.rest = true;
        self
    }

    /// The options of the demo server that answers. By default it has no sessions, so that it
    /// answers at any time.
    pub fn demo_with(mut self, options: HttpOptions) -> Self {
        self.demo = options;
        self
    }

    // What is expected

    /// Expects a message of this JSON-RPC method.
    pub fn expect(self, method: &str) -> Self {
        self.turn(Wants::Message(method.to_owned()), None)
    }

    /// The same, remembered under a name: `$label.id`.
    pub fn expect_as(self, method: &str, label: &str) -> Self {
        self.turn(Wants::Message(method.to_owned()), Some(label.to_owned()))
    }

    /// Expects the answer to a request of the server's.
    pub fn expect_response(self) -> Self {
        self.turn(Wants::Response, None)
    }

    /// Expects a request with this HTTP method, whatever is in it.
    pub fn expect_http(self, method: &str) -> Self {
        self.turn(Wants::Http(method.to_owned()), None)
    }

    /// Plays a block several times.
    pub fn repeat(mut self, times: usize, block: HttpScript) -> Self {
        for _ in 0..times {
            self.turns.extend_from_slice(&block.turns);
        }
        self
    }

    fn turn(mut self, wants: Wants, label: Option<String>) -> Self {
        self.turns.push(Turn { wants, label, steps: Vec::new() });
        self
    }

    // What follows

    /// Adds a step.
    ///
    /// # Panics
    /// When nothing is expected yet.
    pub fn step(mut self, step: HttpStep) -> Self {
        let turn = self.turns.last_mut().expect("a request before its steps");
        turn.steps.push(step);
        self
    }

    /// Answers as the demo server does.
    pub fn demo(self) -> Self {
        self.step(HttpStep::Demo)
    }

    /// Answers.
    pub fn respond(self, reply: Reply) -> Self {
        self.step(HttpStep::Respond(reply))
    }

    /// Answers with a status and no body.
    pub fn status(self, status: u16) -> Self {
        self.respond(Reply::new(status))
    }

    /// Answers with this result, as one JSON object.
    pub fn result(self, result: &str) -> Self {
        self.respond(Reply::new(200).json(&result_message(result)))
    }

    /// Answers a call of a tool with one text content, given as JSON (`"\"hi\""`).
    pub fn text(self, text: &str) -> Self {
        self.result(&super::text_result(text))
    }

    /// Answers with a JSON-RPC error under this status.
    pub fn error(self, status: u16, code: i64, message: &str) -> Self {
        self.respond(Reply::new(status).json(&error_message(code, message)))
    }

    /// Begins an event stream, in chunks.
    pub fn events(self) -> Self {
        let head = Reply::new(200).header("Content-Type", "text/event-stream");
        self.step(HttpStep::Begin(head))
    }

    /// Sends text of the event stream, as one chunk.
    pub fn sse(self, text: &str) -> Self {
        self.step(HttpStep::Chunk(text.to_owned()))
    }

    /// Sends a message as an event.
    pub fn event(self, message: &str) -> Self {
        self.sse(&format!("event: message\ndata: {message}\n\n"))
    }

    /// Sends this result as an event.
    pub fn result_event(self, result: &str) -> Self {
        self.event(&result_message(result))
    }

    /// Ends the event stream in good order.
    pub fn end(self) -> Self {
        self.step(HttpStep::EndChunks)
    }

    /// Sends text as it is, but for its names.
    pub fn raw(self, text: &str) -> Self {
        self.step(HttpStep::Text { text: text.to_owned(), chunk: None })
    }

    /// The same in pieces of so many bytes, each handed to the network by itself.
    pub fn raw_in_chunks(self, text: &str, chunk: usize) -> Self {
        self.step(HttpStep::Text { text: text.to_owned(), chunk: Some(chunk) })
    }

    /// Sends exactly these bytes.
    pub fn bytes(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(HttpStep::Bytes(bytes.as_ref().to_vec()))
    }

    /// Sends the same byte many times, from a buffer of fixed size.
    pub fn filler(self, byte: u8, count: u64) -> Self {
        self.step(HttpStep::Filler { byte, count })
    }

    /// Waits until the test, or another request, opens the gate of this name.
    pub fn gate(self, name: &str) -> Self {
        self.step(HttpStep::Gate(name.to_owned()))
    }

    /// Opens a gate.
    pub fn open(self, name: &str) -> Self {
        self.step(HttpStep::Open(name.to_owned()))
    }

    /// Does nothing more until the client closes the connection.
    pub fn hold(self) -> Self {
        self.step(HttpStep::Hold)
    }

    /// Lets real time pass, for what a client has to time.
    pub fn pause(self, millis: u64) -> Self {
        self.step(HttpStep::Pause(millis))
    }

    /// Closes the connection in good order.
    pub fn close(self) -> Self {
        self.step(HttpStep::Close)
    }

    /// Closes the connection so that the client sees a reset.
    pub fn reset(self) -> Self {
        self.step(HttpStep::Reset)
    }

    /// Keeps the connection idle until the first byte of the next request on it has come, and
    /// closes it then: the request is neither read nor expected. It is how a server loses patience
    /// with an idle connection at the worst moment.
    pub fn close_at_next_byte(self) -> Self {
        self.step(HttpStep::AwaitByte).reset()
    }
}

/// The text of an answer with this result.
fn result_message(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#)
}

fn error_message(code: i64, message: &str) -> String {
    let error = serde_json::json!({ "code": code, "message": message });
    format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{error}}}"#)
}

#[cfg(test)]
mod tests;
