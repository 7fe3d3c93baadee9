//! Notifications on their way to the host (specification: basic, "Notifications").

use mcp_proto::model::{LoggingLevel, Notification, NotificationKind};
use mcp_proto::{CallOptions, ConnectionConfig, Event, Hearing, Input, Item, Mailbox};
use serde_json::{Value, json};

use crate::support::*;

/// A host with a callback for them.
fn listening(config: ConnectionConfig) -> ConnectionConfig {
    let mut config = config;
    config.hears = vec![Hearing::Notifications];
    config
}

fn says(bench: &mut Bench, method: &str, params: &Value) {
    bench.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
}

/// The next notification, if there is one.
fn next(bench: &mut Bench) -> Option<Notification> {
    bench.input(Input::Pull(Mailbox::Host));
    match bench.heard.pop() {
        Some(Item::Notification(notification)) => Some(notification),
        Some(other) => panic!("{other:?}"),
        None => None,
    }
}

fn losses(bench: &Bench) -> Vec<u64> {
    let lost = |event: &Event| match event {
        Event::NotificationsLost { lost } => Some(*lost),
        _ => None,
    };
    bench.events.iter().filter_map(lost).collect()
}

/// M-NOTE-01, M-NOTE-03, M-RES-22: every method comes with its server and its parameters as they
/// were sent, typed where they are known, and raw in any case.
#[test]
fn every_notification_reaches_the_host() {
    in_both_eras_with(listening(config()), |bench| {
        let sub = NotificationKind::ResourceUpdated { uri: String::from("file:///a/below") };
        let all = [
            ("notifications/tools/list_changed", json!({}), NotificationKind::ToolsChanged),
            ("notifications/prompts/list_changed", json!({}), NotificationKind::PromptsChanged),
            ("notifications/resources/list_changed", json!({}), NotificationKind::ResourcesChanged),
            ("notifications/resources/updated", json!({ "uri": "file:///a/below" }), sub),
            ("notifications/resources/updated", json!({ "uri": 7 }), NotificationKind::Other),
            ("notifications/cancelled", json!({ "requestId": 99 }), NotificationKind::Other),
            ("notifications/x", json!({ "a": [1.50] }), NotificationKind::Other),
            ("window/logMessage", json!([1]), NotificationKind::Other),
        ];
        for (method, params, kind) in all {
            says(bench, method, &params);
            let told = next(bench).unwrap();
            assert_eq!((&*told.server, &*told.method, told.lost), ("peer", method, 0));
            assert_eq!(told.params.unwrap().as_str(), params.to_string());
            assert_eq!((told.kind, told.call), (kind, None));
        }
        bench.line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        assert_eq!(next(bench).unwrap().params, None);
        bench.quiet();
    });
}

/// M-NOTE-01, M-PROG-03: progress comes with its call; that of nobody's does not come.
#[test]
fn progress_comes_with_its_call() {
    in_both_eras_with(listening(config()), |bench| {
        let call = bench.begin_with(tool("x", json!({})), options(None, true));
        let sent = bench.expect("tools/call");
        let token = sent.meta()["progressToken"].clone();
        says(bench, "notifications/progress", &json!({ "progressToken": "no", "progress": 1 }));
        says(bench, "notifications/progress", &json!({ "progressToken": token, "progress": 2 }));
        let told = next(bench).unwrap();
        assert_eq!(told.call, Some(call.id()));
        assert!(matches!(told.kind, NotificationKind::Progress(it) if it.progress == 2.0));
        assert_eq!(next(bench), None);
        bench.completes(&sent, json!({ "content": [] }));
        bench.pull(&call);
        bench.done(&call).unwrap();
    });
}

