//! Messages that are too long.

use std::time::Duration;

use mcp_proto::{ConnectionConfig, Error, ErrorKind, Outcome};
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use crate::client::{Setup, within};
use crate::logs;
use crate::script::{Script, Sink};

fn narrow(config: &mut ConnectionConfig) {
    config.max_message_bytes = 10_000;
}

fn assert_too_long(error: &Error, limit: usize) {
    let ErrorKind::Limit(reached) = error.kind() else { panic!("{error:?}") };
    assert_eq!((reached.limit, reached.setting), (limit, "max_message_bytes"));
    assert_eq!(error.outcome(), Outcome::Unknown, "it has run: there was an answer");
    assert!(error.is_transport());
}

/// M-UNTR-02
pub fn an_answer_that_is_too_long_fails_its_call_alone(on: &Stage) {
    let script = Script::modern()
        .expect_as("tools/call", "long")
        .expect_as("tools/call", "other")
        .part(r#"{"jsonrpc":"2.0","id":$long.id,"result":{"content":[],"x":""#)
        .filler(Sink::Stdout, b'x', 20_000)
        .gate("the rest")
        .filler(Sink::Stdout, b'y', 20_000)
        .bytes("\"}}\n")
        .text_for("other", "\"here\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, Setup::new().with(narrow));
    let long = client.begin("x", json!({})).unwrap();
    playing.wait_until(|it| it.count("tools/call") == 1);
    let other = client.begin("x", json!({})).unwrap();
    // Its line has no end yet: it fails as soon as its id is known.
    assert_too_long(&long.wait().unwrap_err(), 10_000);
    playing.open("the rest");
    assert_eq!(other.wait().unwrap().text(), "here");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    playing.finish().check();
}

/// M-UNTR-02
pub fn an_id_at_the_end_of_a_long_line_is_found(on: &Stage) {
    let script = Script::modern()
        .expect("tools/call")
        .part(r#"{"result":{"id":77,"x":["]}\"id\":78",""#)
        .filler(Sink::Stdout, b'x', 20_000)
        .bytes("\"]},")
        .part(r#""id":$id,"jsonrpc":"2.0"}"#)
        .bytes("\r\n")
        .answer_rest();
    let (client, playing) = on.play_with(script, Setup::new().with(narrow));
    assert_too_long(&client.call_tool("x", json!({})).unwrap_err(), 10_000);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    playing.finish().check();
}

/// M-UNTR-02, M-UNTR-21
pub fn a_long_line_without_an_id_is_told_in_the_text_of_a_timeout(on: &Stage) {
    let script = Script::modern()
        .expect("tools/call")
        .filler(Sink::Stdout, b'x', 200_000)
        .bytes("marker-6611\n")
        .expect("notifications/cancelled")
        .answer_rest();
    let setup = Setup::new().with(narrow);
    let name = setup.server_name().to_owned();
    let (client, playing) = on.play_with(script, setup);
    let options = within(Duration::from_secs(2));
    let error = client.call_tool_with("x", json!({}), options).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    let text = error.to_string();
    assert!(text.contains("too long") && !text.contains("marker-6611"), "{text}");
    assert!(logs::wait_for(&name, "TooLong").starts_with("WARN"));
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    playing.finish().check();
}

/// M-UNTR-02
pub fn sixty_four_mebibytes_are_the_default_bound(on: &Stage) {
    let client = on.connect(on.demo(&[]), Setup::new()).unwrap();
    let long = client.begin("blob", json!({ "bytes": 65 << 20 })).unwrap();
    let other = client.begin("echo", json!({ "message": "beside it" })).unwrap();
    assert_too_long(&long.wait().unwrap_err(), 64 << 20);
    assert_eq!(other.wait().unwrap().text(), "beside it");
    assert_eq!(echo(&client, "after it"), "after it");
    client.close();
}
