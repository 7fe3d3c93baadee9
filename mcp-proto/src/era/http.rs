//! What the answers of HTTP decide about the era (specification: basic/transports/streamable-http,
//! "Backward Compatibility").
//!
//! | The question met | What follows |
//! | --- | --- |
//! | 401, 403 | an authorization error; the era stays open |
//! | 5xx, no connection, a time that ran out | a connection error, after retries; the era stays open |
//! | a JSON-RPC error that only modern servers send | modern |
//! | any other JSON-RPC error, any other 4xx, an answer that is of no use | `initialize` |
//! | the same to `initialize` | HTTP+SSE and plain HTTP, which are not built yet |

use std::time::Duration;

use super::{Start, Verdict};
use crate::error::Attempt;
use crate::transport::Failure;
use crate::{EraChoice, ErrorKind, TransportError};

/// How transient failures are met during a start.
#[derive(Debug)]
pub(super) struct Retries {
    most: u32,
    backoff: Duration,
    /// How often each question was asked again.
    discover: u32,
    initialize: u32,
    /// What is asked again after the pause.
    again: Option<Question>,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    Discover,
    Initialize,
}

/// How long the pause is before something is sent for the n-th time again, counted from 0.
pub(crate) fn backoff(first: Duration, n: u32) -> Duration {
    first.saturating_mul(1 << n.min(30))
}

impl Retries {
    pub(super) fn new((most, backoff): (u32, Duration)) -> Self {
        Retries { most, backoff, discover: 0, initialize: 0, again: None }
    }

    /// How long to wait before a question is asked again, if it may be.
    fn pause(&mut self, question: Question) -> Option<Duration> {
        let asked = match question {
            Question::Discover => &mut self.discover,
            Question::Initialize => &mut self.initialize,
        };
        if *asked == self.most {
            return None;
        }
        let pause = backoff(self.backoff, *asked);
        *asked += 1;
        self.again = Some(question);
        Some(pause)
    }
}

impl Start {
    /// A question has no answer, although there is something at the address.
    pub(crate) fn http_failed(&mut self, initialize: bool, failure: Failure) -> Verdict {
        let waits = if initialize {
            self.asked.waits_for_initialize()
        } else {
            self.asked.waits_for_discover()
        };
        if !waits {
            return Verdict::Wait;
        }
        let question = if initialize { Question::Initialize } else { Question::Discover };
        if failure.is_transient()
            && let Some(pause) = self.retries.as_mut().and_then(|retries| retries.pause(question))
        {
            return Verdict::Pause(pause);
        }
        let decides = matches!(
            failure,
            Failure::Status { status: 400 | 402 | 404..=499, .. }
                | Failure::Unusable(_)
                | Failure::TooLarge
                | Failure::Ended
                | Failure::SessionGone
        );
        if !decides {
            return Verdict::Fail(ErrorKind::Transport(TransportError::Http(failure.fault())));
        }
        let met = failure.fault().to_string();
        if initialize { self.initialize_failed(met) } else { self.discover_failed(met) }
    }

    /// The pause before a question is asked again is over.
    pub(crate) fn ask_again(&mut self) -> Verdict {
        let again = self.retries.as_mut().and_then(|retries| retries.again.take());
        match again {
            Some(Question::Discover) => self.ask_discover(),
            Some(Question::Initialize) => self.initialize(self.greeted_with),
            None => Verdict::Wait,
        }
    }

    /// The older ways over HTTP come after `initialize`. Whoever reads that all has failed has to
    /// know that they were not tried.
    pub(super) fn note_unbuilt_attempts(&mut self) {
        if self.retries.is_some() && self.choice == EraChoice::Auto {
            let met = || String::from("not built in this version");
            self.attempts.push(Attempt { method: "HTTP+SSE", met: met() });
            self.attempts.push(Attempt { method: "plain HTTP", met: met() });
        }
    }
}
