//! What the decoder of answers makes of bytes: framing, bounds, and each fault by its name.

mod http1_support;

use http1_support::{answer, exchange, in_pieces, whole};
use mcp_proto::http1::{
    Fault, MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, MAX_INTERIM_HEADS, MAX_TRAILER_BYTES,
    Part, Phase, ResponseError, Sent,
};
use proptest::prelude::*;

/// The body of an answer that has to be complete, and whether the connection can be reused.
fn body(bytes: &str) -> (String, bool) {
    let answer = answer("POST", bytes.as_bytes());
    let text = String::from_utf8(answer.body).expect("text");
    (text, answer.end.unwrap_or_else(|error| panic!("{bytes:?}: {error}")))
}

fn reusable(text: &str) -> (String, bool) {
    (String::from(text), true)
}

fn last(text: &str) -> (String, bool) {
    (String::from(text), false)
}

fn fault(bytes: &str) -> Fault {
    let end = answer("POST", bytes.as_bytes()).end;
    end.map_err(|error| error.fault).expect_err(bytes)
}

#[test]
fn a_length_says_where_the_body_ends() {
    assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), reusable("{}"));
    assert_eq!(body("HTTP/1.1 200\r\ncontent-length:0\r\n\r\n"), reusable(""));
    assert_eq!(body("HTTP/1.1 404 \r\nCONTENT-LENGTH:  007 \r\n\r\nmissing"), reusable("missing"));
    // The same length twice is one length.
    assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}"), reusable("{}"));
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\nContent-Length: 02\r\n\r\n{}";
    assert_eq!(body(twice), reusable("{}"));
}

#[test]
fn chunks_are_put_together() {
    let chunked = |body_bytes: &str| {
        body(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body_bytes}"))
    };
    assert_eq!(chunked("0\r\n\r\n"), reusable(""));
    assert_eq!(chunked("2\r\n{}\r\n0\r\n\r\n"), reusable("{}"));
    assert_eq!(chunked("1\r\na\r\n0a\r\n0123456789\r\n0000\r\n\r\n"), reusable("a0123456789"));
    assert_eq!(chunked("A;x=y;z=\"1;2\"\r\n0123456789\r\n0;last\r\n\r\n"), reusable("0123456789"));
    assert_eq!(chunked("2  \r\n\r\n\r\n0\t\r\n\r\n"), reusable("\r\n"));
    assert_eq!(chunked("2 ; x\r\n{}\r\n0\r\nA: b\r\nC:\r\n\r\n"), reusable("{}"));
    let odd = "HTTP/1.1 200 OK\r\ntransfer-encoding:  Chunked \r\n\r\n0\r\n\r\n";
    assert_eq!(body(odd), reusable(""));
}

#[test]
fn without_a_length_the_body_ends_with_the_connection() {
    assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nabc"), last("abc"));
    assert_eq!(body("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"), last(""));
}

