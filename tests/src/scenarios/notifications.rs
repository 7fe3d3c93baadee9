//! What servers say without being asked.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mcp_proto::model::{LoggingLevel, Notification, NotificationKind};
use serde_json::{Value, json};
use smol::lock::Semaphore;

use super::Stage;
use super::conversation::echo;
use crate::client::{Runtime, Setup};
use crate::logs;
use crate::script::{HttpScript, Script};

/// How long something that must come may take.
const SOON: Duration = Duration::from_secs(60);

/// Settings with one more callback, and what it is told.
fn listening(setup: Setup) -> (Setup, Receiver<Notification>) {
    let (tell, told) = channel();
    let setup = setup.on_notification(move |_, notification| {
        tell.send(notification).ok();
        async {}
    });
    (setup, told)
}

fn next(told: &Receiver<Notification>) -> Notification {
    told.recv_timeout(SOON).expect("a notification")
}

/// A server of each era that says this while a tool is called.
fn saying(what: &Script) -> [Script; 2] {
    [Script::modern(), Script::legacy("2025-11-25")].map(|script| {
        script.expect_as("tools/call", "call").then(what.clone()).text_for("call", "\"on\"").answer_rest()
    })
}

/// M-NOTE-01, M-NOTE-03, M-NOTE-05: each of several callbacks sees each notification, in their
/// order, with server, method and parameters.
pub fn every_callback_is_told_of_everything(on: &Stage) {
    let all = [
        ("notifications/tools/list_changed", r#"{}"#, NotificationKind::ToolsChanged),
        ("notifications/prompts/list_changed", r#"{"_meta":{}}"#, NotificationKind::PromptsChanged),
        ("notifications/resources/list_changed", r#"{"a":1.50}"#, NotificationKind::ResourcesChanged),
        (
            "notifications/resources/updated",
            r#"{"uri":"file:///a/b"}"#,
            NotificationKind::ResourceUpdated { uri: "file:///a/b".to_owned() },
        ),
        ("notifications/cancelled", r#"{"requestId":"none"}"#, NotificationKind::Other),
        ("notifications/x", r#"[1]"#, NotificationKind::Other),
    ];
    let mut what = Script::new();
    for (method, params, _) in &all {
        what = what.notify(method, params);
    }
    for script in saying(&what) {
        let (setup, first) = listening(Setup::new());
        let (setup, second) = listening(setup);
        let name = setup.server_name().to_owned();
        let (client, playing) = on.play_with(script, setup);
        assert_eq!(echo(&client, ""), "on");
        for told in [&first, &second] {
            for (method, params, kind) in &all {
                let told = next(told);
                assert_eq!((&*told.server, &*told.method, told.lost), (&*name, *method, 0));
                assert_eq!(told.params.unwrap().as_str(), *params);
                assert_eq!(told.kind, *kind);
            }
        }
        client.close();
        playing.finish().check();
    }
}

/// M-NOTE-01, M-CONN-14, M-LOG-04
pub fn a_callback_may_call_the_client(on: &Stage) {
    let message = r#"{"level":"warning","logger":"db","data":{"slow":true}}"#;
    for script in saying(&Script::new().notify("notifications/message", message)) {
        let (tell, told) = channel();
        let setup = Setup::new().on_notification(move |caller, told| {
            let tell = tell.clone();
            async move {
                let said = caller.call_tool("echo", json!({ "message": told.method })).await;
                let said = said.unwrap().text().to_string();
                tell.send((told, said)).ok();
            }
        });
        let (client, playing) = on.play_with(script, setup);
        assert_eq!(echo(&client, ""), "on");
        let (told, said) = told.recv_timeout(SOON).expect("a notification");
        assert_eq!(said, "notifications/message");
        let NotificationKind::Message(message) = told.kind else { panic!("{:?}", told.kind) };
        assert_eq!((message.level, message.logger.as_deref()), (LoggingLevel::Warning, Some("db")));
        assert_eq!(message.data.as_str(), r#"{"slow":true}"#);
        client.close();
        playing.finish().check();
    }
}

/// M-NOTE-05, M-UNTR-20: neither a call nor a question of the server's waits for a callback, and one
/// that panics goes on with the next notification.
pub fn a_callback_that_panics_or_stalls_holds_up_nothing(on: &Stage) {
    if on.runtime == Runtime::Pumped {
        // Without a thread of the client's it runs where somebody waits, and holds that up.
        return;
    }
    let release = Arc::new(Semaphore::new(0));
    let waited_for = Arc::clone(&release);
    let setup = Setup::new()
        .on_notification(|_, _| async { panic!("a callback of the host's") })
        .on_elicitation(|_, _| async { Ok(json!({ "action": "decline" })) })
        .on_notification(move |_, _| {
            let waited_for = Arc::clone(&waited_for);
            async move { waited_for.acquire().await.forget() }
        });
    let (setup, told) = listening(setup);
    let name = setup.server_name().to_owned();
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .notify("notifications/x", "{}")
        .notify("notifications/y", "{}")
        .ask("\"e\"", "elicitation/create", "{}")
        .expect_response("\"e\"")
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "on");
    assert_eq!(echo(&client, "hi"), "hi");
    release.add_permits(2);
    assert_eq!(next(&told).method, "notifications/x");
    assert_eq!(next(&told).method, "notifications/y");
    client.close();
    playing.finish().check();
    logs::wait_for(&name, "the handler of notifications panicked");
}

/// M-NOTE-01: notifications that came before the result of a call are not lost when the client is
/// idle, or the server goes.
pub fn what_came_before_the_end_is_shown(on: &Stage) {
    let mut what = Script::new();
    for n in 0..50 {
        what = what.notify("notifications/x", &format!(r#"{{"n":{n}}}"#));
    }
    let script = Script::modern().expect("tools/call").then(what).text("\"on\"").exit(0);
    let (setup, told) = listening(Setup::new());
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "on");
    for n in 0..50 {
        let params: Value = next(&told).params.unwrap().parse().unwrap();
        assert_eq!(params["n"], n);
    }
    client.close();
    playing.finish().check();
}

/// M-NOTE-01, M-LOG-05: what waits for a stalled callback is bounded; the next notification and the
/// log say how many had no room. Log messages reach the local log, too.
pub fn what_has_no_room_is_counted(on: &Stage) {
    if on.runtime == Runtime::Pumped {
        return;
    }
    let release = Arc::new(Semaphore::new(0));
    let waited_for = Arc::clone(&release);
    let (began, begun) = channel();
    let setup = Setup::new().with(|config| config.max_pending_notifications = 3);
    let setup = setup.on_notification(move |_, _| {
        let (waited_for, began) = (Arc::clone(&waited_for), began.clone());
        async move {
            began.send(()).ok();
            waited_for.acquire().await.forget();
        }
    });
    let (setup, told) = listening(setup);
    let name = setup.server_name().to_owned();
    let message = r#"{"level":"critical","data":"marker-9981"}"#;
    let script = Script::modern()
        .expect_as("tools/call", "call")
        .notify("notifications/first", "{}")
        .gate("flood")
        .repeat(99, Script::new().notify("notifications/x", "{}"))
        .notify("notifications/message", message)
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    let call = client.begin("x", json!({})).unwrap();
    begun.recv_timeout(SOON).expect("the first notification");
    playing.open("flood");
    assert_eq!(call.wait().unwrap().text(), "on");
    release.add_permits(10);
    let all: Vec<_> = (0..4).map(|_| next(&told)).map(|it| (it.method, it.lost)).collect();
    let x = "notifications/x";
    let want = [("notifications/first", 0), (x, 97), (x, 0), ("notifications/message", 0)];
    assert_eq!(all, want.map(|(method, lost)| (method.to_owned(), lost)));
    client.close();
    playing.finish().check();
    logs::wait_for(&name, "too many notifications wait for the host");
    logs::wait_for(&name, "marker-9981");
}

/// M-NOTE-01, M-SESS-08, M-RES-11: they come without a call, on the stream that is opened for them.
pub fn the_get_stream_is_opened_for_them(on: &Stage) {
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#;
    let script = HttpScript::with_session("2025-11-25", "s-1")
        .in_any_order()
        .expect_http("GET")
        .events()
        .event(updated)
        .hold();
    let server = script.rest().start();
    let (setup, told) = listening(Setup::new());
    let client = on.connect(server.url(), setup).unwrap();
    let told = next(&told);
    assert_eq!(told.method, "notifications/resources/updated");
    assert_eq!(told.kind, NotificationKind::ResourceUpdated { uri: "a:b".to_owned() });
    assert_eq!(told.call, None);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    assert_eq!(server.finish().check().count_http("GET"), 1);
}

/// M-LOG-06, M-LOG-04: on the stream of an answer a message has the call that it belongs to, and two
/// calls are told apart.
pub fn a_message_has_the_call_of_its_stream(on: &Stage) {
    let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let result = r#"{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","content":[]}}"#;
    let call = HttpScript::new().expect("tools/call").events().event(message).event(result).end();
    let server = HttpScript::modern().repeat(2, call).start();
    let (setup, told) = listening(Setup::new());
    let client = on.connect(server.url(), setup).unwrap();
    let mut calls = Vec::new();
    for _ in 0..2 {
        client.call_tool("x", json!({})).unwrap();
        calls.extend(next(&told).call);
    }
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0], calls[1]);
    client.close();
    server.finish().check();
}
