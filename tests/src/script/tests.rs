//! Scripts played over pipes in memory.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

use super::{Ending, Playing, Script, Sink, Step};
use crate::demo;
use crate::pipe::{PipeReader, PipeWriter};

/// The client of a play.
struct Client {
    reader: BufReader<PipeReader>,
    writer: PipeWriter,
}

fn play(script: Script) -> (Client, Playing) {
    let ((reader, writer), playing) = script.over_pipe(64);
    let reader = BufReader::new(reader);
    (Client { reader, writer }, playing)
}

impl Client {
    fn send(&mut self, message: &Value) {
        writeln!(self.writer, "{message}").unwrap();
    }

    fn request(&mut self, id: impl Into<Value>, method: &str) {
        let id = id.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method }));
    }

    fn notify(&mut self, method: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }));
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line
    }

    fn message(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).unwrap();
        rest
    }
}

fn failure(playing: Playing) -> String {
    match playing.finish().ending() {
        Some(Ending::Failed(what)) => what.clone(),
        ending => panic!("{ending:?}"),
    }
}

#[test]
fn answers_can_wait_and_come_in_any_order() {
    let script = Script::new()
        .expect_as("tools/call", "a")
        .expect_as("tools/call", "b")
        .text_for("b", r#""second""#)
        .notify("notifications/progress", r#"{"progressToken":$a.token}"#)
        .result_for("a", "$a.params");
    let (mut client, playing) = play(script);
    let params = json!({ "_meta": { "progressToken": "t" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    client.request("x", "tools/call");
    let second = client.message();
    assert_eq!(second["id"], "x");
    assert_eq!(second["result"]["content"][0]["text"], "second");
    assert_eq!(client.message()["params"]["progressToken"], "t");
    let first = client.message();
    assert_eq!((&first["id"], &first["result"]), (&json!(1), &params));
    drop(client);
    let transcript = playing.finish().check();
    assert_eq!(transcript.ending(), Some(&Ending::Finished));
    assert_eq!(transcript.methods(), ["tools/call", "tools/call"]);
    assert_eq!(transcript.of("tools/call")[0]["params"], params);
}

#[test]
fn ids_can_come_back_in_another_form() {
    let script = Script::new().expect("a").send(r#"{"id":$id.string}"#).send(r#"{"id":$id.float}"#);
    let (mut client, playing) = play(script);
    client.request(7, "a");
    assert_eq!(client.line(), "{\"id\":\"7\"}\n");
    assert_eq!(client.line(), "{\"id\":7.0}\n");
    drop(client);
    playing.finish().check();
}

#[test]
fn bytes_are_sent_as_they_are() {
    let raw = b"\xef\xbb\xbf{\"a\":1}\r\n\xff\x00 $id no newline";
    for script in [
        Script::new().bytes(raw),
        Script::new().bytes_in_chunks(raw, 1),
        Script::new().bytes_in_chunks(raw, 7),
    ] {
        let (mut client, playing) = play(script.close_stdout());
        assert_eq!(client.rest(), raw);
        drop(client);
        assert_eq!(playing.finish().ending(), Some(&Ending::Finished));
    }
}

#[test]
fn filler_and_repetition_make_floods() {
    let block = Script::new().send(r#"{"n":$n}"#);
    let script = Script::new()
        .filler(Sink::Stdout, b'z', 200_000)
        .bytes("\n")
        .repeat(2, Script::new().repeat(3, block))
        .filler(Sink::Stderr, b'e', 3 << 20)
        .close_stdout();
    let (mut client, playing) = play(script);
    assert_eq!(client.line().len(), 200_001);
    let counters: Vec<Value> = (0..6).map(|_| client.message()["n"].take()).collect();
    assert_eq!(counters, [0, 1, 2, 0, 1, 2]);
    assert_eq!(client.rest(), b"");
    assert_eq!(playing.stderr(), vec![b'e'; 1 << 20], "memory holds the first MiB");
    drop(client);
    playing.finish().check();
}

#[test]
fn an_unexpected_message_ends_the_play() {
    let (mut client, playing) = play(Script::new().expect("initialize"));
    client.request(1, "server/discover");
    assert_eq!(client.rest(), b"", "both ends are closed");
    let what = failure(playing);
    assert!(what.contains("expected `initialize`"), "{what}");
    assert!(what.contains("server/discover"), "{what}");

    for broken in ["hello\n", "[]\n", "{\"id\":1,\"result\":{}}\n"] {
        let (mut client, playing) = play(Script::new().expect("a"));
        client.writer.write_all(broken.as_bytes()).unwrap();
        assert_eq!(client.rest(), b"");
        failure(playing);
    }
}

#[test]
fn an_end_of_input_where_a_message_is_expected_ends_the_play() {
    let (client, playing) = play(Script::new().expect("a"));
    drop(client);
    assert!(failure(playing).contains("ended"));
    let (mut client, playing) = play(Script::new().expect("a"));
    client.writer.write_all(b"{\"half").unwrap();
    drop(client);
    let transcript = playing.finish();
    assert_eq!(transcript.lines(), [b"{\"half"]);
    assert_eq!(transcript.violations().len(), 1);
}

#[test]
#[should_panic(expected = "the play failed")]
fn checking_a_failed_play_panics() {
    let (client, playing) = play(Script::new().expect("a"));
    drop(client);
    playing.finish().check();
}

#[test]
#[should_panic(expected = "broke rules")]
fn checking_a_client_that_breaks_rules_panics() {
    let (mut client, playing) = play(Script::new());
    client.writer.write_all(b"hello\n").unwrap();
    drop(client);
    playing.finish().check();
}

#[test]
fn a_name_without_a_value_ends_the_play() {
    let (client, playing) = play(Script::new().send("$nothing.id"));
    assert!(failure(playing).contains("$nothing.id"));
    drop(client);
}

#[test]
fn waiting_for_a_method_skips_what_comes_before() {
    let script = Script::new().wait_for("b").result("{}");
    let (mut client, playing) = play(script);
    client.request(1, "a");
    client.notify("n");
    client.request(2, "b");
    assert_eq!(client.message()["id"], 2);
    drop(client);
    assert_eq!(playing.finish().check().methods(), ["a", "n", "b"]);
}

#[test]
fn the_server_may_ask() {
    let script = Script::new()
        .ask("\"p1\"", "ping", "{}")
        .expect_response("\"p1\"")
        .ask("-9007199254740993", "roots/list", "{}")
        .expect_response("-9007199254740993")
        .notify("n", "$params");
    let (mut client, playing) = play(script);
    assert_eq!(client.message()["method"], "ping");
    client.send(&json!({ "jsonrpc": "2.0", "id": "p1", "result": {} }));
    let asked = client.message();
    let error = json!({ "code": -32601, "message": "no" });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }));
    assert_eq!(client.message()["params"], error);
    drop(client);
    assert_eq!(playing.finish().check().responses().len(), 2);

    let script = Script::new().expect_response("1");
    let (mut client, playing) = play(script);
    client.send(&json!({ "jsonrpc": "2.0", "id": "1", "result": {} }));
    assert!(failure(playing).contains("the answer to 1"));
}

#[test]
fn the_demo_server_answers_what_the_script_leaves_to_it() {
    let (mut client, playing) =
        play(Script::modern().expect("tools/list").error(-1, "no").answer_rest());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut ask = |id: u64, method: &str| {
        let params = json!({ "_meta": meta, "name": "echo", "arguments": { "message": "hi" } });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        client.message()
    };
    assert_eq!(ask(1, "server/discover")["result"]["resultType"], "complete");
    assert_eq!(ask(2, "tools/list")["error"], json!({ "code": -1, "message": "no" }));
    assert!(ask(3, "tools/list")["result"]["tools"].is_array());
    assert_eq!(ask(4, "tools/call")["result"]["content"][0]["text"], "hi");
    drop(client);
    assert_eq!(playing.finish().check().count("tools/list"), 2);
}

#[test]
fn the_handshake_is_answered_with_the_revision_of_the_script() {
    let (mut client, playing) = play(Script::legacy("2025-03-26").answer_next().answer_rest());
    client.request(1, "server/discover");
    assert_eq!(client.message()["error"]["code"], -32601);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" },
    });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params }));
    assert_eq!(client.message()["result"]["protocolVersion"], "2025-03-26");
    client.notify("notifications/initialized");
    client.request(3, "ping");
    assert_eq!(client.message()["result"], json!({}));
    client.request(4, "tools/list");
    let tools = client.message()["result"]["tools"].take();
    assert_eq!(tools[1].get("outputSchema"), None, "the shape of the revision");
    drop(client);
    playing.finish().check();
}

