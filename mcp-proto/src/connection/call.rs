//! The life of a call: from its start, over its requests, to its one end.

use alloc::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::calls::{CallState, Pages, Step};
use super::{Asked, Connection, Phase, Waiter, request};
use crate::error::{
    CloseReason, Outcome, PaginationFault, PeerError, Phase as TimePhase, ServerError, Timeout,
};
use crate::interface::{Answer, Hearing, Item, Mailbox, Output, Owner, Question, ResendReason};
use crate::op::{ErasedCall, Wire};
use crate::transport::Outgoing;
use crate::wire::{json_trouble, scan};
use crate::{
    CallId, Era, Error, ErrorKind, HttpFault, ProtocolVersion, Raw, Reply, Sent, TimerReason,
    TransportError, meta,
};

/// What is read of a result under the lock. All of it is optional, and anything else stays unread.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Peek<'a> {
    #[serde(borrow, rename = "resultType")]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, rename = "nextCursor")]
    next_cursor: Option<&'a RawValue>,
}

/// The texts of `resultType` and `nextCursor`, where they are not `null`.
fn peek(result: &str) -> Result<[Option<&str>; 2], ErrorKind> {
    if let Ok(found) = scan::members(result, ["resultType", "nextCursor"]) {
        return Ok(found.map(|value| value.filter(|value| *value != "null")));
    }
    match serde_json::from_str::<Peek<'_>>(result) {
        Ok(peek) => Ok([peek.result_type, peek.next_cursor].map(|value| value.map(RawValue::get))),
        Err(error) => Err(ErrorKind::Peer(PeerError::Result(json_trouble(&error)))),
    }
}

impl Connection {
    pub(super) fn on_start(&mut self, id: CallId, erased: ErasedCall) {
        self.next_call = self.next_call.max(id.number());
        if self.calls.contains(id) {
            return;
        }
        let timeout = erased.options.timeout;
        self.calls.insert(id, CallState::new(erased, self.now.mono));
        if let Phase::Closed(reason) = &self.phase {
            let kind = ErrorKind::Closed(reason.clone());
            return self.end_call(id, kind);
        }
        if let Some(timeout) = timeout {
            self.set_timer(TimerReason::Call(id), timeout);
        }
        if matches!(self.phase, Phase::Ready(_)) {
            self.start_clock(id);
            self.send_next(id);
        }
    }

    /// The connection is ready: calls that waited for it go on.
    pub(super) fn send_waiting(&mut self) {
        for id in self.calls.ids(|call| matches!(call.step, Step::Waiting)) {
            self.start_clock(id);
            self.send_next(id);
        }
    }

    /// The default timeout counts from the moment at which the connection is ready.
    fn start_clock(&mut self, id: CallId) {
        let now = self.now.mono;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if call.erased.options.timeout.is_none() && !self.timers.is_set(TimerReason::Call(id)) {
            call.since = now;
            let timeout = self.config.call_timeout.unwrap_or(self.transport.call_timeout());
            self.set_timer(TimerReason::Call(id), timeout);
        }
    }

    /// Until the call has a connection again, only what it said itself limits its time.
    fn stop_clock(&mut self, id: CallId) {
        if self.calls.get(id).is_some_and(|call| call.erased.options.timeout.is_none()) {
            self.timers.clear(TimerReason::Call(id));
        }
    }

    /// The calls that were not lost with a server go to the next one. The pages that were read from
    /// it mean nothing there.
    pub(super) fn hand_on_calls(&mut self) {
        for id in self.calls.ids(|call| matches!(call.step, Step::Waiting | Step::Meta)) {
            if let Some(call) = self.calls.get_mut(id) {
                call.handed_on = true;
                call.pages = Pages::default();
                if matches!(call.step, Step::Waiting) {
                    self.stop_clock(id);
                }
            }
        }
    }

    /// Sends the next request of a call, or asks the host for its metadata first.
    pub(super) fn send_next(&mut self, id: CallId) {
        let Phase::Ready(ready) = &self.phase else {
            return;
        };
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let method = match call.erased.spec.wire(ready.info.era) {
            Wire::Request(method) => method,
            Wire::Custom => call.erased.params.method.as_deref().unwrap_or_default(),
            Wire::Local => {
                let pages = Vec::new();
                return self.arrived(id, pages);
            }
        };
        call.method = String::from(method);
        if self.hears.contains(&Hearing::RequestMeta) {
            let question = Question::RequestMeta { method: call.method.clone() };
            self.ask(Owner::Call(id), Asked::Meta(id), question);
            self.calls.advance(id, Step::Meta);
        } else {
            self.send(id);
        }
    }

