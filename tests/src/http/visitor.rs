//! A client for the tests of the servers here: it writes what it is told and reads what comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// One connection to a server.
pub(crate) struct Visitor(BufReader<TcpStream>);

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0.eq_ignore_ascii_case(name)).map(|it| &*it.1)
    }

    /// The messages in it, of an event stream or of a body of one message.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.body).unwrap();
        if self.header("content-type") == Some("text/event-stream") {
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            return data.map(|data| serde_json::from_str(data).unwrap()).collect();
        }
        if text.is_empty() { Vec::new() } else { vec![serde_json::from_str(text).unwrap()] }
    }

    /// The one message in it.
    pub(crate) fn message(&self) -> Value {
        let mut messages = self.messages();
        assert_eq!(messages.len(), 1, "{self:?}");
        messages.remove(0)
    }
}

impl Visitor {
    pub(crate) fn new(url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        Visitor(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    /// Sends a request to `/mcp` and reads the answer.
    pub(crate) fn ask(&mut self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send(method, headers, body);
        self.answer()
    }

    pub(crate) fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &str) {
        let mut head = format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = body.len();
        self.write(&format!("{head}Content-Length: {length}\r\n\r\n{body}"));
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let (status, headers) = self.head();
        let mut answer = Answer { status, headers, body: Vec::new() };
        if let Some(length) = answer.header("content-length") {
            answer.body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut answer.body).unwrap();
        } else if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                answer.body.extend(chunk);
            }
        }
        answer
    }

    /// The status and the headers of an answer whose body goes on.
    pub(crate) fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let line = self.line();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { return (status, headers) };
            headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The next chunk of a body, `None` at its end.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut chunk = vec![0; length];
        self.0.read_exact(&mut chunk).unwrap();
        assert_eq!(self.line(), "");
        (length > 0).then_some(chunk)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end_matches("\r\n").to_owned()
    }

    /// What comes until the server closes the connection, and whether it was reset.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut rest = Vec::new();
        let reset = self.0.read_to_end(&mut rest).is_err();
        (rest, reset)
    }
}
