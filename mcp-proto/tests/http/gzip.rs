//! Compressed bodies.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use mcp_proto::op::ListTools;
use mcp_proto::{ErrorKind, HttpFault, Item, Mailbox, Outcome, ResendReason, Sent, TransportError};
use mcp_proto::{HttpFailureKind, Input};
use serde_json::json;

use crate::support::*;

const GZIP: (&str, &str) = ("content-encoding", "gzip");

fn body_of(post: &Posted, bench: &Bench, text: &str) -> String {
    let content = json!({ "content": [{ "type": "text", "text": text }] });
    answer(post, &bench.complete(content))
}

/// M-SIZE-01, M-SIZE-04, M-HTTP-07: bodies are inflated, whatever the case of the header and
/// however they are split; members of one body follow each other.
#[test]
fn compressed_answers_are_read() {
    for split in [Split::Whole, Split::Bytes, Split::Lengths(vec![7, 1, 100])] {
        in_both_eras(|bench| {
            bench.split = split.clone();
            for coding in [GZIP, ("Content-Encoding", "GZIP"), ("content-encoding", "x-gzip")] {
                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                assert_eq!(post.header("accept-encoding"), Some("gzip"));
                let text = "é".repeat(10_000);
                let body = body_of(&post, bench, &text);
                let (head, tail) = body.as_bytes().split_at(100);
                let mut body = gzip(head);
                body.extend(gzip(tail));
                bench.whole(&post, 200, &[JSON[0], coding], &body);
                assert_eq!(bench.done(&call).unwrap().text(), text);
            }
        });
    }
}

