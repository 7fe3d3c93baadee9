//! Blocking reads and writes, in futures that are ready when they are polled.

use std::future::Future;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::task::{Context, Poll, Waker};

use bench_load::{Failure, Plan};

use crate::side::{Bytes, Task};

pub enum Pipes {
    Process(Child, ChildStdin, ChildStdout),
    Socket(TcpStream),
}

/// The value of a future that does not wait for a waker.
pub fn now<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => Err("it waits for a waker".into()),
    }
}

/// A server process with its pipes.
pub fn launch(plan: &Plan) -> Result<(Child, ChildStdin, ChildStdout), Failure> {
    let [program, arguments @ ..] = &plan.target[..] else { return Err("no target".into()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    Ok((child, stdin.ok_or("no stdin")?, stdout.ok_or("no stdout")?))
}

/// Where a URL leads to.
pub fn address(url: &str) -> &str {
    url.trim_start_matches("http://").split('/').next().unwrap_or_default()
}

impl Bytes for Pipes {
    async fn open(plan: &Plan) -> Result<Self, Failure> {
        if let Some(url) = plan.url() {
            let stream = TcpStream::connect(address(url))?;
            stream.set_nodelay(true)?;
            return Ok(Pipes::Socket(stream));
        }
        let (child, stdin, stdout) = launch(plan)?;
        Ok(Pipes::Process(child, stdin, stdout))
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Pipes::Process(_, stdin, _) => stdin.write_all(bytes)?,
            Pipes::Socket(stream) => stream.write_all(bytes)?,
        }
        Ok(())
    }

    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Failure> {
        Ok(match self {
            Pipes::Process(_, _, stdout) => stdout.read(into)?,
            Pipes::Socket(stream) => stream.read(into)?,
        })
    }

    async fn end(self) -> Result<(), Failure> {
        if let Pipes::Process(mut child, stdin, _stdout) = self {
            drop(stdin);
            child.wait()?;
        }
        Ok(())
    }

    fn spawn(task: Task) -> Task {
        let thread = std::thread::spawn(move || now(task));
        Box::pin(async move { thread.join().map_err(|_| "a thread panicked")? })
    }
}
