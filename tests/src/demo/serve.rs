//! The thin part: lines in, lines out, a thread for each call that takes its time.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Action, Demo, Options, Outgoing, SlowCall};
use crate::pipe::{PipeEnd, duplex};

/// Performs a [`Demo`]'s actions over a writer that several threads share.
///
/// Dropping it stops the calls that are still going on and waits for their threads.
#[derive(Debug)]
pub struct Runner<W: Write + Send + 'static> {
    demo: Demo,
    output: Arc<Mutex<W>>,
    /// By the JSON text of the request's id, in which `1` and `"1"` differ.
    calls: BTreeMap<String, Running>,
}

#[derive(Debug)]
struct Running {
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

impl<W: Write + Send + 'static> Runner<W> {
    /// A server that writes to `output`.
    pub fn new(options: Options, output: Arc<Mutex<W>>) -> Self {
        Runner { demo: Demo::new(options), output, calls: BTreeMap::new() }
    }

    /// Takes one message and does what it asks for.
    pub fn receive(&mut self, message: &[u8]) -> io::Result<()> {
        for action in self.demo.receive(message) {
            match action {
                Action::Send(message) => write(&self.output, &message)?,
                Action::Run(call) => self.run(call),
                Action::Cancel(id) => {
                    if let Some(call) = self.calls.get(&id.to_string()) {
                        call.stop.request();
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes one message that somebody else answers: the state follows, nothing is written.
    pub fn observe(&mut self, message: &[u8]) {
        let _ = self.demo.receive(message);
    }

    fn run(&mut self, call: SlowCall) {
        self.calls.retain(|_, call| !call.thread.is_finished());
        let key = call.id().to_string();
        let stop = Arc::new(Stop::default());
        let (output, stopped) = (self.output.clone(), stop.clone());
        let thread = thread::spawn(move || perform(call, &output, &stopped));
        self.calls.insert(key, Running { stop, thread });
    }
}

impl<W: Write + Send + 'static> Drop for Runner<W> {
    fn drop(&mut self) {
        for call in self.calls.values() {
            call.stop.request();
        }
        for (_, call) in std::mem::take(&mut self.calls) {
            // A panic there has printed its message; there is nothing to add to it here.
            let _ = call.thread.join();
        }
    }
}

fn write<W: Write>(output: &Mutex<W>, message: &Outgoing) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    message.write_line(&mut *output)
}

fn perform<W: Write>(mut call: SlowCall, output: &Mutex<W>, stop: &Stop) {
    let pause = call.pause();
    for message in &mut call {
        if stop.wait(pause) {
            return;
        }
        if message.is_some_and(|message| write(output, &message).is_err()) {
            return;
        }
    }
    if call.is_endless() {
        stop.wait_for_it();
    }
}

/// Asks a thread to stop, also while it pauses.
#[derive(Debug, Default)]
pub(super) struct Stop {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(super) fn request(&self) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Lets the time pass, unless a stop comes first; says whether one has.
    pub(super) fn wait(&self, pause: Duration) -> bool {
        let requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        if pause.is_zero() {
            return *requested;
        }
        let outcome = self.changed.wait_timeout_while(requested, pause, |requested| !*requested);
        *outcome.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn wait_for_it(&self) {
        let requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.changed.wait_while(requested, |requested| !*requested);
        drop(outcome.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Serves until the input ends. A client that is gone is no error.
pub fn serve<W: Write + Send + 'static>(
    options: Options,
    mut input: impl BufRead,
    output: W,
) -> io::Result<()> {
    let mut runner = Runner::new(options, Arc::new(Mutex::new(output)));
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        match runner.receive(&line) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            outcome => outcome?,
        }
    }
}

/// Serves over the standard streams.
pub fn run_stdio(options: Options) -> io::Result<()> {
    serve(options, io::stdin().lock(), io::stdout())
}

/// Serves on a thread, over a pipe in memory of the given capacity; the client's end is returned.
/// The thread ends when that end is dropped.
pub fn over_pipe(options: Options, capacity: usize) -> (PipeEnd, JoinHandle<io::Result<()>>) {
    let (client, (reader, writer)) = duplex(capacity);
    let serving = move || serve(options, io::BufReader::new(reader), writer);
    (client, thread::spawn(serving))
}
