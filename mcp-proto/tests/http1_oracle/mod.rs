//! Answers, as `http1` and as `ureq-proto` read them.

use mcp_proto::http1::Fault;
use ureq_proto::client::{Call, RecvBodyResult, RecvResponseResult, SendRequestResult};
use ureq_proto::http::{Request, Response, Version};

/// A complete answer, in the words of both.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complete {
    pub(crate) status: u16,
    pub(crate) minor_version: u8,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) used: usize,
    pub(crate) keeps_alive: bool,
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

pub(crate) fn ours(method: &str, bytes: &[u8]) -> Result<Complete, Fault> {
    let answer = super::http1_support::whole(method, bytes);
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

/// How the two differ, if they do.
pub(crate) fn difference(method: &str, bytes: &[u8]) -> Option<String> {
    let ours = ours(method, bytes);
    let theirs = theirs(method, bytes);
    let theirs = theirs.unwrap_or_else(|error| Theirs::Refused(format!("{error:?}")));
    let refused = |error: &str| error.split('(').next().unwrap_or_default().to_owned();
    Some(match (ours, theirs) {
        (Ok(ours), Theirs::Complete(theirs)) => {
            let same = Complete { keeps_alive: theirs.keeps_alive, ..ours };
            assert_eq!(
                same,
                theirs,
                "two readings of {method} {:?}",
                String::from_utf8_lossy(bytes)
            );
            match (ours.keeps_alive, theirs.keeps_alive) {
                (false, true) if same.used < bytes.len() => "we close, they keep, more bytes",
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
