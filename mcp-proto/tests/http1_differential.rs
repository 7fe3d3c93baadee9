//! Decodes a corpus of answers with `http1` and with `ureq-proto`, and knows every difference.

mod http1_corpus;
mod http1_support;

use std::collections::BTreeMap;

use http1_corpus::case;
use mcp_proto::http1::Fault;
use ureq_proto::client::{Call, RecvBodyResult, RecvResponseResult, SendRequestResult};
use ureq_proto::http::{Request, Response, Version};

/// How many answers are compared.
const CASES: u64 = 40_000;

/// A complete answer, in the words of both.
#[derive(Debug, PartialEq, Eq)]
struct Complete {
    status: u16,
    minor_version: u8,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    used: usize,
    keeps_alive: bool,
}

/// What `ureq-proto` makes of an answer and the end of the stream.
#[derive(Debug)]
enum Theirs {
    Complete(Complete),
    Incomplete,
    Refused(String),
}

fn head(response: &Response<()>) -> Complete {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = response.headers().iter();
    let mut headers: Vec<_> = headers.map(|(n, v)| (n.to_string(), text(v.as_bytes()))).collect();
    headers.sort_by(|a, b| a.0.cmp(&b.0));
    Complete {
        status: response.status().as_u16(),
        minor_version: u8::from(response.version() == Version::HTTP_11),
        headers,
        body: Vec::new(),
        used: 0,
        keeps_alive: false,
    }
}

fn theirs(method: &str, bytes: &[u8]) -> Result<Theirs, ureq_proto::Error> {
    let post = method == "POST";
    let request = Request::builder().method(method).uri("http://example.com/mcp");
    let request = if post { request.header("content-length", "2") } else { request };
    let mut call = Call::new(request.body(()).expect("a valid request"))?.proceed();
    let mut out = vec![0; 1000];
    call.write(&mut out)?;
    let mut call = match call.proceed()? {
        Some(SendRequestResult::RecvResponse(call)) => call,
        Some(SendRequestResult::SendBody(mut call)) => {
            call.write(b"{}", &mut out)?;
            call.proceed().expect("the body is sent")
        }
        _ => panic!("the request is sent"),
    };
    let mut at = 0;
    let mut complete = loop {
        match call.try_response(&bytes[at..], false)? {
            (used, Some(response)) => {
                at += used;
                break head(&response);
            }
            (0, None) => return Ok(Theirs::Incomplete),
            (used, None) => at += used,
        }
    };
    let cleanup = match call.proceed().expect("there was a response") {
        RecvResponseResult::Cleanup(call) => call,
        RecvResponseResult::Redirect(call) => call.proceed(),
        RecvResponseResult::RecvBody(mut call) => {
            loop {
                let (used, written) = call.read(&bytes[at..], &mut out)?;
                at += used;
                complete.body.extend(&out[..written]);
                if used == 0 && written == 0 {
                    break;
                }
            }
            match call.proceed() {
                None => return Ok(Theirs::Incomplete),
                Some(RecvBodyResult::Redirect(call)) => call.proceed(),
                Some(RecvBodyResult::Cleanup(call)) => call,
            }
        }
    };
    complete.used = at;
    complete.keeps_alive = !cleanup.must_close_connection();
    Ok(Theirs::Complete(complete))
}

fn ours(method: &str, bytes: &[u8]) -> Result<Complete, Fault> {
    let answer = http1_support::whole(method, bytes);
    let keeps_alive = answer.end.map_err(|error| error.fault)?;
    let head = answer.head.expect("a complete answer has a head");
    let headers = head.headers.iter();
    let mut headers: Vec<_> = headers.map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    headers.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Complete {
        status: head.status,
        minor_version: head.minor_version,
        headers,
        body: answer.body,
        used: bytes.len() - answer.rest.len(),
        keeps_alive,
    })
}

