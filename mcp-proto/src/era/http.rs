//! What the answers of HTTP decide about the era (specification: basic/transports/streamable-http,
//! "Backward Compatibility").
//!
//! | The question met | What follows |
//! | --- | --- |
//! | 401, 403 | an authorization error; the era stays open |
//! | 5xx, no connection, a time that ran out | a connection error, after retries; the era stays open |
//! | a JSON-RPC error that only modern servers send | modern |
//! | any other JSON-RPC error, any other 4xx, an answer that is of no use | `initialize` |
//! | 400, 404, 405 to `initialize` too | the next transport, where the address leaves it open |
//! | anything else to `initialize` | an error that tells what was tried |
//!
//! An address that leaves it open is tried with Streamable HTTP, then HTTP+SSE, whose stream must
//! begin with the event `endpoint`, then plain HTTP.

use std::time::Duration;

use super::{Asked, Start, Told, Verdict};
use crate::config::HttpConfig;
use crate::transport::Failure;
use crate::{EraChoice, ErrorKind, HttpTransport, TransportError};

/// What is tried over HTTP during a start, and how transient failures are met.
#[derive(Debug)]
pub(crate) struct Tries {
    transports: Vec<HttpTransport>,
    /// Which of them is tried.
    at: usize,
    /// What the last question met lets the next transport be tried.
    moves_on: bool,
    config: HttpConfig,
    /// How often each question was asked again.
    again: [u32; 3],
    /// What is asked again after the pause.
    next: Option<Question>,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    Discover,
    Initialize,
    Events,
}

/// How long the pause is before something is sent for the n-th time again, counted from 0.
pub(crate) fn backoff(first: Duration, n: u32) -> Duration {
    first.saturating_mul(1 << n.min(30))
}

impl Tries {
    /// Tries these transports, with what the host has said about failures.
    pub(crate) fn new(transports: &[HttpTransport], config: &HttpConfig) -> Self {
        Tries {
            transports: transports.to_vec(),
            at: 0,
            moves_on: false,
            config: config.clone(),
            again: [0; 3],
            next: None,
        }
    }

    fn transport(&self) -> HttpTransport {
        self.transports.get(self.at).copied().unwrap_or(HttpTransport::Streamable)
    }

    /// The transport, where there are several.
    pub(super) fn over_which(&self) -> Option<HttpTransport> {
        (self.transports.len() > 1).then(|| self.transport())
    }

    /// How long to wait before a question is asked again, if it may be.
    fn pause(&mut self, question: Question) -> Option<Duration> {
        let most = self.config.retries_over(self.transport());
        let asked = self.again.get_mut(question as usize)?;
        if *asked >= most {
            return None;
        }
        let pause = backoff(self.config.backoff, *asked);
        *asked += 1;
        self.next = Some(question);
        Some(pause)
    }
}

impl Start {
    /// The transport that is tried.
    pub(crate) fn over(&self) -> Option<HttpTransport> {
        self.http.as_ref().map(Tries::transport)
    }

    pub(super) fn open_events(&mut self) -> Verdict {
        self.asked = Asked::Events;
        Verdict::OpenEvents
    }

    /// The stream of HTTP+SSE is there.
    pub(crate) fn events_opened(&mut self) -> Verdict {
        if self.asked == Asked::Events { self.initialize(None) } else { Verdict::Wait }
    }

    /// The stream of HTTP+SSE is not to be had. What says that the server does not offer it lets the
    /// next transport be tried.
    pub(crate) fn events_failed(&mut self, failure: Failure) -> Verdict {
        if self.asked != Asked::Events {
            return Verdict::Wait;
        }
        if let Some(pause) = self.pause(Question::Events, &failure) {
            return Verdict::Pause(pause);
        }
        let decides = matches!(
            failure,
            Failure::Status { status: 400 | 402 | 404..=499 | 501, .. }
                | Failure::Unusable(_)
                | Failure::TooLarge
                | Failure::Ended
                | Failure::Redirect { .. }
        );
        if !decides || !self.is_open_choice() {
            return Verdict::Fail(ErrorKind::Transport(TransportError::Http(failure.fault())));
        }
        self.attempt("GET", failure.fault().to_string());
        self.moves_on(true);
        self.give_up()
    }

    fn is_open_choice(&self) -> bool {
        self.http.as_ref().is_some_and(|http| http.transports.len() > 1)
    }

    fn pause(&mut self, question: Question, failure: &Failure) -> Option<Duration> {
        self.http.as_mut().filter(|_| failure.is_transient())?.pause(question)
    }

    fn moves_on(&mut self, moves_on: bool) {
        if let Some(http) = &mut self.http {
            http.moves_on =
                moves_on && (http.transport() != HttpTransport::Sse || self.asked == Asked::Events);
        }
    }

    /// The server has refused a question with this status, or with an error under a success.
    pub(crate) fn refused(&mut self, status: Option<u16>) {
        self.moves_on(matches!(status, Some(400 | 404 | 405)));
    }

    /// The next transport, if there is one and the answers leave it open. Everything begins anew
    /// over it.
    pub(super) fn next_transport(&mut self) -> Option<HttpTransport> {
        let modern = self.choice == EraChoice::Modern;
        let http = self.http.as_mut().filter(|http| http.moves_on)?;
        // HTTP+SSE knows no modern revision.
        let fits = |it: &HttpTransport| !(modern && *it == HttpTransport::Sse);
        let skipped = http.transports.iter().skip(http.at + 1).position(fits)?;
        http.at += 1 + skipped;
        (http.moves_on, http.again, http.next) = (false, [0; 3], None);
        let next = http.transport();
        (self.asked, self.told, self.initialize_retried) = (Asked::Nothing, Told::Nothing, false);
        self.held.take();
        Some(next)
    }

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
        if let Some(pause) = self.pause(question, &failure) {
            return Verdict::Pause(pause);
        }
        let status = if let Failure::Status { status, .. } = failure { Some(status) } else { None };
        self.refused(status);
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
        let again = self.http.as_mut().and_then(|http| http.next.take());
        match again {
            Some(Question::Discover) => self.ask_discover(),
            Some(Question::Initialize) => self.initialize(self.greeted_with),
            Some(Question::Events) => self.open_events(),
            None => Verdict::Wait,
        }
    }
}
