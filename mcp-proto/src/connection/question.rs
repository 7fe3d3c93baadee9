//! Questions to the host, and what it has callbacks for.

use serde_json::{Value, json};

use super::{Asked, Connection, Greeting, Phase, request};
use crate::interface::{Answer, Hearing, Output, Owner, Question};
use crate::model::Root;
use crate::transport::Outgoing;
use crate::{DeprecatedFeature, Era, QuestionId};

impl Connection {
    pub(super) fn ask(&mut self, owner: Owner, asked: Asked, question: Question) {
        self.next_question += 1;
        let id = QuestionId::new(self.next_question);
        self.questions.insert(id, asked);
        self.outputs.push_back(Output::Ask(id, owner, question));
    }

    pub(super) fn on_answer(&mut self, id: QuestionId, answer: Answer) {
        match self.questions.remove(&id) {
            Some(Asked::Meta(call)) => self.on_meta(call, answer),
            Some(Asked::Input { call, key, wanted }) => self.on_input(call, key, &wanted, answer),
            Some(Asked::Wait(call)) => self.on_wait(call, answer),
            Some(Asked::Start(opening)) => self.on_start_meta(opening, answer),
            Some(Asked::Load) => self.on_loaded(Some(answer)),
            Some(Asked::Save) => self.on_saved(&answer),
            Some(Asked::Server { id, wanted, .. }) => self.answer_server(id, &wanted, answer),
            None => {}
        }
    }

    /// Takes back all questions of an owner's. What is to be stored is worth it in any case.
    pub(super) fn withdraw_all(&mut self, owner: Owner) {
        self.withdraw(|asked| {
            let of = match asked {
                Asked::Meta(call) | Asked::Wait(call) | Asked::Input { call, .. } => {
                    Owner::Call(*call)
                }
                Asked::Server { owner, .. } => *owner,
                Asked::Start(_) | Asked::Load => Owner::Connection,
                Asked::Save => return None,
            };
            (of == owner).then_some(owner)
        });
    }

    /// Takes back questions: those for which there is an owner.
    pub(super) fn withdraw(&mut self, which: impl Fn(&Asked) -> Option<Owner>) {
        let gone = self.questions.iter().filter_map(|(id, asked)| Some((*id, which(asked)?)));
        for (id, owner) in gone.collect::<Vec<_>>() {
            self.questions.remove(&id);
            self.outputs.push_back(Output::Withdraw(id, owner));
        }
    }

    pub(super) fn on_hear(&mut self, hearing: Hearing) {
        if !self.hears.contains(&hearing) {
            self.hears.push(hearing);
        }
        self.tell_of_hearing(hearing);
        self.declare();
    }

    /// Modern servers are told with each request what this client can do.
    fn declare(&mut self) {
        if let Phase::Greeting(Greeting { ready, .. }) | Phase::Ready(ready) = &mut self.phase
            && ready.info.era == Era::Modern
        {
            let version = ready.info.version;
            ready.protocol_meta =
                request::protocol_meta(&self.config, &self.hears, &self.roots, version);
        }
    }

    /// Servers may work elsewhere from now on. A legacy server is told that it may ask anew.
    pub(super) fn on_roots(&mut self, roots: Vec<Root>) {
        if self.roots == roots {
            return;
        }
        self.roots = roots;
        if !self.roots.is_empty() {
            self.deprecated(DeprecatedFeature::Roots);
        }
        self.declare();
        let legacy = matches!(&self.phase, Phase::Ready(ready) if ready.info.era == Era::Legacy);
        if legacy && self.link.is_heard() {
            let method = "notifications/roots/list_changed";
            self.send_message(Outgoing::Notification { method, params: None });
        }
    }

    /// The result of `roots/list`.
    pub(super) fn roots_result(&self) -> Value {
        json!({ "roots": self.roots })
    }
}
