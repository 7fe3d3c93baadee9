//! Servers that flood, and servers that do not read.

use std::time::Duration;

use mcp_proto::op::{CustomRequest, Ping};
use mcp_proto::{
    Command, ConnectionConfig, Event, ExitStatus, Input, ProcessId, Source, StdioInput, Transport,
};
use serde_json::{Map, json};

use crate::support::*;

const MIB: u64 = 1024 * 1024;

/// A ready legacy server that reads nothing from now on. Everything so far was read.
fn deaf(config: ConnectionConfig) -> Bench {
    let mut bench = Bench::legacy(config);
    bench.reads = false;
    bench
}

fn wants(bench: &Bench) -> bool {
    bench.connection.wants_read(Source::Stdout(bench.process()))
}

fn pings(bench: &mut Bench) {
    bench.line(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
}

/// M-UNTR-14, M-STD-04: answers that the server asked for and does not read are bounded: nothing
/// more is read from it until it does. Its stderr is read all the time.
#[test]
fn a_server_that_does_not_read_is_not_read() {
    let mut bench = deaf(quick());
    let before = bench.watch.queued();
    let mut count = 0;
    while wants(&bench) {
        pings(&mut bench);
        count += 1;
        assert!(bench.watch.queued() - before <= MIB + 100, "after {count} pings");
    }
    assert!(bench.watch.queued() - before > MIB, "and not earlier");
    assert!(bench.connection.wants_read(Source::Stderr(bench.process())));
    // A process of the past has nothing to do with it.
    assert!(bench.connection.wants_read(Source::Stdout(ProcessId::new(99))));
    bench.signal(StdioInput::Written(before + 100));
    assert!(wants(&bench), "as soon as the bound holds again");
    pings(&mut bench);
    pings(&mut bench);
    pings(&mut bench);
    assert!(!wants(&bench));
    let all = bench.watch.queued();
    bench.signal(StdioInput::Written(all));
    assert!(wants(&bench));
}

/// M-UNTR-14: what counts is what waits, not what was ever answered, also when there is always
/// something that waits.
#[test]
fn answers_that_were_read_do_not_count() {
    let mut config = config();
    config.max_reply_bytes = 1000;
    let mut bench = deaf(config);
    for _ in 0..200 {
        pings(&mut bench);
        let queued = bench.watch.queued();
        // The server is always a few bytes behind.
        bench.signal(StdioInput::Written(queued - 10));
        assert!(wants(&bench), "{queued} bytes in all, 10 of them wait");
    }
}

/// M-UNTR-14: refusals count like pongs; what this client wants to say by itself does not.
#[test]
fn only_what_the_server_asked_for_counts() {
    let mut config = config();
    config.max_reply_bytes = 500;
    let mut bench = deaf(config);
    let calls: Vec<_> =
        (0..3).map(|_| bench.begin(tool("x", json!({ "large": "y".repeat(2000) })))).collect();
    assert!(wants(&bench), "its own requests are the client's affair");
    let requests = bench.watch.queued();
    while wants(&bench) {
        bench.line(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    }
    let replies = bench.watch.queued() - requests;
    assert!((500..700).contains(&replies), "{replies}");
    bench.begin(Ping);
    bench.signal(StdioInput::Written(requests));
    assert!(!wants(&bench), "no reply has been written");
    bench.signal(StdioInput::Written(requests + replies / 2));
    assert!(wants(&bench));
    // Numbers that cannot be are no reason for anything.
    bench.signal(StdioInput::Written(0));
    bench.signal(StdioInput::Written(u64::MAX));
    assert!(wants(&bench));
    for call in &calls {
        bench.cancel(call);
    }
}

/// M-STD-07, M-UNTR-14: once nothing can be written any more, everything is read: the last answers
/// may be in the pipe.
#[test]
fn a_server_that_takes_nothing_is_read_to_the_end() {
    let mut config = config();
    config.max_reply_bytes = 100;
    for close in [true, false] {
        let mut bench = deaf(config.clone());
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        while wants(&bench) {
            pings(&mut bench);
        }
        if close {
            bench.input(Input::Disconnect);
            assert!(wants(&bench), "a server that is blocked in a write does not see the end");
            bench.error(&call);
        } else {
            bench.write_fails();
            assert!(wants(&bench));
            bench.completes(&sent, json!({}));
            bench.done(&call).unwrap();
        }
    }
}

/// M-UNTR-14, M-NOTE-06: a server that answers no ping of its own does not stop the client's calls.
#[test]
fn a_flood_of_requests_does_not_stop_calls() {
    let mut config = config();
    config.max_reply_bytes = 100;
    let mut bench = deaf(config);
    while wants(&bench) {
        pings(&mut bench);
    }
    let call = bench.begin(Ping);
    assert!(bench.take_messages().iter().any(|sent| sent.method() == "ping"), "it is handed out");
    let all = bench.watch.queued();
    bench.signal(StdioInput::Written(all));
    let id = call.id();
    bench.advance(Duration::from_secs(15));
    assert!(bench.error(&call).is_timeout(), "{id}");
}

/// M-UNTR-13, M-UNTR-14: lines that mean nothing leave nothing behind.
#[test]
fn what_means_nothing_leaves_nothing() {
    in_both_eras_with(quick(), |bench| {
        for n in 0..5000 {
            bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, n + 1000));
            bench.line(&format!(r#"{{"method":"notifications/{n}","params":{{"n":{n}}}}}"#));
            bench.line("garbage");
        }
        assert!(bench.connection.is_idle());
        assert_eq!(bench.deadline(), None);
        bench.quiet();
    });
}

/// M-UNTR-16, M-UNTR-17: text of the server's is escaped and cut at 4096 characters wherever it is
/// shown: it can neither forge lines nor fill a log.
#[test]
fn the_servers_text_is_tamed_where_it_is_shown() {
    let evil = format!("a\nERROR forged\r\u{1b}[31m\u{202e}{}", "x".repeat(100_000));
    let tame = |text: &str| {
        assert!(!text.contains(['\n', '\r', '\u{1b}', '\u{202e}']), "{text:.200}");
        assert!(text.chars().count() < 4096 + 400, "{} characters", text.chars().count());
    };
    in_both_eras(|bench| {
        let call = bench.begin(CustomRequest::new("x/y", Map::new()));
        let sent = bench.next_message();
        bench.refuse(&sent, -32000, &evil);
        let error = bench.error(&call);
        tame(&error.to_string());
        assert_eq!(error.server_error().unwrap().message, evil, "the host gets all of it");
        bench.signal(StdioInput::Stderr(evil.replace('\n', "").as_bytes()));
        bench.signal(StdioInput::Stderr(b"\n"));
        bench.line(&json!({ "id": 7, "method": evil.clone() }).to_string());
        bench.take_messages();
        for event in &bench.events {
            match event {
                Event::Stderr(text) | Event::MessageDropped { method: Some(text), .. } => {
                    tame(text);
                }
                _ => {}
            }
        }
    });
    let mut bench = Bench::modern(config());
    let call = bench.begin(Ping);
    let sent = bench.next_message();
    bench.result(&sent, json!({ "resultType": evil.clone() }));
    tame(&bench.error(&call).to_string());

    for answer in [
        json!({ "supportedVersions": [evil.clone(), evil.clone()] }),
        json!({ "protocolVersion": evil.clone() }),
    ] {
        let mut bench = Bench::stdio(config());
        let call = bench.begin(Ping);
        let probe = bench.expect("server/discover");
        bench.result(&probe, answer.clone());
        for sent in bench.take_messages() {
            bench.result(&sent, answer.clone());
        }
        tame(&bench.error(&call).to_string());
    }
}

/// M-UNTR-16, M-STD-03: the last words of a server keep their lines, and nothing else that acts.
#[test]
fn last_words_are_tamed_too() {
    let mut bench = Bench::legacy(config());
    let call = bench.begin(Ping);
    bench.take_messages();
    let flood = "y".repeat(10_000);
    bench.signal(StdioInput::Stderr(flood.as_bytes()));
    bench.signal(StdioInput::Stderr(b"\x1b[31mfatal\x07: no key\r\nsecond line\n"));
    bench.exit(ExitStatus::Code(1));
    let text = bench.error(&call).to_string();
    assert!(text.ends_with("\\u{1b}[31mfatal\\u{7}: no key\nsecond line"), "{text:?}");
    assert!(text.len() < 4096 + 400);
}

/// M-UNTR-18, M-UNTR-19: what is private has no debug output: neither payloads nor the values of
/// the environment.
#[test]
fn private_things_are_not_shown() {
    in_both_eras(|bench| {
        let call = bench.begin(CustomRequest::new("x/y", Map::new()));
        let sent = bench.next_message();
        bench.completes(&sent, json!({ "s3cret": "s3cret" }));
        let raw = bench.done(&call).unwrap();
        assert!(raw.as_str().contains("s3cret"));
        assert!(!format!("{raw:?}").contains("s3cret"));
        let events = format!("{:?}", bench.events);
        assert!(!events.contains("s3cret"));
    });
    let command = Command::new("server").env("API_KEY", "s3cret").arg("--verbose");
    let shown = format!("{:?} {}", Transport::Stdio(command.clone()), command.line());
    assert!(shown.contains("API_KEY") && !shown.contains("s3cret"), "{shown}");
}