/// M-LOG-04, M-LOG-05: log messages have their level, their logger and their data, whatever those
/// are; without a callback they reach the log all the same.
#[test]
fn log_messages_are_read_leniently() {
    let all = [
        (json!({ "level": "warning", "logger": "db", "data": "slow" }), LoggingLevel::Warning),
        (json!({ "level": "EMERGENCY", "logger": null, "data": "slow" }), LoggingLevel::Emergency),
        (json!({ "level": "verbose", "data": { "a": [1] } }), LoggingLevel::Info),
        (json!({ "level": 7, "logger": [] }), LoggingLevel::Info),
    ];
    in_both_eras_with(listening(config()), |bench| {
        for (params, level) in &all {
            says(bench, "notifications/message", params);
            let told = next(bench).unwrap();
            let NotificationKind::Message(message) = told.kind else { panic!("{:?}", told.kind) };
            assert_eq!(message.level, *level);
            assert_eq!(message.logger.as_deref(), params["logger"].as_str());
            assert_eq!(message.data.parse::<Value>().unwrap(), params["data"]);
        }
    });
    in_both_eras(|bench| {
        for (params, _) in &all {
            says(bench, "notifications/message", params);
        }
        let log = |event: &Event| match event {
            Event::Log { level, logger, text } => Some((*level, logger.clone(), text.clone())),
            _ => None,
        };
        let logged: Vec<_> = bench.events.iter().filter_map(log).collect();
        let levels = all.iter().map(|(_, level)| *level);
        assert!(logged.iter().map(|it| it.0).eq(levels));
        assert_eq!(logged[0].1.as_deref(), Some("db"));
        let texts: Vec<_> = logged.iter().map(|it| it.2.as_str()).collect();
        assert_eq!(texts, ["slow", "slow", r#"{"a":[1]}"#, "null"]);
    });
}

/// M-ELIC-22: that a page was dealt with is told by legacy servers only.
#[test]
fn completion_notices_are_legacy_only() {
    let params = json!({ "elicitationId": "e1" });
    let method = "notifications/elicitation/complete";
    let mut bench = Bench::legacy(listening(config()));
    says(&mut bench, method, &params);
    let complete = NotificationKind::ElicitationComplete { elicitation_id: String::from("e1") };
    assert_eq!(next(&mut bench).unwrap().kind, complete);
    let mut bench = Bench::modern(listening(config()));
    says(&mut bench, method, &params);
    assert_eq!(next(&mut bench), None);
    let dropped = |event: &Event| matches!(event, Event::MessageDropped { method: Some(it), .. } if it == method);
    assert!(bench.events.iter().any(dropped));
}

/// M-NOTE-01: under a callback that stalls, notifications wait up to a number and up to so many
/// bytes. Those that were lost are told of: in events, and with the next one that is delivered.
#[test]
fn a_flood_is_bounded_and_told_of() {
    let mut config = listening(quick());
    config.max_pending_notifications = 3;
    config.max_pending_notification_bytes = 2000;
    in_both_eras_with(config, |bench| {
        bench.input(Input::Pull(Mailbox::Host));
        for n in 0..1000 {
            says(bench, "notifications/x", &json!({ "n": n }));
        }
        assert_eq!(bench.heard.len(), 1, "the one that was asked for");
        bench.heard.clear();
        assert_eq!(losses(bench), [1], "a flood of losses is no flood of events");
        let mut got = Vec::new();
        while let Some(told) = next(bench) {
            let params: Value = told.params.unwrap().parse().unwrap();
            got.push((params["n"].as_u64().unwrap(), told.lost));
        }
        assert_eq!(got, [(997, 996), (998, 0), (999, 0)]);
        assert_eq!(losses(bench), [1, 995]);
        // By their bytes: what is around a value in its message counts, too.
        bench.input(Input::Pull(Mailbox::Host));
        bench.events.clear();
        says(bench, "notifications/x", &json!(0));
        bench.heard.clear();
        for text in ["a", "b"] {
            says(bench, "notifications/x", &json!({ "text": text.repeat(1200) }));
        }
        assert_eq!(losses(bench), [1]);
        says(bench, "notifications/x", &json!({ "text": "c".repeat(3000) }));
        let told = next(bench).unwrap();
        assert!(told.params.unwrap().as_str().contains("bb"));
        assert_eq!((told.lost, losses(bench)), (2, vec![1, 1]));
        assert_eq!(next(bench), None);
    });
}

/// M-NOTE-01, M-NOTE-03: what waits outlives the server, and nothing is kept for a host that has
/// closed the connection or that has no callback.
#[test]
fn what_waits_outlives_its_server() {
    let mut bench = Bench::stream(listening(config()));
    let call = bench.begin(mcp_proto::op::Connect);
    bench.speak_modern();
    bench.done(&call).unwrap();
    says(&mut bench, "notifications/x", &json!({}));
    bench.exit(mcp_proto::ExitStatus::Unknown);
    assert_eq!(next(&mut bench).unwrap().method, "notifications/x");
    in_both_eras_with(listening(config()), |bench| {
        says(bench, "notifications/x", &json!({}));
        bench.end();
        assert_eq!(next(bench), None);
    });
    in_both_eras(|bench| {
        says(bench, "notifications/x", &json!({}));
        assert_eq!(next(bench), None);
    });
}

/// M-TOOL-06: over one stream for all nobody knows whose a notification is; progress has its call.
#[test]
fn a_streamed_call_over_stdio_brings_its_progress() {
    in_both_eras(|bench| {
        let mut with = CallOptions::default();
        with.stream = true;
        let call = bench.begin_with(tool("x", json!({})), with);
        let sent = bench.expect("tools/call");
        let token = sent.meta()["progressToken"].clone();
        says(bench, "notifications/message", &json!({ "level": "info", "data": 1 }));
        says(bench, "notifications/progress", &json!({ "progressToken": token, "progress": 1 }));
        bench.completes(&sent, json!({ "content": [] }));
        bench.pull(&call);
        let items = std::mem::take(&mut bench.items);
        assert!(matches!(&items[..], [(_, Item::Progress(_))]), "{items:?}");
        bench.done(&call).unwrap();
    });
}
