//! Lines of a server's stdout and stderr, good and bad (specification: basic/transports/stdio).

use std::time::Duration;

use mcp_proto::op::{CustomRequest, ListTools, Ping};
use mcp_proto::{ConnectionConfig, ErrorKind, Event, Outcome, PeerError, SkipReason, StdioInput};
use serde_json::{Map, Value, json};

use crate::support::*;

fn skipped(bench: &Bench) -> Vec<SkipReason> {
    let why = |event: &Event| match event {
        Event::LineSkipped { why, .. } => Some(*why),
        _ => None,
    };
    bench.events.iter().filter_map(why).collect()
}

fn small(max: usize) -> ConnectionConfig {
    let mut config = config();
    config.max_message_bytes = max;
    config
}

/// M-STD-02: what is no message is skipped, told, and no reason to end anything.
#[test]
fn lines_that_are_no_messages_are_skipped() {
    use SkipReason::{NotAMessage, NotJson, NotUtf8};
    let lines: [(&[u8], Option<SkipReason>); 14] = [
        (b"Starting server v1.2\n", Some(NotJson)),
        (b"\n\r\n  \t\n", None),
        (b"{\"jsonrpc\":\"2.0\",\n", Some(NotJson)),
        (b"}\n", Some(NotJson)),
        (b"\xff\xfe\n", Some(NotUtf8)),
        (b"null\n", Some(NotAMessage)),
        (b"17\r\n", Some(NotAMessage)),
        (b"\"text\"\n", Some(NotAMessage)),
        (b"true\n", Some(NotAMessage)),
        (b"{}\n", Some(NotAMessage)),
        (b"{\"jsonrpc\":\"2.0\",\"method\":7}\n", Some(NotAMessage)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n", Some(NotAMessage)),
        (b"[]\n", None),
        (b"[1,[]]\n", Some(NotAMessage)),
    ];
    in_both_eras(|bench| {
        for (line, why) in &lines {
            bench.events.clear();
            bench.stdout(line);
            let told = skipped(bench);
            assert_eq!(told.first(), why.as_ref(), "{}", String::from_utf8_lossy(line));
            bench.quiet();
        }
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
    });
}

/// M-STD-02: before the first answer too, and a byte order mark is no part of it.
#[test]
fn a_banner_does_not_spoil_the_start() {
    for first in ["Welcome!\n", "\u{feff}", "\n\n\r\n", "{}\n"] {
        let mut bench = Bench::stdio(config());
        let call = bench.begin(Ping);
        let probe = bench.expect("server/discover");
        let id = probe.id();
        let result = discovered(&["2026-07-28"]);
        bench.stdout(format!("{first}{{\"id\":{id},\"result\":{result}}}\r\n").as_bytes());
        let sent = bench.expect("server/discover");
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
    }
}

/// M-STD-01, M-BASE-08: text of any kind goes out in one line and comes back as it was.
#[test]
fn text_survives_the_way_there_and_back() {
    let text = "line\nline\r\n\u{2028}\u{0}\t\"\\ é 工具 🦀 \u{7f}";
    in_both_eras(|bench| {
        let call = bench.begin(tool(text, json!({ text: [text] })));
        let sent = bench.expect("tools/call");
        assert_eq!(sent.params()["name"], text);
        assert_eq!(sent.params()["arguments"], json!({ text: [text] }));
        bench.completes(&sent, json!({ "content": [{ "type": "text", "text": text }] }));
        assert_eq!(bench.done(&call).unwrap().text(), text);
    });
}

/// M-STD-03, M-STD-04: stderr may say what it wants, in any amount, without a line end, during the
/// start as later: no call minds, and what is told of it is bounded.
#[test]
fn a_chatty_stderr_is_no_error() {
    let mut bench = Bench::stdio(quick());
    let call = bench.begin(Ping);
    for _ in 0..160 {
        bench.signal(StdioInput::Stderr(&[b'x'; 64 * 1024]));
    }
    bench.signal(StdioInput::Stderr(b"\rERROR 50%\rERROR 100%\n\n\xff\x1b[31m\n"));
    bench.speak_legacy("2025-11-25");
    let sent = bench.expect("ping");
    bench.completes(&sent, json!({}));
    bench.done(&call).unwrap();
    let lines = bench.events.iter().filter_map(|event| match event {
        Event::Stderr(line) => Some(line),
        _ => None,
    });
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 162);
    assert!(lines.iter().all(|line| line.chars().count() <= 4097), "bounded");
    assert!(lines.iter().all(|line| !line.contains(['\r', '\n', '\x1b'])), "escaped");
    assert_eq!(lines[161], "\u{fffd}\\u{1b}[31m");
}