#[test]
fn some_answers_have_no_body() {
    for (method, head, reused) in [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", true),
        ("POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", true),
        ("POST", "HTTP/1.1 204 No Content\r\n\r\n", true),
        ("POST", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", true),
        // Who tells a length that may not be told may send the body, too.
        ("POST", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false),
        ("POST", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ] {
        let answer = answer(method, head.as_bytes());
        assert_eq!((answer.body.len(), answer.end), (0, Ok(reused)), "{method} {head:?}");
    }
}

#[test]
fn what_follows_an_accepted_connect_is_left_for_the_tunnel() {
    let mut connect = exchange("CONNECT");
    let mut bytes: &[u8] = b"HTTP/1.1 200 Connected\r\nContent-Length: 5\r\n\r\n\x16\x03";
    let head = connect.decode(&mut bytes).expect("valid").expect("a head");
    assert!(matches!(head, Part::Head(head) if head.status == 200));
    assert_eq!(connect.decode(&mut bytes), Ok(Some(Part::End { reusable: false })));
    assert_eq!(connect.decode(&mut bytes), Ok(None));
    assert_eq!(bytes, b"\x16\x03");
    let refused = answer("CONNECT", b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno");
    assert_eq!((refused.status(), &*refused.body, refused.end), (407, &b"no"[..], Ok(true)));
}

/// M-HTTP-07
#[test]
fn header_names_are_lower_case_and_keep_their_order() {
    let head = "HTTP/1.1 401 Unauthorized\r\nMCP-Session-ID:  AbC \r\nX-a:1\r\nx-A: 2\r\nempty:\r\n\
        text: \u{e9} \r\nContent-Length: 0\r\n\r\n";
    let answer = answer("POST", head.as_bytes());
    let got = answer.head.expect("a head");
    assert_eq!((got.status, got.minor_version), (401, 1));
    let names: Vec<_> = got.headers.iter().collect();
    let want = [
        ("mcp-session-id", "AbC"),
        ("x-a", "1"),
        ("x-a", "2"),
        ("empty", ""),
        ("text", "\u{e9}"),
        ("content-length", "0"),
    ];
    assert_eq!(names, want);
    assert_eq!(got.headers.get("Mcp-Session-Id"), Some("AbC"));
    assert_eq!(got.headers.get_all("X-A").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(got.headers.get("b"), None);
}

#[test]
fn interim_heads_are_skipped_up_to_a_bound() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let end = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    let got = answer("POST", format!("{interim}{end}").as_bytes());
    assert_eq!((got.status(), got.end), (202, Ok(true)));
    let many = "HTTP/1.1 102 Processing\r\n\r\n".repeat(MAX_INTERIM_HEADS as usize);
    assert_eq!(answer("POST", format!("{many}{end}").as_bytes()).end, Ok(true));
    let more = format!("{many}HTTP/1.1 100 Continue\r\n\r\n{end}");
    assert_eq!(fault(&more), Fault::TooManyInterimHeads);
    assert_eq!(fault("HTTP/1.1 101 Switching Protocols\r\n\r\n"), Fault::SwitchingProtocols);
}

#[test]
fn the_connection_stays_if_both_sides_keep_it() {
    for (head, keeps) in [
        ("HTTP/1.1 200 OK\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n", false),
        ("HTTP/1.1 200 OK\r\nconnection: Keep-Alive, CLOSE\r\n", false),
        ("HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: a ,close, b\r\n", false),
        ("HTTP/1.1 200 OK\r\nConnection: closed\r\n", true),
        ("HTTP/1.0 200 OK\r\n", false),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", true),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n", false),
    ] {
        let (_, reusable) = body(&format!("{head}Content-Length: 2\r\n\r\n{{}}"));
        assert_eq!(reusable, keeps, "{head:?}");
    }
}

#[test]
fn bytes_after_the_answer_end_the_connection_and_are_left() {
    for rest in ["\r\n", "HTTP/1.1 200 OK\r\n\r\n", "x"] {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{{}}{rest}");
        let got = answer("POST", text.as_bytes());
        assert_eq!((&*got.body, got.end, &*got.rest), (&b"{}"[..], Ok(false), rest.as_bytes()));
        let chunked =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{rest}");
        let got = answer("POST", chunked.as_bytes());
        assert_eq!((got.end, &*got.rest), (Ok(false), rest.as_bytes()));
    }
}

#[test]
fn an_answer_that_overtakes_its_request_ends_the_connection() {
    let mut exchange = http1_support::unsent("POST");
    let early: &[u8] = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
    exchange.sent(1);
    let mut input = early;
    assert!(matches!(exchange.decode(&mut input), Ok(Some(Part::Head(_)))));
    assert_eq!(exchange.decode(&mut input), Ok(Some(Part::End { reusable: false })));

    let mut exchange = http1_support::unsent("POST");
    let mut input = early;
    let unsolicited = ResponseError { fault: Fault::Unsolicited, at: 0 };
    assert_eq!(exchange.decode(&mut input), Err(unsolicited.clone()));
    assert_eq!(exchange.decode(&mut input), Err(unsolicited));
    assert_eq!((exchange.facts().sent, exchange.facts().answered), (Sent::Nothing, false));
}

#[test]
fn malformed_heads_are_refused_by_name() {
    for (head, want, at) in [
        ("SSH-2.0-OpenSSH_9.6\r\n", Fault::NotHttp, 0),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", Fault::NotHttp, 0),
        ("HTTP/2 200 OK\r\n\r\n", Fault::NotHttp, 5),
        ("HTTP/1.2 200 OK\r\n\r\n", Fault::NotHttp, 0),
        ("http/1.1 200 OK\r\n\r\n", Fault::NotHttp, 0),
        ("HTTP/1.1  200 OK\r\n\r\n", Fault::StatusLine, 0),
        ("HTTP/1.1 20 OK\r\n\r\n", Fault::StatusLine, 0),
        ("HTTP/1.1 099 OK\r\n\r\n", Fault::StatusLine, 0),
        ("HTTP/1.1 2000 OK\r\n\r\n", Fault::StatusLine, 0),
        ("HTTP/1.1 200 O\x01K\r\n\r\n", Fault::StatusLine, 14),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", Fault::ObsFold, 23),
        ("HTTP/1.1 200 OK\r\n A: b\r\n\r\n", Fault::ObsFold, 17),
        ("HTTP/1.1 200 OK\r\nA:\r\n\tc\r\n\r\n", Fault::ObsFold, 21),
        ("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", Fault::BareCr, 21),
        ("HTTP/1.1 200 OK\rA: b\r\n\r\n", Fault::BareCr, 15),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", Fault::Nul, 21),
        ("HTTP/1.1 200 OK\r\nA: b\x08c\r\n\r\n", Fault::HeaderValue, 21),
        ("HTTP/1.1 200 OK\r\nA: b\x7f\r\n\r\n", Fault::HeaderValue, 21),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", Fault::HeaderName, 17),
        ("HTTP/1.1 200 OK\r\nX: y\r\nnothing\r\n\r\n", Fault::HeaderName, 23),
        ("HTTP/1.1 200 OK\r\n: b\r\n\r\n", Fault::HeaderName, 17),
        ("HTTP/1.1 200 OK\r\n\u{e9}: b\r\n\r\n", Fault::HeaderName, 17),
    ] {
        let error = answer("POST", head.as_bytes()).end.expect_err(head);
        assert_eq!(error, ResponseError { fault: want, at }, "{head:?}");
        let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{head}");
        let error = answer("POST", interim.as_bytes()).end.expect_err(head);
        assert_eq!(error, ResponseError { fault: want, at: at + 25 }, "{interim:?}");
    }
}

#[test]
fn ambiguous_framing_is_refused_by_name() {
    for (headers, want) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Fault::LengthBesideCoding),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Fault::LengthBesideCoding),
        ("Transfer-Encoding: chunked\r\nContent-Length:\r\n", Fault::LengthBesideCoding),
        ("Transfer-Encoding: gzip, chunked\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: chunked, chunked\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: identity\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: xchunked\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: chunked;q=1\r\n", Fault::TransferCoding),
        ("Transfer-Encoding: ,chunked\r\n", Fault::TransferCoding),
        ("Transfer-Encoding:\r\n", Fault::TransferCoding),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", Fault::LengthsDiffer),
        ("Content-Length: 5, 6\r\n", Fault::LengthsDiffer),
        ("Content-Length: +5\r\n", Fault::Length),
        ("Content-Length: -5\r\n", Fault::Length),
        ("Content-Length: 5 5\r\n", Fault::Length),
        ("Content-Length: 5,\r\n", Fault::Length),
        ("Content-Length: 0x5\r\n", Fault::Length),
        ("Content-Length: 5.0\r\n", Fault::Length),
        ("Content-Length:\r\n", Fault::Length),
        ("Content-Length: \u{665}\r\n", Fault::Length),
        ("Content-Length: 18446744073709551616\r\n", Fault::LengthTooLarge),
    ] {
        assert_eq!(fault(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n5\r\n")), want, "{headers:?}");
    }
    let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(fault(old), Fault::TransferCodingOn10);
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn malformed_chunks_are_refused_by_name() {
    for (chunks, want, at) in [
        ("+2\r\n{}\r\n", Fault::ChunkSize, 0),
        ("-2\r\n{}\r\n", Fault::ChunkSize, 0),
        (" 2\r\n{}\r\n", Fault::ChunkSize, 0),
        ("\r\n\r\n", Fault::ChunkSize, 0),
        (";x\r\n\r\n", Fault::ChunkSize, 0),
        ("0x2\r\n{}\r\n", Fault::ChunkSize, 1),
        ("2 2\r\n{}\r\n", Fault::ChunkSize, 2),
        ("g\r\n", Fault::ChunkSize, 0),
        ("2\n{}\r\n", Fault::ChunkLine, 1),
        ("2\r{}\r\n", Fault::ChunkLine, 2),
        ("2;a\nb\r\n{}\r\n", Fault::ChunkLine, 3),
        ("2;a\0\r\n{}\r\n", Fault::ChunkLine, 3),
        ("10000000000000000\r\n", Fault::ChunkSizeTooLarge, 16),
        ("2\r\n{}0\r\n\r\n", Fault::ChunkEnd, 5),
        ("2\r\n{}\n0\r\n\r\n", Fault::ChunkEnd, 5),
        ("2\r\n{}\r0\r\n\r\n", Fault::ChunkEnd, 6),
        ("0\r\n\n", Fault::Trailer, 3),
        ("0\r\nHTTP/1.1 200 OK\r\n\r\n", Fault::Trailer, 7),
        ("0\r\nA: b\n\r\n", Fault::Trailer, 7),
        ("0\r\nA: b\rc\r\n\r\n", Fault::Trailer, 8),
        ("0\r\n A: b\r\n\r\n", Fault::Trailer, 3),
        ("0\r\n: b\r\n\r\n", Fault::Trailer, 3),
        ("0\r\nA: b\0\r\n\r\n", Fault::Trailer, 7),
        ("0\r\n\rX", Fault::Trailer, 4),
    ] {
        let bytes = format!("{CHUNKED}{chunks}");
        let error = answer("POST", bytes.as_bytes()).end.expect_err(chunks);
        let at = at + CHUNKED.len() as u64;
        assert_eq!(error, ResponseError { fault: want, at }, "{chunks:?}");
    }
}

#[test]
fn every_bound_has_an_error_of_its_own() {
    let filled = |length: usize| {
        let frame = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: \r\n\r\n";
        let fill = "x".repeat(length - frame.len());
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: {fill}\r\n\r\n")
    };
    assert_eq!(body(&filled(MAX_HEAD_BYTES)), reusable(""));
    assert_eq!(fault(&filled(MAX_HEAD_BYTES + 1)), Fault::HeadTooLong);
    assert_eq!(fault(&filled(MAX_HEAD_BYTES * 3)), Fault::HeadTooLong);

    let headers = |count: usize| {
        format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "A: b\r\n".repeat(count - 1))
    };
    assert_eq!(body(&headers(MAX_HEADERS)), reusable(""));
    assert_eq!(fault(&headers(MAX_HEADERS + 1)), Fault::TooManyHeaders);

    let line = |length: usize| format!("{CHUNKED}0;{}\r\n\r\n", "x".repeat(length - 2));
    assert_eq!(body(&line(MAX_CHUNK_LINE_BYTES)), reusable(""));
    assert_eq!(fault(&line(MAX_CHUNK_LINE_BYTES + 1)), Fault::ChunkLineTooLong);
    let zeros = format!("{CHUNKED}{}\r\n\r\n", "0".repeat(MAX_CHUNK_LINE_BYTES + 1));
    assert_eq!(fault(&zeros), Fault::ChunkLineTooLong);

    let trailers = |length: usize| format!("{CHUNKED}0\r\nA:{}\r\n\r\n", "x".repeat(length - 4));
    assert_eq!(body(&trailers(MAX_TRAILER_BYTES)), reusable(""));
    assert_eq!(fault(&trailers(MAX_TRAILER_BYTES + 1)), Fault::TrailersTooLong);
    let many = format!("{CHUNKED}0\r\n{}", "A:b\r\n".repeat(MAX_TRAILER_BYTES));
    assert_eq!(fault(&many), Fault::TrailersTooLong);
}

#[test]
fn an_end_in_the_middle_names_the_place() {
    for (bytes, phase) in [
        ("", Phase::Start),
        ("H", Phase::Head),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Phase::Head),
        ("HTTP/1.1 100 Continue\r\n\r\n", Phase::Head),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Phase::Body { missing: 5 }),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", Phase::Body { missing: 2 }),
    ] {
        assert_eq!(fault(bytes), Fault::Truncated(phase), "{bytes:?}");
    }
    for (chunks, phase) in [
        ("", Phase::ChunkLine),
        ("5", Phase::ChunkLine),
        ("5\r", Phase::ChunkLine),
        ("5\r\n", Phase::Chunk { missing: 5 }),
        ("5\r\nabc", Phase::Chunk { missing: 2 }),
        ("5\r\nabcde", Phase::Chunk { missing: 0 }),
        ("5\r\nabcde\r\n", Phase::ChunkLine),
        ("0\r\n", Phase::Trailers),
        ("0\r\nA: b\r\n\r", Phase::Trailers),
    ] {
        assert_eq!(fault(&format!("{CHUNKED}{chunks}")), Fault::Truncated(phase), "{chunks:?}");
    }
}

