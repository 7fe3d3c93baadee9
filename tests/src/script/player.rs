//! Plays the steps, one after the other.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::stage::Stage;
use super::template::Names;
use super::{Ending, Sink, Step};
use crate::demo::{self, Runner};

/// The play's writer, shared with the demo server that answers in it; `None` once closed.
pub(super) struct Output(Option<Box<dyn Write + Send>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Some(output) => output.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// A play in progress.
pub(super) struct Player<R, S> {
    input: Option<BufReader<R>>,
    output: Arc<Mutex<Output>>,
    runner: Runner<Output>,
    names: Names,
    stage: S,
}

/// `Err` ends the play.
type Played<T = ()> = Result<T, Ending>;

impl<R: Read, S: Stage> Player<R, S> {
    pub(super) fn new(
        input: R,
        output: Box<dyn Write + Send>,
        stage: S,
        argv: Vec<String>,
    ) -> Self {
        let output = Arc::new(Mutex::new(Output(Some(output))));
        Player {
            input: Some(BufReader::new(input)),
            runner: Runner::new(demo::Options::default(), output.clone()),
            output,
            names: Names::new(argv),
            stage,
        }
    }

    /// Plays all steps, then records until the client closes its end.
    pub(super) fn play(&mut self, steps: &[Step]) -> Ending {
        let played = self.run(steps).and_then(|()| self.drain());
        played.err().unwrap_or(Ending::Finished)
    }

    /// Closes both ends. This waits for a thread of the demo server that is stuck in a write.
    pub(super) fn close(&mut self) {
        self.input = None;
        self.close_output();
    }

    fn run(&mut self, steps: &[Step]) -> Played {
        steps.iter().try_for_each(|step| self.perform(step))
    }

    fn perform(&mut self, step: &Step) -> Played {
        match step {
            Step::Expect { method, label } => {
                self.expect(method, label.as_deref(), false).map(drop)
            }
            Step::WaitFor { method, label } => {
                self.expect(method, label.as_deref(), true).map(drop)
            }
            Step::ExpectResponse { id } => self.expect_response(id),
            Step::Answer { method } => self.answer(method.as_deref()),
            Step::AnswerRest => self.answer_rest(),
            Step::Demo { options } => {
                self.runner = Runner::new(options.clone(), self.output.clone());
                Ok(())
            }
            Step::Handshake { version } => self.handshake(version),
            Step::Line { text, chunk } => {
                let mut line = self.names.fill(text).map_err(Ending::Failed)?;
                line.push('\n');
                self.write(line.as_bytes(), *chunk)
            }
            Step::Part { text } => {
                let part = self.names.fill(text).map_err(Ending::Failed)?;
                self.write(part.as_bytes(), None)
            }
            Step::Bytes { bytes, chunk } => self.write(bytes, *chunk),
            Step::Stderr { bytes } => outcome(self.stage.stderr().write_all(bytes)),
            Step::Filler { to, byte, count } => self.fill(*to, *byte, *count),
            Step::Repeat { times, steps } => self.repeat(*times, steps),
            Step::CloseStdout => {
                self.close_output();
                outcome(self.stage.close_stdout())
            }
            Step::CloseStdin => {
                self.input = None;
                outcome(self.stage.close_stdin())
            }
            Step::Drain => self.drain(),
            Step::ExpectEnd => match self.read_line()? {
                None => Ok(()),
                Some(line) => Err(unexpected("the end of the input", &line)),
            },
            Step::Exit { status } => Err(Ending::Exited(*status)),
            Step::Abort => Err(Ending::Died(ABORT)),
            Step::Die { signal } => Err(Ending::Died(*signal)),
            Step::Hang => {
                self.stage.hang();
                Ok(())
            }
            Step::Pause { millis } => {
                thread::sleep(Duration::from_millis(*millis));
                Ok(())
            }
            Step::Gate { name } => self.stage.gate(name).map_err(Ending::Failed),
            Step::Grandchild { pid_file, keeps_pipes } => {
                let pid = self.grandchild(*keeps_pipes)?;
                match pid_file {
                    Some(path) => outcome(std::fs::write(path, pid.to_string())),
                    None => outcome(writeln!(self.stage.stderr(), "grandchild {pid}")),
                }
            }
        }
    }

    /// `None` at the end of the input. A last line without a newline is recorded as it is.
    fn read_line(&mut self) -> Played<Option<Vec<u8>>> {
        let Some(input) = &mut self.input else {
            return Ok(None);
        };
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| Ending::Failed(format!("cannot read: {error}")))? == 0 {
            return Ok(None);
        }
        self.stage.received(&line);
        Ok(Some(line))
    }

    fn next_message(&mut self, expected: &str) -> Played<(Vec<u8>, Value)> {
        let missing = || Ending::Failed(format!("the input ended where {expected} was expected"));
        let line = self.read_line()?.ok_or_else(missing)?;
        let message = serde_json::from_slice(&line).map_err(|_| unexpected(expected, &line))?;
        Ok((line, message))
    }

    fn expect(&mut self, method: &str, label: Option<&str>, skips: bool) -> Played<Value> {
        let expected = format!("`{method}`");
        loop {
            let (line, message) = self.next_message(&expected)?;
            self.runner.observe(&line);
            if message.get("method").is_some_and(|it| it == method) {
                self.names.remember(&message, label);
                return Ok(message);
            }
            if !skips {
                return Err(unexpected(&expected, &line));
            }
        }
    }

    fn expect_response(&mut self, id: &str) -> Played {
        let id = self.names.fill(id).map_err(Ending::Failed)?;
        let expected = format!("the answer to {id}");
        let (line, message) = self.next_message(&expected)?;
        let text = message.get("id").map(Value::to_string);
        let has_id = text.is_some_and(|text| text == id);
        if message.get("method").is_some() || !has_id {
            return Err(unexpected(&expected, &line));
        }
        self.names.remember(&message, None);
        Ok(())
    }

    fn answer(&mut self, method: Option<&str>) -> Played {
        let expected = method.map_or("a message".to_owned(), |method| format!("`{method}`"));
        let (line, message) = self.next_message(&expected)?;
        let fits = |method| message.get("method").is_some_and(|it| it == method);
        if !method.is_none_or(fits) {
            return Err(unexpected(&expected, &line));
        }
        self.names.remember(&message, None);
        outcome(self.runner.receive(&line))
    }

    fn answer_rest(&mut self) -> Played {
        while let Some(line) = self.read_line()? {
            outcome(self.runner.receive(&line))?;
        }
        Ok(())
    }

    /// The demo server negotiates what the client asks for, so it is told that this was asked.
    fn handshake(&mut self, version: &str) -> Played {
        let (line, mut message) = self.next_message("`initialize`")?;
        if message.get("method").is_none_or(|it| it != "initialize") {
            return Err(unexpected("`initialize`", &line));
        }
        self.names.remember(&message, None);
        message["params"]["protocolVersion"] = version.into();
        outcome(self.runner.receive(message.to_string().as_bytes()))?;
        self.expect("notifications/initialized", None, false).map(drop)
    }

    fn drain(&mut self) -> Played {
        while self.read_line()?.is_some() {}
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], chunk: Option<usize>) -> Played {
        let chunk = chunk.unwrap_or(bytes.len()).max(1);
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.chunks(chunk).try_for_each(|piece| {
            let written = output.write_all(piece).and_then(|()| output.flush());
            outcome(written)
        })
    }

    fn fill(&mut self, to: Sink, byte: u8, count: u64) -> Played {
        match to {
            Sink::Stderr => outcome(demo::fill(&mut *self.stage.stderr(), byte, count)),
            Sink::Stdout => {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                outcome(demo::fill(&mut *output, byte, count).and_then(|()| output.flush()))
            }
        }
    }

    fn repeat(&mut self, times: u64, steps: &[Step]) -> Played {
        self.names.counters.push(0);
        for counter in 0..times {
            if let Some(innermost) = self.names.counters.last_mut() {
                *innermost = counter;
            }
            self.run(steps)?;
        }
        self.names.counters.pop();
        Ok(())
    }

    fn close_output(&mut self) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.0 = None;
    }

    fn grandchild(&mut self, keeps_pipes: bool) -> Played<u32> {
        if !self.stage.is_process() {
            let what = "only a process of its own can have a grandchild";
            return Err(Ending::Failed(what.to_owned()));
        }
        let pipe = || {
            if keeps_pipes { Stdio::inherit() } else { Stdio::null() }
        };
        let spawned = Command::new("sleep")
            .arg("300")
            .stdin(Stdio::null())
            .stdout(pipe())
            .stderr(pipe())
            .spawn();
        let child =
            spawned.map_err(|error| Ending::Failed(format!("cannot start sleep: {error}")))?;
        self.names.grandchild = Some(child.id());
        Ok(child.id())
    }
}

/// The signal of an abort, on every unix.
pub(super) const ABORT: i32 = 6;

fn outcome(written: io::Result<()>) -> Played {
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ending::Deserted,
        _ => Ending::Failed(format!("cannot write: {error}")),
    })
}

fn unexpected(expected: &str, line: &[u8]) -> Ending {
    let line = String::from_utf8_lossy(line);
    Ending::Failed(format!("expected {expected}, received {line}"))
}
