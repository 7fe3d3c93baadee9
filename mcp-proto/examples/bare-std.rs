//! How to write a runtime, with nothing but `std`: threads, pipes, sockets and a channel.
//!
//! ```sh
//! cargo run -p mcp-proto --example bare-std -- TARGET TOOL JSON
//! ```
//!
//! `TARGET` is a command line or an `http://` URL. The tool is called once and its text printed.
//!
//! A runtime does four things, and decides nothing:
//!
//! 1. **It hands in what happened**, with the time, through `Connection::handle`. Everything comes
//!    to one place, here a channel, since a connection is changed by one thread at a time.
//! 2. **It drains `poll_output` after every input and does what it says** ([`Runtime::perform`]).
//!    Doing must not block: bytes go to a thread that writes, an exchange gets a thread of its own.
//! 3. **It waits for the next thing to happen, but not beyond `poll_timeout`**, and hands in
//!    `Input::Timeout` then ([`Runtime::run`]).
//! 4. **It keeps promises that the core relies on**: a process that was launched ends with one
//!    `Exited`, an exchange with one `End` or `Failed`, also after it was killed or aborted; and
//!    stdout and stderr are read all the time.
//!
//! It never sends anything a second time, follows a redirect or parses a message. What a real one
//! adds: many callers, TLS, proxies, reuse of connections, a gentle SIGTERM, back-pressure
//! (`Connection::wants_read`), questions to the user. The adapters show how.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the core performs no I/O; a runtime is what does"
)]

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt::Display;
use std::hash::{BuildHasher as _, RandomState};
use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::spawn;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_proto::http1::{Exchange, Headers, Part, Request, Sent as Out};
use mcp_proto::op::CallTool;
use mcp_proto::*;

/// How often is looked at what `std` cannot wait for.
const TICK: Duration = Duration::from_millis(20);

/// What a thread tells the one that owns the connection: how to hand in what happened. (An input
/// borrows its bytes; this owns them.)
type Happened = Box<dyn FnOnce(&mut Connection, Now) + Send>;

struct Runtime {
    connection: Connection,
    begin: Instant,
    /// Threads tell what happened here.
    tell: Sender<Happened>,
    happened: Receiver<Happened>,
    processes: BTreeMap<ProcessId, Process>,
    /// Whether an exchange is to end; its thread looks from time to time.
    over: BTreeMap<ExchangeId, Arc<AtomicBool>>,
}

struct Process {
    child: Child,
    /// What is to be written to its stdin. Dropping it closes stdin behind what is queued.
    stdin: Option<Sender<Vec<u8>>>,
}

fn main() -> Result<(), Box<dyn StdError>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [target, tool, json] = &*words else { return Err("usage: TARGET TOOL JSON".into()) };
    println!("{}", call(target, tool, json)?);
    Ok(())
}

/// Calls a tool of a server, and lets go of the server.
pub(crate) fn call(target: &str, tool: &str, json: &str) -> Result<String, Box<dyn StdError>> {
    let transport = match Target::parse(target)? {
        Target::Command(command) => Transport::Stdio(command),
        Target::Http(http) => Transport::Http(http),
        _ => return Err("this runtime knows commands and URLs".into()),
    };
    let mut config = ConnectionConfig::default();
    config.name = target.into();
    let begin = Instant::now();
    let now = now(begin);
    let (tell, happened) = channel();
    // All the entropy that a connection needs; `std` has no other source.
    let seed = std::array::from_fn(|_| RandomState::new().hash_one(0) as u8);
    let connection = Connection::new(Arc::new(config), transport, seed, now);
    let (processes, over) = (BTreeMap::new(), BTreeMap::new());
    let mut runtime = Runtime { connection, begin, tell, happened, processes, over };
    let call = CallTool::new(tool, serde_json::from_str(json)?);
    let call = runtime.connection.start(call, CallOptions::default(), now)?;
    // The one call ends exactly once, whatever the server does, so this loop ends.
    let result = loop {
        if let Some(Output::Done(_, result)) = runtime.run() {
            break call.finish(result);
        }
    };
    runtime.input(Input::Close);
    while !matches!(runtime.run(), Some(Output::Connection(ConnectionState::Closed(_)))) {}
    Ok(result?.text().into_owned())
}

