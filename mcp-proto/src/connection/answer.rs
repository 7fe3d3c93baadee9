//! The answers to a call's requests: results, pages, errors.

use alloc::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{Fetch, Judged, Step};
use super::{Connection, request};
use crate::error::{CloseReason, PeerError, ServerError};
use crate::interface::{Output, Owner, ResendReason};
use crate::op::Spec;
use crate::wire::{json_trouble, scan};
use crate::{CallId, Era, ErrorKind, ProtocolVersion, Raw, Reply, TimerReason};

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
    pub(super) fn on_call_answer(&mut self, id: CallId, outcome: Result<Raw, ServerError>) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        match outcome {
            outcome if call.judged == Judged::Asks => self.on_judged(id, outcome),
            outcome if matches!(call.fetch, Fetch::Out(_)) => self.on_fetched(id, outcome),
            Err(error) => self.on_server_error(id, error),
            Ok(result) => {
                let spec = call.erased.spec;
                if call.method() == "server/discover" {
                    self.discovered(&result);
                }
                match read_result(&result, self.is_modern(), spec) {
                    Err(kind) => self.end_call(id, kind),
                    Ok(Next::Input) => self.on_input_required(id, &result),
                    Ok(Next::Page(next)) => self.on_page(id, result, next),
                    Ok(Next::End) => self.arrived(id, vec![result]),
                }
            }
        }
    }

    fn on_server_error(&mut self, id: CallId, error: ServerError) {
        let version = self.known.as_ref().map(|info| info.version);
        let offered = || ProtocolVersion::mutual(&error.supported_versions(), Era::Modern);
        // The refusal proves that nothing ran, and names the version that was sent: once more.
        if error.code == -32022
            && offered() == version
            && let Some(call) = self.calls.get_mut(id)
            && call.spent.resend(ResendReason::Version, 1)
        {
            return self.send_again(id, ResendReason::Version);
        }
        if !self.refreshes(id, &error) {
            self.end_call(id, ErrorKind::Server(Box::new(error)));
        }
    }

    /// A page of a list has come: the next one is asked for, within the bounds.
    fn on_page(&mut self, id: CallId, page: Raw, next: Option<Raw>) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.spent.next_page();
        let fault = match call.pages.take(page, next, &self.config) {
            Ok(Some(pages)) => return self.arrived(id, pages),
            Ok(None) => {
                self.calls.advance(id, Step::Waiting);
                return self.send_next(id);
            }
            Err(fault) => fault,
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
        let (server, mirrors) = (Arc::clone(&self.server), self.mirrors());
        Some(Reply { pages, info, server, mirrors })
    }

    /// The result is here. It is handed on once the items that came before it were taken.
    pub(super) fn arrived(&mut self, id: CallId, pages: Vec<Raw>) {
        self.learn_tools(id, &pages);
        let Some(reply) = self.reply(pages) else {
            return;
        };
        if let Some(level) = self.calls.get(id).and_then(|call| call.erased.params.level) {
            self.level = request::level_meta(level);
        }
        self.calls.advance(id, Step::Arrived(reply));
        self.end_if_taken(id);
    }

    pub(super) fn end_if_taken(&mut self, id: CallId) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        if !matches!(call.step, Step::Arrived(_)) || !call.items.is_empty() {
            return;
        }
        // What the server asked on the call's stream and was not told is asked no more.
        self.withdraw_all(Owner::Call(id));
        let Some(call) = self.calls.remove(id) else { return };
        if let Step::Arrived(reply) = call.step {
            self.timers.clear(TimerReason::Call(id));
            self.outputs.push_back(Output::Done(id, Ok(reply)));
        }
    }
}

/// What follows a result.
pub(super) enum Next {
    /// Nothing: it is all of it.
    End,
    /// It is a page of a list, and this is the cursor of the next one.
    Page(Option<Raw>),
    /// The server wants input before it answers.
    Input,
}

/// Reads what decides about a result: its type and its cursor (specification: basic,
/// "ResultType"; server/utilities/pagination).
pub(super) fn read_result(result: &Raw, modern: bool, spec: &Spec) -> Result<Next, ErrorKind> {
    let (paged, may_ask) = (spec.paged.is_some(), spec.may_ask);
    let wrong = |why: String| Err(ErrorKind::Peer(PeerError::Result(why)));
    if !result.as_str().starts_with('{') {
        return wrong(String::from("it is no object"));
    }
    if !modern && !paged {
        return Ok(Next::End);
    }
    let [result_type, next_cursor] = peek(result.as_str())?;
    if let Some(kind) = result_type.filter(|kind| modern && *kind != r#""complete""#) {
        match serde_json::from_str::<String>(kind).as_deref() {
            Ok("complete") => {}
            Ok("input_required") if may_ask => return Ok(Next::Input),
            Ok("input_required") => return Err(ErrorKind::Peer(PeerError::InputRequired)),
            Ok(other) => {
                let other = crate::text::excerpt(other);
                return Err(ErrorKind::Peer(PeerError::ResultType(other)));
            }
            Err(_) => return wrong(String::from("its resultType is no text")),
        }
    }
    match next_cursor.filter(|_| paged) {
        None if paged => Ok(Next::Page(None)),
        None => Ok(Next::End),
        // It is sent back as it came, so it must be what it seems to be.
        Some(cursor) if serde_json::from_str::<String>(cursor).is_ok() => {
            Ok(Next::Page(Some(result.cut(cursor))))
        }
        Some(_) => wrong(String::from("its nextCursor is no text")),
    }
}
