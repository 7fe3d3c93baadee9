//! Outputs as lines that a person reads and a test compares.

use crate::{
    ConnectionState, Error, HttpOutput, HttpRequest, Item, Output, Question, Reply, StdioOutput,
};

/// An output as one line, with everything that is in it.
#[must_use]
pub fn line(output: &Output) -> String {
    match output {
        Output::Stdio(id, StdioOutput::Spawn(command)) => format!("{id} spawn {}", command.line()),
        Output::Stdio(id, StdioOutput::Write(bytes)) => {
            format!("{id} write {}", String::from_utf8_lossy(bytes).trim_end())
        }
        Output::Stdio(id, what) => format!("{id} {what:?}"),
        Output::Http(id, owner, HttpOutput::Send(request)) => {
            format!("{id} of {owner:?}: {}", sent(request))
        }
        Output::Http(id, owner, what) => format!("{id} of {owner:?}: {what:?}"),
        Output::Ask(id, owner, Question::Elicit(request)) => {
            format!("ask {id} for {owner:?}: elicit {}", request.raw.as_str())
        }
        Output::Ask(id, owner, Question::Sample(request)) => {
            format!("ask {id} for {owner:?}: sample {}", request.raw.as_str())
        }
        Output::Ask(id, owner, question) => format!("ask {id} for {owner:?}: {question:?}"),
        Output::Withdraw(id, owner) => format!("withdraw {id} of {owner:?}"),
        Output::Item(mailbox, item) => match &**item {
            Item::Progress(p) => {
                format!("{mailbox:?} item {} of {:?} {:?}", p.progress, p.total, p.message)
            }
            Item::Notification(told) => {
                let params = told.params.as_ref().map_or("", |params| params.as_str());
                let (kind, call, lost) = (&told.kind, told.call, told.lost);
                format!("{mailbox:?} {} {params} {kind:?} of {call:?}, {lost} lost", told.method)
            }
        },
        Output::Done(id, Ok(reply)) => format!("{id} done: {}", brought(reply)),
        Output::Done(id, Err(error)) => format!("{id} failed: {}", failed(error)),
        Output::Connection(ConnectionState::Idle(reason)) => format!("idle: {reason}"),
        Output::Connection(ConnectionState::Closed(reason)) => format!("closed: {reason}"),
        Output::Connection(state) => format!("{state:?}"),
        Output::Resend(id, reason) => format!("{id} resend: {reason:?}"),
        Output::Event(event) => format!("event {event:?}"),
    }
}

fn sent(request: &HttpRequest) -> String {
    let headers: Vec<_> =
        request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let body = String::from_utf8_lossy(&request.body);
    format!("{} {} [{}] {body}", request.method.as_str(), request.url, headers.join(", "))
}

fn brought(reply: &Reply) -> String {
    let pages: Vec<_> = reply.pages.iter().map(|page| page.as_str()).collect();
    format!("[{}] from {} {}", pages.join(", "), reply.server, reply.version())
}

fn failed(error: &Error) -> String {
    let partial = error.partial().map(brought).unwrap_or_default();
    format!("{:?}: {error} {partial}", error.outcome())
}