fn now(begin: Instant) -> Now {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { mono: begin.elapsed(), unix }
}

impl Runtime {
    /// Goes on until there is an output for the caller, or something has happened.
    fn run(&mut self) -> Option<Output> {
        while let Some(output) = self.connection.poll_output() {
            match output {
                Output::Stdio(id, output) => self.perform(id, output),
                Output::Http(id, _, output) => self.exchange(id, output),
                // Nobody is here to be asked; the core tells the server so.
                Output::Ask(id, _, _) => self.input(Input::Answer(id, Answer::Failed)),
                for_the_caller => return Some(for_the_caller),
            }
        }
        self.reap();
        let until = self.connection.poll_timeout();
        let wait = until.map(|deadline| deadline.at.saturating_sub(self.begin.elapsed()));
        match self.happened.recv_timeout(wait.unwrap_or(TICK).min(TICK)) {
            Ok(happened) => happened(&mut self.connection, now(self.begin)),
            // The time is up. Early ones do no harm.
            Err(_) => self.input(Input::Timeout),
        }
        None
    }

    fn input(&mut self, input: Input<'_>) {
        self.connection.handle(input, now(self.begin));
    }

    fn perform(&mut self, id: ProcessId, output: StdioOutput) {
        match (output, self.processes.get_mut(&id)) {
            (StdioOutput::Spawn(command), _) => match self.launch(id, &command) {
                Ok(process) => drop(self.processes.insert(id, process)),
                Err(error) => {
                    self.input(Input::Stdio(id, StdioInput::SpawnFailed((&error).into())))
                }
            },
            (StdioOutput::Write(bytes), Some(process)) => {
                process.stdin.as_ref().map(|stdin| stdin.send(bytes));
            }
            (StdioOutput::CloseStdin, Some(process)) => process.stdin = None,
            // `std` knows one signal only.
            (_, Some(process)) => drop(process.child.kill()),
            (_, None) => {}
        }
    }

    fn launch(&self, id: ProcessId, command: &mcp_proto::Command) -> io::Result<Process> {
        let mut std_command = Command::new(&command.program);
        std_command.args(&command.args).envs(&command.env);
        std_command.current_dir(command.dir.as_deref().unwrap_or(".".as_ref()));
        std_command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = std_command.spawn()?;
        let (stdin, queue) = channel();
        let (pipe, to) = (child.stdin.take(), self.tell.clone());
        spawn(move || pipe.map(|pipe| write(id, pipe, &queue, &to)));
        let (pipe, to) = (child.stdout.take(), self.tell.clone());
        spawn(move || pipe.map(|pipe| read(id, pipe, false, &to)));
        let (pipe, to) = (child.stderr.take(), self.tell.clone());
        spawn(move || pipe.map(|pipe| read(id, pipe, true, &to)));
        Ok(Process { child, stdin: Some(stdin) })
    }

    /// Tells of processes that have ended.
    fn reap(&mut self) {
        self.processes.retain(|id, process| {
            let Ok(Some(status)) = process.child.try_wait() else { return true };
            let status = status.code().map_or(ExitStatus::Unknown, ExitStatus::Code);
            tell(&self.tell, Input::Stdio(*id, StdioInput::Exited(status)));
            false
        });
    }

    fn exchange(&mut self, id: ExchangeId, output: HttpOutput) {
        match output {
            HttpOutput::Send(request) => {
                let (over, to) = (Arc::<AtomicBool>::default(), self.tell.clone());
                self.over.insert(id, Arc::clone(&over));
                spawn(move || match perform(id, &request, &over, &to) {
                    Ok(()) => tell(&to, Input::Http(id, HttpInput::End)),
                    Err(failure) => tell(&to, Input::Http(id, HttpInput::Failed(failure))),
                });
            }
            // `Release` or `Abort`: connections are not kept, so both are the same.
            _ => {
                self.over.remove(&id).iter().for_each(|over| over.store(true, Ordering::Relaxed));
            }
        }
    }
}

/// Hands in an input without bytes. When nobody listens any more, nothing is lost.
fn tell(to: &Sender<Happened>, input: Input<'static>) {
    let _ = to.send(Box::new(move |connection, now| connection.handle(input, now)));
}