    /// The host has answered the question for metadata.
    pub(super) fn on_meta(&mut self, id: CallId, answer: Answer) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        match answer {
            Answer::RequestMeta(meta) => {
                call.request_meta = meta;
                self.calls.advance(id, Step::Waiting);
                if matches!(self.phase, Phase::Ready(_)) {
                    self.send(id);
                } else {
                    self.stop_clock(id);
                }
            }
            _ => {
                let why = String::from("the host gave no metadata for the request");
                self.end_call(id, ErrorKind::Validation(why));
            }
        }
    }

    fn send(&mut self, id: CallId) {
        let Phase::Ready(ready) = &self.phase else {
            return;
        };
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let request = self.next_request + 1;
        let mut meta = request::host_meta([
            &self.meta,
            &call.request_meta,
            &call.erased.params.meta,
            &call.erased.options.meta,
        ])
        .into_owned();
        let wanted = call.erased.options.progress;
        let taken = |token: &str| self.calls.by_token(token).is_some();
        let token = progress_token(&mut meta, request, wanted, taken);
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let params = request::params(
            call.erased.params.object.as_str(),
            call.pages.cursor.as_ref().map(Raw::as_str),
            &ready.protocol_meta,
            &meta,
        );
        let method = call.method.clone();
        let name = call.erased.params.name.clone();
        let modern = ready.info.era == Era::Modern;
        let owner = Owner::Call(id);
        let (name, params) = (name.as_deref(), params.as_str());
        let message =
            Outgoing::Request { id: request, method: &method, name, params, owner, modern };
        // While the server shows signs of its end nothing is sent: the call waits for the next one.
        let Some(sent) = self.link.send(message) else {
            self.calls.advance(id, Step::Waiting);
            return;
        };
        self.next_request(Waiter::Call(id));
        if let Some(call) = self.calls.get_mut(id) {
            call.sent = true;
        }
        let token = token.filter(|token| self.calls.book_token(token.clone(), id));
        self.calls.advance(id, Step::Sent { request, token });
        self.take_up(sent);
    }

    // Answers

    pub(super) fn on_call_answer(&mut self, id: CallId, outcome: Result<Raw, ServerError>) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        match outcome {
            Err(error) => self.on_server_error(id, error),
            Ok(result) => {
                let spec = call.erased.spec;
                let modern = self.known.as_ref().is_some_and(|info| info.era == Era::Modern);
                match read_result(&result, modern, spec.paged.is_some(), spec.may_ask) {
                    Err(kind) => self.end_call(id, kind),
                    Ok(next) if spec.paged.is_some() => self.on_page(id, result, next),
                    Ok(_) => self.arrived(id, vec![result]),
                }
            }
        }
    }

    fn on_server_error(&mut self, id: CallId, error: ServerError) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let refused = error.code == -32022 && !call.version_retried;
        let offered = error.supported_versions();
        if refused && ProtocolVersion::mutual(&offered, Era::Modern) == self.version() {
            // The refusal proves that nothing ran, and names the version that was sent: once more.
            if let Some(call) = self.calls.get_mut(id) {
                call.version_retried = true;
            }
            return self.send_again(id, ResendReason::Version);
        }
        self.end_call(id, ErrorKind::Server(Box::new(error)));
    }

    fn version(&self) -> Option<ProtocolVersion> {
        self.known.as_ref().map(|info| info.version)
    }

    /// A page of a list has come: the next one is asked for, within the bounds.
    fn on_page(&mut self, id: CallId, page: Raw, next: Option<Raw>) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.pages.bytes += page.len();
        call.pages.all.push(page);
        // Two spellings of one text are one cursor.
        let text = next.as_ref().and_then(|next| next.parse::<String>().ok());
        let fault = if call.pages.bytes > self.config.max_list_bytes {
            PaginationFault::TooManyBytes(self.config.max_list_bytes)
        } else if text.is_some_and(|text| !call.pages.seen.insert(text)) {
            PaginationFault::RepeatedCursor
        } else if next.is_some() && call.pages.all.len() >= self.config.max_pages {
            PaginationFault::TooManyPages(self.config.max_pages)
        } else if next.is_some() {
            call.pages.cursor = next;
            self.calls.advance(id, Step::Waiting);
            return self.send_next(id);
        } else {
            let pages = std::mem::take(&mut call.pages.all);
            return self.arrived(id, pages);
        };
        let pages = std::mem::take(&mut call.pages.all);
        match self.reply(pages) {
            Some(partial) => {
                let partial = Box::new(partial);
                self.end_call(id, ErrorKind::Pagination { reason: fault, partial });
            }
            None => self.end_call(id, ErrorKind::Closed(CloseReason::NotStarted)),
        }
    }

    fn reply(&self, pages: Vec<Raw>) -> Option<Reply> {
        let info = Arc::clone(self.known.as_ref()?);
        Some(Reply { pages, info, server: Arc::clone(&self.server) })
    }

    /// The result is here. It is handed on once the items that came before it were taken.
    fn arrived(&mut self, id: CallId, pages: Vec<Raw>) {
        let Some(reply) = self.reply(pages) else {
            return;
        };
        self.calls.advance(id, Step::Arrived(Box::new(reply)));
        self.end_if_taken(id);
    }

    fn end_if_taken(&mut self, id: CallId) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        if !matches!(call.step, Step::Arrived(_)) || !call.items.is_empty() {
            return;
        }
        if let Some(CallState { step: Step::Arrived(reply), .. }) = self.calls.remove(id) {
            self.timers.clear(TimerReason::Call(id));
            self.outputs.push_back(Output::Done(id, Ok(*reply)));
        }
    }

    // Items

    /// An item for a call has come; `bytes` is what it weighs.
    pub(super) fn put_item(&mut self, id: CallId, item: Item, bytes: usize) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if !call.erased.options.progress {
            return;
        }
        match call.items.put(item, bytes, &self.config) {
            Ok(item) => {
                self.outputs.push_back(Output::Item(Mailbox::Call(id), Box::new(item)));
            }
            Err(dropped) => {
                for _ in 0..dropped {
                    self.event(crate::Event::ItemDropped(id));
                }
            }
        }
    }

    pub(super) fn on_pull(&mut self, mailbox: Mailbox) {
        let Mailbox::Call(id) = mailbox;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if let Some(item) = call.items.pull() {
            self.outputs.push_back(Output::Item(mailbox, Box::new(item)));
        }
        self.end_if_taken(id);
    }

    // Ends

    pub(super) fn on_cancel(&mut self, id: CallId) {
        self.abandon(id, "The host cancelled the request", |_| ErrorKind::Cancelled);
    }

    pub(super) fn on_call_timeout(&mut self, id: CallId) {
        let now = self.now.mono;
        let starting = matches!(self.phase, Phase::Starting(_) | Phase::Greeting(..));
        self.abandon(id, "Request timed out", |call| {
            let phase = match call.step {
                Step::Waiting if starting => TimePhase::Start,
                Step::Waiting => TimePhase::Close,
                Step::Pausing => TimePhase::Answer,
                Step::Meta => TimePhase::Host,
                Step::Sent { .. } | Step::Arrived(_) => TimePhase::Answer,
            };
            ErrorKind::Timeout(Timeout { phase, after: now.saturating_sub(call.since) })
        });
    }

    /// Ends a call before its answer, and tells the server. A result that has arrived already is
    /// handed on instead: only the items before it are dropped.
    fn abandon(&mut self, id: CallId, reason: &str, kind: impl FnOnce(&CallState) -> ErrorKind) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if matches!(call.step, Step::Arrived(_)) {
            call.items.clear();
            return self.end_if_taken(id);
        }
        let kind = kind(call);
        if let Step::Sent { request, .. } = call.step {
            let modern = self.known.as_ref().is_some_and(|info| info.era == Era::Modern);
            let told = self.link.abandon(request, reason, modern);
            self.take_up(told);
        }
        self.end_call(id, kind);
    }

    /// Ends calls, each with the error that is made for it; those without one go on. One whose
    /// result has arrived is handed that instead.
    pub(super) fn end_calls<K: Into<Option<ErrorKind>>>(&mut self, kind: impl Fn(&CallState) -> K) {
        for id in self.calls.ids(|_| true) {
            let Some(call) = self.calls.get_mut(id) else {
                continue;
            };
            let Some(kind) = kind(call).into() else {
                continue;
            };
            if matches!(call.step, Step::Arrived(_)) {
                call.items.clear();
                self.end_if_taken(id);
            } else {
                self.end_call(id, kind);
            }
        }
    }

    /// Ends a call with an error.
    pub(super) fn end_call(&mut self, id: CallId, kind: ErrorKind) {
        self.withdraw_all(Owner::Call(id));
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        if let Step::Sent { request, .. } = call.step {
            self.requests.remove(&request);
            self.drop_request(request);
        }
        self.timers.clear(TimerReason::Retry(id));
        self.timers.clear(TimerReason::Call(id));
        let outcome = if call.sent { outcome_of(&kind) } else { Outcome::NotSent };
        let mut error = self.error(kind, outcome, &call.method);
        if error.is_timeout() {
            error = self.with_hints(error);
        }
        self.outputs.push_back(Output::Done(id, Err(error)));
    }

    /// What may explain that no answer came.
    pub(super) fn with_hints(&self, mut error: Error) -> Error {
        if let Some(last) = self.skipped.last {
            let count = self.skipped.count;
            error = error.note(format!(
                "{count} line(s) of its stdout were no messages and were skipped (the last: {last})"
            ));
        }
        match self.link.last_words() {
            words if words.is_empty() => error,
            words => error.note(format!("its last words on stderr: {words}")),
        }
    }
}

