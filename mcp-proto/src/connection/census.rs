//! What a connection holds: for the invariants of [`testing`](crate::testing).

use super::{Asked, Connection, Phase, Waiter};
use crate::TimerReason;

/// How much a connection holds, and whether each thing still has somebody who waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Census {
    /// Calls without an end.
    pub calls: usize,
    /// Requests without an answer.
    pub requests: usize,
    /// Questions to the host without an answer.
    pub questions: usize,
    /// Questions that the server has asked, and answers to them that cannot be sent yet.
    pub server_questions: usize,
    /// Messages that wait until the era is known.
    pub held: usize,
    /// Timers.
    pub timers: usize,
    /// Items in the fullest mailbox.
    pub items: usize,
    /// Bytes in the mailbox that has most of them.
    pub item_bytes: usize,
    /// Notifications that wait for the host.
    pub notifications: usize,
    /// Bytes of these.
    pub notification_bytes: usize,
    /// Pages of the call that has most of them.
    pub pages: usize,
    /// Bytes of the call whose pages have most of them.
    pub page_bytes: usize,
    /// Bytes of what is held of the server's tools.
    pub tool_bytes: usize,
    /// Bytes of unfinished lines, events and bodies, of the source that has most of them.
    pub buffered: usize,
    /// Bytes of answers to the server that it has not read.
    pub reply_bytes: u64,
    /// HTTP exchanges that have not ended.
    pub exchanges: usize,
    /// HTTP exchanges that carry answers to the server and are on their way.
    pub replies: usize,
    /// What nobody waits for any more: requests, tokens, timers and questions of things that have
    /// ended. There should be none, ever.
    pub orphans: Vec<String>,
}

impl Connection {
    /// Counts what the connection holds.
    #[must_use]
    pub fn census(&self) -> Census {
        let server = |asked: &&Asked| matches!(asked, Asked::Server { .. });
        let mut census = Census {
            requests: self.requests.len(),
            questions: self.questions.len(),
            server_questions: self.questions.values().filter(server).count()
                + self.held_answers.len(),
            held: match &self.phase {
                Phase::Starting(start) | Phase::Renewing(start) => start.held.len(),
                Phase::Greeting(greeting) => greeting.held.len(),
                _ => 0,
            },
            timers: self.timers.reasons().count(),
            tool_bytes: self.tools.bytes(),
            notifications: self.notifications.waiting().len(),
            notification_bytes: self.notifications.waiting().bytes(),
            ..Census::default()
        };
        self.calls.census(&mut census);
        self.link.census(&mut census);
        census.orphans.extend(self.orphans());
        census
    }

    fn orphans(&self) -> impl Iterator<Item = String> {
        let starts = self.phase.starts();
        let requests = self.requests.iter().filter(move |(request, waiter)| match waiter {
            Waiter::Discover | Waiter::Initialize => !starts,
            Waiter::Call(id) => !self.calls.waits_for(*id, **request),
        });
        let questions = self.questions.iter().filter(move |(_, asked)| match asked {
            Asked::Meta(id) => !self.calls.asks(*id),
            Asked::Input { call, .. } => !self.calls.asks_for_input(*call),
            Asked::Wait(id) => !self.calls.pauses(*id),
            Asked::Start(_) | Asked::Load => !starts,
            Asked::Save => matches!(self.phase, Phase::Closed(_)),
            Asked::Server { owner, .. } => match owner {
                crate::Owner::Call(id) => !self.calls.contains(*id),
                crate::Owner::Stream | crate::Owner::Connection => {
                    matches!(self.phase, Phase::Idle | Phase::Closed(_))
                }
            },
        });
        let timers = self.timers.reasons().filter(move |reason| match reason {
            TimerReason::Output => true,
            TimerReason::Discover | TimerReason::StartRetry | TimerReason::Load => !starts,
            TimerReason::Start => !starts && !matches!(self.phase, Phase::Greeting(_)),
            TimerReason::Call(id) => !self.calls.contains(*id),
            TimerReason::Retry(id) => !self.calls.pauses(*id),
            TimerReason::Resume(id) => !self.link.resumes(*id),
            TimerReason::Exit | TimerReason::Grace => self.link.at_rest(),
            TimerReason::Exchange(id) => !self.link.has_exchange(*id),
            TimerReason::Stream => self.phase.agreed().is_none(),
        });
        let requests = requests.map(|(id, waiter)| format!("request {id} of {waiter:?}"));
        let questions = questions.map(|(id, asked)| format!("{id}: {asked:?}"));
        let awaited = self.link.awaited().into_iter();
        let awaited = awaited.filter(|request| !self.requests.contains_key(request));
        let awaited = awaited.map(|request| format!("an answer to {request} on the stream"));
        requests
            .chain(questions)
            .chain(awaited)
            .chain(timers.map(|reason| format!("timer {reason:?}")))
    }
}
