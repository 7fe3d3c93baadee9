//! Plays a script on connections.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::super::template::Names;
use super::step::{Turn, Wants};
use super::{Accept, HttpScript, HttpStep, HttpTranscript, Recorded};
use crate::demo::{self, Endpoint, Next};
use crate::http::{Chunked, Conn, Head, Listener, Request};

/// How long a test waits for the client to do something.
const PATIENCE: Duration = Duration::from_secs(60);

/// A script that is being played. Dropping it ends its connections and its threads.
#[derive(Debug)]
pub struct HttpPlaying {
    shared: Arc<Shared>,
    listener: Option<Listener>,
    url: String,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    endpoint: Endpoint,
    in_any_order: bool,
    rest: bool,
}

#[derive(Debug)]
struct State {
    turns: VecDeque<Turn>,
    accepts: VecDeque<Accept>,
    names: Names,
    open: BTreeSet<String>,
    released: bool,
    transcript: HttpTranscript,
}

impl HttpScript {
    /// Plays the script on a port of its own.
    ///
    /// # Panics
    /// When its address cannot be listened at.
    pub fn start(self) -> HttpPlaying {
        let left = self.turns.len();
        let state = State {
            turns: self.turns.into(),
            accepts: self.accepts.into(),
            names: Names::default(),
            open: BTreeSet::new(),
            released: false,
            transcript: HttpTranscript { left, ..HttpTranscript::default() },
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            endpoint: Endpoint::new(self.demo),
            in_any_order: self.in_any_order,
            rest: self.rest,
        });
        let serving = shared.clone();
        let serve = move |conn| serving.serve(conn);
        let listener = Listener::start((self.host, 0).into(), serve).expect("a loopback address");
        let url = format!("http://{}/mcp", listener.address());
        HttpPlaying { shared, listener: Some(listener), url }
    }
}

impl HttpPlaying {
    /// Where a client reaches it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens a gate, for now and for later.
    pub fn open(&self, gate: &str) {
        self.shared.open(gate);
    }

    /// What has been received so far.
    pub fn so_far(&self) -> HttpTranscript {
        self.shared.lock().transcript.clone()
    }

    /// Waits until the transcript is as asked for.
    ///
    /// # Panics
    /// When that takes too long.
    #[track_caller]
    pub fn wait_until(&self, is_met: impl Fn(&HttpTranscript) -> bool) -> HttpTranscript {
        let state = self.shared.lock();
        let waiting = |state: &mut State| !is_met(&state.transcript);
        let outcome = self.shared.changed.wait_timeout_while(state, PATIENCE, waiting);
        let transcript = outcome.unwrap_or_else(PoisonError::into_inner).0.transcript.clone();
        assert!(is_met(&transcript), "it has not come to that: {transcript:#?}");
        transcript
    }

    /// Ends all connections, and returns what was received.
    pub fn finish(mut self) -> HttpTranscript {
        self.stop();
        self.so_far()
    }

    fn stop(&mut self) {
        self.shared.change(|state| state.released = true);
        self.shared.endpoint.expire_sessions();
        self.listener = None;
    }
}

impl Drop for HttpPlaying {
    fn drop(&mut self) {
        self.stop();
        let transcript = self.so_far();
        // A test that fails may fail because the play did.
        if thread::panicking() && !transcript.failures.is_empty() {
            eprintln!("the play failed: {:#?}", transcript.failures);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    fn open(&self, gate: &str) {
        self.change(|state| state.open.insert(gate.to_owned()));
    }

    fn wait_for(&self, gate: &str) {
        let closed = |state: &mut State| !state.released && !state.open.contains(gate);
        let outcome = self.changed.wait_while(self.lock(), closed);
        drop(outcome.unwrap_or_else(PoisonError::into_inner));
    }

    fn fail(&self, what: String) {
        self.change(|state| state.transcript.failures.push(what));
    }

    fn serve(&self, mut conn: Conn) {
        let accept = self.change(|state| {
            state.transcript.connections += 1;
            state.accepts.pop_front().unwrap_or(Accept::Serve)
        });
        match accept {
            Accept::Serve => {}
            Accept::Close => return conn.close(),
            Accept::Reset => return conn.reset(),
            Accept::Gate(name) => self.wait_for(&name),
        }
        loop {
            match self.serve_next(&mut conn) {
                Ok(After::Next) => {}
                Ok(After::Close) => return conn.close(),
                Ok(After::Reset) => return conn.reset(),
                // The client is gone, in the middle of a request or of its answer, or else the
                // server is being ended.
                Ok(After::Gone) | Err(_) => return self.left(&conn),
            }
        }
    }

    fn left(&self, conn: &Conn) {
        self.change(|state| {
            if !state.released {
                state.transcript.closed.push(conn.number());
            }
        });
    }

    fn serve_next(&self, conn: &mut Conn) -> io::Result<After> {
        let request = match Request::read(conn) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(After::Gone),
            Err(error) => {
                if error.kind() == io::ErrorKind::InvalidData {
                    self.fail(format!("this is not HTTP: {error}"));
                }
                return Err(error);
            }
        };
        let message = serde_json::from_slice(&request.body).unwrap_or_default();
        let turn = self.take(conn.number(), &request, &message);
        let scene = Scene { shared: self, request: &request, message: &message };
        match turn {
            Some(turn) => scene.play(&turn.steps, conn),
            None if self.rest => scene.demo(conn),
            None if request.method != "POST" => scene.refuse(405, conn),
            None => {
                self.fail(format!("not expected: {} {message}", request.method));
                scene.refuse(500, conn)
            }
        }
    }

    /// Records a request and finds what follows it.
    fn take(&self, connection: u64, request: &Request, message: &Value) -> Option<Turn> {
        self.change(|state| {
            let (request, message) = (request.clone(), message.clone());
            let recorded = Recorded { connection, request, message };
            let candidates = if self.in_any_order { state.turns.len() } else { 1 };
            let fits = |turn: &Turn| turn.wants.fits(&recorded);
            let at = state.turns.iter().take(candidates).position(fits);
            let turn = at.and_then(|at| state.turns.remove(at));
            if let Some(label) = turn.as_ref().and_then(|turn| turn.label.as_deref()) {
                state.names.remember(&recorded.message, Some(label));
            }
            state.transcript.left = state.turns.len();
            state.transcript.requests.push(recorded);
            turn
        })
    }
}

impl Wants {
    fn fits(&self, recorded: &Recorded) -> bool {
        match self {
            Wants::Message(method) => recorded.method() == Some(method),
            Wants::Response => {
                let is_post = recorded.request.method == "POST";
                is_post && recorded.method().is_none() && recorded.message.get("id").is_some()
            }
            Wants::Http(method) => recorded.request.method == *method,
        }
    }
}

/// What becomes of a connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Next,
    Close,
    Reset,
    /// The client has closed it.
    Gone,
}

