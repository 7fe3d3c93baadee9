//! The stdio transport: lines, stderr, and what a process is launched with.

use std::io::Write;
use std::sync::{Arc, Mutex};

use mcp_proto::{ErrorKind, Outcome, StderrPolicy, TransportError};
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::logs;
use crate::script::{Script, Sink};

/// M-STD-02, M-UNTR-21
pub fn banner_lines_are_skipped(on: &Stage) {
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let script = Script::new()
        .bytes("Starting server v1.2, marker-4711\n")
        .answer("server/discover")
        .bytes("{\"marker-4712\": [}\n\"marker-4713\"\n")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, "hi"), "hi");
    logs::wait_for(&name, "NotJson");
    logs::wait_for(&name, "NotAMessage");
    assert!(!logs::of(&name).iter().any(|line| line.contains("marker-47")));
    client.close();
    playing.finish().check();
}

/// M-STD-02
pub fn bytes_that_are_no_text_are_skipped(on: &Stage) {
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let script = Script::new()
        .bytes(b"\xff\xfe\x00 not a text\n")
        .answer("server/discover")
        .bytes(b"\xc3\x28\r\n")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, "hi"), "hi");
    logs::wait_for(&name, "NotUtf8");
    client.close();
    playing.finish().check();
}

/// M-STD-02
pub fn blank_lines_are_nothing(on: &Stage) {
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let script = Script::new()
        .bytes("\n\r\n  \t \r\n")
        .answer("server/discover")
        .bytes("\n\n")
        .expect("tools/call")
        .bytes("\r\n\r\n")
        .text("\"one\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, "anything"), "one");
    assert_eq!(echo(&client, "two"), "two");
    client.close();
    playing.finish().check();
    assert!(!logs::of(&name).iter().any(|line| line.starts_with("WARN")), "{:?}", logs::of(&name));
}

/// M-STD-02
pub fn a_byte_order_mark_and_crlf_are_tolerated(on: &Stage) {
    let script = Script::new()
        .bytes(b"\xef\xbb\xbf")
        .answer("server/discover")
        .expect_as("tools/call", "call")
        .bytes("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\r\n")
        .text_for("call", "\"one\"")
        .answer_rest();
    let (client, playing) = on.play(script);
    assert_eq!(echo(&client, "anything"), "one");
    assert_eq!(echo(&client, "two"), "two");
    client.close();
    playing.finish().check();
}

/// M-STD-01, M-BASE-08
pub fn each_message_is_one_line(on: &Stage) {
    let (client, playing) = on.play(Script::modern().answer_rest());
    for text in ["a\nb", "a\r\nb\r", "\u{2028}\u{2029}\u{85}\u{b}", "\u{0}\u{7f}", "\u{1f980}é", ""] {
        assert_eq!(echo(&client, text), text);
    }
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("tools/call"), 6);
}

/// M-STD-03, M-STD-04
pub fn a_server_may_flood_its_stderr(on: &Stage) {
    let script = Script::new()
        .filler(Sink::Stderr, b'x', 10 << 20)
        .answer("server/discover")
        .expect("tools/call")
        .repeat(20_000, Script::new().stderr("ERROR 50 %\r"))
        .filler(Sink::Stderr, b'\n', 256 << 10)
        .text("\"one\"")
        .answer_rest();
    let client = on.launch(script, Setup::new());
    assert_eq!(echo(&client, "anything"), "one");
    assert_eq!(echo(&client, "two"), "two");
    client.close();
}

/// M-STD-03
pub fn stderr_is_captured_or_dropped_as_the_host_says(on: &Stage) {
    let script = || Script::new().stderr("INFO ready\x1b[0m\n").answer_rest();
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let client = on.launch(script(), setup);
    let line = logs::wait_for(&name, "INFO ready");
    assert!(line.starts_with("DEBUG"), "stderr is no sign of an error: {line}");
    assert!(!line.contains('\x1b'), "{line}");
    client.close();

    let setup = Setup::new().stderr(StderrPolicy::Null);
    let name = setup.server_name().to_owned();
    let client = on.launch(script(), setup);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    assert!(!logs::of(&name).iter().any(|line| line.contains("INFO ready")));
}

/// M-STD-10, M-CONN-05, M-CONN-07
pub fn arguments_reach_the_server_as_they_are(on: &Stage) {
    let arguments = ["a b", "c\"d", "", "%PATH%", "$HOME", "`id`", "*", "it's", "é", "; exit 7"];
    let script = Script::modern().expect("tools/call").text("$argv.string");
    let program = on.program(script).arguments(arguments);
    let line = program.line();
    let targets = [line.clone(), format!("stdio://{line}"), format!("  {line}\n")];
    let told = |client: crate::client::Client| {
        let argv: Vec<String> = serde_json::from_str(&echo(&client, "")).unwrap();
        client.close();
        argv
    };
    for target in &targets {
        assert_eq!(told(on.connect(target, Setup::new()).unwrap()), arguments, "{target}");
    }
    assert_eq!(told(on.connect(program.argv(), Setup::new()).unwrap()), arguments);
}