/// Every kind of difference, and its reason. What the corpus shows besides fails the test, and so
/// does a kind that it does not show any more.
const DIFFERENCES: [(&str, &str); 20] = [
    // Ambiguous framing: two readers could see two ends of the answer.
    ("we refuse LengthBesideCoding, they take it", "they drop the length"),
    ("we refuse TransferCoding, they take it", "they look for `chunked` anywhere, or ignore it"),
    ("we refuse TransferCodingOn10, they take it", "they ignore the coding"),
    ("we refuse ChunkSize, they take it", "they accept a sign and blanks before the size"),
    ("we refuse ChunkSize, they wait", "they look at a size once its line has ended"),
    ("we refuse ChunkLine, they take it", "they accept an LF or a control character inside"),
    ("we refuse ChunkLine, they wait", "they look for the next CRLF, however far away"),
    ("we refuse ChunkEnd, they wait", "the same, after the data of a chunk"),
    ("we refuse Trailer, they take it", "they skip whatever stands before an empty line"),
    ("we refuse Trailer, they wait", "they look for the next CRLF"),
    // What a client of a server that behaves never meets.
    ("we refuse NotHttp, they take it", "they skip empty lines before the head"),
    ("we refuse SwitchingProtocols, they take it", "they hand the 101 on"),
    ("we take it, they refuse HeadersWith100", "they accept no header in a 100"),
    // Reuse of the connection.
    ("we close, they keep", "an answer without a body (204) tells a length: it may still come"),
    ("we close, they keep, more bytes", "they do not see what follows the answer"),
    // Lengths and codings mean nothing where there is no body.
    ("we take it, they refuse BadContentLengthHeader", "they check it at HEAD, 204 and 304, too"),
    ("we take it, they refuse TooManyContentLengthHeaders", "the same"),
    // Bounds, and when something is looked at.
    ("we take it, they refuse ChunkExpectedCrLf", "their line before a chunk has 20 bytes at most"),
    ("we wait, they refuse HttpParseFail", "we look at a head once its last line has come"),
    ("we wait, they refuse HeadersWith100", "the answer is broken off after a 100 with headers"),
];

/// How the two differ, if they do.
fn difference(case: &http1_corpus::Case) -> Option<String> {
    let ours = ours(case.method, &case.bytes);
    let theirs = theirs(case.method, &case.bytes);
    let theirs = theirs.unwrap_or_else(|error| Theirs::Refused(format!("{error:?}")));
    let refused = |error: &str| error.split('(').next().unwrap_or_default().to_owned();
    Some(match (ours, theirs) {
        (Ok(ours), Theirs::Complete(theirs)) => {
            let same = Complete { keeps_alive: theirs.keeps_alive, ..ours };
            assert_eq!(same, theirs, "two readings of {case:?}");
            match (ours.keeps_alive, theirs.keeps_alive) {
                (false, true) if same.used < case.bytes.len() => "we close, they keep, more bytes",
                (false, true) => "we close, they keep",
                (true, false) => "we keep, they close",
                _ => return None,
            }
            .to_owned()
        }
        (Err(Fault::Truncated(_)), Theirs::Incomplete) => return None,
        (Err(Fault::Truncated(_)), Theirs::Complete(_)) => "we wait, they take it".to_owned(),
        (Err(Fault::Truncated(_)), Theirs::Refused(error)) => {
            format!("we wait, they refuse {}", refused(&error))
        }
        (Err(_), Theirs::Refused(_)) => return None,
        (Err(fault), Theirs::Complete(_)) => format!("we refuse {fault:?}, they take it"),
        (Err(fault), Theirs::Incomplete) => format!("we refuse {fault:?}, they wait"),
        (Ok(_), Theirs::Incomplete) => "we take it, they wait".to_owned(),
        (Ok(_), Theirs::Refused(error)) => format!("we take it, they refuse {}", refused(&error)),
    })
}

#[test]
fn answers_mean_the_same_as_to_ureq_proto() {
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

/// The corpus is worth something only if many of its answers are valid.
#[test]
fn the_corpus_is_balanced() {
    let complete = (0..CASES / 10).filter(|number| {
        let case = case(*number);
        ours(case.method, &case.bytes).is_ok()
    });
    let (complete, all) = (complete.count(), (CASES / 10) as usize);
    assert!(all * 2 / 5 < complete && complete < all * 4 / 5, "{complete} of {all}");
}