/// M-UNTR-02: an answer over the bound fails its call as soon as the bound is passed and its id was
/// seen, and no other call.
#[test]
fn an_answer_over_the_bound_fails_its_call_alone() {
    let mut config = small(1000);
    config.call_timeout = Some(Duration::from_secs(15));
    in_both_eras_with(config, |bench| {
        let long = bench.begin(tool("long", json!({})));
        let other = bench.begin(Ping);
        let sent = bench.take_messages();
        let id = sent[0].id();
        bench.stdout(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"x\":\"").as_bytes());
        bench.stdout(&[b'y'; 900]);
        assert!(bench.is_pending(&long));
        bench.stdout(&[b'y'; 100]);
        let error = bench.error(&long);
        let ErrorKind::Limit(limit) = error.kind() else { panic!("{error}") };
        assert_eq!((limit.limit, limit.setting), (1000, "max_message_bytes"));
        assert_eq!(error.outcome(), Outcome::Unknown);
        assert!(error.is_transport());
        assert!(error.to_string().contains("max_message_bytes"), "{error}");
        // The rest of the line is nobody's, and the next line is whole.
        bench.stdout(&[b'y'; 5000]);
        bench.stdout(b"\"}}\n");
        bench.completes(&sent[1], json!({}));
        bench.done(&other).unwrap();
        assert_eq!(skipped(bench), [SkipReason::TooLong]);
    });
}

/// M-UNTR-02: the id may also stand at the end, where it is found at the end of the line.
#[test]
fn the_id_of_a_long_answer_may_come_last() {
    in_both_eras_with(small(1000), |bench| {
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        let filler = "{\"id\":99,\"x\":\"}]\\\"\"},".repeat(100);
        let line = format!("{{\"result\":[{filler}1],\"id\":{}}}", sent.id());
        bench.line(&line);
        assert!(matches!(bench.error(&call).kind(), ErrorKind::Limit(_)));
    });
}

/// M-UNTR-02, M-TIME-02: without an id it is told, and again in the text of the timeout that may
/// come of it.
#[test]
fn a_long_line_without_an_id_is_remembered() {
    in_both_eras_with(small(1000), |bench| {
        let call = bench.begin(Ping);
        bench.next_message();
        bench.line(&"z".repeat(5000));
        bench.line(&format!("{{\"method\":\"x\",\"id\":2,\"params\":\"{}\"}}", "z".repeat(2000)));
        assert_eq!(skipped(bench), [SkipReason::TooLong, SkipReason::TooLong]);
        assert!(bench.is_pending(&call));
        bench.next_deadline();
        let text = bench.error(&call).to_string();
        assert!(text.contains("2 line(s)") && text.contains("too long"), "{text}");
        bench.take_messages();
    });
}

/// M-UNTR-02: the bound is a bound: what is as long as it passes, with either line end.
#[test]
fn an_answer_as_long_as_the_bound_passes() {
    for end in ["\n", "\r\n"] {
        let mut bench = Bench::legacy(small(1000));
        let call = bench.begin(CustomRequest::new("x/y", Map::new()));
        let sent = bench.next_message();
        let frame = format!("{{\"id\":{},\"result\":{{\"x\":\"\"}}}}", sent.id());
        let filler = "y".repeat(1000 - frame.len());
        let line = frame.replace("\"\"", &format!("\"{filler}\""));
        assert_eq!(line.len(), 1000);
        bench.stdout(format!("{line}{end}").as_bytes());
        let raw = bench.done(&call).unwrap();
        assert_eq!(raw.parse::<Value>().unwrap()["x"], filler.as_str());
    }
}

