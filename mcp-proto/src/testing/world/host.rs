//! What the host does.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::World;
use crate::op::{CallTool, Connect, CustomRequest, ListTools, Operation, Ping};
use crate::testing::{Answering, CALL_KEY, CallKind, Rule};
use crate::{
    Answer, ApiMisuse, CallId, CallOptions, ErasedCall, Error, Hearing, Input, Reply, Setting,
};

impl World {
    pub(super) fn begin(
        &mut self,
        kind: CallKind,
        progress: bool,
        timeout: Option<Duration>,
    ) -> CallId {
        self.next_call += 1;
        let id = CallId::new(self.next_call);
        let mut options = CallOptions { timeout, progress, ..CallOptions::default() };
        options.meta.insert(String::from(CALL_KEY), Value::from(id.number()));
        match erased(kind, id, options) {
            Ok(call) => {
                self.calls.insert(id, kind);
                self.hand(Input::Start(id, call));
            }
            Err(misuse) => self.report(Rule::Messages, misuse.to_string()),
        }
        id
    }

    /// Does something with one of the open calls, or with one that there is not.
    pub(super) fn with_call(&mut self, which: u8, input: impl Fn(CallId) -> Input<'static>) {
        let at = usize::from(which).checked_rem(self.calls.len());
        let open = at.and_then(|at| self.calls.keys().nth(at).copied());
        self.hand(input(open.unwrap_or(CallId::new(self.next_call + 7))));
    }

    pub(super) fn answer(&mut self, which: u8, how: Answering) {
        let open: Vec<_> = self.invariants.open_questions().collect();
        let at = usize::from(which).checked_rem(open.len());
        let Some(id) = at.and_then(|at| open.get(at).copied()) else {
            let nobodys = crate::QuestionId::new(1_000_000);
            return self.hand(Input::Answer(nobodys, Answer::Failed));
        };
        let elicits = self.performer.elicits(id);
        let answer = match how {
            Answering::Failed => Answer::Failed,
            Answering::Fitting if elicits => Answer::Elicit(json!({ "action": "accept" })),
            Answering::Other if !elicits => Answer::Elicit(json!({ "action": "decline" })),
            Answering::Fitting | Answering::Other => {
                Answer::RequestMeta(members(&[("com.example/trace", which)]))
            }
        };
        self.hand(Input::Answer(id, answer));
    }

    pub(super) fn hear(&mut self, elicitation: bool) {
        let hearing = if elicitation { Hearing::Elicitation } else { Hearing::RequestMeta };
        self.hand(Input::Set(Setting::Hear(hearing)));
    }

    pub(super) fn set_meta(&mut self, what: u8) {
        let meta = members(&[("com.example/run", what), ("progressToken", what)]);
        self.hand(Input::Set(Setting::Meta(meta)));
    }

    /// A call has ended: whoever asked reads the answer.
    pub(super) fn on_done(&mut self, id: CallId, done: Result<Reply, Error>) {
        let Some(kind) = self.calls.remove(&id) else { return };
        let text = done.as_ref().err().map(Error::to_string).unwrap_or_default();
        let read = done.and_then(|reply| decode(kind, id, &reply));
        if let Some(at) = self.sure.iter().position(|sure| *sure == id) {
            self.sure.remove(at);
            if let Err(error) = read {
                self.report(Rule::Heals, format!("{id}, {kind:?}, has no result: {error} {text}"));
            }
        }
    }
}

fn members(of: &[(&str, u8)]) -> Map<String, Value> {
    of.iter().map(|(key, value)| (String::from(*key), Value::from(*value))).collect()
}

fn tool(id: CallId) -> CallTool {
    let mut arguments = members(&[("n", 1)]);
    if id.number().is_multiple_of(4) {
        // Hosts may bring a token of their own.
        arguments.insert(String::from("_meta"), json!({ "progressToken": "own" }));
    }
    CallTool::new("tool", arguments)
}

fn custom() -> CustomRequest {
    CustomRequest::new("example/do", members(&[("n", 2)]))
}

fn erased(kind: CallKind, id: CallId, options: CallOptions) -> Result<ErasedCall, ApiMisuse> {
    match kind {
        CallKind::Connect => ErasedCall::new(&Connect, options),
        CallKind::Ping => ErasedCall::new(&Ping, options),
        CallKind::ListTools => ErasedCall::new(&ListTools, options),
        CallKind::CallTool => ErasedCall::new(&tool(id), options),
        CallKind::Custom => ErasedCall::new(&custom(), options),
    }
}

fn decode(kind: CallKind, id: CallId, reply: &Reply) -> Result<(), Error> {
    match kind {
        CallKind::Connect => Connect.decode(reply).map(drop),
        CallKind::Ping => Ping.decode(reply).map(drop),
        CallKind::ListTools => ListTools.decode(reply).map(drop),
        CallKind::CallTool => tool(id).decode(reply).map(drop),
        CallKind::Custom => custom().decode(reply).map(drop),
    }
}
