//! What the server says: lines, messages, and its own requests.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Asked, Connection, Phase, Waiter};
use crate::era::Answered;
use crate::error::{Limit, PeerError, ServerError};
use crate::interface::{Answer, Hearing, Item, Owner, Question};
use crate::model::{Progress, object};
use crate::wire::jsonrpc::{self, Message, own_id};
use crate::wire::lines::{Line, bad};
use crate::{Era, ErrorKind, Event, Raw, SkipReason, text};

/// The answer to a request that the client does not know.
const METHOD_NOT_FOUND: (i64, &str) = (-32601, "Method not found");
/// The answer when the host could not answer. Its reasons are its own.
const INTERNAL_ERROR: (i64, &str) = (-32603, "The client could not answer the request");
/// The answer when too many requests of the server's are open.
const BUSY: (i64, &str) = (-32603, "Too many requests are open");

impl Connection {
    pub(super) fn on_line(&mut self, line: Line) {
        match line {
            Line::Bad { why, bytes, answers } => self.on_bad_line(why, bytes, answers),
            Line::Text(line) => match jsonrpc::read(line) {
                Ok(read) => {
                    for message in read.messages {
                        self.on_message(message);
                    }
                    for answers in read.malformed {
                        self.on_bad_line(SkipReason::NotAMessage, 0, answers);
                    }
                }
                Err(line) => {
                    if let Line::Bad { why, bytes, answers } =
                        bad(SkipReason::NotJson, line.as_bytes())
                    {
                        self.on_bad_line(why, bytes, answers);
                    }
                }
            },
        }
    }

    /// A line that is no message: it fails the call that it answers, if any, and nothing else.
    fn on_bad_line(&mut self, why: SkipReason, bytes: u64, answers: Option<u64>) {
        self.event(Event::LineSkipped { why, bytes });
        let waiter = answers.and_then(|id| self.requests.remove(&id));
        match waiter {
            Some(Waiter::Call(id)) => {
                let kind = match why {
                    SkipReason::TooLong => ErrorKind::Limit(Limit {
                        what: "the answer",
                        limit: self.config.max_message_bytes,
                        setting: "max_message_bytes",
                    }),
                    _ => ErrorKind::Peer(PeerError::Malformed(why.to_string())),
                };
                self.end_call(id, kind);
            }
            Some(waiter) => {
                let answer = Answered::Malformed(format!("a line that is {why}"));
                self.on_start_answer(waiter, answer);
            }
            None => {
                self.skipped.count += 1;
                self.skipped.last = Some(why);
            }
        }
    }

    pub(super) fn on_message(&mut self, message: Message) {
        match message {
            Message::Response { id, outcome } => self.on_response(id, outcome),
            Message::Notification { method, params } => self.on_notification(&method, params),
            Message::Request { .. } => self.on_request(message),
        }
    }

    fn on_response(&mut self, id: Option<u64>, outcome: Result<Raw, Raw>) {
        let Some(waiter) = id.and_then(|id| self.requests.remove(&id)) else {
            // An answer to a request that was given up comes late, and means nothing any more.
            let late = id.is_some_and(|id| id <= self.next_request);
            if !late {
                self.dropped("it answers no request", None);
            }
            return;
        };
        let outcome = outcome.map_err(|raw| ServerError::read(&raw));
        match waiter {
            Waiter::Call(id) => self.on_call_answer(id, outcome),
            Waiter::Discover | Waiter::Initialize => {
                let answer = match outcome {
                    Ok(result) => Answered::Result(result),
                    Err(error) => Answered::Error(error),
                };
                self.on_start_answer(waiter, answer);
            }
        }
    }

    fn dropped(&mut self, why: &'static str, method: Option<&str>) {
        let method = method.map(text::excerpt);
        self.event(Event::MessageDropped { why, method });
    }

    // Requests of the server's, which exist on legacy servers only

    fn on_request(&mut self, message: Message) {
        let Message::Request { id, method, params } = &message else {
            return;
        };
        match &mut self.phase {
            Phase::Starting(start) => {
                if method == "ping" && start.initialize_sent() {
                    let pong = jsonrpc::response_line(id, Ok("{}"));
                    self.write(pong, true);
                } else if !start.hold(message.clone()) {
                    self.dropped("too much came before the era was known", Some(method));
                }
            }
            Phase::Ready(ready) if ready.info.era == Era::Legacy => {
                self.serve(id.clone(), method, params.clone());
            }
            Phase::Ready(_) => {
                self.dropped("a modern server must not send requests", Some(method));
            }
            Phase::Idle | Phase::Closed(_) => {}
        }
    }

