//! What waits for the host: the steps of calls, and the jobs of the handler.

use core::task::{Context, Poll, Waker};
use std::collections::{BTreeMap, VecDeque};

use super::tickets::Ticket;
use crate::interface::{Item, Question};
use crate::{CallId, Error, ExchangeId, QuestionId, Reply};

/// What a call brings to the one who waits for it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// An item. Asking for the next step says that this one has been dealt with.
    Item(Box<Item>),
    /// A question. The answer goes to [`Hub::answer`](super::Hub::answer).
    Ask(QuestionId, Question),
    /// The question needs no answer any more.
    Withdrawn(QuestionId),
    /// An HTTP exchange that the caller is to perform, after [`Hub::use_tickets`](super::Hub::use_tickets).
    Exchange(Ticket),
    /// The end.
    Done(Result<Reply, Error>),
}

/// What runs on the handler: what belongs to no caller, or to a call that nobody waits in.
#[derive(Debug)]
#[non_exhaustive]
pub enum Job {
    /// An item of a call. [`Hub::item_done`](super::Hub::item_done) says that it was dealt with.
    Item(CallId, Box<Item>),
    /// A question, of a call or of the connection (`None`). The answer goes to
    /// [`Hub::answer`](super::Hub::answer).
    Ask(Option<CallId>, QuestionId, Question),
    /// The question needs no answer any more.
    Withdrawn(QuestionId),
}

/// The calls that have begun and whose end nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: BTreeMap<CallId, Slot>,
    /// Jobs for the handler.
    pub(super) jobs: VecDeque<Job>,
    pub(super) handler: Option<Waker>,
}

#[derive(Debug)]
struct Slot {
    /// Whether its items and questions go to the caller rather than to the handler.
    attached: bool,
    steps: VecDeque<Step>,
    /// An item was handed to the caller or to the handler, who has not asked for more yet.
    item_out: bool,
    done: Option<Result<Reply, Error>>,
    waker: Option<Waker>,
}

impl Calls {
    pub(super) fn open(&mut self, id: CallId, attached: bool) {
        let slot =
            Slot { attached, steps: VecDeque::new(), item_out: false, done: None, waker: None };
        self.slots.insert(id, slot);
    }

    /// Files a step, and returns whom to wake.
    pub(super) fn file(&mut self, id: CallId, step: Step) -> Option<Waker> {
        let slot = self.slots.get_mut(&id)?;
        match step {
            Step::Done(done) => {
                slot.done = Some(done);
                slot.waker.take()
            }
            step if slot.attached => {
                // A question that was withdrawn before anyone saw it is never shown.
                if let Step::Withdrawn(gone) = step {
                    let before = slot.steps.len();
                    slot.steps.retain(|s| !matches!(s, Step::Ask(q, _) if *q == gone));
                    if slot.steps.len() < before {
                        return None;
                    }
                }
                slot.steps.push_back(step);
                slot.waker.take()
            }
            Step::Item(item) => {
                slot.item_out = true;
                self.job(Job::Item(id, item))
            }
            Step::Ask(question, what) => self.job(Job::Ask(Some(id), question, what)),
            Step::Withdrawn(question) => self.withdraw(question),
            // Only those of attached calls are filed here.
            Step::Exchange(_) => None,
        }
    }

    /// Whether the exchanges of a call go to the caller.
    pub(super) fn is_attached(&self, id: CallId) -> bool {
        self.slots.get(&id).is_some_and(|slot| slot.attached)
    }