/// One request, and what the script makes of it.
struct Scene<'a> {
    shared: &'a Shared,
    request: &'a Request,
    message: &'a Value,
}

impl Scene<'_> {
    fn play(&self, steps: &[HttpStep], conn: &mut Conn) -> io::Result<After> {
        if steps.is_empty() {
            return self.perform(&HttpStep::Hold, conn);
        }
        for step in steps {
            let after = self.perform(step, conn)?;
            if after != After::Next {
                return Ok(after);
            }
        }
        Ok(if self.request.keeps_alive() { After::Next } else { After::Close })
    }

    fn perform(&self, step: &HttpStep, conn: &mut Conn) -> io::Result<After> {
        match step {
            HttpStep::Demo => return self.demo(conn),
            HttpStep::Respond(reply) => {
                let all = reply.write(|text| self.fill(text)).map_err(|what| self.mistake(what))?;
                conn.write_all(&all)?;
            }
            HttpStep::Begin(head) => conn.write_all(head.chunked_head().as_bytes())?,
            HttpStep::Chunk(text) => {
                let text = self.fill(text).map_err(|what| self.mistake(what))?;
                let mut chunk = Vec::new();
                Chunked(&mut chunk).write_all(text.as_bytes())?;
                conn.write_all(&chunk)?;
            }
            HttpStep::EndChunks => drop(Chunked(&mut *conn).finish()?),
            HttpStep::Text { text, chunk } => {
                let text = self.fill(text).map_err(|what| self.mistake(what))?;
                for piece in text.as_bytes().chunks(chunk.unwrap_or(text.len()).max(1)) {
                    conn.write_all(piece)?;
                }
            }
            HttpStep::Bytes(bytes) => conn.write_all(bytes)?,
            HttpStep::Filler { byte, count } => demo::fill(conn, *byte, *count)?,
            HttpStep::Gate(name) => self.shared.wait_for(name),
            HttpStep::Open(name) => self.shared.open(name),
            HttpStep::Hold => {
                conn.wait_closed(None);
                return Ok(After::Gone);
            }
            HttpStep::AwaitByte if conn.wait_readable() => {}
            HttpStep::AwaitByte => return Ok(After::Gone),
            HttpStep::Pause(millis) => thread::sleep(Duration::from_millis(*millis)),
            HttpStep::Close => return Ok(After::Close),
            HttpStep::Reset => return Ok(After::Reset),
        }
        Ok(After::Next)
    }

    fn demo(&self, conn: &mut Conn) -> io::Result<After> {
        Ok(match self.shared.endpoint.answer(self.request, conn)? {
            Next::Keep => After::Next,
            Next::Close => After::Close,
        })
    }

    fn refuse(&self, status: u16, conn: &mut Conn) -> io::Result<After> {
        conn.write_all(&Head::new(status).body(b""))?;
        Ok(After::Next)
    }

    /// The names of other requests are known when they have come, so they are looked up late.
    fn fill(&self, text: &str) -> Result<String, String> {
        let mut names = self.shared.lock().names.clone();
        names.remember(self.message, None);
        names.fill(text)
    }

    /// The script names what there is not.
    fn mistake(&self, what: String) -> io::Error {
        self.shared.fail(what.clone());
        io::Error::other(what)
    }
}
