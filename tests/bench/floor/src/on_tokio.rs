//! Reads and writes on tokio.

use std::process::Child;

use bench_load::{Failure, Plan};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::on_threads::{address, launch};
use crate::side::{Bytes, Task};

pub enum Pipes {
    Process(Child, Sender, Receiver),
    Socket(TcpStream),
}

impl Bytes for Pipes {
    async fn open(plan: &Plan) -> Result<Self, Failure> {
        if let Some(url) = plan.url() {
            let stream = TcpStream::connect(address(url)).await?;
            stream.set_nodelay(true)?;
            return Ok(Pipes::Socket(stream));
        }
        let (child, stdin, stdout) = launch(plan)?;
        let stdin = Sender::from_owned_fd(stdin.into())?;
        Ok(Pipes::Process(child, stdin, Receiver::from_owned_fd(stdout.into())?))
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
        let task = tokio::spawn(task);
        Box::pin(async move { task.await? })
    }
}
