//! HTTP/1.1 on one thread, with connections that are kept alive.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::rc::Rc;

use memchr::memmem;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::answers::{Answers, frame};

const LISTENER: u64 = 0;
const STDIN: u64 = 1;

pub fn serve_json(answers: Answers) -> io::Result<()> {
    serve(answers, false)
}

pub fn serve_sse(answers: Answers) -> io::Result<()> {
    serve(answers, true)
}

fn serve(answers: Answers, sse: bool) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}/mcp", listener.local_addr()?);
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    epoll::add(&epoll, io::stdin().as_fd(), EventData::new_u64(STDIN), EventFlags::IN)?;
    let (mut peers, mut next) = (HashMap::new(), STDIN + 1);
    let mut events: Vec<Event> = Vec::with_capacity(256);
    loop {
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Err(rustix::io::Errno::INTR) => continue,
            waited => waited?,
        };
        for event in events.drain(..) {
            let key = event.data.u64();
            match key {
                STDIN => return Ok(()),
                LISTENER => {
                    let (stream, _) = listener.accept()?;
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll::add(&epoll, &stream, EventData::new_u64(next), EventFlags::IN)?;
                    peers.insert(next, Peer { stream, input: Vec::new(), output: VecDeque::new() });
                    next += 1;
                }
                _ => {
                    let Some(peer) = peers.get_mut(&key) else { continue };
                    let (waited, alive) = (peer.waits(), peer.turn(&answers, sse).unwrap_or(false));
                    if !alive {
                        peers.remove(&key);
                    } else if peer.waits() != waited {
                        let wanted = if peer.waits() { EventFlags::OUT } else { EventFlags::IN };
                        epoll::modify(&epoll, &peer.stream, EventData::new_u64(key), wanted)?;
                    }
                }
            }
        }
    }
}

/// Bytes to be written: some, or a body that others write, too.
enum Part {
    Own(Vec<u8>),
    Shared(Rc<[u8]>),
}

struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
    /// Parts, and how much of each is written.
    output: VecDeque<(Part, usize)>,
}

impl Peer {
    fn waits(&self) -> bool {
        !self.output.is_empty()
    }

    /// Reads, answers and writes what it can. `false` when the connection is over.
    fn turn(&mut self, answers: &Answers, sse: bool) -> io::Result<bool> {
        if !self.waits() {
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(false),
                Ok(read) => self.input.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
            while let Some((head, whole)) = request(&self.input) {
                self.answer(head, whole, answers, sse);
                self.input.drain(..whole);
            }
        }
        self.flush()?;
        Ok(true)
    }

    fn answer(&mut self, head: usize, whole: usize, answers: &Answers, sse: bool) {
        let plain = |status: &str| {
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            (Part::Own(head.into_bytes()), 0)
        };
        if !self.input.starts_with(b"POST ") {
            return self.output.push_back(plain("405 Method Not Allowed"));
        }
        let Some((id, body)) = answers.answer(&self.input[head..whole]) else {
            return self.output.push_back(plain("202 Accepted"));
        };
        let (before, after) = frame(id);
        let length = before.len() + body.len() + after.len();
        let (mut own, mut last) = (Vec::with_capacity(192), after.to_vec());
        if sse {
            own.extend_from_slice(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                  Transfer-Encoding: chunked\r\n\r\n",
            );
            own.extend_from_slice(format!("{:x}\r\ndata: ", length + 8).as_bytes());
            last.extend_from_slice(b"\n\n\r\n0\r\n\r\n");
        } else {
            own.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
            own.extend_from_slice(format!("Content-Length: {length}\r\n\r\n").as_bytes());
        }
        own.extend_from_slice(&before);
        if body.len() > 4096 {
            self.output.push_back((Part::Own(own), 0));
            self.output.push_back((Part::Shared(body), 0));
            self.output.push_back((Part::Own(last), 0));
        } else {
            own.extend_from_slice(&body);
            own.extend_from_slice(&last);
            self.output.push_back((Part::Own(own), 0));
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some((part, written)) = self.output.front_mut() {
            let bytes = match part {
                Part::Own(bytes) => &bytes[..],
                Part::Shared(bytes) => bytes,
            };
            match self.stream.write(&bytes[*written..]) {
                Ok(wrote) => *written += wrote,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            if *written == bytes.len() {
                self.output.pop_front();
            }
        }
        Ok(())
    }
}

/// Where the body of the first request begins and ends, when it is there.
fn request(input: &[u8]) -> Option<(usize, usize)> {
    let head = memmem::find(input, b"\r\n\r\n")? + 4;
    let length = input[..head].split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(15)?;
        name.eq_ignore_ascii_case(b"content-length:").then_some(value)
    });
    let length = length.and_then(|value| std::str::from_utf8(value).ok()?.trim().parse().ok());
    let whole = head + length.unwrap_or(0usize);
    (whole <= input.len()).then_some((head, whole))
}
