//! What the host does.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::World;
use super::performer::Asked;
use crate::interface::WaitAnswer;
use crate::model::{CompletionReference, LoggingLevel, Root};
use crate::op::{
    CallTool, Complete, Connect, CustomRequest, GetPrompt, ListPrompts, ListResourceTemplates,
    ListResources, ListTools, ListToolsPage, Operation, Ping, ReadResource, SetLoggingLevel,
};
use crate::testing::{Answering, CALL_KEY, CallKind, Rule};
use crate::{
    Answer, ApiMisuse, CallId, CallOptions, ErasedCall, Error, ErrorKind, Hearing, Input,
    QuestionId, Reply, Setting,
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
        // Who wants to hear of progress may want everything else that comes before the result.
        let stream = progress && self.next_call.is_multiple_of(3);
        let mut options = CallOptions { timeout, progress, stream, ..CallOptions::default() };
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
        self.answer_one(id, which, how);
    }

    /// Answers this question.
    pub(super) fn answer_one(&mut self, id: QuestionId, which: u8, how: Answering) {
        let answer = match (how, self.performer.asked(id)) {
            (Answering::Failed, _) => Answer::Failed,
            (Answering::Fitting, Asked::Meta) | (Answering::Other, Asked::Elicitation) => {
                Answer::RequestMeta(members(&[("com.example/trace", which)]))
            }
            (Answering::Fitting, Asked::Elicitation) => {
                Answer::Elicit(json!({ "action": "accept", "content": {} }))
            }
            (Answering::Fitting, Asked::Sampling) => Answer::Sample(json!({
                "role": "assistant", "content": { "type": "text", "text": "a" }, "model": "m",
            })),
            (Answering::Fitting, Asked::Wait) => Answer::Wait(match which % 8 {
                0 => WaitAnswer::Cancel,
                1 | 2 => WaitAnswer::Retry,
                _ => WaitAnswer::Pace,
            }),
            (Answering::Other, _) => Answer::Elicit(json!({ "action": "decline" })),
        };
        self.hand(Input::Answer(id, answer));
    }

    pub(super) fn hear(&mut self, elicitation: bool) {
        // A host that answers the one may answer the other, and may tell where servers work.
        let hearing = match (elicitation, self.next_call % 4) {
            (false, _) => Hearing::RequestMeta,
            (true, 0) => Hearing::Sampling,
            (true, 1) => {
                let roots = Root::new("file:///work").into_iter().collect();
                return self.hand(Input::Set(Setting::Roots(roots)));
            }
            (true, 2) => Hearing::Wait,
            (true, _) => Hearing::Elicitation,
        };
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
        // A server may have said, before it healed, that it does not offer this.
        if let Err(error) = read
            && id.number() > self.sure
            && !matches!(error.kind(), ErrorKind::Capability(_))
        {
            self.report(Rule::Heals, format!("{id}, {kind:?}, has no result: {error} {text}"));
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

fn complete() -> Complete {
    let reference = CompletionReference::Prompt { name: String::from("prompt") };
    Complete::new(reference, "argument", "a")
}

fn custom() -> CustomRequest {
    CustomRequest::new("example/do", members(&[("n", 2)]))
}

/// Does something with the operation of this kind.
macro_rules! with_operation {
    ($kind:expr, $id:expr, $it:ident => $does:expr) => {
        match $kind {
            CallKind::Connect => {
                let $it = &Connect;
                $does
            }
            CallKind::Ping => {
                let $it = &Ping;
                $does
            }
            CallKind::ListTools => {
                let $it = &ListTools;
                $does
            }
            CallKind::ListToolsPage => {
                let $it = &ListToolsPage::default();
                $does
            }
            CallKind::CallTool => {
                let $it = &tool($id);
                $does
            }
            CallKind::ListPrompts => {
                let $it = &ListPrompts;
                $does
            }
            CallKind::GetPrompt => {
                let $it = &GetPrompt::new("prompt", Map::new());
                $does
            }
            CallKind::ListResources => {
                let $it = &ListResources;
                $does
            }
            CallKind::ListResourceTemplates => {
                let $it = &ListResourceTemplates;
                $does
            }
            CallKind::ReadResource => {
                let $it = &ReadResource::new("test:a");
                $does
            }
            CallKind::Complete => {
                let $it = &complete();
                $does
            }
            CallKind::SetLoggingLevel => {
                let $it = &SetLoggingLevel(LoggingLevel::Warning);
                $does
            }
            CallKind::Custom => {
                let $it = &custom();
                $does
            }
        }
    };
}

fn erased(kind: CallKind, id: CallId, options: CallOptions) -> Result<ErasedCall, ApiMisuse> {
    with_operation!(kind, id, it => ErasedCall::new(it, options))
}

fn decode(kind: CallKind, id: CallId, reply: &Reply) -> Result<(), Error> {
    with_operation!(kind, id, it => it.decode(reply).map(drop))
}