fn write(id: ProcessId, mut pipe: ChildStdin, queue: &Receiver<Vec<u8>>, to: &Sender<Happened>) {
    let mut all = 0;
    for bytes in queue {
        if let Err(error) = pipe.write_all(&bytes) {
            return tell(to, Input::Stdio(id, StdioInput::WriteFailed((&error).into())));
        }
        all += bytes.len() as u64;
        tell(to, Input::Stdio(id, StdioInput::Written(all)));
    }
}

fn read(id: ProcessId, mut pipe: impl Read, is_stderr: bool, to: &Sender<Happened>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut buffer) {
        let bytes = buffer[..read].to_vec();
        let _ = to.send(Box::new(move |connection, now| {
            let input = if is_stderr { StdioInput::Stderr } else { StdioInput::Stdout };
            connection.handle(Input::Stdio(id, input(&bytes)), now);
        }));
    }
    let end = if is_stderr { StdioInput::StderrClosed } else { StdioInput::StdoutClosed };
    tell(to, Input::Stdio(id, end));
}

/// One exchange, on a connection of its own. `http1` knows the bytes; this moves them.
fn perform(
    id: ExchangeId,
    request: &HttpRequest,
    over: &AtomicBool,
    to: &Sender<Happened>,
) -> Result<(), HttpFailure> {
    let unsent = |text: &dyn Display| {
        HttpFailure::new(HttpFailureKind::Connect, Sent::None, false, text.to_string())
    };
    let rest = request.url.strip_prefix("http://").ok_or_else(|| unsent(&"std has no TLS"))?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let at_port_80 = |_| TcpStream::connect((authority, 80));
    let stream = TcpStream::connect(authority).or_else(at_port_80);
    let mut stream = stream.map_err(|error| unsent(&error))?;
    stream.set_read_timeout(Some(TICK)).map_err(|error| unsent(&error))?;
    let mut headers = Headers::default();
    request.headers.iter().for_each(|(name, value)| headers.push(name, value));
    let (method, headers) = (request.method.as_str(), &headers);
    let head = Request { method, target: path, authority, headers };
    let body = (!request.body.is_empty()).then(|| request.body.clone());
    let mut exchange = Exchange::new(&head, body, false).map_err(|error| unsent(&error))?;
    // How much was sent decides whether a tool may have run.
    let failed = |exchange: &Exchange, kind, text: &dyn Display| {
        let facts = exchange.facts();
        let sent = if facts.sent == Out::All { Sent::All } else { Sent::Some };
        HttpFailure::new(kind, sent, facts.answered, text.to_string())
    };
    let closed = HttpFailureKind::Closed;
    while !exchange.unsent().is_empty() {
        let written = stream.write(exchange.unsent());
        exchange.sent(written.map_err(|error| failed(&exchange, closed, &error))?);
    }
    let mut buffer = [0; 16 * 1024];
    loop {
        if over.load(Ordering::Relaxed) {
            return Err(failed(&exchange, HttpFailureKind::Aborted, &"aborted"));
        }
        let read = match stream.read(&mut buffer) {
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => continue,
            Err(error) => return Err(failed(&exchange, closed, &error)),
            Ok(read) => read,
        };
        if read == 0 {
            return exchange.finish().map(drop).map_err(|error| failed(&exchange, closed, &error));
        }
        let mut bytes = &buffer[..read];
        loop {
            match exchange.decode(&mut bytes) {
                Ok(Some(Part::Head(head))) => {
                    let owned = |(name, value): (&str, &str)| (name.into(), value.into());
                    let headers = head.headers.iter().map(owned).collect();
                    let head = HttpInput::Head { status: StatusCode(head.status), headers };
                    tell(to, Input::Http(id, head));
                }
                Ok(Some(Part::Body(bytes))) => {
                    let bytes = bytes.to_vec();
                    let _ = to.send(Box::new(move |it, now| {
                        it.handle(Input::Http(id, HttpInput::Body(&bytes)), now);
                    }));
                }
                Ok(Some(Part::End { .. })) => return Ok(()),
                Ok(None) => break,
                Err(error) => return Err(failed(&exchange, HttpFailureKind::Malformed, &error)),
            }
        }
    }
}