/// Whether the server may have done what a call asked for, by how the call ended.
fn outcome_of(kind: &ErrorKind) -> Outcome {
    let fault = match kind {
        ErrorKind::Server(error) if proves_nothing_ran(error.code) => return Outcome::NotRun,
        ErrorKind::Transport(TransportError::Http(fault)) => fault,
        _ => return Outcome::Unknown,
    };
    match fault {
        HttpFault::Exchange(failure) if failure.sent == Sent::None => Outcome::NotSent,
        HttpFault::Authorization { .. } | HttpFault::Redirect { .. } | HttpFault::SessionGone => {
            Outcome::NotRun
        }
        HttpFault::Status { status: 404..=406 | 415, .. } => Outcome::NotRun,
        _ => Outcome::Unknown,
    }
}

/// The codes that say that the request was not understood, or was refused before it ran.
fn proves_nothing_ran(code: i64) -> bool {
    matches!(code, -32700 | -32602..=-32600 | -32022..=-32020)
}

/// The token under which progress comes: the host's own, if it is one and no other call has it.
/// Else, if progress is wanted, the id of the request, or a text that no call has.
fn progress_token(
    meta: &mut Map<String, Value>,
    request: u64,
    wanted: bool,
    taken: impl Fn(&str) -> bool,
) -> Option<String> {
    if let Some(own) = meta.get(meta::PROGRESS_TOKEN) {
        let text = own.to_string();
        if (own.is_string() || own.is_i64() || own.is_u64()) && !taken(&text) {
            return Some(text);
        }
        meta.shift_remove(meta::PROGRESS_TOKEN);
    }
    if !wanted {
        return None;
    }
    let mut token = Value::from(request);
    while taken(&token.to_string()) {
        token = Value::from(format!("{}-{request}", token.as_str().unwrap_or("progress")));
    }
    let text = token.to_string();
    meta.insert(String::from(meta::PROGRESS_TOKEN), token);
    Some(text)
}

