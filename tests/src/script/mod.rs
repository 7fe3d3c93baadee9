//! A server that plays a written script: honest, sloppy or hostile, byte for byte.
//!
//! A [`Script`] is a list of [`Step`]s. It is played over any reader and writer ([`Script::play`],
//! [`Script::spawn`], [`Script::over_pipe`]), or by the program `scripted` as a child process
//! ([`Program`]), or behind HTTP ([`Script::over_http`]), and it records what the client wrote: the
//! [`Transcript`]. What is about HTTP itself is an [`HttpScript`], request by request.
//!
//! ```
//! use std::io::{BufRead, BufReader, Write};
//! use mcp_tests::script::Script;
//!
//! let script = Script::new().expect("ping").result("{}");
//! let ((reader, mut writer), playing) = script.over_pipe(64);
//! writer.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n").unwrap();
//! let mut answer = String::new();
//! BufReader::new(reader).read_line(&mut answer).unwrap();
//! assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
//! drop(writer);
//! assert_eq!(playing.finish().check().count("ping"), 1);
//! ```
//!
//! # Reading
//!
//! The play reads from the client only in the steps that expect something, so a script that does
//! not expect is a server that does not read. After its last step the play records what else
//! comes until the client closes its end; a script that is to end earlier says so with
//! [`Script::exit`] or [`Script::close_stdout`].
//!
//! # Names
//!
//! The text of a line may hold names, which begin with `$` and stand where a JSON value stands
//! (a `$` inside a string is left alone, so schemas with `"$ref"` need no escape):
//!
//! | Name | Value |
//! |---|---|
//! | `$id`, `$token`, `$params` | of the last message that was expected |
//! | `$a.id`, `$a.token`, `$a.params` | of the message that was expected as `a` |
//! | `$n` | how often the innermost repeated block has run before, from 0 |
//! | `$pid`, `$argv`, `$cwd`, `$env` | of the server's process; `$argv` is what follows `--` |
//! | `$grandchild` | the pid of the last grandchild |
//!
//! Further segments go into an object or an array (`$params.arguments.x`, `$env.HOME`,
//! `$argv.0`). Two endings change the form: `$id.string` is the value's JSON text as a string (a
//! string stays itself), `$id.float` writes an integer as `1.0`.

mod bridge;
mod http;
mod player;
mod playing;
mod process;
mod program;
mod stage;
mod step;
mod template;
mod transcript;

pub use http::{Accept, HttpPlaying, HttpScript, HttpStep, HttpTranscript, Recorded, Reply};
pub use playing::Playing;
pub use process::main;
pub use program::{Program, behind_shell, ignoring_term};
pub use step::{Sink, Step};
pub use transcript::{Ending, Transcript};

use serde::{Deserialize, Serialize};

use crate::demo;

/// What a server does, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script {
    steps: Vec<Step>,
}

impl Script {
    /// A server that does nothing but record what it is told.
    pub fn new() -> Self {
        Script::default()
    }

    /// A modern server that has answered the probe.
    pub fn modern() -> Self {
        Script::new().answer("server/discover")
    }

    /// A legacy server that has refused the probe and done the handshake of this revision.
    pub fn legacy(version: &str) -> Self {
        Script::new().expect("server/discover").error(-32601, "Method not found").handshake(version)
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Adds a step.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds the steps of another script.
    pub fn then(mut self, other: Script) -> Self {
        self.steps.extend(other.steps);
        self
    }

    /// Reads one line, which must be a request or notification of this method.
    pub fn expect(self, method: &str) -> Self {
        self.step(Step::Expect { method: method.to_owned(), label: None })
    }

    /// The same, remembered under a name beside the last one: `$label.id`, `$label.token`.
    pub fn expect_as(self, method: &str, label: &str) -> Self {
        self.step(Step::Expect { method: method.to_owned(), label: Some(label.to_owned()) })
    }

    /// Reads lines until one is a request or notification of this method.
    pub fn wait_for(self, method: &str) -> Self {
        self.step(Step::WaitFor { method: method.to_owned(), label: None })
    }

    /// Reads one line, which must be the client's answer to the request with this id (JSON text,
    /// may be a name). `$params` is then its result or its error.
    pub fn expect_response(self, id: &str) -> Self {
        self.step(Step::ExpectResponse { id: id.to_owned() })
    }

    /// Reads one line, which must be of this method, and answers it as the demo server does.
    pub fn answer(self, method: &str) -> Self {
        self.step(Step::Answer { method: Some(method.to_owned()) })
    }

    /// Reads one line, whatever it is, and answers it as the demo server does.
    pub fn answer_next(self) -> Self {
        self.step(Step::Answer { method: None })
    }

    /// Answers everything that is still to come as the demo server does.
    pub fn answer_rest(self) -> Self {
        self.step(Step::AnswerRest)
    }

    /// Answers everything that is still to come as a demo server with these options does.
    pub fn answer_rest_with(self, options: demo::Options) -> Self {
        self.step(Step::Demo { options }).answer_rest()
    }

    /// The legacy handshake, answered with this revision.
    pub fn handshake(self, version: &str) -> Self {
        self.step(Step::Handshake { version: version.to_owned() })
    }

    /// Sends a line, its names filled in.
    pub fn send(self, line: &str) -> Self {
        self.step(Step::Line { text: line.to_owned(), chunk: None })
    }

    /// Sends a line in pieces of so many bytes, each flushed.
    pub fn send_in_chunks(self, line: &str, chunk: usize) -> Self {
        self.step(Step::Line { text: line.to_owned(), chunk: Some(chunk) })
    }

    /// Sends a piece of a line, its names filled in.
    pub fn part(self, text: &str) -> Self {
        self.step(Step::Part { text: text.to_owned() })
    }

    /// Sends exactly these bytes, no newline added.
    pub fn bytes(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Bytes { bytes: bytes.as_ref().to_vec(), chunk: None })
    }

