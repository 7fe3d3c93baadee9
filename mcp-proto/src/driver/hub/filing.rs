//! Files each output where it belongs. Filing is not performing: whoever holds the lock does it.

use super::super::calls::{Job, Step};
use super::super::tickets::Want;
use super::State;
use crate::interface::{
    ConnectionState, HttpFailure, HttpFailureKind, HttpInput, HttpOutput, Input, Item, Mailbox,
    Output, Owner, Sent, StdioOutput,
};
use crate::{CallId, Error, ExchangeId, Now, ProcessId};

impl State {
    pub(super) fn next_step(&mut self, id: CallId, now: Now) -> Option<Step> {
        if self.calls.item_dealt_with(id) {
            self.connection.handle(Input::Pull(Mailbox::Call(id)), now);
            self.file_outputs(now);
        }
        if let Some(step) = self.calls.take(id) {
            return Some(step);
        }
        if self.gone && self.calls.is_open(id) {
            self.calls.forget(id);
            return Some(Step::Done(Err(Error::driver_gone(false))));
        }
        None
    }

    pub(super) fn hand_in(&mut self, input: Input<'_>, now: Now) {
        if let Input::Http(_, HttpInput::End | HttpInput::Failed(_)) = &input {
            self.wake.append(&mut self.readers);
        }
        if let (Some(tickets), Input::Http(id, HttpInput::End | HttpInput::Failed(_))) =
            (&mut self.tickets, &input)
        {
            tickets.close(*id);
        }
        self.connection.handle(input, now);
    }

    pub(super) fn finished(&self) -> bool {
        let closed = matches!(self.connection.state(), ConnectionState::Closed(_));
        self.gone || (closed && self.connection.at_rest())
    }

    /// Whether the driver has to take a turn.
    pub(super) fn is_due(&mut self) -> bool {
        let deadline = self.connection.poll_timeout().map(|deadline| deadline.at);
        let nearer = deadline.is_some_and(|at| self.told.is_none_or(|told| at < told));
        std::mem::take(&mut self.due) || nearer
    }

    pub(super) fn file_outputs(&mut self, now: Now) {
        while let Some(output) = self.connection.poll_output() {
            match output {
                Output::Stdio(process, output) => {
                    self.due = true;
                    self.file_work(process, output);
                }
                Output::Http(id, owner, output) if self.tickets.is_some() => {
                    self.file_ticket(id, owner, output, now);
                }
                Output::Http(id, owner, output) => {
                    self.due = true;
                    self.exchanges.push_back((id, owner, output));
                }
                Output::Ask(question, owner, what) => {
                    let waker = match owner {
                        Owner::Call(id) => self.calls.file(id, Step::Ask(question, what)),
                        Owner::Stream | Owner::Connection => {
                            self.calls.job(Job::Ask(None, question, what))
                        }
                    };
                    self.wake.extend(waker);
                }
                Output::Withdraw(question, owner) => {
                    let waker = match owner {
                        Owner::Call(id) => self.calls.file(id, Step::Withdrawn(question)),
                        Owner::Stream | Owner::Connection => self.calls.withdraw(question),
                    };
                    self.wake.extend(waker);
                }
                Output::Item(Mailbox::Call(id), item) => {
                    self.wake.extend(self.calls.file(id, Step::Item(item)));
                }
                Output::Item(Mailbox::Host, item) => {
                    if let Item::Notification(notification) = *item {
                        self.notification = Some(Box::new(notification));
                        self.wake.extend(self.listener.take());
                    }
                }
                Output::Done(id, done) => {
                    self.wake.extend(self.calls.file(id, Step::Done(done)));
                }
                Output::Connection(_) => {
                    self.wake.append(&mut self.observers);
                    self.wake.extend(self.calls.handler.take());
                    self.wake.extend(self.listener.take());
                    self.due = true;
                }
                Output::Resend(..) => {}
                Output::Event(event) => self.events.push_back(event),
            }
        }
    }

    /// Files what is to be done with an exchange where each is performed by itself.
    pub(super) fn file_ticket(
        &mut self,
        id: ExchangeId,
        owner: Owner,
        output: HttpOutput,
        now: Now,
    ) {
        let Some(tickets) = &mut self.tickets else { return };
        let want = match output {
            HttpOutput::Send(request) => {
                let ticket = tickets.open(id, owner, request);
                match owner {
                    Owner::Call(call) if self.calls.is_attached(call) => {
                        self.wake.extend(self.calls.file(call, Step::Exchange(ticket)));
                    }
                    _ => {
                        tickets.queue(ticket);
                        self.due = true;
                    }
                }
                return;
            }
            HttpOutput::Release => Want::Rest,
            HttpOutput::Abort => Want::Nothing,
        };
        if let Owner::Call(call) = owner {
            self.calls.drop_exchange(call, id);
        }
        if let Ok(waker) = tickets.reduce(id, want) {
            self.wake.extend(waker);
        } else {
            // Nobody had begun it, or whoever had is gone: then it is over by now.
            let failure = HttpFailure::new(HttpFailureKind::Aborted, Sent::None, false, "");
            self.hand_in(Input::Http(id, HttpInput::Failed(failure)), now);
        }
    }

    /// Bytes that follow bytes of the same process are joined, so that one write takes them all.
    pub(super) fn file_work(&mut self, process: ProcessId, output: StdioOutput) {
        if let StdioOutput::Write(bytes) = &output
            && let Some((last, StdioOutput::Write(queued))) = self.work.back_mut()
            && *last == process
        {
            queued.extend_from_slice(bytes);
            return;
        }
        self.work.push_back((process, output));
    }
}