#[test]
fn the_facts_say_whether_anything_was_answered() {
    let mut post = exchange("POST");
    assert!(post.finish().is_err());
    assert!(!post.facts().answered);
    let mut post = exchange("POST");
    assert_eq!(post.decode(&mut &b"H"[..]), Ok(None));
    let error = ResponseError { fault: Fault::Truncated(Phase::Head), at: 1 };
    assert_eq!(post.finish(), Err(error.clone()));
    assert!(post.facts().answered);
    assert_eq!(post.decode(&mut &b"x"[..]), Err(error.clone()));
    assert_eq!(post.finish(), Err(error));
}

#[test]
fn errors_say_what_where_and_which_bound() {
    let text = |bytes: &str| answer("POST", bytes.as_bytes()).end.expect_err("wrong").to_string();
    assert_eq!(
        text(&format!("{CHUNKED}5\r\nabc")),
        "the connection ended inside a chunk of the body, 2 bytes before its end, at byte 53 of the \
         answer"
    );
    assert_eq!(
        text(&format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MAX_HEAD_BYTES))),
        "the head is longer than 65536 bytes, at byte 0 of the answer"
    );
    assert_eq!(
        text("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "ambiguous framing: Content-Length beside Transfer-Encoding, at byte 0 of the answer"
    );
    assert_eq!(
        text(""),
        "the connection ended before the first byte of an answer, at byte 0 of the answer"
    );
}

