//! Requests, as a server reads them.

use std::io::{self, BufRead, Read};

/// What a request may be at most, body and head: nothing in a test is larger.
const MAX_HEAD: u64 = 256 * 1024;
const MAX_BODY: u64 = 256 * 1024 * 1024;

/// A request that was read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// What is asked for, as it was sent: a path and maybe a query.
    pub target: String,
    /// Whether it is HTTP/1.1, and not 1.0.
    pub is_1_1: bool,
    /// The headers in the order in which they came. Names are as they were sent.
    pub headers: Vec<(String, String)>,
    /// The body, after its transfer coding was undone.
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection. `None` when the client has closed it instead.
    ///
    /// # Errors
    /// `InvalidData` says which rule of HTTP the request breaks.
    pub fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        if input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut head = input.take(MAX_HEAD);
        let line = line(&mut head)?;
        let mut words = line.split(' ');
        let parts = (words.next(), words.next(), words.next(), words.next());
        let (Some(method), Some(target), Some(version), None) = parts else {
            return Err(invalid(format!("the request line is {line:?}")));
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Err(invalid(format!("the version is {version:?}")));
        }
        let mut request = Request {
            method: method.to_owned(),
            target: target.to_owned(),
            is_1_1: version == "HTTP/1.1",
            headers: fields(&mut head)?,
            body: Vec::new(),
        };
        request.body = request.read_body(input)?;
        Ok(Some(request))
    }

    fn read_body(&self, input: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let length: Vec<_> = self.all("content-length").collect();
        let coding: Vec<_> = self.all("transfer-encoding").collect();
        match (&*length, &*coding) {
            ([], []) => Ok(Vec::new()),
            ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => chunks(input),
            ([length], []) if length.bytes().all(|c| c.is_ascii_digit()) => {
                let length: u64 = length.parse().map_err(|_| invalid("the length is too large"))?;
                exactly(input, length)
            }
            _ => Err(invalid(format!("the framing is {length:?} and {coding:?}"))),
        }
    }

    /// The values of all headers of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |it: &&(String, String)| it.0.eq_ignore_ascii_case(name);
        self.headers.iter().filter(named).map(|(_, value)| &**value)
    }

    /// The value of a header, if it is there once or more.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Whether another request may follow on its connection.
    pub fn keeps_alive(&self) -> bool {
        let named = |word: &str| {
            let words = self.all("connection").flat_map(|value| value.split(','));
            words.map(str::trim).any(|it| it.eq_ignore_ascii_case(word))
        };
        if self.is_1_1 { !named("close") } else { named("keep-alive") }
    }
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// One line without its CRLF. A bare LF is no line end here: a client has no reason to send it.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let Some(text) = line.strip_suffix(b"\r\n") else {
        return Err(invalid(format!("a line of the head is {:?}", String::from_utf8_lossy(&line))));
    };
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn fields(input: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut fields = Vec::new();
    loop {
        let line = line(input)?;
        if line.is_empty() {
            return Ok(fields);
        }
        let name_end = line.find(':').filter(|end| *end > 0);
        let (name, value) = line.split_at(name_end.unwrap_or_default());
        let is_token = |c: u8| c.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&c);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(invalid(format!("a header is {line:?}")));
        }
        let value = value[1..].trim_matches([' ', '\t']);
        fields.push((name.to_owned(), value.to_owned()));
    }
}

fn exactly(input: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(invalid(format!("a body of {length} bytes")));
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(body)
}

fn chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(input)?;
        let digits = size.split(';').next().unwrap_or_default();
        let is_hex = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_hexdigit());
        let length = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        let length = length.ok_or_else(|| invalid(format!("the size of a chunk is {size:?}")))?;
        if length == 0 {
            fields(input)?;
            return Ok(body);
        }
        body.extend(exactly(input, length)?);
        if !line(input)?.is_empty() {
            return Err(invalid("a chunk is longer than it says"));
        }
        if body.len() as u64 > MAX_BODY {
            return Err(invalid("the body is too large"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Option<Request>> {
        Request::read(&mut text.as_bytes())
    }

    #[test]
    fn requests_follow_each_other() {
        let text = "POST /mcp?x=1 HTTP/1.1\r\nHost: a\r\nContent-LENGTH: 2\r\nX:\t y \r\n\r\nhi\
                    GET / HTTP/1.0\r\n\r\n";
        let mut input = text.as_bytes();
        let post = Request::read(&mut input).unwrap().unwrap();
        assert_eq!((&*post.method, post.path(), &*post.body), ("POST", "/mcp", &b"hi"[..]));
        assert_eq!((post.header("x"), post.header("y")), (Some("y"), None));
        assert!(post.keeps_alive());
        let get = Request::read(&mut input).unwrap().unwrap();
        assert_eq!((&*get.method, get.is_1_1, get.keeps_alive()), ("GET", false, false));
        assert_eq!(Request::read(&mut input).unwrap(), None);
    }

    #[test]
    fn chunks_are_joined() {
        let text = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\nA\r\n\
                    0123456789\r\n0\r\nT: u\r\n\r\n";
        assert_eq!(read(text).unwrap().unwrap().body, b"hi0123456789");
    }

    #[test]
    fn what_no_client_may_send_is_refused() {
        for text in [
            "POST /\r\n\r\n",
            "POST / HTTP/2\r\n\r\n",
            "POST / HTTP/1.1\n\n",
            "POST / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\n: no name\r\n\r\n",
            "POST / HTTP/1.1\r\nA : b\r\n\r\n",
            "POST / HTTP/1.1\r\n folded: b\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\nx",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nx",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n",
        ] {
            assert_eq!(read(text).unwrap_err().kind(), io::ErrorKind::InvalidData, "{text:?}");
        }
        let cut = read("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nx").unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn connections_end_when_asked_for() {
        let asked = |line: &str| {
            let text = format!("GET / HTTP/1.1\r\n{line}\r\n\r\n");
            read(&text).unwrap().unwrap().keeps_alive()
        };
        assert!(asked("Connection: keep-alive"));
        assert!(!asked("connection: TE, Close"));
    }
}
