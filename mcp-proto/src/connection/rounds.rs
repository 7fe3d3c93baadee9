//! Multi round-trip requests (specification: basic/patterns/mrtr): a server asks for input before
//! it answers, and the request is sent again with the input.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::calls::{CallState, Step};
use super::{Asked, Connection};
use crate::error::{InputFault, Outcome};
use crate::interface::{Answer, Hearing, Owner, Question, ResendReason, WaitAnswer, WaitRequest};
use crate::op::Continuation;
use crate::question::{self, Unanswered, Wanted};
use crate::{CallId, Era, Error, ErrorKind, Event, Raw, TimerReason};

/// How often a server may ask for input before it answers.
pub(super) const MAX_ROUNDS: u32 = 10;
/// How long the first pause is before a server is asked again that wants nothing but time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long such a pause becomes at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What a server wants before it answers, and what it gets with the next request.
#[derive(Debug)]
pub(super) struct Rounds {
    /// How often it has asked, this time included.
    number: u32,
    /// How often in a row it wanted nothing but time.
    waits: u32,
    /// The result by which it asked.
    result: Raw,
    /// What it wants, as it was sent.
    requests: Option<Raw>,
    /// What it wants to have back, byte for byte.
    state: Option<Raw>,
    /// The answers, by the keys of the requests. They belong to this round alone.
    answers: Map<String, Value>,
}

impl Rounds {
    /// What goes into the parameters of the next request, as the text of an object.
    pub(super) fn input(&self) -> String {
        let mut input = String::from("{");
        if !self.answers.is_empty() {
            input.push_str(r#""inputResponses":"#);
            input.push_str(&serde_json::to_string(&self.answers).unwrap_or_default());
        }
        if let Some(state) = &self.state {
            if !self.answers.is_empty() {
                input.push(',');
            }
            input.push_str(r#""requestState":"#);
            input.push_str(state.as_str());
        }
        input.push('}');
        input
    }
}

/// One entry of `inputRequests`.
enum Entry {
    Answered(Value),
    Open(Wanted),
}

impl Connection {
    /// The server wants input before it answers.
    pub(super) fn on_input_required(&mut self, id: CallId, result: &Raw) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let given = |name: &str| result.member(name).filter(|value| !value.is_null());
        let before = call.rounds.take();
        let (number, waits) = before.map_or((0, 0), |before| (before.number, before.waits));
        // Nothing but an empty object is nothing.
        let wants = |requests: &Raw| !matches!(requests.parse::<Map<String, Value>>(), Ok(all) if all.is_empty());
        let (requests, state) = (given("inputRequests").filter(wants), given("requestState"));
        let waits = if requests.is_none() { waits + 1 } else { 0 };
        let (answers, result) = (Map::new(), result.clone());
        let is_text = state.as_ref().is_none_or(|state| state.parse::<String>().is_ok());
        call.spent.next_round();
        call.rounds =
            Some(Box::new(Rounds { number: number + 1, waits, result, requests, state, answers }));
        // The token of the answered request goes with its step.
        self.calls.advance(id, Step::Waiting);
        if number >= MAX_ROUNDS {
            return self.input_fails(id, InputFault::TooManyRounds(MAX_ROUNDS));
        }
        if !is_text {
            return self.input_fails(id, malformed("the requestState is no text"));
        }
        self.ask_for_input(id);
    }

    /// A call goes on where another one was stopped.
    pub(super) fn resume_rounds(&mut self, id: CallId, from: Continuation) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let Continuation { round: number, requests, state, answers, .. } = from;
        let (waits, result) = (u32::from(requests.is_none()), Raw::new("{}"));
        call.rounds = Some(Box::new(Rounds { number, waits, result, requests, state, answers }));
        if number > MAX_ROUNDS {
            return self.input_fails(id, InputFault::TooManyRounds(MAX_ROUNDS));
        }
        self.ask_for_input(id);
    }

    /// Puts what the server wants to the host, except what has been answered before.
    fn ask_for_input(&mut self, id: CallId) {
        let Some(rounds) = self.calls.get(id).and_then(|call| call.rounds.as_ref()) else { return };
        let entries = match (&rounds.requests, &rounds.state) {
            (Some(requests), _) => self.read_entries(requests, &rounds.answers),
            (None, Some(_)) => return self.pause_for_input(id),
            (None, None) => Err(malformed("there are neither inputRequests nor a requestState")),
        };
        let entries = match entries {
            Err(fault) => return self.input_fails(id, fault),
            Ok(entries) => entries,
        };
        // A user takes as long as a user takes: only what the call said itself limits its time.
        self.stop_clock(id);
        let open = entries.iter().filter(|(_, entry)| matches!(entry, Entry::Open(_))).count();
        self.calls.advance(id, Step::Asking { open });
        for (key, entry) in entries {
            match entry {
                Entry::Answered(answer) => self.keep_answer(id, key, answer),
                Entry::Open(wanted) => {
                    if wanted.has_foreign_id() {
                        self.event(Event::MemberIgnored { member: "elicitationId" });
                    }
                    self.tell_of_question(&wanted);
                    let question = wanted.question();
                    self.ask(Owner::Call(id), Asked::Input { call: id, key, wanted }, question);
                }
            }
        }
        if open == 0 {
            self.send_with_input(id);
        }
    }

