//! What the server says: lines, messages, and its own requests. Its notifications are in
//! `notification.rs`.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Asked, Connection, Waiter};
use crate::era::Answered;
use crate::error::{Limit, PeerError, ServerError};
use crate::interface::{Answer, Owner};
use crate::model::object;
use crate::question::{self, Refusal, Unanswered, Wanted};
use crate::transport::http::own_answer;
use crate::transport::{Origin, Outgoing};
use crate::wire::jsonrpc::{self, Message};
use crate::wire::lines::{Line, bad};
use crate::{Era, ErrorKind, Event, Raw, SkipReason, text};

/// The answer to a request that the client does not know.
const METHOD_NOT_FOUND: (i64, &str) = (-32601, "Method not found");
/// The answer when the host could not answer. Its reasons are its own.
const INTERNAL_ERROR: (i64, &str) = (-32603, "The client could not answer the request");
/// The answer when too many requests of the server's are open.
const BUSY: (i64, &str) = (-32603, "Too many requests are open");
/// The answer when the user does not let the model answer.
const REFUSED: (i64, &str) = (-1, "The user rejected the request");

/// What a request of the server's is answered: a result, or a code and its text.
pub(super) type Served = Result<Value, (i64, Cow<'static, str>)>;

fn refused(refusal: Refusal) -> (i64, Cow<'static, str>) {
    match refusal {
        Refusal::NoHandler => fixed(METHOD_NOT_FOUND),
        refusal => (-32602, Cow::Owned(format!("Invalid params: {refusal}"))),
    }
}

fn fixed((code, text): (i64, &'static str)) -> (i64, Cow<'static, str>) {
    (code, Cow::Borrowed(text))
}

/// How often it is told that answers are dropped, at most.
const SATURATION_INTERVAL: Duration = Duration::from_secs(5);

impl Connection {
    /// The text of a message has come, or of something that should be one. `from` is the request
    /// whose exchange brought it, where the transport knows.
    pub(super) fn on_text(&mut self, text: String, from: Option<Origin>) {
        match jsonrpc::read_line(text) {
            Ok(jsonrpc::Line::One(message)) => self.on_message(message, from),
            Ok(jsonrpc::Line::Other(read)) => {
                for message in read.messages {
                    self.on_message(message, from);
                }
                for answers in read.malformed {
                    self.on_bad(SkipReason::NotAMessage, 0, own_answer(answers, from));
                }
            }
            Err(text) => {
                if let Line::Bad { why, bytes, answers } = bad(SkipReason::NotJson, text.as_bytes())
                {
                    self.on_bad(why, bytes, own_answer(answers, from));
                }
            }
        }
    }

    /// Something that is no message: it fails the call that it answers, if any, and nothing else.
    pub(super) fn on_bad(&mut self, why: SkipReason, bytes: u64, answers: Option<u64>) {
        self.event(Event::LineSkipped { why, bytes });
        let Some((request, waiter)) = answers.and_then(|id| Some((id, self.requests.remove(&id)?)))
        else {
            self.skipped.count += 1;
            self.skipped.last = Some(why);
            return;
        };
        self.drop_request(request);
        match waiter {
            Waiter::Call(id) => {
                let kind = match why {
                    SkipReason::TooLong => self.too_large(),
                    _ => ErrorKind::Peer(PeerError::Malformed(why.to_string())),
                };
                self.end_call(id, kind);
            }
            waiter => {
                let answer = Answered::Malformed(format!("a line that is {why}"));
                self.on_start_answer(waiter, answer, None);
            }
        }
    }

    pub(super) fn too_large(&self) -> ErrorKind {
        ErrorKind::Limit(Limit {
            what: "the answer",
            limit: self.config.max_message_bytes,
            setting: "max_message_bytes",
        })
    }

    pub(super) fn on_message(&mut self, message: Message, from: Option<Origin>) {
        match message {
            Message::Response { id, outcome } => self.on_response(id, outcome, from),
            Message::Notification { method, params } => self.on_notification(&method, params, from),
            Message::Request { .. } => self.on_request(message, from),
        }
    }

    fn on_response(&mut self, id: Option<u64>, outcome: Result<Raw, Raw>, from: Option<Origin>) {
        let own = from.map(|from| from.request).filter(|own| self.requests.contains_key(own));
        let (request, outcome) = match (own, id, outcome) {
            // What comes on a request's own exchange answers that request. Deployed servers put
            // all kinds of ids into their errors; a result with a foreign id is another matter.
            (Some(own), id, Ok(result)) if id == Some(own) => (own, Ok(result)),
            (Some(own), _, Err(error)) => (own, Err(error)),
            (Some(own), _, Ok(_)) => return self.on_foreign_result(own),
            (None, Some(id), outcome) if from.is_none() && self.requests.contains_key(&id) => {
                (id, outcome)
            }
            (None, id, _) => {
                // An answer to a request that was given up comes late, and means nothing any more.
                if id.is_none_or(|id| id > self.next_request) {
                    self.dropped("it answers no request", None);
                }
                return;
            }
        };
        let first = self.requests.keys().next().filter(|_| self.config.doctored(9));
        let request = first.copied().unwrap_or(request);
        let Some(waiter) = self.requests.remove(&request) else { return };
        let released = self.link.answered(request);
        self.take_up(released);
        let outcome = outcome.map_err(|raw| ServerError::read(&raw));
        match waiter {
            Waiter::Call(id) => self.on_call_answer(id, outcome),
            Waiter::Discover | Waiter::Initialize => {
                let answer = match outcome {
                    Ok(result) => Answered::Result(result),
                    Err(error) => Answered::Error(error),
                };
                self.on_start_answer(waiter, answer, from.and_then(|from| from.refused));
            }
        }
    }

    /// An answer did come on the request's exchange, and it answers something else.
    fn on_foreign_result(&mut self, request: u64) {
        self.drop_request(request);
        match self.requests.remove(&request) {
            Some(Waiter::Call(id)) => self.end_call(id, ErrorKind::Peer(PeerError::ForeignResult)),
            Some(waiter) => {
                let answer = Answered::Malformed(PeerError::ForeignResult.to_string());
                self.on_start_answer(waiter, answer, None);
            }
            None => {}
        }
    }

    pub(super) fn dropped(&mut self, why: &'static str, method: Option<&str>) {
        let method = method.map(text::excerpt);
        self.event(Event::MessageDropped { why, method });
    }

    // Requests of the server's, which exist on legacy servers only

    fn on_request(&mut self, message: Message, from: Option<Origin>) {
        let Message::Request { id, method, params } = &message else { return };
        if let Some(start) = self.phase.start() {
            if method == "ping" && start.initialize_sent() {
                self.send_reply(id, &Ok(json!({})));
            } else if !start.held.keep(message.clone(), from) {
                self.dropped("too much came before the era was known", Some(method));
            }
            return;
        }
        match self.phase.agreed().map(|ready| ready.info.era) {
            Some(Era::Legacy) => self.serve(id.clone(), method, params.clone(), from),
            Some(Era::Modern) => {
                self.dropped("a modern server must not send requests", Some(method));
            }
            None => {}
        }
    }

    fn serve(&mut self, id: Raw, method: &str, params: Option<Raw>, from: Option<Origin>) {
        let refusal = match method {
            "ping" => Ok(json!({})),
            "roots/list" => Ok(self.roots_result()),
            _ => {
                let params = params.unwrap_or_else(|| Raw::new("{}"));
                // A legacy server was told in `initialize` what it may ask for.
                let declared = self.phase.agreed().map(|ready| &*ready.declared);
                let (hears, server) = (declared.unwrap_or_default(), &self.server);
                match question::read(method, &params, hears, Era::Legacy, server) {
                    Ok(_) if self.open_server_requests() >= self.config.max_server_requests => {
                        Err(fixed(BUSY))
                    }
                    Ok(wanted) => return self.ask_for_server(id, wanted, from),
                    Err(refusal) => Err(refused(refusal)),
                }
            }
        };
        self.send_reply(&id, &refusal);
    }

    fn ask_for_server(&mut self, id: Raw, wanted: Wanted, from: Option<Origin>) {
        // Who asks on the stream of a call, asks that call, while there is one.
        let owner = from.map(|from| from.owner);
        let asks = |owner: &Owner| !matches!(owner, Owner::Call(id) if !self.calls.contains(*id));
        let owner = owner.filter(asks).unwrap_or(Owner::Connection);
        self.tell_of_question(&wanted);
        let question = wanted.question();
        self.ask(owner, Asked::Server { id, owner, wanted }, question);
    }

    fn open_server_requests(&self) -> usize {
        let asked = self.questions.values().filter(|asked| matches!(asked, Asked::Server { .. }));
        asked.count() + self.held_answers.len()
    }

    /// The host has answered a request of the server's. A user may have typed it, so it is kept
    /// until it can be sent; its request counts as open until then, which bounds how many are kept.
    pub(super) fn answer_server(&mut self, id: Raw, wanted: &Wanted, answer: Answer) {
        let served = wanted.settle(answer).map_err(|unanswered| match unanswered {
            Unanswered::Failed => fixed(INTERNAL_ERROR),
            Unanswered::Misfit(why) => {
                let question = wanted.name();
                self.event(Event::AnswerDropped { question, why });
                fixed(INTERNAL_ERROR)
            }
            Unanswered::Refused => fixed(REFUSED),
        });
        self.held_answers.push_back((id, served));
        self.send_held_answers();
    }

    pub(super) fn send_held_answers(&mut self) {
        while let Some((id, served)) = self.held_answers.pop_front() {
            // A process that is about to end reads nothing any more.
            if !self.send_served(&id, &served) && self.link.is_http() {
                return self.held_answers.push_front((id, served));
            }
        }
    }

    fn send_reply(&mut self, id: &Raw, served: &Served) {
        if !self.send_served(id, served) && self.link.is_http() {
            self.saturated();
        }
    }

    fn send_served(&mut self, id: &Raw, served: &Served) -> bool {
        let text = served.as_ref().map(Value::to_string);
        let outcome = text.as_deref().map_err(|(code, message)| (*code, &**message));
        self.send_message(Outgoing::Reply { id, outcome })
    }

    /// An answer was dropped because too many are on their way. A flood is told of now and then.
    fn saturated(&mut self) {
        let now = self.now.mono;
        if self.saturated.is_none_or(|last| now.saturating_sub(last) >= SATURATION_INTERVAL) {
            self.saturated = Some(now);
            self.dropped("too many answers are on their way already", None);
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
