//! Outputs as lines that a person reads and a test compares: everything that is in them.

use mcp_proto::{ConnectionState, Error, Item, Output, Question, Reply, StdioOutput};

pub(crate) fn line(output: &Output) -> String {
    match output {
        Output::Stdio(id, StdioOutput::Spawn(command)) => format!("{id} spawn {}", command.line()),
        Output::Stdio(id, StdioOutput::Write(bytes)) => {
            format!("{id} <- {}", String::from_utf8_lossy(bytes).trim_end())
        }
        Output::Stdio(id, StdioOutput::CloseStdin) => format!("{id} close stdin"),
        Output::Stdio(id, StdioOutput::Terminate) => format!("{id} terminate"),
        Output::Stdio(id, StdioOutput::Kill) => format!("{id} kill"),
        Output::Ask(id, owner, question) => format!("ask {id} for {owner:?}: {}", asked(question)),
        Output::Withdraw(id, owner) => format!("withdraw {id} of {owner:?}"),
        Output::Item(mailbox, item) => format!("item of {mailbox:?}: {}", told(item)),
        Output::Done(id, Ok(reply)) => format!("{id} done: {}", brought(reply)),
        Output::Done(id, Err(error)) => format!("{id} failed: {}", failed(error)),
        Output::Connection(state) => format!("state {}", stands(state)),
        Output::Resend(id, reason) => format!("{id} resend: {reason:?}"),
        Output::Event(event) => format!("event {event:?}"),
        other => format!("{other:?}"),
    }
}

fn asked(question: &Question) -> String {
    match question {
        Question::RequestMeta { method } => format!("metadata of {method}"),
        Question::Elicit(request) => format!("elicit {}", request.raw.as_str()),
        other => format!("{other:?}"),
    }
}

fn told(item: &Item) -> String {
    match item {
        Item::Progress(p) => format!("progress {} of {:?} {:?}", p.progress, p.total, p.message),
        other => format!("{other:?}"),
    }
}

fn brought(reply: &Reply) -> String {
    let pages: Vec<_> = reply.pages.iter().map(|page| page.as_str()).collect();
    format!("[{}] from {} {}", pages.join(", "), reply.server, reply.version())
}

fn failed(error: &Error) -> String {
    format!("{:?}: {error}", error.outcome())
}

fn stands(state: &ConnectionState) -> String {
    match state {
        ConnectionState::Idle(reason) => format!("idle ({reason})"),
        ConnectionState::Closed(reason) => format!("closed ({reason})"),
        other => format!("{other:?}").to_lowercase(),
    }
}