    fn serve(&mut self, id: Raw, method: &str, params: Option<Raw>) {
        let refusal = match method {
            "ping" => Ok("{}"),
            "elicitation/create" if self.hears.contains(&Hearing::Elicitation) => {
                if self.open_server_requests() < self.config.max_server_requests {
                    let params = params.unwrap_or_else(|| Raw::new("{}"));
                    let question = Question::Elicit { params };
                    self.ask(Owner::Connection, Asked::Server { id }, question);
                    return;
                }
                Err(BUSY)
            }
            _ => Err(METHOD_NOT_FOUND),
        };
        self.write(jsonrpc::response_line(&id, refusal), true);
    }

    fn open_server_requests(&self) -> usize {
        self.questions.values().filter(|asked| matches!(asked, Asked::Server { .. })).count()
    }

    pub(super) fn answer_server(&mut self, id: &Raw, answer: Answer) {
        let line = match answer {
            Answer::Elicit(result) => jsonrpc::response_line(id, Ok(&result.to_string())),
            _ => jsonrpc::response_line(id, Err(INTERNAL_ERROR)),
        };
        self.write(line, true);
    }

    // Notifications

    fn on_notification(&mut self, method: &str, params: Option<Raw>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => self.on_progress(&params),
            ("notifications/cancelled", Some(params)) => self.on_cancelled(&params),
            // Whoever sends what nobody has asked for is not answered, and does no harm.
            _ => {}
        }
    }

    fn on_progress(&mut self, params: &Raw) {
        #[derive(Deserialize)]
        struct Token<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
        }
        let Ok(Token { token }) = object(params.as_str()) else {
            return;
        };
        // Most tokens are numbers of this client's; some servers send them back as texts.
        let spelled = serde_json::from_str::<Value>(token.get());
        let spelled = spelled.map(|token| token.to_string()).unwrap_or_default();
        let number = own_id(token.get().trim_matches('"')).map(|id| id.to_string());
        let by_number = number.and_then(|number| self.calls.by_token(&number));
        let Some(id) = self.calls.by_token(&spelled).or(by_number) else {
            return;
        };
        match params.parse::<Progress>() {
            Ok(progress) => self.put_item(id, Item::Progress(progress), params.len()),
            Err(_) => {
                let method = "notifications/progress";
                self.dropped("its members have the wrong types", Some(method));
            }
        }
    }

    /// The server gives up a request of its own. Requests of this client's are not its to cancel.
    fn on_cancelled(&mut self, params: &Raw) {
        let Some(request) = params.member("requestId") else {
            return;
        };
        let same = |asked: &Asked| matches!(asked, Asked::Server { id } if *id == request);
        let found = self.questions.iter().find(|(_, asked)| same(asked)).map(|(id, _)| *id);
        if let Some(id) = found {
            self.questions.remove(&id);
            self.outputs.push_back(crate::Output::Withdraw(id, Owner::Connection));
        }
    }
}

impl ServerError {
    /// Reads an error object, whatever is missing from it.
    pub(crate) fn read(raw: &Raw) -> Self {
        // Each member is read alone: one that cannot be read, because it is nested too deeply or
        // too large a number, costs no other.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Wire<'a> {
            #[serde(borrow)]
            code: Option<&'a RawValue>,
            #[serde(borrow)]
            message: Option<&'a RawValue>,
            #[serde(borrow)]
            data: Option<&'a RawValue>,
        }
        let value = |text: Option<&RawValue>| serde_json::from_str::<Value>(text?.get()).ok();
        let wire: Wire<'_> = object(raw.as_str()).unwrap_or_default();
        let code = match value(wire.code) {
            Some(Value::Number(code)) => code.as_i64().or_else(|| whole(code.as_f64()?)),
            Some(Value::String(code)) => code.parse().ok(),
            _ => None,
        };
        let message = match value(wire.message) {
            Some(Value::String(message)) => message,
            _ => raw.parse().unwrap_or_default(),
        };
        ServerError { code: code.unwrap_or(0), message, data: value(wire.data), raw: raw.clone() }
    }
}

/// A whole number that was written as a decimal, such as `-32601.0`.
fn whole(code: f64) -> Option<i64> {
    let small = code.fract() == 0.0 && code.abs() < 1e15;
    #[allow(clippy::cast_possible_truncation, reason = "it is whole and small")]
    small.then_some(code as i64)
}
