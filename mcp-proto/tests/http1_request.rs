//! What requests look like as bytes, and which are not sent at all.

use mcp_proto::http1::{Exchange, Facts, Headers, Request, RequestError, Sent, authority};

const NONE: &[(&str, &str)] = &[];

fn exchange(
    method: &str,
    target: &str,
    authority: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Result<Exchange, RequestError> {
    let headers: Headers = headers.iter().copied().collect();
    let request = Request { method, target, authority, headers: &headers };
    Exchange::new(&request, body.map(<[u8]>::to_vec), false)
}

/// All bytes of a request, in pieces of the given size.
fn bytes(mut exchange: Exchange, step: usize) -> String {
    let mut sent = Vec::new();
    while let Some(piece) = exchange.unsent().chunks(step).next() {
        let piece = piece.to_vec();
        exchange.sent(piece.len());
        sent.extend(piece);
    }
    assert_eq!(exchange.facts().sent, Sent::All);
    String::from_utf8(sent).expect("text")
}

#[test]
fn a_post_has_a_host_its_headers_in_order_and_a_length() {
    let headers = [("Accept", "application/json"), ("X-B", "1"), ("x-a", ""), ("X-B", "2")];
    let post = exchange("POST", "/mcp?a=b", "example.com:81", &headers, Some(b"{}"));
    assert_eq!(
        bytes(post.expect("valid"), 7),
        "POST /mcp?a=b HTTP/1.1\r\nhost: example.com:81\r\naccept: application/json\r\nx-b: 1\r\n\
         x-a: \r\nx-b: 2\r\ncontent-length: 2\r\n\r\n{}"
    );
}

#[test]
fn a_length_is_told_if_there_is_a_body_or_should_be_one() {
    let text = |method, body| bytes(exchange(method, "/", "h", NONE, body).expect("valid"), 1000);
    assert_eq!(text("GET", None), "GET / HTTP/1.1\r\nhost: h\r\n\r\n");
    assert_eq!(text("DELETE", None), "DELETE / HTTP/1.1\r\nhost: h\r\n\r\n");
    assert_eq!(text("POST", None), "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(text("POST", Some(b"")), "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(text("GET", Some(b"x")), "GET / HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\n\r\nx");
}

#[test]
fn small_bodies_go_out_with_the_head_and_large_ones_are_not_copied() {
    let of_size = |size: usize| {
        let post = exchange("POST", "/", "h", NONE, Some(&vec![b'x'; size])).expect("valid");
        let first = post.unsent().len();
        assert!(bytes(post, 1000).ends_with(&"x".repeat(size)));
        first
    };
    assert!(of_size(16 << 10) > 16 << 10);
    assert!(of_size((16 << 10) + 1) < 100);
}

#[test]
fn proxies_get_absolute_targets_and_tunnels_an_authority() {
    let head = |method, target, authority| {
        bytes(exchange(method, target, authority, NONE, None).expect("valid"), 1000)
    };
    let through = head("GET", "http://example.com/mcp", "example.com");
    assert_eq!(through, "GET http://example.com/mcp HTTP/1.1\r\nhost: example.com\r\n\r\n");
    let tunnel = head("CONNECT", "[::1]:443", "[::1]:443");
    assert_eq!(tunnel, "CONNECT [::1]:443 HTTP/1.1\r\nhost: [::1]:443\r\n\r\n");
}

#[test]
fn hosts_are_written_with_brackets_and_without_the_port_of_the_scheme() {
    for (host, port, default, want) in [
        ("example.com", 443, 443, "example.com"),
        ("example.com", 8443, 443, "example.com:8443"),
        ("127.0.0.1", 80, 80, "127.0.0.1"),
        ("::1", 80, 80, "[::1]"),
        ("::1", 3000, 80, "[::1]:3000"),
        ("[fe80::1]", 3000, 80, "[fe80::1]:3000"),
    ] {
        assert_eq!(authority(host, port, default), want);
        assert!(exchange("GET", "/", want, NONE, None).is_ok(), "{want}");
    }
}

#[test]
fn what_would_break_a_request_is_refused() {
    let refused = |method, target, authority| {
        exchange(method, target, authority, NONE, None).expect_err("refused")
    };
    for method in ["", "GET /", "G\r\n", "GÉT"] {
        assert_eq!(refused(method, "/", "h"), RequestError::Method(String::from(method)));
    }
    for target in ["", "mcp", "*", "/a b", "/a\r\nX: y", "/é", "/a#b", "ftp://h/", "//\0", "h:443"]
    {
        assert_eq!(refused("GET", target, "h"), RequestError::Target, "{target:?}");
    }
    for target in ["/", "h", "[::1]", "8080", "h:", "h:99999", "http://h/"] {
        assert_eq!(refused("CONNECT", target, "h"), RequestError::Target, "{target:?}");
    }
    for authority in [
        "",
        ":80",
        "user@h",
        "u:p@h",
        "h/",
        "h:",
        "h:+80",
        "h:65536",
        "h:80:80",
        "::1",
        "[::1",
        "[::1]x",
        "[h]",
        "[]",
        "h\r\nX: y",
        "a b",
        "é",
        "h:80 ",
    ] {
        assert_eq!(refused("GET", "/", authority), RequestError::Authority, "{authority:?}");
    }
}

#[test]
fn headers_cannot_smuggle_anything_in() {
    let refused = |name: &str, value: &str| {
        exchange("GET", "/", "h", &[(name, value)], None).map(drop).expect_err("refused")
    };
    for name in ["", "a b", "a:", "a\r\nb", "é", "a\0"] {
        assert_eq!(refused(name, "x"), RequestError::HeaderName(String::from(name)), "{name:?}");
    }
    for value in ["a\r\nX: y", "a\n", "\r", "a\0", "é", "\x7f"] {
        let error = refused("X-Key", value);
        assert_eq!(error, RequestError::HeaderValue(String::from("x-key")), "{value:?}");
        assert!(!error.to_string().contains(value));
    }
    for name in [
        "Host",
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "Keep-Alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
    ] {
        assert_eq!(refused(name, "x"), RequestError::Reserved(name.to_ascii_lowercase()));
    }
    assert!(exchange("GET", "/", "h", &[("a", " b\tc ")], None).is_ok());
}

#[test]
fn the_facts_say_how_far_a_request_got() {
    let headers = Headers::new();
    let request = Request { method: "POST", target: "/", authority: "h", headers: &headers };
    for reused in [false, true] {
        let body = vec![b'x'; 20_000];
        let mut exchange = Exchange::new(&request, Some(body), reused).expect("valid");
        let facts = |sent| Facts { sent, answered: false, reused };
        assert_eq!(exchange.facts(), facts(Sent::Nothing));
        exchange.sent(1);
        assert_eq!(exchange.facts(), facts(Sent::Part));
        exchange.sent(exchange.unsent().len());
        assert_eq!((exchange.facts(), exchange.unsent().len()), (facts(Sent::Part), 20_000));
        exchange.sent(20_000);
        assert_eq!((exchange.facts(), exchange.unsent().len()), (facts(Sent::All), 0));
    }
}

#[test]
fn secrets_are_not_shown() {
    let headers = [("authorization", "Bearer secret")];
    let get = exchange("GET", "/", "h", &headers, None).expect("valid");
    let headers: Headers = headers.into_iter().collect();
    let shown = format!("{get:?} {headers:?}");
    assert!(shown.contains("authorization") && !shown.contains("secret"), "{shown}");
}
