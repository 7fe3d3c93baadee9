//! A corpus of answers, valid and malformed, each made from a number.

/// An answer, and the method that it answers.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) method: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// The case with this number.
pub(crate) fn case(number: u64) -> Case {
    let mut draw = Draw(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let method = draw.one(&["POST", "POST", "POST", "GET", "HEAD"]);
    // Most cases have one thing that is odd, and many have none.
    let odd = draw.one(&[
        Odd::No,
        Odd::No,
        Odd::Status,
        Odd::Header,
        Odd::Framing,
        Odd::Body,
        Odd::Bytes,
    ]);
    let mut bytes = Vec::new();
    for _ in 0..draw.one(&[0, 0, 0, 0, 1, 2]) {
        bytes.extend(draw.one(&INTERIM).as_bytes());
    }
    let status = if odd == Odd::Status { draw.one(&ODD_STATUS) } else { draw.one(&STATUS) };
    bytes.extend(status.as_bytes());
    let (framing, chunked, length) = draw.framing(odd);
    let mut headers: Vec<&str> = (0..draw.below(4)).map(|_| draw.one(&HEADERS)).collect();
    if odd == Odd::Header {
        headers.push(draw.one(&ODD_HEADERS));
    }
    let at = draw.below(headers.len() + 1);
    headers.insert(at, &framing);
    bytes.extend(headers.concat().as_bytes());
    bytes.extend(draw.one(&["\r\n", "\r\n", "\r\n", "\n"]).as_bytes());
    let no_body = method == "HEAD" || status.contains(" 204") || status.contains(" 304");
    if !no_body || draw.below(8) == 0 {
        draw.body(&mut bytes, chunked, length, odd);
    }
    if draw.below(12) == 0 {
        bytes.extend(draw.one(&["\r\n", "x", "HTTP/1.1 200 OK\r\n\r\n"]).as_bytes());
    }
    if odd == Odd::Bytes {
        draw.damage(&mut bytes);
    }
    Case { method, bytes }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Odd {
    No,
    Status,
    Header,
    Framing,
    Body,
    Bytes,
}

const INTERIM: [&str; 4] = [
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 102 Processing\r\nA: b\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n",
];

const STATUS: [&str; 10] = [
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\n",
    "HTTP/1.1 202\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 404 Not Found \r\n",
    "HTTP/1.1 500 \r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 799 Caf\u{e9}\r\n",
];

const ODD_STATUS: [&str; 11] = [
    "HTTP/1.1 101 Switching Protocols\r\n",
    "\r\nHTTP/1.1 200 OK\r\n",
    "HTTP/1.1  200 OK\r\n",
    "HTTP/1.1 20 OK\r\n",
    "HTTP/1.1 099 OK\r\n",
    "HTTP/1.1 2000 OK\r\n",
    "HTTP/1.2 200 OK\r\n",
    "HTTP/2.0 200 OK\r\n",
    "HTTP/1.1 200 O\x01K\r\n",
    "HTTP/1.1 200 O\rK\r\n",
    "HTTP/1.1\r\n",
];

const HEADERS: [&str; 12] = [
    "Content-Type: application/json\r\n",
    "Content-Type: text/event-stream; charset=utf-8\r\n",
    "Mcp-Session-Id: 1868a90c\r\n",
    "Set-Cookie: a=b\r\n",
    "Set-Cookie: c=d\r\n",
    "Connection: keep-alive\r\n",
    "connection: close\r\n",
    "Connection: x, Close\r\n",
    "X-Empty:\r\n",
    "X-Blank: \t \r\n",
    "X-Padded:\t a\tb \r\n",
    "X-Text: caf\u{e9}\n",
];

const ODD_HEADERS: [&str; 12] = [
    "A: b\r\n c\r\n",
    "A: b\r\n\tc\r\n",
    " A: b\r\n",
    "A : b\r\n",
    "A: b\rc\r\n",
    "A: b\0c\r\n",
    "A: b\x07c\r\n",
    "A: b\x7f\r\n",
    "nothing\r\n",
    ": b\r\n",
    "\u{e9}: b\r\n",
    "A(: b\r\n",
];

const ODD_FRAMING: [&str; 26] = [
    "Content-Length: +5\r\n",
    "Content-Length: -5\r\n",
    "Content-Length: 5 5\r\n",
    "Content-Length: 5,\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length: 5, 6\r\n",
    "Content-Length: 0x5\r\n",
    "Content-Length:\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length: 5\r\nContent-Length: 5\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n",
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding: chunked, gzip\r\n",
    "Transfer-Encoding: chunked, chunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding: chunkedx\r\n",
    "Transfer-Encoding: chunked;q=1\r\n",
    "Transfer-Encoding: ,chunked\r\n",
    "Transfer-Encoding:\r\n",
    "Transfer-Encoding: CHUNKED\r\n",
    "Transfer-Encoding : chunked\r\n",
];

const EXTENSIONS: [&str; 6] = ["", "", "", "  ", ";a=b", " ; a=\"b\""];

/// Each stands for a whole chunk.
const ODD_CHUNKS: [&str; 16] = [
    "+2\r\n{}\r\n",
    "-2\r\n{}\r\n",
    " 2\r\n{}\r\n",
    "\r\n{}\r\n",
    ";a\r\n{}\r\n",
    "0x2\r\n{}\r\n",
    "2 2\r\n{}\r\n",
    "2\n{}\r\n",
    "2\r\n{}\n",
    "2\r\n{}",
    "2\r\n{}x\r\n",
    "2\r{}\r\n",
    "g\r\n{}\r\n",
    "2;a\nb\r\n{}\r\n",
    "ffffffffffffffffff\r\n",
    "2;a-long-extension-of-a-chunk=b\r\n{}\r\n",
];

const ENDS: [&str; 4] = ["0\r\n\r\n", "0\r\n\r\n", "000;a=b\r\n\r\n", "0\r\nA: b\r\nC:d\r\n\r\n"];

const ODD_ENDS: [&str; 10] = [
    "0\r\n",
    "0\r\n\n",
    "0\r\nA: b\r\n",
    "0\r\nHTTP/1.1 200 OK\r\n\r\n",
    "0\r\nA: b\n\r\n",
    "0\r\n A: b\r\n\r\n",
    "0\r\nA: b\rc\r\n\r\n",
    "0\r\n: b\r\n\r\n",
    "0\n\n",
    "",
];

/// Numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// The headers, whether the body is chunked, and its length otherwise.
    fn framing(&mut self, odd: Odd) -> (String, bool, Option<usize>) {
        if odd == Odd::Framing {
            let headers = self.one(&ODD_FRAMING);
            return (String::from(headers), headers.contains("hunked"), Some(5));
        }
        let length = self.below(20);
        match self.below(8) {
            0 => (String::new(), false, Some(length)),
            1..4 => (format!("Content-Length: {length}\r\n"), false, Some(length)),
            _ => (String::from("Transfer-Encoding: chunked\r\n"), true, None),
        }
    }

    fn body(&mut self, bytes: &mut Vec<u8>, chunked: bool, length: Option<usize>, odd: Odd) {
        let odd = odd == Odd::Body;
        if let Some(length) = length.filter(|_| !chunked) {
            let sent = if odd { self.below(length + 1) } else { length };
            bytes.extend((0..sent).map(|at| b'a' + at as u8));
            return;
        }
        let chunks = self.below(4);
        let strange = self.below(chunks + 2);
        for chunk in 0..chunks {
            if odd && chunk == strange {
                bytes.extend(self.one(&ODD_CHUNKS).as_bytes());
            }
            let length = self.below(20) + 1;
            let extension = self.one(&EXTENSIONS);
            let size =
                if self.below(2) == 0 { format!("{length:x}") } else { format!("{length:02X}") };
            bytes.extend(format!("{size}{extension}\r\n").as_bytes());
            bytes.extend((0..length).map(|_| self.one(b"ab\r\n0;")));
            bytes.extend(b"\r\n");
        }
        let end = if odd && strange >= chunks { self.one(&ODD_ENDS) } else { self.one(&ENDS) };
        bytes.extend(end.as_bytes());
    }

    /// Changes, removes, doubles or inserts a byte, or cuts the answer off.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let strange = self.one(b"\r\n\0 \t:;,0129afgxA\x7f\xe9\xff+");
        match self.below(5) {
            0 => bytes[at] = strange,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, bytes[at]),
            3 => bytes.insert(at, strange),
            _ => bytes.truncate(at),
        }
    }
}