/// Bodies are slices of the input, whatever their framing.
#[test]
fn bodies_are_not_copied() {
    for head in ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        let text = format!("{head}abcde");
        let mut post = exchange("POST");
        let mut input = text.as_bytes();
        assert!(matches!(post.decode(&mut input), Ok(Some(Part::Head(_)))));
        let Ok(Some(Part::Body(data))) = post.decode(&mut input) else { panic!("no body") };
        assert_eq!(data.as_ptr_range(), text.as_bytes()[head.len()..].as_ptr_range());
    }
    let text = format!("{CHUNKED}5\r\nabcde\r\n0\r\n\r\n");
    let mut post = exchange("POST");
    let mut input = text.as_bytes();
    assert!(matches!(post.decode(&mut input), Ok(Some(Part::Head(_)))));
    let Ok(Some(Part::Body(data))) = post.decode(&mut input) else { panic!("no body") };
    let start = CHUNKED.len() + 3;
    assert_eq!(data.as_ptr_range(), text.as_bytes()[start..start + 5].as_ptr_range());
}

proptest! {
    #[test]
    fn any_split_gives_the_same_answer(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.0 404 No\r\n",
                "HTTP/1.1 204 \r\n", "Content-Length: 9\r\n", "Content-Length: 12, 12\r\n",
                "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "A: b\r\n", "\r\n",
                "\r\n", "\n", "\r", " x", "5\r\nabcde\r\n", "3;a=b\r\nabc\r\n", "0\r\n", "2\r\n",
                "{}", "\0", "B:", "é",
            ]),
            0..14,
        ),
        start in proptest::bool::weighted(0.8),
        cuts in proptest::collection::vec(0usize..200, 0..8),
    ) {
        let start = if start { "HTTP/1.1 200 OK\r\n" } else { "" };
        let bytes = (String::from(start) + &pieces.concat()).into_bytes();
        let want = whole("POST", &bytes);
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
        cuts.sort_unstable();
        prop_assert_eq!(&in_pieces("POST", &bytes, &cuts), &want);
        let every: Vec<_> = (1..bytes.len()).collect();
        prop_assert_eq!(&in_pieces("POST", &bytes, &every), &want);
    }
}

#[test]
fn every_split_of_a_long_answer_gives_the_same() {
    let bytes = format!(
        "HTTP/1.1 100 Continue\r\n\r\n{}1\r\na\r\nb;x=\"y\"\r\n01234567890\r\n0\r\nT: u\r\n\r\n",
        CHUNKED.replace("\r\n\r\n", "\nA: b\n\r\n")
    );
    let want = whole("POST", bytes.as_bytes());
    assert_eq!((&*want.body, &want.end), (&b"a01234567890"[..], &Ok(true)));
    for first in 0..bytes.len() {
        for second in first..bytes.len() {
            let got = in_pieces("POST", bytes.as_bytes(), &[first, second]);
            assert_eq!(got, want, "cut at {first} and {second}");
        }
    }
}
