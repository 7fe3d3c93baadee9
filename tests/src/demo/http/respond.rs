//! Answers as bytes, and calls that take their time.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::{Outgoing, SlowCall};
use super::Answers;
use super::endpoint::{Endpoint, InSession, Next, Reply};
use crate::http::{Chunked, Conn, Head};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

impl Endpoint {
    pub(super) fn perform(&self, reply: Reply, conn: &mut Conn) -> io::Result<Next> {
        match reply {
            Reply::Status(status, allow) => {
                self.count_status(status);
                let head = Head::new(status);
                let head = match allow {
                    Some(methods) => head.header("Allow", methods),
                    None => head,
                };
                conn.write_all(&head.body(b""))?;
            }
            Reply::Refused(status, error) => {
                self.count_status(status);
                let head = Head::new(status).header("Content-Type", JSON);
                conn.write_all(&head.body(error.to_value().to_string().as_bytes()))?;
            }
            Reply::Answer(answer, session) => {
                self.count_status(200);
                let head = match session {
                    Some(id) => Head::new(200).header("Mcp-Session-Id", id),
                    None => Head::new(200),
                };
                if self.answers_in_events(false) {
                    let mut events = Events::begin(head, &mut *conn)?;
                    events.send(&answer)?;
                    events.end()?;
                } else {
                    write_json(head, &answer, conn)?;
                }
            }
            Reply::Run(call, context) => return self.run(*call, context, conn),
            Reply::Stream(session) => return self.stream(&session, conn),
            Reply::Nothing => {
                conn.wait_closed(None);
                return Ok(Next::Close);
            }
        }
        Ok(Next::Keep)
    }

    fn count_status(&self, status: u16) {
        self.tally.count(|counters| *counters.statuses.entry(status).or_default() += 1);
    }

    fn answers_in_events(&self, has_progress: bool) -> bool {
        match self.options.answers {
            Answers::Auto => has_progress,
            Answers::Json => false,
            Answers::Sse => true,
            Answers::Alternate => self.turns.fetch_add(1, Ordering::Relaxed) % 2 == 1,
        }
    }

    fn run(&self, call: SlowCall, context: Option<InSession>, conn: &mut Conn) -> io::Result<Next> {
        self.count_status(200);
        let in_events = self.answers_in_events(call.tells_progress());
        let mut pausing = Pausing { context: context.as_ref(), alone: false };
        let ran = if in_events {
            run_in_events(call, &mut pausing, conn)
        } else {
            run_to_json(call, &mut pausing, conn)
        };
        let was_cancelled = matches!(ran, Ok(Ran::Cancelled)) || pausing.is_cancelled(&ran);
        if was_cancelled {
            self.tally.count(|counters| counters.cancelled += 1);
        }
        if let Some(InSession { session, call, .. }) = &context
            && let Some(session) = self.sessions().find(session)
        {
            session.end_call(call);
        }
        ran.map(|ran| if ran == Ran::ToTheEnd { Next::Keep } else { Next::Close })
    }

    fn stream(&self, session: &str, conn: &mut Conn) -> io::Result<Next> {
        self.count_status(200);
        self.tally.count(|counters| counters.streams += 1);
        let begun = Events::begin(Head::new(200), &mut *conn);
        let begun = begun.and_then(|mut events| events.comment());
        if begun.is_ok() {
            conn.wait_closed(None);
        }
        if let Some(session) = self.sessions().find(session) {
            session.close_stream();
        }
        self.tally.count(|counters| counters.streams -= 1);
        Ok(Next::Close)
    }
}

/// How a call that takes its time has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    ToTheEnd,
    /// Its client wants nothing of it any more.
    Cancelled,
    /// It went to its end, but nobody was there to hear of it.
    Alone,
}

/// Lets time pass between the steps of a call. A modern call ends with its connection, a legacy one
/// goes on without it.
struct Pausing<'a> {
    context: Option<&'a InSession>,
    /// The connection is gone, and the call goes on.
    alone: bool,
}

