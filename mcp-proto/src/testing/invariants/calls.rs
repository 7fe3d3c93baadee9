//! Calls: each ends once, with its own answer, and is sent as often as is told.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CALL_KEY, Invariants, Last, Open, Rule};
use crate::op::{Params, Spec};
use crate::{CallId, CallOptions, Error, Operation, Reply, ResendReason};

impl Invariants {
    /// A call was begun with [`Connection::start`](crate::Connection::start). To be told before its
    /// outputs are.
    pub fn begins<O: Operation>(&mut self, id: CallId, operation: &O, options: &CallOptions) {
        if let Ok(params) = operation.params() {
            self.on_start(id, operation.spec(), &params, options);
        }
    }

    pub(super) fn on_start(
        &mut self,
        id: CallId,
        spec: &Spec,
        params: &Params,
        options: &CallOptions,
    ) {
        let used = self.ended.contains(&id) || self.calls.contains_key(&id);
        self.check(!used, Rule::EndsOnce, || format!("{id} begins twice"));
        let method = params.method.as_deref().unwrap_or(spec.name);
        let open = Open {
            tool: method == "tools/call",
            idempotent: spec.idempotent,
            paged: spec.paged.is_some(),
            progress: options.wants_progress(),
            marked: options.meta.get(CALL_KEY).and_then(|n| n.as_u64()) == Some(id.number()),
            ..Open::default()
        };
        self.calls.insert(id, open);
    }

    pub(super) fn on_item(&mut self, id: CallId) {
        let wanted = self.calls.get(&id).is_some_and(|call| call.progress);
        self.check(wanted, Rule::EndsOnce, || format!("an item for {id}, which wants none"));
        if matches!(self.last, Last::Pull(of, _) if of == id) {
            self.last = Last::Other;
        }
    }

    pub(super) fn on_done(&mut self, id: CallId, done: &Result<Reply, Error>) {
        let open = self.calls.remove(&id);
        self.check(open.is_some(), Rule::EndsOnce, || format!("{id} ends, but is not open"));
        self.ended.insert(id);
        let asked = self.questions.iter().find(|(_, owner)| **owner == crate::Owner::Call(id));
        if let Some(question) = asked.map(|(question, _)| *question) {
            self.report(Rule::NothingLeft, format!("{id} ends, and {question} stays open"));
        }
        let Some(open) = open else { return };
        let (sends, resends) = (open.sends, open.resends.len());
        let sent_again = sends == resends || sends == resends + 1;
        let counted = open.tool && sends > 0;
        self.check(sent_again || !counted, Rule::Sends, || {
            format!("{id} was sent {sends} times, and {resends} re-sends were told")
        });
        if let Ok(reply) = done {
            self.check_answer(id, reply);
            let bytes = reply.pages.iter().map(crate::Raw::len).sum::<usize>();
            let within = self.bounds.hold_list(reply.pages.len(), bytes);
            self.check(!open.paged || within, Rule::Bounds, || {
                format!("the list of {id} has {} pages and {bytes} bytes", reply.pages.len())
            });
        }
    }

    /// What a server sends back of the call's number and the page's must fit.
    fn check_answer(&mut self, id: CallId, reply: &Reply) {
        for (at, page) in reply.pages.iter().enumerate() {
            let Some(echo) = echo(page.as_str()) else { continue };
            self.check(echo.call == id.number(), Rule::Answers, || {
                format!("{id} ends with the answer to call#{}", echo.call)
            });
            self.check(echo.page.is_none_or(|page| page == at), Rule::Answers, || {
                format!("page {at} of {id} is the server's page {:?}", echo.page)
            });
        }
    }

    pub(super) fn on_resend(&mut self, id: CallId, reason: ResendReason) {
        let retries = self.retries;
        let Some(open) = self.calls.get_mut(&id) else {
            return self.report(Rule::EndsOnce, format!("{id} is sent again after its end"));
        };
        if open.aside && reason == ResendReason::Redirect {
            return;
        }
        open.resends.push(reason);
        let times = open.resends.iter().filter(|it| **it == reason).count();
        let (tool, idempotent) = (open.tool, open.idempotent);
        let asked = |it: &&ResendReason| **it == ResendReason::InputRequired;
        let rounds = 1 + open.resends.iter().filter(asked).count();
        // A list has these bounds for each of its pages, and every call for each of its rounds.
        let most = match reason {
            ResendReason::Version
            | ResendReason::BrokenModernStream
            | ResendReason::HeaderMismatch => 1,
            ResendReason::Redirect => 5 * (2 + retries),
            ResendReason::Retry => retries,
            ResendReason::NewSession => 1,
            ResendReason::InputRequired => 10,
        };
        let of_call = [ResendReason::InputRequired, ResendReason::HeaderMismatch].contains(&reason);
        let most = if of_call { most } else { most * rounds };
        let bounded = times <= most || !tool;
        self.check(bounded, Rule::Sends, || format!("{id}: {reason:?} for the {times}th time"));
        // Only of a modern request does the end of its stream say that the server let go of it.
        let legacy = self.era == Some(crate::Era::Legacy);
        let broken = reason == ResendReason::BrokenModernStream;
        self.check(!(broken && legacy), Rule::Sends, || {
            format!("{id} goes on in the legacy era, and is sent again: {reason:?}")
        });
        let harmless = !matches!(reason, ResendReason::Retry | ResendReason::NewSession);
        self.check(harmless || idempotent, Rule::Sends, || {
            format!("{id} may have run, and is sent again: {reason:?}")
        });
    }

    /// A request of this call was sent; `begins`: for the first time, and for no later page.
    pub(super) fn on_sent(&mut self, id: CallId, method: &str, begins: bool) {
        let Some(open) = self.calls.get_mut(&id) else {
            return self
                .report(Rule::EndsOnce, format!("{method} is sent for {id}, which is over"));
        };
        open.aside = open.tool && method == "tools/list";
        if open.aside {
            open.lists += usize::from(begins);
            let (lists, sends) = (open.lists, open.sends);
            return self.check(lists <= 1 && sends > 0, Rule::Sends, || {
                format!("{id} lists the tools for the {lists}th time, and was sent {sends} times")
            });
        }
        open.sends += 1;
        // The answer to another request has a rest of its own.
        open.rests = 0;
        let (tool, sends, resends) = (open.tool, open.sends, open.resends.len());
        self.check(!tool || sends <= 1 + resends, Rule::Sends, || {
            format!("{method} of {id} is sent {sends} times after {resends} re-sends")
        });
    }

    pub(super) fn is_marked(&self, id: CallId) -> bool {
        self.calls.get(&id).is_none_or(|call| call.marked)
    }
}

/// What a server sent back.
#[derive(Deserialize)]
struct Echo {
    call: u64,
    page: Option<usize>,
}

fn echo(page: &str) -> Option<Echo> {
    #[derive(Deserialize)]
    struct Result<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "test.peer/echo")]
        echo: &'a RawValue,
    }
    if !page.contains(super::ECHO_KEY) {
        return None;
    }
    let result: Result<'_> = serde_json::from_str(page).ok()?;
    serde_json::from_str(result.meta.echo.get()).ok()
}