/// M-STD-10, M-CONN-14
pub fn the_environment_and_the_folder_are_the_hosts_to_choose(on: &Stage) {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let script = Script::modern()
        .expect("tools/call")
        .text("$env.SCENARIO_WORD")
        .expect("tools/call")
        .text("$env.PATH")
        .expect("tools/call")
        .text("$cwd");
    let setup = Setup::new().env("SCENARIO_WORD", "wörd = 1").dir(&folder);
    let client = on.launch(script, setup);
    assert_eq!(echo(&client, ""), "wörd = 1");
    assert_eq!(echo(&client, ""), std::env::var("PATH").unwrap(), "added, not replaced");
    assert_eq!(echo(&client, ""), folder.to_str().unwrap());
    client.close();
}

/// M-UNTR-18, M-UNTR-19
pub fn secrets_and_payloads_are_in_no_log(on: &Stage) {
    let journal = Shared::default();
    let setup = Setup::new().env("API_KEY", "s3cret-82713").journal(journal.clone());
    let described = format!("{setup:?}");
    let client = on.launch(
        Script::modern()
            .answer("tools/call")
            .expect("tools/call")
            .send(r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[{"payload-82714": }]}}"#)
            .expect("tools/call")
            .exit(1),
        setup,
    );
    let described = format!("{described} {client:?}");
    assert_eq!(echo(&client, "payload-82714"), "payload-82714");
    let mut texts = vec![described];
    for _ in 0..2 {
        let error = client.call_tool("x", json!({ "key": "payload-82714" })).unwrap_err();
        texts.extend([format!("{error}"), format!("{error:?}")]);
    }
    client.close();
    drop(client);
    texts.extend(logs::all());
    for text in texts {
        assert!(!text.contains("s3cret-82713") && !text.contains("payload-82714"), "{text}");
    }
    let journal = journal.text();
    assert!(journal.contains("API_KEY") && !journal.contains("s3cret-82713"), "{journal}");
}

/// M-BASE-06
pub fn deep_nesting_fails_its_message_at_most(on: &Stage) {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let answers = [
        format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{{"content":{}}}}}"#, deep(100_000)),
        format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{{"structuredContent":{}}}}}"#, deep(100_000)),
        format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{}}}"#, deep(100_000)),
        format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{{"code":-5,"message":"m","data":{}}}}}"#, deep(100_000)),
    ];
    let mut script = Script::modern();
    for answer in answers {
        script = script.expect("tools/call").send(&answer).send(&deep(100_000));
    }
    let (client, playing) = on.play(script.answer_rest());
    let outcomes: Vec<_> = (0..4).map(|_| client.call_tool("x", json!({}))).collect();
    assert!(outcomes[2].is_err(), "a list is no result");
    let error = outcomes[3].as_ref().unwrap_err().server_error().unwrap();
    assert_eq!((error.code, error.message.as_str()), (-5, "m"), "its data alone is unreadable");
    assert_eq!(echo(&client, "alive"), "alive");
    client.close();
    playing.finish().check();
}

/// M-ERR-01, M-ERR-06
pub fn a_program_that_is_not_there_is_named(on: &Stage) {
    let target = ["/no/such/program", "--flag"];
    let error = on.connect(target, Setup::plain()).unwrap_err();
    let ErrorKind::Transport(TransportError::Spawn { command, .. }) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(command, "/no/such/program --flag");
    assert!(error.is_transport());
    assert_eq!(error.outcome(), Outcome::NotSent);
    assert!(error.to_string().contains("No such file"), "{error}");
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
}

/// M-ERR-07, M-CONN-10, M-SIZE-05
pub fn targets_and_settings_that_cannot_work_are_refused(on: &Stage) {
    for target in ["ftp://x", "", "   ", "a 'b"] {
        let error = on.connect(target, Setup::new()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{target}: {error:?}");
        assert!(!error.is_transport());
    }
    let setup = Setup::new().with(|config| config.max_message_bytes = 0);
    let error = on.connect(on.demo(&[]), setup).unwrap_err();
    assert!(error.to_string().contains("max_message_bytes"), "{error}");
    let setup = Setup::new().with(|config| config.client_info.version = String::new());
    let error = on.connect(on.demo(&[]), setup).unwrap_err();
    assert!(error.to_string().contains("version"), "{error}");
}

/// A writer whose bytes can be looked at later.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