/// M-RTRY-12, M-SIZE-01: an event is there as soon as its bytes are, and does not wait for more.
#[test]
fn a_compressed_stream_is_a_stream() {
    for split in [Split::Whole, Split::Bytes] {
        let mut bench = Bench::modern();
        bench.split = split;
        let call = bench.begin_with(tool("x", json!({})), options(None, true));
        let post = bench.expect("tools/call");
        bench.head(&post, 200, &[SSE[0], GZIP]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        for n in 1..=3 {
            bench.input(Input::Pull(Mailbox::Call(call.id())));
            let token = &post.meta()["progressToken"];
            let params = json!({ "progressToken": token, "progress": n });
            let message = json!({ "method": "notifications/progress", "params": params });
            encoder.write_all(event(&message.to_string()).as_bytes()).unwrap();
            encoder.flush().unwrap();
            let bytes = std::mem::take(encoder.get_mut());
            bench.body(&post, &bytes);
            let progress =
                |item: &Item| matches!(item, Item::Progress(p) if p.progress == f64::from(n));
            assert!(bench.items.last().is_some_and(|(_, item)| progress(item)), "{n}");
        }
        let message = body_of(&post, &bench, "done");
        encoder.write_all(event(&message).as_bytes()).unwrap();
        encoder.flush().unwrap();
        let bytes = std::mem::take(encoder.get_mut());
        bench.body(&post, &bytes);
        assert_eq!(bench.done(&call).unwrap().text(), "done");
    }
}

/// M-SIZE-01, M-SIZE-02, M-UNTR-02: a bomb is abandoned once it is too large, and not read further.
#[test]
fn a_bomb_is_abandoned() {
    const LIMIT: usize = 100_000;
    let mut config = config();
    config.max_message_bytes = LIMIT;
    let zeros = gzip(&vec![b'0'; 8 * 1024 * 1024]);
    let mut event = Vec::from(b"data: ".as_slice());
    event.extend(vec![b'0'; 8 * 1024 * 1024]);
    let event = gzip(&event);
    for (kind, bomb) in [(JSON[0], &zeros), (SSE[0], &event)] {
        let mut bench = Bench::modern_with(config.clone());
        let call = bench.begin(tool("x", json!({})));
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/call");
        let list_post = bench.expect("tools/list");
        bench.head(&post, 200, &[kind, GZIP]);
        let mut fed = 0;
        for piece in bomb.chunks(64) {
            if !bench.is_pending(&call) {
                break;
            }
            bench.body(&post, piece);
            fed += piece.len();
        }
        if kind == JSON[0] {
            let error = bench.error(&call);
            let ErrorKind::Limit(limit) = error.kind() else { panic!("{error}") };
            assert_eq!((limit.limit, limit.setting), (LIMIT, "max_message_bytes"));
            assert!(error.is_transport());
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert!(fed < LIMIT / 500, "{fed} bytes were read for {LIMIT}");
            assert!(!bench.watch.is_open(post.exchange), "its exchange is over");
        } else {
            // An event that answers nobody is thrown away; the call waits for its own.
            assert!(bench.is_pending(&call));
            bench.cancel(&call);
        }
        assert!(bench.is_pending(&list), "exactly that call fails");
        bench.completes(&list_post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
        bench.quiet();
    }
}

/// M-RTRY-13, M-SIZE-01: a JSON body that is cut off, or is no gzip, fails the call and is not
/// asked for again.
#[test]
fn broken_compression_fails_the_call() {
    in_both_eras(|bench| {
        for cut in [0, 5, 12, 40] {
            let call = bench.begin(tool("x", json!({})));
            let post = bench.expect("tools/call");
            let body = gzip(body_of(&post, bench, "x").as_bytes());
            bench.whole(&post, 200, &[JSON[0], GZIP], body.get(..cut).unwrap());
            let error = bench.error(&call);
            let unusable = |kind: &_| {
                matches!(kind, ErrorKind::Transport(TransportError::Http(HttpFault::Unusable(_))))
            };
            assert!(unusable(error.kind()), "{error}");
            let call = bench.begin(tool("x", json!({})));
            let post = bench.expect("tools/call");
            let body = body_of(&post, bench, "this is no gzip");
            bench.whole(&post, 200, &[JSON[0], GZIP], body.as_bytes());
            assert!(unusable(bench.error(&call).kind()));
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            bench.whole(&post, 200, &[JSON[0], ("content-encoding", "br")], b"\x0b\x02\x80x");
            let error = bench.error(&list);
            assert!(unusable(error.kind()) && error.to_string().contains("br"), "{error}");
            assert!(!bench.watch.is_open(post.exchange), "its exchange is over");
            bench.quiet();
        }
    });
}

/// M-RTRY-09: servers that end a compressed stream without its last bytes end a stream.
#[test]
fn a_compressed_stream_that_is_cut_off_has_ended() {
    for resets in [false, true] {
        let mut bench = Bench::modern();
        let call = bench.begin(tool("x", json!({})));
        let post = bench.expect("tools/call");
        let body = gzip(event(&body_of(&post, &bench, "never")).as_bytes());
        bench.head(&post, 200, &[SSE[0], GZIP]);
        bench.body(&post, body.get(..body.len() / 2).unwrap());
        if resets {
            bench.breaks(&post, HttpFailureKind::Closed, Sent::All);
        } else {
            bench.ends(&post);
        }
        assert_eq!(bench.watch.resends(call.id()), [ResendReason::BrokenModernStream]);
        let again = bench.expect("tools/call");
        // This one has the answer, and no end either.
        let body = gzip(event(&body_of(&again, &bench, "done")).as_bytes());
        bench.head(&again, 200, &[SSE[0], GZIP]);
        bench.body(&again, body.get(..body.len() - 8).unwrap());
        assert_eq!(bench.done(&call).unwrap().text(), "done");
    }
}

/// M-RTRY-05, M-ERR-03: the status of an error counts, whatever its body is.
#[test]
fn compressed_errors_are_read_and_broken_ones_do_no_harm() {
    let mut bench = Bench::modern();
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    bench.whole(&post, 400, &[JSON[0], GZIP], &gzip(refusal(&post, -32602).as_bytes()));
    assert_eq!(bench.error(&call).server_error().map(|error| error.code), Some(-32602));
    for coding in [GZIP, ("content-encoding", "br")] {
        for body in [&b""[..], b"\x1f\x8b", b"Please log in"] {
            for status in [401, 503] {
                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                bench.whole(&post, status, &[JSON[0], coding], body);
                let error = bench.error(&call);
                let ErrorKind::Transport(TransportError::Http(fault)) = error.kind() else {
                    panic!("{error}");
                };
                match fault {
                    HttpFault::Authorization { status: 401, .. } if status == 401 => {}
                    HttpFault::Trouble { status: 503, .. } if status == 503 => {}
                    _ => panic!("{status} {body:?}: {error}"),
                }
            }
        }
    }
}
