//! What is known of the server from before: loaded from the host once, kept, and saved with it.

use super::{Asked, Connection};
use crate::era::Learnt;
use crate::interface::{Answer, Hearing, Owner, Question, Stored};
use crate::{Era, EraChoice, Event, HttpTransport, LOAD_WAIT, ProtocolVersion, TimerReason};

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// What the next start assumes.
    learnt: Option<Learnt>,
    /// What the host has stored, as far as is known.
    stored: Option<Learnt>,
    /// The transport that the server was found to speak over HTTP.
    over: Option<HttpTransport>,
    /// The host was asked what it has stored.
    loaded: bool,
}

impl Memory {
    /// Whether the server is best greeted with `initialize`, without a probe.
    pub(super) fn legacy_first(&self) -> bool {
        self.learnt.is_some_and(|learnt| learnt.version.era() == Era::Legacy)
    }

    /// The server died of the probe, as only legacy ones do.
    pub(super) fn probe_is_deadly(&mut self) {
        self.learnt = Some(Learnt { version: ProtocolVersion::newest(Era::Legacy) });
    }

    /// The transport that the next start assumes.
    pub(super) fn over(&self) -> Option<HttpTransport> {
        self.over
    }

    /// The server speaks this transport.
    pub(super) fn found(&mut self, over: Option<HttpTransport>) {
        self.over = over;
    }

    /// Nothing is assumed any more.
    pub(super) fn forget(&mut self) {
        (self.learnt, self.over) = (None, None);
    }
}

impl Connection {
    /// The key under which something is stored of the server, if a callback of this kind is there.
    fn key(&self, hearing: Hearing) -> Option<String> {
        // Who says which era is spoken need not learn it.
        // Nor does the era of HTTP+SSE say anything about the others at the same origin.
        let learns = self.config.era == EraChoice::Auto
            && self.hears.contains(&hearing)
            && self.link.http() != Some(HttpTransport::Sse);
        learns.then(|| Learnt::key(&self.transport)).flatten()
    }

    /// Asks the host what it has stored. `false`: there is nothing to wait for.
    pub(super) fn load(&mut self) -> bool {
        let key = if self.memory.loaded { None } else { self.key(Hearing::Load) };
        let Some(key) = key else { return false };
        self.memory.loaded = true;
        self.ask(Owner::Connection, Asked::Load, Question::Load { key });
        self.set_timer(TimerReason::Load, LOAD_WAIT);
        true
    }

    /// The host has said what it has stored, or nothing in its time.
    pub(super) fn on_loaded(&mut self, answer: Option<Answer>) {
        self.timers.clear(TimerReason::Load);
        self.withdraw(|asked| matches!(asked, Asked::Load).then_some(Owner::Connection));
        let found = match answer {
            Some(Answer::Loaded(None)) => None,
            Some(Answer::Loaded(Some(text))) => {
                let key = self.key(Hearing::Load).unwrap_or_default();
                Some(Learnt::read(&text, &key, self.now))
            }
            Some(_) => Some(Err("the host could not load it")),
            None => Some(Err("the host did not load it in time")),
        };
        match found {
            Some(Ok(learnt)) => {
                (self.memory.learnt, self.memory.stored) = (Some(learnt), Some(learnt))
            }
            Some(Err(why)) => self.event(Event::StoredIgnored { why }),
            None => {}
        }
        self.begin_start();
    }

    /// The server has said what it speaks. What is not known yet is saved.
    pub(super) fn learn(&mut self, version: ProtocolVersion) {
        let learnt = Learnt { version };
        let before = self.memory.learnt;
        if before.is_some_and(|before| before.version.era() != version.era()) {
            self.event(Event::StoredWrong);
        }
        // Over stdio each process is another server; only what was stored, or what kills it, is
        // known of the next.
        let keeps = self.link.is_http() || before.is_some() || self.memory.stored.is_some();
        self.memory.learnt = keeps.then_some(learnt);
        if self.memory.stored == Some(learnt) {
            return;
        }
        if let Some(key) = self.key(Hearing::Save) {
            self.memory.stored = Some(learnt);
            let value = learnt.write(&key, self.now);
            let question = Question::Save(Stored { key, value });
            self.ask(Owner::Connection, Asked::Save, question);
        }
    }

    pub(super) fn on_saved(&mut self, answer: &Answer) {
        if *answer != Answer::Saved {
            self.memory.stored = None;
            self.event(Event::NotStored);
        }
    }
}
