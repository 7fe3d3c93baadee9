//! Decodes a corpus of answers with `http1` and with `hyper`, and knows every difference. (In
//! `mcp-proto`, where `http1` lives, the same is done with `ureq-proto`.)

#![cfg(feature = "tokio")]

#[path = "../../mcp-proto/tests/http1_corpus/mod.rs"]
mod http1_corpus;
#[path = "../../mcp-proto/tests/http1_support/mod.rs"]
mod http1_support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_lite::future::{block_on, poll_fn};
use http_body::{Body, Frame, SizeHint};
use http1_corpus::{Case, case};
use hyper::Request;
use hyper::client::conn::http1::handshake;
use hyper::rt::{Read, ReadBufCursor, Write};
use mcp_proto::http1::Fault;

/// How many answers are compared.
const CASES: u64 = 40_000;

/// The other end of a connection: an answer, and then its end.
struct Server {
    answer: Vec<u8>,
    at: usize,
    /// The answer comes after the request, or else it would be to nothing.
    is_asked: bool,
}

impl Read for Server {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_asked {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let rest = &self.answer[self.at..];
        let count = buffer.remaining().min(rest.len());
        buffer.put_slice(&rest[..count]);
        self.at += count;
        Poll::Ready(Ok(()))
    }
}

impl Write for Server {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_asked |= !bytes.is_empty();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The body of a request, in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// A complete answer, in the words of both.
#[derive(Debug, PartialEq, Eq)]
struct Complete {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn complete(status: u16, mut headers: Vec<(String, String)>, body: Vec<u8>) -> Complete {
    headers.sort_by(|a, b| a.0.cmp(&b.0));
    Complete { status, headers, body }
}

/// What `hyper` makes of an answer and the end of the stream.
fn theirs(method: &str, bytes: &[u8]) -> Result<Complete, hyper::Error> {
    let server = Server { answer: bytes.to_vec(), at: 0, is_asked: false };
    let body = Whole((method == "POST").then(|| Bytes::from_static(b"{}")));
    let request = Request::builder().method(method).uri("/mcp").header("host", "example.com");
    let request = request.body(body).expect("a valid request");
    block_on(async move {
        let (mut sender, connection) = handshake(server).await?;
        let (mut connection, mut ended) = (pin!(connection), false);
        let mut exchange = pin!(async {
            let response = sender.send_request(request).await?;
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let headers = response.headers().iter();
            let headers = headers.map(|(n, v)| (n.to_string(), text(v.as_bytes()))).collect();
            let status = response.status().as_u16();
            let (mut body, mut all) = (pin!(response.into_body()), Vec::new());
            while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
                all.extend(frame?.into_data().unwrap_or_default());
            }
            Ok(complete(status, headers, all))
        });
        poll_fn(|cx| {
            if let Poll::Ready(done) = exchange.as_mut().poll(cx) {
                return Poll::Ready(done);
            }
            ended = ended || connection.as_mut().poll(cx).is_ready();
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    })
}

fn ours(method: &str, bytes: &[u8]) -> Result<Complete, Fault> {
    let answer = http1_support::whole(method, bytes);
    answer.end.map_err(|error| error.fault)?;
    let head = answer.head.expect("a complete answer has a head");
    let headers = head.headers.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    Ok(complete(head.status, headers, answer.body))
}

/// Every kind of difference, and its reason. What the corpus shows besides fails the test, and so
/// does a kind that it does not show any more.
const DIFFERENCES: [(&str, &str); 6] = [
    // Ambiguous framing: two readers could see two ends of the answer.
    ("we refuse LengthBesideCoding, they take it", "they drop the length"),
    ("we refuse TransferCoding, they take it", "they read on to the end without a last `chunked`"),
    ("we refuse ChunkLine, they take it", "they accept control characters in an extension"),
    ("we refuse Trailer, they take it", "they accept LF alone as the end of its line"),
    // What a client of a server that behaves never meets.
    ("we refuse NotHttp, they take it", "they skip empty lines before the head"),
    ("we refuse SwitchingProtocols, they take it", "they hand the 101 on"),
];

/// How the two differ, if they do. That one waits for more is the same to both: the stream has
/// ended.
fn difference(case: &Case) -> Option<String> {
    match (ours(case.method, &case.bytes), theirs(case.method, &case.bytes)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs, "two readings of {case:?}");
            None
        }
        (Err(_), Err(_)) => None,
        (Err(fault), Ok(_)) => Some(format!("we refuse {fault:?}, they take it")),
        (Ok(_), Err(error)) => Some(format!("we take it, they refuse {error:?}")),
    }
}

#[test]
fn answers_mean_the_same_as_to_hyper() {
    let mut seen: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let mut same = 0;
    for number in 0..CASES {
        match difference(&case(number)) {
            Some(difference) => seen.entry(difference).or_insert((0, number)).0 += 1,
            None => same += 1,
        }
    }
    for (difference, (count, first)) in &seen {
        let known = DIFFERENCES.iter().any(|(known, _)| known == difference);
        assert!(known, "{difference}: {count} times, first in case {first}, {:?}", case(*first));
    }
    for (difference, why) in DIFFERENCES {
        assert!(seen.contains_key(difference), "{difference} ({why}): not any more");
    }
    assert!(same > CASES / 2, "only {same} cases are the same");
}