    /// An exchange that the caller has not begun is not wanted any more.
    pub(super) fn drop_exchange(&mut self, id: CallId, gone: ExchangeId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.steps.retain(|s| !matches!(s, Step::Exchange(ticket) if ticket.id == gone));
        }
    }

    /// Files a job for the handler, and returns whom to wake.
    pub(super) fn job(&mut self, job: Job) -> Option<Waker> {
        self.jobs.push_back(job);
        self.handler.take()
    }

    /// Takes a question back from the handler.
    pub(super) fn withdraw(&mut self, gone: QuestionId) -> Option<Waker> {
        let before = self.jobs.len();
        self.jobs.retain(|job| !matches!(job, Job::Ask(_, q, _) if *q == gone));
        if self.jobs.len() < before { None } else { self.job(Job::Withdrawn(gone)) }
    }

    /// The next step of a call. `None` when there is none yet.
    pub(super) fn take(&mut self, id: CallId) -> Option<Step> {
        let slot = self.slots.get_mut(&id)?;
        if let Some(step) = slot.steps.pop_front() {
            slot.item_out = matches!(step, Step::Item(_));
            return Some(step);
        }
        let done = slot.done.take()?;
        self.slots.remove(&id);
        Some(Step::Done(done))
    }

    /// Whether the caller has just dealt with an item, so that the next one can be pulled.
    pub(super) fn item_dealt_with(&mut self, id: CallId) -> bool {
        self.slots.get_mut(&id).is_some_and(|slot| std::mem::take(&mut slot.item_out))
    }

    /// The handler has dealt with an item: whoever waits for the end of its call may have it now.
    pub(super) fn item_shown(&mut self, id: CallId) -> Option<Waker> {
        let slot = self.slots.get_mut(&id)?;
        slot.item_out = false;
        slot.waker.take_if(|_| slot.done.is_some())
    }

    /// The end of a call, whatever else waits.
    pub(super) fn take_done(&mut self, id: CallId) -> Option<Result<Reply, Error>> {
        let done = self.slots.get_mut(&id)?.done.take()?;
        self.slots.remove(&id);
        Some(done)
    }

    /// The end of a call whose items go to the handler, for one who waits for it: a result comes
    /// after the items before it. One that the handler has not begun with is handed out.
    pub(super) fn take_last(&mut self, id: CallId) -> Option<Step> {
        let slot = self.slots.get(&id)?;
        if matches!(slot.done, Some(Ok(_))) && slot.item_out {
            let of_it = |job: &Job| matches!(job, Job::Item(of, _) if *of == id);
            let queued = self.jobs.iter().position(of_it).and_then(|at| self.jobs.remove(at));
            let Some(Job::Item(_, item)) = queued else { return None };
            return Some(Step::Item(item));
        }
        self.take_done(id).map(Step::Done)
    }

    /// Whether a call has ended. If not, this is who is woken when it does.
    pub(super) fn has_ended(&mut self, id: CallId, waker: &Waker) -> bool {
        let ended = self.slots.get(&id).is_some_and(|slot| slot.done.is_some());
        if !ended {
            self.wait(id, waker);
        }
        ended
    }

    /// Whether an item is with the caller, who has not asked for more since.
    pub(super) fn item_is_out(&self, id: CallId) -> bool {
        self.slots.get(&id).is_some_and(|slot| slot.item_out)
    }

    /// Takes something of a call's, or remembers whom to wake when there is more of it.
    pub(super) fn poll<T>(
        &mut self,
        id: CallId,
        cx: &Context<'_>,
        take: fn(&mut Self, CallId) -> Option<T>,
    ) -> Poll<T> {
        match take(self, id) {
            Some(taken) => Poll::Ready(taken),
            None => {
                self.wait(id, cx.waker());
                Poll::Pending
            }
        }
    }

    /// Remembers whom to wake. `false` when the call is unknown or its end was taken.
    pub(super) fn wait(&mut self, id: CallId, waker: &Waker) -> bool {
        match self.slots.get_mut(&id) {
            Some(slot) => {
                match &mut slot.waker {
                    Some(old) => old.clone_from(waker),
                    none => *none = Some(waker.clone()),
                }
                true
            }
            None => false,
        }
    }

    /// Forgets whom to wake.
    pub(super) fn hush(&mut self, id: CallId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.waker = None;
        }
    }

    /// Forgets a call. `true` when it has not ended yet.
    pub(super) fn forget(&mut self, id: CallId) -> bool {
        self.jobs
            .retain(|job| !matches!(job, Job::Item(of, _) | Job::Ask(Some(of), _, _) if *of == id));
        self.slots.remove(&id).is_some_and(|slot| slot.done.is_none())
    }

    pub(super) fn is_open(&self, id: CallId) -> bool {
        self.slots.contains_key(&id)
    }

    /// Ends all calls that have not ended.
    pub(super) fn end_all(&mut self, error: impl Fn() -> Error) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for slot in self.slots.values_mut() {
            if slot.done.is_none() {
                slot.steps.clear();
                slot.done = Some(Err(error()));
                wakers.extend(slot.waker.take());
            }
        }
        wakers.extend(self.handler.take());
        wakers
    }
}
