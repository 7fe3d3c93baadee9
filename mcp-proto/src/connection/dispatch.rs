//! Hands each thing that happened to the machine whose business it is.

use std::time::Duration;

use super::Connection;
use super::phase::{Phase, Waiter};
use crate::interface::{HttpInput, Output, StdioInput};
use crate::transport::{Failure, Happening, Link};
use crate::{EXIT_WAIT, ExchangeId, ProcessId, TimerReason};

impl Connection {
    pub(super) fn on_timers(&mut self) {
        let early = Duration::from_nanos(u64::from(self.config.doctored(13)));
        while let Some(reason) = self.timers.pop(self.now.mono.saturating_sub(early)) {
            match reason {
                TimerReason::Output => {}
                TimerReason::Discover => self.on_discover_timeout(),
                TimerReason::Load => self.on_loaded(None),
                TimerReason::Start => self.on_start_timeout(),
                TimerReason::StartRetry => self.on_start_retry(),
                TimerReason::Call(id) => self.on_call_timeout(id),
                TimerReason::Retry(id) => self.on_retry(id),
                TimerReason::Exit => {
                    let happened = self.link.exit_awaited();
                    self.take_up(happened);
                }
                TimerReason::Grace => {
                    let happened = self.link.grace_over();
                    self.take_up(happened);
                }
                TimerReason::Exchange(id) => {
                    let happened = self.link.overdue(id);
                    self.take_up(happened);
                }
                TimerReason::Resume(id) => {
                    let happened = self.link.resume(id);
                    self.take_up(happened);
                }
                TimerReason::Stream => self.on_stream_timer(),
            }
        }
    }

    pub(super) fn on_stdio(&mut self, id: ProcessId, input: StdioInput<'_>) {
        if let StdioInput::Stdout(mut bytes) = input {
            while let Link::Stdio(stdio) = &mut self.link
                && let Some(line) = stdio.line(id, &mut bytes)
            {
                self.take_up([Happening::from(line)]);
                if self.config.doctored(8) {
                    break;
                }
            }
        } else if let Link::Stdio(stdio) = &mut self.link {
            let happened = stdio.handle(id, &input);
            self.take_up(happened);
        }
    }

    pub(super) fn on_http(&mut self, id: ExchangeId, input: HttpInput<'_>) {
        if let HttpInput::Body(mut bytes) = input {
            let comes = if let Link::Http(http) = &mut self.link { http.comes(id) } else { None };
            self.take_up(comes);
            while let Link::Http(http) = &mut self.link
                && let Some(happened) = http.read(id, &mut bytes)
            {
                self.take_up(happened);
            }
        } else if let Link::Http(http) = &mut self.link {
            let happened = http.handle(id, input);
            self.take_up(happened);
        }
    }

    pub(super) fn take_up(&mut self, happened: impl IntoIterator<Item = Happening>) {
        for happening in happened {
            match happening {
                Happening::Text(text, from) => self.on_text(text, from),
                Happening::Bad { why, bytes, answers } => self.on_bad(why, bytes, answers),
                Happening::Event(event) => self.event(event),
                Happening::Do(id, output) => self.outputs.push_back(Output::Stdio(id, output)),
                Happening::Http(id, owner, output) => {
                    self.outputs.push_back(Output::Http(id, owner, output));
                }
                Happening::Resent(request, reason) => {
                    if let Some(Waiter::Call(id)) = self.requests.get(&request) {
                        self.outputs.push_back(Output::Resend(*id, reason));
                    }
                }
                Happening::Failed(request, failure) => self.on_failure(request, failure),
                Happening::Delivered(outcome) => self.on_delivered(outcome),
                Happening::SessionLost => self.renew_session(),
                Happening::EventsOpened => self.on_events_opened(),
                Happening::EventsFailed(failure) => self.on_events_failed(failure),
                Happening::Await(id, time) => {
                    let time = time.unwrap_or_else(|| self.call_timeout());
                    self.set_timer(TimerReason::Exchange(id), time);
                }
                Happening::Connects(request, connects) => self.on_connects(request, connects),
                Happening::StreamSettled => self.on_stream_settled(),
                Happening::AwaitStream(pause) => self.await_stream(pause),
                Happening::AwaitResume(call, after) => self.await_resume(call, after),
                Happening::Ended(id) => self.timers.clear(TimerReason::Exchange(id)),
                Happening::AwaitExit => self.set_timer(TimerReason::Exit, EXIT_WAIT),
                Happening::AwaitGrace(time) => self.set_timer(TimerReason::Grace, time),
                Happening::Lost(error) => self.on_lost(error),
                Happening::Gone => {
                    self.timers.clear(TimerReason::Exit);
                    self.timers.clear(TimerReason::Grace);
                }
            }
        }
    }

    /// A request will have no answer, although the server can be spoken with.
    fn on_failure(&mut self, request: u64, failure: Failure) {
        match self.requests.remove(&request) {
            Some(Waiter::Call(id)) => self.on_call_failure(id, failure),
            Some(waiter) => self.on_start_failure(waiter, failure),
            None => {}
        }
    }

    /// Brings what follows from the new state: a start for calls that wait, and the news of a rest.
    pub(super) fn settle(&mut self) {
        self.send_held_answers();
        if !self.link.at_rest() && !self.config.doctored(14) {
            return;
        }
        if self.owes_state {
            self.owes_state = false;
            self.outputs.push_back(Output::Connection(self.state.clone()));
        }
        if self.relaunch_due {
            self.launch_again();
        } else if matches!(self.phase, Phase::Idle)
            && self.calls.any_waiting()
            && !(self.config.doctored(12) && self.known.is_some())
        {
            self.launch();
        }
    }
}
