//! Outputs in a journal: readable, and comparable with those of a replay.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::config::mask_url;
use crate::interface::{ConnectionState, HttpOutput, Item, Mailbox, Output, Question, StdioOutput};
use crate::{Error, Event, Raw, Reply};

use super::secrets::{self, Secrets};

/// Texts that are longer than this stand in a journal as their SHA-256.
const MAX_TEXT: usize = 64 * 1024;

/// The output as it stands in a journal, without secrets.
pub(super) fn record(output: &Output, secrets: &Secrets) -> Value {
    let mut value = value_of(output, secrets);
    secrets.mask_value(&mut value);
    value
}

/// Texts that may be long are masked here, before their digest stands for them.
fn value_of(output: &Output, secrets: &Secrets) -> Value {
    match output {
        Output::Stdio(id, what) => json!({ "process": id, "stdio": stdio(what, secrets) }),
        Output::Http(id, owner, what) => {
            json!({ "exchange": id, "owner": owner, "http": http(what, secrets) })
        }
        Output::Ask(id, owner, what) => {
            json!({ "ask": id, "owner": owner, "question": question(what, secrets) })
        }
        Output::Withdraw(id, owner) => json!({ "withdraw": id, "owner": owner }),
        Output::Item(mailbox, item) => {
            json!({ "item": item_of(item, secrets), "mailbox": mailbox_of(*mailbox) })
        }
        Output::Done(id, Ok(reply)) => json!({ "done": id, "reply": reply_of(reply, secrets) }),
        Output::Done(id, Err(error)) => json!({ "done": id, "error": error_of(error, secrets) }),
        Output::Connection(state) => json!({ "connection": state_of(state) }),
        Output::Resend(id, reason) => json!({ "resend": id, "reason": reason }),
        Output::Event(Event::Stderr(line)) => json!({ "event": { "stderr": line } }),
        Output::Event(event) => json!({ "event": format!("{event:?}") }),
    }
}

fn stdio(output: &StdioOutput, secrets: &Secrets) -> Value {
    match output {
        StdioOutput::Spawn(command) => json!({ "spawn": command.masked() }),
        StdioOutput::Write(bytes) => {
            json!({ "write": text(&String::from_utf8_lossy(bytes), secrets) })
        }
        StdioOutput::CloseStdin => json!("close_stdin"),
        StdioOutput::Terminate => json!("terminate"),
        StdioOutput::Kill => json!("kill"),
    }
}

fn http(output: &HttpOutput, secrets: &Secrets) -> Value {
    match output {
        HttpOutput::Send(request) => json!({
            "send": request.method,
            "url": mask_url(&request.url),
            "headers": secrets::request_headers(&request.headers),
            "body": text(&String::from_utf8_lossy(&request.body), secrets),
        }),
        HttpOutput::Release => json!("release"),
        HttpOutput::Abort => json!("abort"),
    }
}

fn question(question: &Question, secrets: &Secrets) -> Value {
    match question {
        Question::RequestMeta { method } => json!({ "request_meta": method }),
        Question::Elicit(request) => json!({ "elicit": raw(&request.raw, secrets) }),
        Question::Sample(request) => json!({ "sample": raw(&request.raw, secrets) }),
        Question::Wait(request) => json!({
            "wait": request.method,
            "round": request.round,
            "delay": request.delay,
            "result": raw(&request.result, secrets),
        }),
        Question::Load { key } => json!({ "load": key }),
        Question::Save(stored) => json!({ "save": stored }),
    }
}

fn mailbox_of(mailbox: Mailbox) -> Value {
    json!(mailbox)
}

fn item_of(item: &Item, secrets: &Secrets) -> Value {
    match item {
        Item::Progress(progress) => json!({ "progress": progress }),
        Item::Notification(told) => json!({
            "notification": told.method,
            "params": told.params.as_ref().map(|params| raw(params, secrets)),
            "call": told.call,
            "lost": told.lost,
        }),
    }
}

fn reply_of(reply: &Reply, secrets: &Secrets) -> Value {
    let pages: Vec<_> = reply.pages.iter().map(|page| raw(page, secrets)).collect();
    json!({ "pages": pages, "era": reply.era(), "version": reply.version() })
}

fn error_of(error: &Error, secrets: &Secrets) -> Value {
    let mut all = json!({ "text": error.to_string(), "outcome": format!("{:?}", error.outcome()) });
    if let (Some(partial), Some(members)) = (error.partial(), all.as_object_mut()) {
        members.insert(String::from("partial"), reply_of(partial, secrets));
    }
    all
}

fn state_of(state: &ConnectionState) -> Value {
    match state {
        ConnectionState::Starting => json!("starting"),
        ConnectionState::Ready => json!("ready"),
        ConnectionState::Idle(reason) => json!({ "idle": reason.to_string() }),
        ConnectionState::Closed(reason) => json!({ "closed": reason.to_string() }),
    }
}

fn raw(raw: &Raw, secrets: &Secrets) -> Value {
    text(raw.as_str(), secrets)
}

fn text(text: &str, secrets: &Secrets) -> Value {
    if text.len() <= MAX_TEXT {
        return Value::from(text);
    }
    let text = secrets.masked(text);
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "sha256": hex, "bytes": text.len() })
}