    /// Sends exactly these bytes in pieces, each flushed.
    pub fn bytes_in_chunks(self, bytes: impl AsRef<[u8]>, chunk: usize) -> Self {
        self.step(Step::Bytes { bytes: bytes.as_ref().to_vec(), chunk: Some(chunk) })
    }

    /// Answers the last expected request with this result (JSON text with names).
    pub fn result(self, result: &str) -> Self {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#))
    }

    /// Answers the request that was expected under this name.
    pub fn result_for(self, label: &str, result: &str) -> Self {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":${label}.id,"result":{result}}}"#))
    }

    /// Answers the last expected request with one text content, given as JSON (`"\"hi\""`,
    /// `"$argv.string"`).
    pub fn text(self, text: &str) -> Self {
        self.result(&text_result(text))
    }

    /// The same for the request that was expected under this name.
    pub fn text_for(self, label: &str, text: &str) -> Self {
        self.result_for(label, &text_result(text))
    }

    /// Answers the last expected request with an error.
    pub fn error(self, code: i64, message: &str) -> Self {
        let error = serde_json::json!({ "code": code, "message": message });
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{error}}}"#))
    }

    /// Sends a notification; its `params` are JSON text with names.
    pub fn notify(self, method: &str, params: &str) -> Self {
        self.send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#))
    }

    /// Asks the client something; `id` and `params` are JSON text with names.
    pub fn ask(self, id: &str, method: &str, params: &str) -> Self {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))
    }

    /// Writes text to stderr.
    pub fn stderr(self, text: &str) -> Self {
        self.step(Step::Stderr { bytes: text.as_bytes().to_vec() })
    }

    /// Writes the same byte many times, from a buffer of fixed size.
    pub fn filler(self, to: Sink, byte: u8, count: u64) -> Self {
        self.step(Step::Filler { to, byte, count })
    }

    /// Plays a block several times.
    pub fn repeat(self, times: u64, block: Script) -> Self {
        self.step(Step::Repeat { times, steps: block.steps })
    }

    /// Closes the server's output: the client sees the end of the stream.
    pub fn close_stdout(self) -> Self {
        self.step(Step::CloseStdout)
    }

    /// Closes the server's input: the client's next write fails.
    pub fn close_stdin(self) -> Self {
        self.step(Step::CloseStdin)
    }

    /// Reads and records until the client closes its end, answering nothing.
    pub fn drain(self) -> Self {
        self.step(Step::Drain)
    }

    /// The client must close its end now, without another word.
    pub fn expect_end(self) -> Self {
        self.step(Step::ExpectEnd)
    }

    /// Ends the server with this exit status.
    pub fn exit(self, status: i32) -> Self {
        self.step(Step::Exit { status })
    }

    /// Ends the server by the signal of an abort.
    pub fn abort(self) -> Self {
        self.step(Step::Abort)
    }

    /// The server ends itself by this signal (9 is KILL).
    pub fn die_by(self, signal: i32) -> Self {
        self.step(Step::Die { signal })
    }

    /// Neither reads nor writes any more, with everything left open, until it is killed (a
    /// process) or the play is finished (in memory).
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// Waits for real time to pass. For servers that are slow to die; a server that is silent
    /// needs no pause, it just does not answer what it has read.
    pub fn pause(self, millis: u64) -> Self {
        self.step(Step::Pause { millis })
    }

    /// Waits until the test opens the gate of this name ([`Playing::open`]). In memory only.
    pub fn gate(self, name: &str) -> Self {
        self.step(Step::Gate { name: name.to_owned() })
    }

    /// Starts a process that sleeps, and writes `grandchild PID` to stderr.
    pub fn grandchild(self) -> Self {
        self.step(Step::Grandchild { pid_file: None, keeps_pipes: false })
    }
}

fn text_result(text: &str) -> String {
    format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":{text}}}]}}"#)
}

#[cfg(test)]
mod tests;
