//! The life of a call: from its start, over its requests, to its one end.

use serde_json::{Map, Value};

use super::calls::{CallState, Judged, Pages, Past, Step};
use super::{Asked, Connection, Phase, Waiter, request};
use crate::interface::{Answer, Hearing, Owner, Question};
use crate::op::ErasedCall;
use crate::transport::Outgoing;
use crate::wire::jsonrpc;
use crate::{CallId, DeprecatedFeature, Era, ErrorKind, InputFault, Raw, TimerReason, meta};

impl Connection {
    pub(super) fn on_start(&mut self, id: CallId, erased: ErasedCall) {
        self.next_call = self.next_call.max(id.number());
        if self.calls.contains(id) {
            return;
        }
        let timeout = erased.options.timeout;
        if erased.params.level.is_some() {
            self.deprecated(DeprecatedFeature::Logging);
        }
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

    /// The connection is ready: calls that waited for it go on. What the server offers it has just
    /// said.
    pub(super) fn send_waiting(&mut self) {
        for id in self.calls.ids(|call| matches!(call.step, Step::Waiting)) {
            if let Some(call) = self.calls.get_mut(id) {
                call.judged = Judged::Yes;
            }
            self.start_clock(id);
            self.send_next(id);
        }
    }

    /// The default timeout counts from the moment at which the connection is ready.
    pub(super) fn start_clock(&mut self, id: CallId) {
        let now = self.now.mono;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if call.erased.options.timeout.is_none() && !self.timers.is_set(TimerReason::Call(id)) {
            call.since = now;
            self.set_timer(TimerReason::Call(id), self.call_timeout());
        }
    }

    /// Until the call has a connection again, only what it said itself limits its time.
    pub(super) fn stop_clock(&mut self, id: CallId) {
        if self.calls.get(id).is_some_and(|call| call.erased.options.timeout.is_none()) {
            self.timers.clear(TimerReason::Call(id));
        }
    }

    /// The calls that were not lost with a server go to the next one. The pages that were read from
    /// it mean nothing there.
    pub(super) fn hand_on_calls(&mut self) {
        let goes_on = |call: &CallState| match call.step {
            Step::Waiting | Step::Meta | Step::Asking { .. } | Step::Pausing(_) => true,
            Step::Sent { .. } | Step::Arrived(_) => false,
        };
        for id in self.calls.ids(goes_on) {
            if let Some(call) = self.calls.get_mut(id) {
                call.spent.server = true;
                call.pages = Pages::default();
                if matches!(call.step, Step::Waiting) {
                    self.stop_clock(id);
                }
            }
        }
    }

    /// Sends the next request of a call, or asks the host for its metadata first.
    pub(super) fn send_next(&mut self, id: CallId) {
        if !matches!(self.phase, Phase::Ready(_)) || !self.judge(id) {
            return;
        }
        let Phase::Ready(ready) = &self.phase else {
            return;
        };
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let modern = ready.info.era == Era::Modern;
        let resume = call.erased.params.resume.take();
        if !modern && (call.rounds.is_some() || resume.is_some()) {
            return self.end_call(id, ErrorKind::InputRequired(InputFault::OtherServer));
        }
        if !call.is_aside() && !call.prepare(ready.info.era) {
            return self.arrived(id, Vec::new());
        }
        if let Some(from) = resume {
            return self.resume_rounds(id, *from);
        }
        if !self.judge_arguments(id) {
            return;
        }
        let Some(call) = self.calls.get(id) else {
            return;
        };
        if self.hears.contains(&Hearing::RequestMeta) {
            let question = Question::RequestMeta { method: String::from(call.method()) };
            self.ask(Owner::Call(id), Asked::Meta(id), question);
            self.calls.advance(id, Step::Meta);
        } else {
            self.send(id, &Map::new());
        }
    }

    /// The host has answered the question for metadata.
    pub(super) fn on_meta(&mut self, id: CallId, answer: Answer) {
        match request::answered_meta(answer) {
            Ok(meta) => {
                self.calls.advance(id, Step::Waiting);
                if matches!(self.phase, Phase::Ready(_)) {
                    self.send(id, &meta);
                } else {
                    self.stop_clock(id);
                }
            }
            Err(why) => self.end_call(id, ErrorKind::Validation(why)),
        }
    }

    /// Sends the request of a call, with the metadata that the host gave for this one.
    fn send(&mut self, id: CallId, request_meta: &Map<String, Value>) {
        let Phase::Ready(ready) = &self.phase else {
            return;
        };
        let Some(call) = self.calls.get(id) else {
            return;
        };
        let request = self.next_request + 1;
        let ErasedCall { params, options, .. } = &call.erased;
        let modern = ready.info.era == Era::Modern;
        let level = modern.then_some(&self.level).into_iter();
        let places = [&self.meta, request_meta, &params.meta, &options.meta];
        let mut meta = request::host_meta(level.chain(places)).into_owned();
        let taken = |token: &str| self.calls.by_token(token).is_some();
        let aside = call.is_aside();
        let token = progress_token(&mut meta, request, options.wants_progress() && !aside, taken);
        let (method, fixed) = (call.method(), &ready.protocol_meta);
        let object = if aside { "{}" } else { params.object.as_str() };
        let cursor = call.pages.cursor.as_ref().map(Raw::as_str);
        let input = call
            .rounds
            .as_ref()
            .filter(|_| !aside)
            .map(|rounds| rounds.input())
            .unwrap_or_default();
        let length = object.len() + input.len() + fixed.len() + 64;
        let line = jsonrpc::request_line_with(request, method, length, |line| {
            request::push_params(line, [object, &input], cursor, fixed, &meta);
        });
        let (name, owner) = (params.name.as_deref().filter(|_| !aside), Owner::Call(id));
        let mirrored = if aside { &[] } else { &*call.mirrored };
        let message =
            Outgoing::Request { id: request, method, name, mirrored, line, owner, modern };
        // While the server shows signs of its end nothing is sent: the call waits for the next one.
        let Some(sent) = self.link.send(message) else {
            self.calls.advance(id, Step::Waiting);
            return;
        };
        self.next_request(Waiter::Call(id));
        let token = token.filter(|token| self.calls.book_token(token.clone(), id));
        self.calls.advance(id, Step::Sent { request, token });
        self.tell_of_meta(&meta);
        if let Some(call) = self.calls.get_mut(id)
            && matches!(call.past, Past::Unsent | Past::Refused)
            && !aside
        {
            call.past = Past::Sent;
        }
        self.take_up(sent);
    }
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
