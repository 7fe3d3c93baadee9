//! Times that run out, and calls that are given up.

use std::time::Duration;

use mcp_proto::{ConnectionConfig, ErrorKind, Outcome, Phase};
use serde_json::{Map, json};

use super::{Over, Stage};
use super::conversation::echo;
use crate::client::{Client, Setup, within};
use crate::script::{Script, Transcript};

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(60);

fn short(config: &mut ConnectionConfig) {
    config.call_timeout = Some(SHORT);
}

/// There is one cancellation, of the first call, and this is its reason. A stream that is closed
/// has no words for one.
fn assert_cancelled(on: &Stage, written: &Transcript, reason: &str) {
    let cancelled = written.of("notifications/cancelled");
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    let params = &cancelled[0]["params"];
    assert_eq!(params["requestId"], written.of("tools/call")[0]["id"]);
    let is_closed = on.over == Over::Http && written.count("initialize") == 0;
    assert_eq!(params["reason"].as_str(), Some(reason).filter(|_| !is_closed));
}

/// M-TIME-02, M-TIME-03, M-TIME-04
pub fn a_call_that_times_out_is_given_up_and_never_sent_again(on: &Stage) {
    for start in [Script::modern(), Script::legacy("2025-11-25")] {
        let script = start.expect("tools/call").expect("notifications/cancelled").answer_rest();
        let (client, playing) = on.play_with(script, Setup::new().with(short));
        let error = client.call_tool("x", json!({})).unwrap_err();
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error:?}") };
        assert_eq!(timeout.phase, Phase::Answer);
        assert!(timeout.after >= SHORT, "{timeout}");
        assert!(error.is_timeout() && error.is_transport());
        assert_eq!(error.outcome(), Outcome::Unknown);
        playing.wait_until(|it| it.count("notifications/cancelled") == 1);
        client.call_tool_with("echo", json!({ "message": "" }), within(LONG)).unwrap();
        client.close();
        let written = playing.finish().check();
        assert_cancelled(on, &written, "Request timed out");
        assert_eq!(written.count("tools/call"), 2);
    }
}

/// M-BASE-07
pub fn an_error_of_the_clients_own_has_no_code(on: &Stage) {
    let (client, playing) = on.play_with(Script::modern(), Setup::new().with(short));
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert!(error.server_error().is_none());
    assert!(!matches!(error.kind(), ErrorKind::Server(_)));
    let error = client.request("initialize", Map::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error:?}");
    assert!(error.server_error().is_none());
    client.close();
    playing.finish().check();
}

/// M-TIME-01, M-TIME-11
pub fn every_method_has_a_timeout_and_each_call_may_have_its_own(on: &Stage) {
    let (client, playing) = on.play_with(Script::modern(), Setup::new().with(short));
    let timed_out = [
        client.list_tools().map(drop),
        client.call_tool("x", json!({})).map(drop),
        client.ping(),
        client.request("no/such", Map::new()).map(drop),
    ];
    for outcome in timed_out {
        let error = outcome.unwrap_err();
        assert!(error.is_timeout(), "{error}");
    }
    client.close();
    playing.finish().check();

    let script = Script::modern().expect("tools/call").pause(300).text("\"late\"");
    let (client, playing) = on.play_with(script, Setup::new().with(short));
    assert_eq!(client.call_tool_with("x", json!({}), within(LONG)).unwrap().text(), "late");
    client.close();
    playing.finish().check();

    let (client, playing) = on.play(Script::modern());
    let error = client.call_tool_with("x", json!({}), within(SHORT)).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    client.close();
    playing.finish().check();
}

/// M-TIME-04
pub fn no_part_of_a_start_is_cancelled(on: &Stage) {
    let soon = |config: &mut ConnectionConfig| {
        config.discover_timeout = Duration::from_millis(20);
        config.start_timeout = SHORT;
    };
    let (client, playing) = on.try_play(Script::new(), Setup::new().with(soon));
    let error = client.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout(it) if it.phase == Phase::Start), "{error}");
    let written = playing.finish().check();
    // How far it had come depends on how busy the machine is.
    let methods = written.methods();
    assert!(methods == ["server/discover", "initialize"] || methods == ["server/discover"]);
}

/// M-TIME-06, M-TIME-08
pub fn a_call_that_is_dropped_is_cancelled_once(on: &Stage) {
    for start in [Script::modern(), Script::legacy("2025-06-18")] {
        let script = start
            .expect_as("tools/call", "call")
            .expect("notifications/cancelled")
            .text_for("call", "\"late\"")
            .answer_rest();
        let (client, playing) = on.play(script);
        let pending = client.begin("x", json!({})).unwrap();
        playing.wait_until(|it| it.count("tools/call") == 1);
        drop(pending);
        playing.wait_until(|it| it.count("notifications/cancelled") == 1);
        assert_eq!(echo(&client, "hi"), "hi", "the late answer is nobody's");
        client.close();
        let written = playing.finish().check();
        assert_cancelled(on, &written, "The host cancelled the request");
    }
}

/// M-TIME-06
pub fn cancelling_ends_the_call_with_an_error(on: &Stage) {
    let script = Script::modern().expect_as("tools/call", "call").answer_rest();
    let (client, playing) = on.play(script);
    let pending = client.begin("x", json!({})).unwrap();
    let cancel = pending.cancel_handle();
    playing.wait_until(|it| it.count("tools/call") == 1);
    assert_eq!(echo(&client, "beside it"), "beside it");
    cancel();
    let error = pending.wait().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error:?}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    cancel();
    assert_eq!(echo(&client, "after it"), "after it");
    client.close();
    playing.finish().check();
}

/// M-TIME-09
pub fn answers_and_cancellations_may_cross(on: &Stage) {
    let (client, playing) = on.play(Script::modern().answer_rest());
    let mut answered = 0;
    for n in 0..100 {
        let pending = client.begin("echo", json!({ "message": n.to_string() })).unwrap();
        let cancel = pending.cancel_handle();
        let crossing = std::thread::spawn(cancel);
        match pending.wait() {
            Ok(result) => {
                answered += 1;
                assert_eq!(result.text(), n.to_string());
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error:?}"),
        }
        crossing.join().unwrap();
    }
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let written = playing.finish().check();
    let cancelled = written.count("notifications/cancelled");
    assert!(cancelled <= 100 - answered, "{answered} were answered, {cancelled} cancelled");
}

/// M-TIME-06, M-STD-01
pub fn a_call_is_cancelled_although_the_server_does_not_read(on: &Stage) {
    let script = Script::modern().gate("read").answer_rest();
    let (client, playing) = on.play(script);
    let large = "x".repeat(100_000);
    let calls: Vec<_> = (0..3).map(|_| begin(&client, &large)).collect();
    let kept = begin(&client, "kept");
    for call in calls {
        call.cancel_handle()();
        let error = call.wait().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error:?}");
    }
    playing.open("read");
    assert_eq!(kept.wait().unwrap().text(), "kept");
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("tools/call"), written.count("notifications/cancelled") + 1);
}

fn begin(client: &Client, message: &str) -> crate::client::Pending {
    client.begin("echo", json!({ "message": message })).unwrap()
}
