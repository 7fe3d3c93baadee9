//! Answers, as a server writes them.

use std::fmt::Write as _;
use std::io::{self, Write};

/// The status line and the headers of an answer.
#[derive(Clone, Debug)]
pub struct Head(String);

impl Head {
    /// An answer of this status.
    pub fn new(status: u16) -> Self {
        Head(format!("HTTP/1.1 {status} {}\r\n", reason(status)))
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        // A string takes every write.
        let _ = write!(self.0, "{name}: {value}\r\n");
        self
    }

    /// The whole head, with the empty line that ends it.
    pub fn finish(mut self) -> String {
        self.0.push_str("\r\n");
        self.0
    }

    /// The whole answer, with the length of its body.
    pub fn body(self, body: &[u8]) -> Vec<u8> {
        // These two have no body, and no length either.
        let mut all = match self.0.get(9..12) {
            Some("204" | "304") => return self.finish().into_bytes(),
            _ => self.header("Content-Length", body.len()).finish().into_bytes(),
        };
        all.extend_from_slice(body);
        all
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        415 => "Unsupported Media Type",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "As It Says",
    }
}

/// Writes a body in chunks: each write is one.
#[derive(Debug)]
pub struct Chunked<W>(pub W);

impl<W: Write> Chunked<W> {
    /// Writes the end of the body.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.write_all(b"0\r\n\r\n")?;
        Ok(self.0)
    }
}

impl<W: Write> Write for Chunked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            write!(self.0, "{:x}\r\n", bytes.len())?;
            self.0.write_all(bytes)?;
            self.0.write_all(b"\r\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_framed() {
        let answer = Head::new(400).header("A", 1).body(b"hi");
        assert_eq!(answer, b"HTTP/1.1 400 Bad Request\r\nA: 1\r\nContent-Length: 2\r\n\r\nhi");
        assert_eq!(Head::new(204).body(b""), b"HTTP/1.1 204 No Content\r\n\r\n");
        let mut body = Chunked(Vec::new());
        body.write_all(b"0123456789").unwrap();
        body.write_all(b"").unwrap();
        assert_eq!(body.finish().unwrap(), b"a\r\n0123456789\r\n0\r\n\r\n");
    }
}