/// M-UNTR-02: by default the bound is 64 MiB, and a host may have none at all.
#[test]
fn the_bound_can_be_set() {
    assert_eq!(config().max_message_bytes, 64 * 1024 * 1024);
    let mut config = small(usize::MAX);
    config.max_list_bytes = usize::MAX;
    config.max_pending_item_bytes = usize::MAX;
    config.max_reply_bytes = usize::MAX;
    config.call_timeout = Some(Duration::MAX);
    config.start_timeout = Duration::MAX;
    config.discover_timeout = Duration::MAX;
    in_both_eras_with(config, |bench| {
        let call = bench.begin_with(ListTools, options(Some(Duration::MAX), true));
        let sent = bench.next_message();
        bench.completes(&sent, json!({ "tools": [] }));
        bench.done(&call).unwrap();
    });
}

/// M-STD-02, M-UNTR-21: a line that answers a call and is broken fails exactly that call, and quotes
/// nothing.
#[test]
fn a_broken_answer_fails_its_call_alone() {
    let broken: [&[u8]; 8] = [
        b"{\"id\":ID,\"result\":{\"secret\":\"s3cret\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"\xffs3cret\"}",
        b"{\"id\":ID,\"result\":{},\"result\":{\"secret\":\"s3cret\"}}",
        b"{\"id\":ID}",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"resul\":\"s3cret\"}",
        b"{\"result\":{\"secret\":\"s3cret\"},\"id\":ID,}",
        b"{\"id\":ID,\"error\":{\"code\":1,\"message\":\"s3cret\"},\"error\":{}}",
        b"{\"id\":ID,\"result\":{\"content\":[s3cret]}}",
    ];
    in_both_eras(|bench| {
        for line in broken {
            let hit = bench.begin(tool("x", json!({})));
            let other = bench.begin(Ping);
            let sent = bench.take_messages();
            let id = sent[0].id().to_string();
            let at = line.windows(2).position(|two| two == b"ID").unwrap();
            let line = [&line[..at], id.as_bytes(), &line[at + 2..], b"\n"].concat();
            bench.stdout(&line);
            let error = bench.error(&hit);
            assert!(matches!(error.kind(), ErrorKind::Peer(_)), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
            bench.completes(&sent[1], json!({}));
            bench.done(&other).unwrap();
        }
    });
}

/// M-STD-09, M-STD-02: a line that the end of stdout cuts off is no answer.
#[test]
fn a_line_cut_off_by_the_end_is_no_answer() {
    in_both_eras(|bench| {
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        bench
            .stdout(format!("{{\"id\":{},\"result\":{{\"resultType\":\"com", sent.id()).as_bytes());
        bench.signal(StdioInput::StdoutClosed);
        let error = bench.error(&call);
        let ErrorKind::Peer(PeerError::Malformed(_)) = error.kind() else { panic!("{error}") };
    });
}

/// M-STD-02, M-STD-03: a last line without its end counts when it is whole: a server that writes its
/// answer and ends has answered. One that was cut off has not.
#[test]
fn the_last_line_needs_no_end() {
    for cut in [0, 1, 2] {
        for mut bench in [Bench::modern(config()), Bench::legacy(config())] {
            let call = bench.begin(tool("x", json!({})));
            let sent = bench.expect("tools/call");
            let result = bench.complete(json!({ "content": [] }));
            let answer = json!({ "jsonrpc": "2.0", "id": sent.id(), "result": result }).to_string();
            bench.stdout(&answer.as_bytes()[..answer.len() - cut]);
            assert!(bench.is_pending(&call));
            bench.exit(mcp_proto::ExitStatus::Code(0));
            match bench.done(&call) {
                Ok(result) => assert_eq!((cut, result.content.len()), (0, 0)),
                Err(error) => {
                    assert!(cut > 0, "{error}");
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::Peer(PeerError::Malformed(_))), "{error}");
                }
            }
        }
    }
}
