//! Drives the decoder of answers.
#![allow(dead_code, reason = "each test file uses a part of it")]

use mcp_proto::http1::{Exchange, Head, Headers, Part, Request, ResponseError};

/// What came of the bytes of an answer and the end of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) head: Option<Head>,
    pub(crate) body: Vec<u8>,
    /// Whether the connection is reusable.
    pub(crate) end: Result<bool, ResponseError>,
    /// What did not belong to the answer.
    pub(crate) rest: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.status)
    }
}

/// An exchange whose request is still to be sent.
pub(crate) fn unsent(method: &str) -> Exchange {
    let headers = Headers::new();
    let target = if method == "CONNECT" { "example.com:443" } else { "/mcp" };
    let request = Request { method, target, authority: "example.com:443", headers: &headers };
    let body = (method == "POST").then(|| b"{}".to_vec());
    Exchange::new(&request, body, false).expect("a valid request")
}

/// An exchange whose request is sent.
pub(crate) fn exchange(method: &str) -> Exchange {
    let mut exchange = unsent(method);
    exchange.sent(exchange.unsent().len());
    exchange
}

/// Decodes an answer that came at once, then the end of the stream; checks that the same bytes one
/// by one give the same.
pub(crate) fn answer(method: &str, bytes: &[u8]) -> Answer {
    let at_once = whole(method, bytes);
    let every: Vec<_> = (1..bytes.len()).collect();
    assert_eq!(in_pieces(method, bytes, &every), at_once);
    at_once
}

pub(crate) fn whole(method: &str, bytes: &[u8]) -> Answer {
    in_pieces(method, bytes, &[])
}

/// Decodes an answer that was cut at these places. That something follows the answer is told by the
/// decoder if it came in one piece with its end; in a later piece, its reader sees it.
pub(crate) fn in_pieces(method: &str, bytes: &[u8], cuts: &[usize]) -> Answer {
    let mut exchange = exchange(method);
    let mut answer = Answer { head: None, body: Vec::new(), end: Ok(false), rest: Vec::new() };
    let mut ended = false;
    let mut from = 0;
    for to in cuts.iter().copied().chain([bytes.len()]) {
        let mut piece = &bytes[from..to];
        from = to;
        loop {
            match exchange.decode(&mut piece) {
                Ok(Some(Part::Head(head))) => answer.head = Some(head),
                Ok(Some(Part::Body(data))) => {
                    assert!(!data.is_empty());
                    answer.body.extend(data);
                }
                Ok(Some(Part::End { reusable })) => {
                    answer.end = Ok(reusable);
                    ended = true;
                }
                Ok(None) => break,
                Err(error) => {
                    answer.end = Err(error);
                    return answer;
                }
            }
        }
        assert!(ended || piece.is_empty(), "nothing is left before the end");
        answer.rest.extend(piece);
    }
    match exchange.finish() {
        Ok(Some(Part::End { reusable })) => answer.end = Ok(reusable),
        Ok(Some(part)) => panic!("no end: {part:?}"),
        Ok(None) => {}
        Err(error) => answer.end = Err(error),
    }
    if !cuts.is_empty() && !answer.rest.is_empty() {
        answer.end = answer.end.map(|_| false);
    }
    answer
}
