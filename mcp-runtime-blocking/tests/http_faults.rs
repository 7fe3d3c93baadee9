//! Answers that break off, break rules, or come twice: no request is sent twice for it, unless it
//! may be.

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use mcp_runtime_blocking::proto::{
    HttpConfig, HttpFailureKind, HttpFault, Outcome, Sent, TransportError,
};
use mcp_runtime_blocking::{Background, Client, Error, ErrorKind};
use support::http::{Conn, Request, Server, as_json, legacy};
use support::{BACKGROUNDS, echo};

#[test]
fn server() {
    support::serve();
}

fn connect(background: Background, server: &Server) -> Client {
    let mut config = HttpConfig::new(server.url());
    config.backoff = Duration::from_millis(1);
    Client::builder().background(background).connect(config).unwrap()
}

fn fault(error: &Error) -> &HttpFault {
    match error.kind() {
        ErrorKind::Transport(TransportError::Http(fault)) => fault,
        _ => panic!("{error}"),
    }
}

/// What a server does with a request.
type Act = fn(&Request, &mut Conn);

/// A server that does this with the first request of a method, after which the connection ends, and
/// answers all others.
fn first(method: &'static str, act: Act) -> Server {
    let left = AtomicUsize::new(1);
    Server::start(move |request, conn| {
        let hit = request.method() == method;
        if hit
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
        {
            act(request, conn);
            return false;
        }
        as_json(request, conn)
    })
}

fn closes(_: &Request, _: &mut Conn) {}

fn resets(_: &Request, conn: &mut Conn) {
    conn.reset();
}

fn resets_in_head(_: &Request, conn: &mut Conn) {
    conn.send("HTTP/1.1 200 OK\r\ncontent-");
}