#[test]
fn another_demo_server_can_take_over() {
    let options = demo::Options { eras: demo::Eras::Legacy, ..demo::Options::default() };
    let (mut client, playing) = play(Script::new().answer_rest_with(options));
    client.request(1, "server/discover");
    assert_eq!(client.message()["error"]["code"], -32601);
    drop(client);
    playing.finish().check();
}

#[test]
fn a_gate_holds_the_play_until_the_test_opens_it() {
    let script = Script::new().expect("a").gate("go").result("{}").hang();
    let (mut client, playing) = play(script);
    client.request(1, "a");
    let transcript = playing.wait_until(|transcript| transcript.count("a") == 1);
    assert_eq!(transcript.ending(), None);
    assert_eq!(client.reader.get_ref().buffered(), 0);
    playing.open("go");
    assert_eq!(client.message()["id"], 1);
    // It hangs now: nobody reads, so the pipe fills up.
    client.writer.write_all(&[b' '; 64]).unwrap();
    client.writer.wait_full();
    drop(client);
    let transcript = playing.finish();
    assert_eq!(transcript.ending(), Some(&Ending::Finished));
}

#[test]
#[should_panic(expected = "the play ended before that")]
fn waiting_for_what_never_comes_panics() {
    let (client, playing) = play(Script::new());
    drop(client);
    playing.wait_until(|transcript| transcript.count("a") == 1);
}

