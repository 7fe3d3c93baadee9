//! The end: everything heals, and then everything must finish.

use super::{End, World};
use crate::journal;
use crate::testing::{Answering, CallKind, Rule};
use crate::{Era, Input, TimerReason};

/// How many turns everything gets to come to its end. It is far more than any needs.
const TURNS: usize = 5000;

impl World {
    /// The server behaves until the connection is ready, unless they have no era in common.
    pub(super) fn come_up(&mut self) {
        let id = self.begin(CallKind::Connect, false, None);
        for _ in 0..TURNS {
            self.connected();
            self.settle();
            if !self.calls.contains_key(&id) || self.broken().is_some() {
                return;
            }
            if self.open_questions() > 0 {
                self.answer(0, Answering::Fitting);
            } else if let Some(message) = self.peer.take(0) {
                self.answer_well(&message);
            } else {
                self.next_moment();
            }
        }
    }

    /// Heals everything, lets all calls end, makes new ones, which must have results, closes the
    /// connection, and looks at what is left.
    pub fn finish(mut self) -> End {
        self.say(|| String::from("# everything heals"));
        self.peer.healed = true;
        (self.peer.hung, self.peer.blind, self.peer.down) = (None, None, None);
        self.run();
        if self.state_allows() {
            // What was begun with a server that lied may fail once more.
            self.every_kind();
            self.sure = self.next_call;
            self.every_kind();
        }
        self.hand(Input::Close);
        self.run();
        self.invariants.end(&self.connection);
        self.check_journal();
        End {
            violation: self.invariants.broken().cloned(),
            digest: self.digest,
            inputs: self.inputs,
            met: self.met,
            trace: self.trace.unwrap_or_default(),
        }
    }

    /// Whether there can be a result: not after the end.
    fn state_allows(&self) -> bool {
        !matches!(self.connection.state(), crate::ConnectionState::Closed(_))
    }

    fn every_kind(&mut self) {
        for kind in CallKind::ALL {
            self.begin(kind, kind == CallKind::CallTool, None);
        }
        self.run();
    }

    /// Everybody does what is expected of them, until nothing is left to do.
    fn run(&mut self) {
        for _ in 0..TURNS {
            // What is begun here goes on in the next turn, before any time passes.
            let before = self.inputs;
            self.connected();
            self.settle();
            if self.broken().is_some() {
                return;
            }
            while self.open_questions() > 0 && self.broken().is_none() {
                self.answer(0, Answering::Fitting);
            }
            let waiting: Vec<_> = self.calls.keys().copied().collect();
            for id in waiting {
                if self.connection.census().items > 0 {
                    self.hand(Input::Pull(crate::Mailbox::Call(id)));
                }
            }
            while self.connection.census().notifications > 0 {
                self.hand(Input::Pull(crate::Mailbox::Host));
            }
            while let Some(message) = self.peer.take(0) {
                self.answer_well(&message);
                self.settle();
            }
            while let Some((_, message)) = self.peer.later.pop() {
                self.answer_well(&message);
            }
            if self.inputs != before {
                continue;
            }
            let done = self.calls.is_empty() && self.is_quiet();
            if done || self.moment().is_none() {
                break;
            }
            self.next_moment();
        }
        let open: Vec<_> = self.calls.iter().map(|(id, kind)| format!("{id} {kind:?}")).collect();
        if !open.is_empty() {
            self.report(Rule::Heals, format!("{} will never end", open.join(", ")));
        }
    }

    /// Whether nothing is being started or closed.
    fn is_quiet(&self) -> bool {
        let reason = self.connection.poll_timeout().map(|deadline| deadline.reason);
        let waits = matches!(
            reason,
            Some(
                TimerReason::Start
                    | TimerReason::StartRetry
                    | TimerReason::Discover
                    | TimerReason::Exit
                    | TimerReason::Grace
            )
        );
        !waits
    }

    fn check_journal(&mut self) {
        if self.journal.is_empty() || self.broken().is_some() {
            return;
        }
        let journal = String::from_utf8_lossy(&self.journal);
        if let Err(error) = journal::replay(&journal) {
            self.report(Rule::Journal, error.to_string());
        }
    }

    /// The era of the server as the connection knows it.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.connection.server().map(|info| info.era)
    }
}