/// Reads what decides about a result: its type and its cursor (specification: basic,
/// "ResultType"; server/utilities/pagination).
fn read_result(
    result: &Raw,
    modern: bool,
    paged: bool,
    may_ask: bool,
) -> Result<Option<Raw>, ErrorKind> {
    let wrong = |why: String| Err(ErrorKind::Peer(PeerError::Result(why)));
    if !result.as_str().starts_with('{') {
        return wrong(String::from("it is no object"));
    }
    if !modern && !paged {
        return Ok(None);
    }
    let [result_type, next_cursor] = peek(result.as_str())?;
    if let Some(kind) = result_type.filter(|kind| modern && *kind != r#""complete""#) {
        match serde_json::from_str::<String>(kind).as_deref() {
            Ok("complete") => {}
            Ok("input_required") if may_ask => {
                let what = String::from("multi round-trip requests are not followed yet");
                return Err(ErrorKind::InputRequired(what));
            }
            Ok("input_required") => return Err(ErrorKind::Peer(PeerError::InputRequired)),
            Ok(other) => {
                let other = crate::text::excerpt(other);
                return Err(ErrorKind::Peer(PeerError::ResultType(other)));
            }
            Err(_) => return wrong(String::from("its resultType is no text")),
        }
    }
    match next_cursor.filter(|_| paged) {
        None => Ok(None),
        // It is sent back as it came, so it must be what it seems to be.
        Some(cursor) if serde_json::from_str::<String>(cursor).is_ok() => {
            Ok(Some(result.cut(cursor)))
        }
        Some(_) => wrong(String::from("its nextCursor is no text")),
    }
}