#[test]
fn closing_and_exiting_are_seen_by_the_client() {
    let (mut client, playing) = play(Script::new().close_stdin().expect_end());
    assert_eq!(client.rest(), b"");
    assert!(client.writer.write_all(b"x").is_err());
    assert_eq!(playing.finish().check().ending(), Some(&Ending::Finished));

    for (script, ending) in [
        (Script::new().exit(3), Ending::Exited(3)),
        (Script::new().abort(), Ending::Died(6)),
        (Script::new().die_by(9), Ending::Died(9)),
    ] {
        let (mut client, playing) = play(script.expect("never"));
        assert_eq!(client.rest(), b"");
        assert!(client.writer.write_all(b"x").is_err());
        assert_eq!(playing.finish().ending(), Some(&ending));
    }
}

#[test]
fn the_end_that_is_expected_must_come_in_silence() {
    let (client, playing) = play(Script::new().expect_end());
    drop(client);
    playing.finish().check();
    let (mut client, playing) = play(Script::new().expect_end());
    client.notify("n");
    drop(client);
    assert!(failure(playing).contains("the end of the input"));
}

#[test]
fn a_client_that_is_gone_ends_the_play() {
    let (client, playing) = play(Script::new().filler(Sink::Stdout, b'x', 1 << 20));
    drop(client.reader);
    assert_eq!(playing.finish().ending(), Some(&Ending::Deserted));
    drop(client.writer);
}

#[test]
fn only_a_process_has_grandchildren() {
    let (client, playing) = play(Script::new().grandchild());
    assert!(failure(playing).contains("process"));
    drop(client);
}

#[test]
fn a_play_in_the_same_thread_needs_no_client_that_answers() {
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n";
    let transcript = Script::new().expect("a").result("{}").play(input.as_bytes(), Vec::new());
    assert_eq!(transcript.check().methods(), ["a"]);
}

#[test]
fn scripts_survive_the_way_to_another_process() {
    let script = Script::legacy("2024-11-05")
        .bytes(b"\xff\x00")
        .repeat(3, Script::new().send("$n").filler(Sink::Stderr, 0, 9))
        .stderr("grüße")
        .step(Step::Grandchild { pid_file: Some("/tmp/pid".into()), keeps_pipes: true })
        .answer_rest_with(demo::Options::default());
    let json = serde_json::to_string(&script).unwrap();
    assert_eq!(serde_json::from_str::<Script>(&json).unwrap(), script);
}
