//! What ureq alone takes: a request made with it, its answer read to its end.

use bench_load::{Failure, Plan};
use ureq::Agent;

use crate::on_threads::now;
use crate::side::{Bytes, Task};

/// It makes a request of what is written, and an answer's head of its own, since a floor knows by
/// that when the answer is whole.
pub struct Pipes {
    agent: Agent,
    url: String,
    answer: Vec<u8>,
    read: usize,
}

impl Bytes for Pipes {
    async fn open(plan: &Plan) -> Result<Self, Failure> {
        let url = plan.url().ok_or("ureq is for HTTP")?.to_owned();
        let agent = Agent::new_with_defaults();
        Ok(Pipes { agent, url, answer: Vec::new(), read: 0 })
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let text = std::str::from_utf8(bytes)?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or("no head")?;
        let mut request = self.agent.post(&self.url);
        for line in head.lines().skip(1) {
            let (name, value) = line.split_once(": ").ok_or("no header")?;
            if name != "host" && name != "content-length" {
                request = request.header(name, value);
            }
        }
        let mut answer = request.send(body)?;
        let limit = 2 * bench_load::BLOB as u64;
        let body = answer.body_mut().with_config().limit(limit).read_to_vec()?;
        self.answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into();
        self.answer.extend_from_slice(&body);
        self.read = 0;
        Ok(())
    }

    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Failure> {
        let rest = &self.answer[self.read..];
        let read = rest.len().min(into.len());
        into[..read].copy_from_slice(&rest[..read]);
        self.read += read;
        Ok(read)
    }

    async fn end(self) -> Result<(), Failure> {
        Ok(())
    }

    fn spawn(task: Task) -> Task {
        let thread = std::thread::spawn(move || now(task));
        Box::pin(async move { thread.join().map_err(|_| "a thread panicked")? })
    }
}