    /// Reads `inputRequests`. One entry that cannot be honoured is enough, and nobody is asked.
    fn read_entries(
        &self,
        requests: &Raw,
        answered: &Map<String, Value>,
    ) -> Result<Vec<(String, Entry)>, InputFault> {
        let all: BTreeMap<String, Raw> =
            requests.parse().map_err(|_| malformed("the inputRequests are no object"))?;
        if all.len() > self.config.max_server_requests {
            return Err(malformed("there are too many inputRequests at once"));
        }
        let open = all.into_iter().filter(|(key, _)| !answered.contains_key(key));
        open.map(|(key, request)| Ok((key, self.read_entry(&request)?))).collect()
    }

    fn read_entry(&self, request: &Raw) -> Result<Entry, InputFault> {
        let method = request.member("method").and_then(|method| method.parse::<String>().ok());
        let method = method.ok_or_else(|| malformed("one of the inputRequests has no method"))?;
        let read = if method == "roots/list" && !self.roots.is_empty() {
            Ok(Entry::Answered(self.roots_result()))
        } else {
            let params = request.member("params").unwrap_or_else(|| Raw::new("{}"));
            let (hears, server) = (&self.hears, &self.server);
            question::read(&method, &params, hears, Era::Modern, server).map(Entry::Open)
        };
        read.map_err(|refusal| InputFault::Refused {
            method: crate::text::excerpt(&method),
            why: refusal.to_string(),
        })
    }

    fn keep_answer(&mut self, id: CallId, key: String, answer: Value) {
        if let Some(rounds) = self.calls.get_mut(id).and_then(|call| call.rounds.as_mut()) {
            rounds.answers.insert(key, answer);
        }
    }

    /// The host has answered one of the requests.
    pub(super) fn on_input(&mut self, id: CallId, key: String, wanted: &Wanted, answer: Answer) {
        match wanted.settle(answer) {
            Ok(answer) => {
                self.keep_answer(id, key, answer);
                let Some(call) = self.calls.get_mut(id) else { return };
                let Step::Asking { open } = &mut call.step else { return };
                *open = open.saturating_sub(1);
                if *open == 0 {
                    self.send_with_input(id);
                }
            }
            Err(unanswered) => {
                let question = wanted.name();
                if let Unanswered::Misfit(why) = &unanswered {
                    self.event(Event::AnswerDropped { question, why: why.clone() });
                }
                self.input_fails(id, InputFault::Unanswered { question });
            }
        }
    }

    /// All input is there.
    fn send_with_input(&mut self, id: CallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.spent.resend(ResendReason::InputRequired, MAX_ROUNDS);
        }
        self.send_again(id, ResendReason::InputRequired);
    }

    /// The server wants nothing but time.
    fn pause_for_input(&mut self, id: CallId) {
        let now = self.now.mono;
        let Some(call) = self.calls.get_mut(id) else { return };
        let Some(rounds) = &call.rounds else { return };
        let doubled = FIRST_PAUSE.saturating_mul(1 << rounds.waits.saturating_sub(1).min(8));
        let delay = doubled.min(LONGEST_PAUSE);
        let request = WaitRequest {
            method: String::from(call.method()),
            round: rounds.number,
            delay,
            state: rounds.state.clone(),
            result: rounds.result.clone(),
            elapsed: now.saturating_sub(call.since),
        };
        self.calls.advance(id, Step::Pausing(ResendReason::InputRequired));
        self.set_timer(TimerReason::Retry(id), delay);
        self.event(Event::RetryScheduled { call: id, after: delay });
        if self.hears.contains(&Hearing::Wait) {
            self.ask(Owner::Call(id), Asked::Wait(id), Question::Wait(Box::new(request)));
        }
    }

    /// The host has said how to wait.
    pub(super) fn on_wait(&mut self, id: CallId, answer: Answer) {
        match answer {
            Answer::Wait(WaitAnswer::Cancel) => self.input_fails(id, InputFault::Stopped),
            Answer::Wait(WaitAnswer::Retry) => {
                self.timers.clear(TimerReason::Retry(id));
                self.send_with_input(id);
            }
            // The pause goes on as it is.
            _ => {}
        }
    }

    /// The pause is over, whatever the host would have said.
    pub(super) fn pause_for_input_is_over(&mut self, id: CallId) {
        self.withdraw_all(Owner::Call(id));
        self.send_with_input(id);
    }

    fn input_fails(&mut self, id: CallId, fault: InputFault) {
        self.end_call(id, ErrorKind::InputRequired(fault));
    }
}

fn malformed(why: &str) -> InputFault {
    InputFault::Malformed(String::from(why))
}

impl CallState {
    /// Gives an error what a later call needs to go on from there.
    pub(super) fn with_continuation(&self, error: Error) -> Error {
        let Some(rounds) = &self.rounds else { return error };
        let hopeless = matches!(
            error.kind(),
            ErrorKind::InputRequired(InputFault::TooManyRounds(_) | InputFault::Malformed(_))
                | ErrorKind::Server(_)
                | ErrorKind::Peer(_)
        );
        let safe = self.erased.spec.idempotent || error.outcome() != Outcome::Unknown;
        error.continued(Continuation {
            operation: String::from(self.erased.spec.name),
            params: self.erased.params.clone(),
            requests: rounds.requests.clone(),
            state: rounds.state.clone(),
            answers: rounds.answers.clone(),
            round: rounds.number,
            resumable: safe && !hopeless,
        })
    }
}