fn truncates(_: &Request, conn: &mut Conn) {
    conn.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{");
}

fn resets_a_body_without_length(request: &Request, conn: &mut Conn) {
    conn.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
    conn.send(request.usual());
    conn.reset();
}

/// M-RTRY-13, M-RTRY-14, M-RTRY-06
#[test]
fn a_call_whose_connection_ends_is_never_sent_twice() {
    for background in BACKGROUNDS {
        let acts: [Act; 5] =
            [closes, resets, resets_in_head, truncates, resets_a_body_without_length];
        for act in acts {
            let server = first("tools/call", act);
            let client = connect(background, &server);
            let error = client.call_tool("echo", ()).unwrap_err();
            let HttpFault::Exchange(failure) = fault(&error) else { panic!("{error}") };
            assert_eq!(failure.kind, HttpFailureKind::Closed, "{failure:?}");
            assert_eq!(failure.sent, Sent::All);
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert_eq!(server.count("tools/call"), 1);
            echo(&client, "it goes on");
            client.close();
        }
    }
}

/// M-RTRY-03
#[test]
fn a_list_whose_connection_ends_is_asked_for_again() {
    for background in BACKGROUNDS {
        for act in [closes as Act, resets, resets_in_head, truncates] {
            let server = first("tools/list", act);
            let client = connect(background, &server);
            assert_eq!(client.list_tools().unwrap().len(), 1);
            assert_eq!(server.count("tools/list"), 2);
            assert_eq!(server.connections(), 2);
        }
    }
}

#[test]
fn a_connection_that_the_server_has_closed_is_not_used_again() {
    for background in BACKGROUNDS {
        let (went, gone) = channel();
        let went = Mutex::new(went);
        let server = Server::start(move |request, conn| {
            as_json(request, conn);
            conn.close();
            went.lock().unwrap().send(()).unwrap();
            false
        });
        let client = connect(background, &server);
        for call in 0..20 {
            gone.recv().unwrap();
            echo(&client, &call.to_string());
        }
        assert_eq!(server.count("tools/call"), 20);
        assert_eq!(server.connections(), 21);
    }
}

/// M-RTRY-09, M-RTRY-10
#[test]
fn a_stream_without_its_result_is_asked_for_once_more() {
    fn breaks(_: &Request, conn: &mut Conn) {
        conn.stream_head();
        conn.event(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
    }
    fn ends(_: &Request, conn: &mut Conn) {
        conn.send(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        );
        conn.send(": nothing\n\n");
    }
    for background in BACKGROUNDS {
        for act in [breaks as Act, ends] {
            let server = first("tools/call", act);
            let client = connect(background, &server);
            echo(&client, "twice");
            let calls = server.requests("tools/call");
            assert_eq!(calls.len(), 2);
            assert_ne!(calls[0].body["id"], calls[1].body["id"]);

            let server = Server::start(move |request, conn| {
                if request.method() == "tools/call" {
                    act(request, conn);
                    return false;
                }
                as_json(request, conn)
            });
            let client = connect(background, &server);
            let error = client.call_tool("echo", ()).unwrap_err();
            assert!(matches!(fault(&error), HttpFault::StreamClosed), "{error}");
            assert_eq!(server.count("tools/call"), 2);
        }
    }
}

/// M-RTRY-11, M-HTTP-13
#[test]
fn a_result_on_a_stream_counts_whatever_follows() {
    fn stays(request: &Request, conn: &mut Conn) {
        conn.stream_head();
        conn.event(&request.usual());
        conn.wait_end();
    }
    fn breaks(request: &Request, conn: &mut Conn) {
        conn.stream_head();
        conn.event(&request.usual());
    }
    // More than was asked for: the connection cannot be trusted.
    fn floods(request: &Request, conn: &mut Conn) {
        let more = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
        conn.send(format!("{}{more}", support::http::sse_answer(&request.usual())));
        conn.wait_end();
    }
    for background in BACKGROUNDS {
        for act in [stays as Act, breaks, floods] {
            let server = Server::start(move |request, conn| {
                act(request, conn);
                false
            });
            let client = connect(background, &server);
            for call in 0..10 {
                let took = support::time(|| echo(&client, &call.to_string()));
                assert!(took < Duration::from_secs(5), "{took:?}");
            }
            assert_eq!(server.count("tools/call"), 10);
            client.close();
        }
    }
}

/// A stream that stays open after its result is let go of, though nobody calls.
#[test]
fn a_stream_that_stays_open_is_let_go_of() {
    let (went, gone) = channel();
    let went = Mutex::new(went);
    let server = Server::start(move |request, conn| {
        if request.method() != "tools/call" {
            return as_json(request, conn);
        }
        conn.stream_head();
        conn.event(&request.usual());
        conn.wait_end();
        went.lock().unwrap().send(()).unwrap();
        false
    });
    let client = connect(Background::Helper, &server);
    echo(&client, "one");
    gone.recv().unwrap();
    echo(&client, "two");
    gone.recv().unwrap();
}

#[test]
fn ambiguous_and_endless_heads_are_refused() {
    fn length_and_chunks(request: &Request, conn: &mut Conn) {
        let body = request.usual();
        conn.send(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        ));
    }
    fn two_codings(_: &Request, conn: &mut Conn) {
        conn.send("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
    }
    fn endless_interim(_: &Request, conn: &mut Conn) {
        let some = "HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n".repeat(1000);
        while conn.try_send(&some) {}
    }
    fn endless_head(_: &Request, conn: &mut Conn) {
        conn.send("HTTP/1.1 200 OK\r\n");
        let some = format!("x: {}\r\n", "y".repeat(1000));
        while conn.try_send(&some) {}
    }
    fn no_http(_: &Request, conn: &mut Conn) {
        conn.send("SSH-2.0-OpenSSH_9.9\r\n\r\n");
    }
    for background in BACKGROUNDS {
        let acts: [Act; 5] =
            [length_and_chunks, two_codings, endless_interim, endless_head, no_http];
        for act in acts {
            let server = first("tools/call", act);
            let client = connect(background, &server);
            let error = client.call_tool("echo", ()).unwrap_err();
            let HttpFault::Exchange(failure) = fault(&error) else { panic!("{error}") };
            assert_eq!(failure.kind, HttpFailureKind::Malformed, "{failure:?}");
            assert_eq!(server.count("tools/call"), 1);
            echo(&client, "it goes on");
        }
    }
}

#[test]
fn redirects_are_followed_by_the_connection_only() {
    fn to(status: &str, place: &str, conn: &mut Conn) {
        conn.send(format!(
            "HTTP/1.1 {status} Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n"
        ));
    }
    for background in BACKGROUNDS {
        let server = Server::start(|request, conn| {
            if request.line.starts_with("POST /mcp ") {
                to("307", "/mcp/", conn);
                return true;
            }
            as_json(request, conn)
        });
        let client = connect(background, &server);
        echo(&client, "followed");
        let calls = server.requests("tools/call");
        let lines: Vec<_> = calls.iter().map(|call| call.line.as_str()).collect();
        assert_eq!(lines, ["POST /mcp HTTP/1.1", "POST /mcp/ HTTP/1.1"]);
        assert_eq!(calls[0].body["params"], calls[1].body["params"]);

        let other = Server::start(as_json);
        let elsewhere = other.url();
        for status in ["302", "307"] {
            let elsewhere = elsewhere.clone();
            let server = Server::start(move |request, conn| {
                if request.method() == "tools/call" {
                    to(status, &elsewhere, conn);
                    return true;
                }
                as_json(request, conn)
            });
            let client = connect(background, &server);
            let error = client.call_tool("echo", ()).unwrap_err();
            assert!(matches!(fault(&error), HttpFault::Redirect { .. }), "{error}");
            assert_eq!(server.count("tools/call"), 1);
        }
        assert_eq!(other.connections(), 0);
    }
}

#[test]
fn any_success_acknowledges_a_notification() {
    for answer in [
        "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 202 Accepted\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok",
    ] {
        let usual = legacy(as_json);
        let server = Server::start(move |request, conn| {
            if request.method().starts_with("notifications/") {
                conn.send(answer);
                return true;
            }
            usual(request, conn)
        });
        let client = connect(Background::Helper, &server);
        echo(&client, "hello");
        client.close();
        assert_eq!(server.count("notifications/initialized"), 1);
    }
}

/// The answer may come before the request is out: it says what is wrong with it.
#[test]
fn an_early_refusal_is_read_although_the_request_is_not() {
    fn refuses(head: &Request, conn: &mut Conn) -> bool {
        let call = head.header("mcp-method") == Some("tools/call");
        if call {
            conn.status("413 Content Too Large", "\"too much\"");
        }
        !call
    }
    let server = Server::early(refuses, as_json);
    let client = connect(Background::Helper, &server);
    let message = "x".repeat(16 << 20);
    let error = client.call_tool("echo", serde_json::json!({ "message": message })).unwrap_err();
    let HttpFault::Status { status, .. } = fault(&error) else { panic!("{error}") };
    assert_eq!(*status, 413);
}
