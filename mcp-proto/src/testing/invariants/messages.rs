//! Messages: what is sent is what JSON-RPC and the protocol allow.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CALL_KEY, Invariants, Rule};
use crate::CallId;

/// How many of the latest requests are remembered.
const REMEMBERED: usize = 256;

/// Where a message went.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    /// Over HTTP, on an exchange of this call's.
    Call(CallId),
    /// Over HTTP, on an exchange of the connection's.
    Nobody,
    /// Over stdio nothing tells.
    Unknown,
}

/// The requests that were sent: what each id stood for. Redirects repeat a whole message.
#[derive(Debug, Default)]
pub(super) struct Messages {
    last_id: u64,
    bodies: BTreeMap<u64, Vec<u8>>,
}

impl Invariants {
    /// A message was sent.
    pub(super) fn on_message(&mut self, bytes: &[u8], whose: Whose) -> Option<Value> {
        let read: Result<Value, _> = serde_json::from_slice(bytes);
        let (Ok(message), false) = (read, bytes.contains(&b'\n') || bytes.contains(&b'\r')) else {
            self.report(Rule::Messages, format!("no JSON in one line: {}", shown(bytes)));
            return None;
        };
        let member = |name: &str| message.get(name);
        let right = member("jsonrpc").is_some_and(|version| version == "2.0");
        self.check(right, Rule::Messages, || format!("no JSON-RPC: {}", shown(bytes)));
        if let Some(method) = member("method") {
            let params = member("params").is_none_or(Value::is_object);
            let method = method.as_str().filter(|_| params);
            self.check(method.is_some(), Rule::Messages, || format!("wrong: {}", shown(bytes)));
            if let (Some(method), Some(id)) = (method, member("id")) {
                self.on_request(method, id, bytes, whose, &message);
            }
        } else {
            let answers = member("id").is_some_and(|id| !id.is_null());
            let one = member("result").is_some() != member("error").is_some();
            self.check(answers && one, Rule::Messages, || format!("wrong: {}", shown(bytes)));
        }
        Some(message)
    }

    fn on_request(&mut self, method: &str, id: &Value, bytes: &[u8], whose: Whose, all: &Value) {
        let Some(id) = id.as_u64() else {
            return self.report(Rule::Messages, format!("no id of this client's: {id}"));
        };
        let known = self.messages.bodies.contains_key(&id);
        let begins = !known && all.pointer("/params/cursor").is_none();
        match self.messages.bodies.get(&id) {
            Some(before) => {
                let same = before == bytes && !matches!(whose, Whose::Unknown);
                self.check(same, Rule::Messages, || format!("the id {id} is used twice"));
            }
            None => {
                if self.messages.bodies.len() == REMEMBERED {
                    self.messages.bodies.pop_first();
                }
                // One that was never sent may have had the id before.
                let new = id > self.messages.last_id;
                self.check(new, Rule::Messages, || format!("the id {id} is used twice"));
                self.messages.last_id = id;
                // Over stdio no message is repeated, so that none has to be known.
                let known = if matches!(whose, Whose::Unknown) { &[] } else { bytes };
                self.messages.bodies.insert(id, known.to_vec());
            }
        }
        let marked = all.pointer("/params/_meta").and_then(|meta| meta.get(CALL_KEY));
        let marked = marked.and_then(Value::as_u64).map(CallId::new);
        match (whose, marked) {
            (Whose::Call(call), Some(marked)) if marked != call && self.is_marked(call) => {
                self.report(Rule::Sends, format!("{method} of {marked} goes out for {call}"));
            }
            (Whose::Call(call), _) | (Whose::Unknown, Some(call)) => {
                self.on_sent(call, method, begins)
            }
            (Whose::Nobody | Whose::Unknown, _) => {}
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    crate::text::excerpt(&String::from_utf8_lossy(bytes))
}
