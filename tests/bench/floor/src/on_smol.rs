//! Reads and writes on async-io.

use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout};

use bench_load::{Failure, Plan};
use smol::Async;
use smol::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::on_threads::{address, launch};
use crate::side::{Bytes, Task};

pub enum Pipes {
    Process(Child, Async<ChildStdin>, Async<ChildStdout>),
    Socket(Async<TcpStream>),
}

impl Bytes for Pipes {
    async fn open(plan: &Plan) -> Result<Self, Failure> {
        if let Some(url) = plan.url() {
            let stream = Async::<TcpStream>::connect(address(url).parse::<std::net::SocketAddr>()?);
            let stream = stream.await?;
            stream.get_ref().set_nodelay(true)?;
            return Ok(Pipes::Socket(stream));
        }
        let (child, stdin, stdout) = launch(plan)?;
        Ok(Pipes::Process(child, Async::new(stdin)?, Async::new(stdout)?))
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Pipes::Process(_, stdin, _) => stdin.write_all(bytes).await?,
            Pipes::Socket(stream) => stream.write_all(bytes).await?,
        }
        Ok(())
    }

    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Failure> {
        Ok(match self {
            Pipes::Process(_, _, stdout) => stdout.read(into).await?,
            Pipes::Socket(stream) => stream.read(into).await?,
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
        Box::pin(smol::spawn(task))
    }
}
