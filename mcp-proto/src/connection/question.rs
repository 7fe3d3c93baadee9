//! Questions to the host, and what it has callbacks for.

use super::{Asked, Connection, Greeting, Phase, request};
use crate::interface::{Answer, Hearing, Output, Owner, Question};
use crate::{Era, QuestionId};

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
            Some(Asked::Server { id, .. }) => self.answer_server(id, answer),
            None => {}
        }
    }

    /// Takes back all questions of an owner's.
    pub(super) fn withdraw_all(&mut self, owner: Owner) {
        let of = |asked: &Asked| match asked {
            Asked::Meta(call) => Owner::Call(*call) == owner,
            Asked::Server { owner: of, .. } => *of == owner,
        };
        let gone: Vec<_> =
            self.questions.iter().filter(|(_, a)| of(a)).map(|(id, _)| *id).collect();
        for id in gone {
            self.questions.remove(&id);
            self.outputs.push_back(Output::Withdraw(id, owner));
        }
    }

    pub(super) fn on_hear(&mut self, hearing: Hearing) {
        if !self.hears.contains(&hearing) {
            self.hears.push(hearing);
        }
        if let Phase::Greeting(Greeting { ready, .. }) | Phase::Ready(ready) = &mut self.phase
            && ready.info.era == Era::Modern
        {
            let version = ready.info.version;
            ready.protocol_meta = request::protocol_meta(&self.config, &self.hears, version);
        }
    }
}