impl Pausing<'_> {
    /// Lets this time pass, or waits for the end; says whether the call has to stop.
    fn pause(&mut self, time: Option<Duration>, conn: &mut Conn) -> bool {
        let closed = !self.alone && conn.wait_closed(time);
        let Some(InSession { stop, .. }) = self.context else { return closed };
        self.alone |= closed;
        match (self.alone, time) {
            (false, _) => stop.wait(Duration::ZERO),
            (true, Some(time)) => stop.wait(time),
            (true, None) => {
                stop.wait_for_it();
                true
            }
        }
    }

    /// What cannot be written is a closed connection.
    fn send(&mut self, written: io::Result<()>) -> io::Result<()> {
        match (written, self.context) {
            (Err(_), Some(_)) => {
                self.alone = true;
                Ok(())
            }
            (written, _) => written,
        }
    }

    fn is_cancelled(&self, ran: &io::Result<Ran>) -> bool {
        self.context.is_none() && ran.is_err()
    }
}

fn run_in_events(
    mut call: SlowCall,
    pausing: &mut Pausing<'_>,
    conn: &mut Conn,
) -> io::Result<Ran> {
    let pause = call.pause();
    Events::begin(Head::new(200), &mut *conn)?.flush()?;
    for message in &mut call {
        if pausing.pause(Some(pause), conn) {
            return Ok(Ran::Cancelled);
        }
        if let Some(message) = message.filter(|_| !pausing.alone) {
            let written = Events(Chunked(BufWriter::new(&mut *conn))).send_now(&message);
            pausing.send(written)?;
        }
    }
    if call.is_endless() {
        pausing.pause(None, conn);
        return Ok(Ran::Cancelled);
    }
    if pausing.alone {
        return Ok(Ran::Alone);
    }
    Chunked(conn).finish()?;
    Ok(Ran::ToTheEnd)
}

fn run_to_json(mut call: SlowCall, pausing: &mut Pausing<'_>, conn: &mut Conn) -> io::Result<Ran> {
    let pause = call.pause();
    let mut last = None;
    for message in &mut call {
        if pausing.pause(Some(pause), conn) {
            return Ok(Ran::Cancelled);
        }
        last = message;
    }
    if call.is_endless() {
        pausing.pause(None, conn);
        return Ok(Ran::Cancelled);
    }
    match last {
        Some(answer) if !pausing.alone => {
            write_json(Head::new(200), &answer, conn)?;
            Ok(Ran::ToTheEnd)
        }
        _ => Ok(Ran::Alone),
    }
}

/// A small answer goes out in one write; a long one is never held.
fn write_json(head: Head, answer: &Outgoing, conn: &mut Conn) -> io::Result<()> {
    let head = head.header("Content-Type", JSON);
    match answer {
        Outgoing::Message(message) => conn.write_all(&head.body(message.to_string().as_bytes())),
        Outgoing::Padded { .. } => {
            let mut out = BufWriter::new(conn);
            let head = head.header("Content-Length", answer.text_length()).finish();
            out.write_all(head.as_bytes())?;
            answer.write_to(&mut out)?;
            out.flush()
        }
    }
}

/// An event stream, in chunks.
struct Events<W: Write>(Chunked<BufWriter<W>>);

impl<W: Write> Events<W> {
    fn begin(head: Head, out: W) -> io::Result<Self> {
        let head = head
            .header("Content-Type", EVENTS)
            .header("Cache-Control", "no-cache")
            .header("X-Accel-Buffering", "no")
            .header("Transfer-Encoding", "chunked");
        let mut out = BufWriter::new(out);
        out.write_all(head.finish().as_bytes())?;
        Ok(Events(Chunked(out)))
    }

    fn send(&mut self, message: &Outgoing) -> io::Result<()> {
        match message {
            Outgoing::Message(message) => {
                let event = format!("event: message\ndata: {message}\n\n");
                self.0.write_all(event.as_bytes())
            }
            Outgoing::Padded { .. } => {
                self.0.write_all(b"event: message\ndata: ")?;
                message.write_to(&mut self.0)?;
                self.0.write_all(b"\n\n")
            }
        }
    }

    fn send_now(&mut self, message: &Outgoing) -> io::Result<()> {
        self.send(message)?;
        self.flush()
    }

    fn comment(&mut self) -> io::Result<()> {
        self.0.write_all(b": open\n\n")?;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn end(self) -> io::Result<()> {
        self.0.finish()?.flush()
    }
}
