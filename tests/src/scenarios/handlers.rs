//! Handlers of the host's, which may call the client themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use mcp_proto::{ErrorKind, Outcome};
use serde_json::{Map, Value, json};
use smol::lock::Semaphore;

use super::{Over, Stage};
use super::concurrency::side_by_side;
use super::conversation::echo;
use crate::client::{Runtime, Setup};
use crate::logs;
use crate::script::Script;

fn numbered(number: u64) -> Map<String, Value> {
    Map::from_iter([("com.example/number".to_owned(), json!(number))])
}

/// M-ERA-06
pub fn metadata_is_computed_for_each_request(on: &Stage) {
    let count = AtomicU64::new(0);
    let setup = Setup::new()
        .with(|config| config.meta = numbered(0))
        .on_request_meta(move |_, _| {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            async move { Ok(numbered(number)) }
        });
    let script = Script::modern()
        .expect("tools/list")
        .result(r#"{"tools":[],"nextCursor":"a"}"#)
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    let _ = client.list_tools();
    echo(&client, "hi");
    client.close();
    let written = playing.finish().check();
    let number = |message: &Value| message["params"]["_meta"]["com.example/number"].clone();
    let numbers: Vec<_> = written.messages().iter().map(number).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "the probe and each page are requests of their own");
}

/// M-ERA-06, M-CONN-14
pub fn a_handler_of_metadata_may_call_the_client(on: &Stage) {
    let setup = Setup::new().on_request_meta(|caller, method| async move {
        if method != "tools/call" {
            return Ok(numbered(0));
        }
        caller.ping().await?;
        Ok(numbered(1))
    });
    let (client, playing) = on.play_with(Script::modern().answer_rest(), setup);
    side_by_side(16, |n| assert_eq!(echo(&client, &n.to_string()), n.to_string()));
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("server/discover"), 17, "each call has asked before it was sent");
    for call in written.of("tools/call") {
        assert_eq!(call["params"]["_meta"]["com.example/number"], 1);
    }
}

/// M-CONN-14, M-CAP-02
pub fn a_handler_of_elicitations_may_call_the_client(on: &Stage) {
    let setup = Setup::new().on_elicitation(|caller, params| async move {
        let asked: Value = params.parse()?;
        let text = asked["message"].as_str().unwrap_or_default();
        let result = caller.call_tool("echo", json!({ "message": text })).await?;
        Ok(json!({ "action": "accept", "content": { "said": result.text() } }))
    });
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "outer")
        .ask("\"e1\"", "elicitation/create", r#"{"message":"who?"}"#)
        .expect_as("tools/call", "inner")
        .text_for("inner", "$inner.params.arguments.message")
        .expect_response("\"e1\"")
        .text_for("outer", "$params.content.said")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, "outer"), "who?");
    assert_eq!(echo(&client, "later"), "later");
    client.close();
    let written = playing.finish().check();
    let declared = json!({ "roots": { "listChanged": true }, "elicitation": {} });
    assert_eq!(written.of("initialize")[0]["params"]["capabilities"], declared);
}

/// M-CAP-02, M-NOTE-06
pub fn without_a_handler_nothing_is_declared_and_nothing_answered(on: &Stage) {
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("1", "elicitation/create", r#"{"message":"who?"}"#)
        .expect_response("1")
        .text_for("call", "\"no\"")
        .answer_rest();
    let (client, playing) = on.play(script);
    assert_eq!(echo(&client, ""), "no");
    client.close();
    let written = playing.finish().check();
    let declared = json!({ "roots": { "listChanged": true } });
    assert_eq!(written.of("initialize")[0]["params"]["capabilities"], declared);
    assert_eq!(written.responses()[0]["error"]["code"], -32601);
}

/// M-UNTR-20
pub fn what_goes_wrong_in_a_handler_stays_there(on: &Stage) {
    let asked = AtomicU64::new(0);
    let setup = Setup::new().on_elicitation(move |_, _| {
        let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first { Err("no such file: /home/marker-5561".into()) } else { panic!("marker-5561") }
        }
    });
    let name = setup.server_name().to_owned();
    let ask = |id: &str| Script::new().ask(id, "elicitation/create", "{}").expect_response(id);
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .then(ask("1"))
        .then(ask("2"))
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "on");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let written = playing.finish().check();
    let errors: Vec<_> = written.responses().iter().map(|it| it["error"].clone()).collect();
    assert_eq!(errors[0], errors[1], "one fixed text");
    assert_eq!(errors[0]["code"], -32603);
    assert!(!written.lines().iter().any(|line| line.windows(11).any(|it| it == b"marker-5561")));
    // The host's own log has the reason.
    logs::wait_for(&name, "the handler of elicitation failed: no such file: /home/marker-5561");
    logs::wait_for(&name, "the handler of elicitation panicked");
}

/// M-UNTR-20, M-UNTR-18, M-UNTR-19: whatever handler fails, the server is told one fixed text; and
/// neither a token nor what is asked and answered stands in any log, error or debug output (F120,
/// F126).
pub fn nothing_private_leaves_through_errors_and_logs(on: &Stage) {
    let mut setup = Setup::new()
        .on_sampling(true, |_, _| async { Err("no model at /home/mark-5564".into()) })
        .on_url_elicitation(|_, _| async { panic!("mark-5564") });
    setup = match on.over {
        Over::Stdio => setup.env("API_KEY", "mark-5565"),
        Over::Http => setup.header("Authorization", "Bearer mark-5565"),
    };
    let name = setup.server_name().to_owned();
    let described = format!("{setup:?}");
    let sample = r#"{"maxTokens":9,"systemPrompt":"mark-5566","messages":[]}"#;
    let page = r#"{"mode":"url","message":"mark-5566","url":"https://a.example/?mark-5566"}"#;
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("1", "sampling/createMessage", sample)
        .expect_response("1")
        .ask("2", "elicitation/create", &page.replacen('{', r#"{"elicitationId":"e","#, 1))
        .expect_response("2")
        .text_for("call", "\"on\"")
        .expect("tools/call")
        .result(r#"{"content":"mark-5566"}"#)
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    let mut texts = vec![described, format!("{client:?}")];
    let result = client.call_tool("x", json!({ "key": "mark-5566" })).unwrap();
    assert_eq!(result.text(), "on");
    let error = client.call_tool("x", json!({ "key": "mark-5566" })).unwrap_err();
    texts.push(format!("{error} {error:?}"));
    client.close();
    let written = playing.finish().check();
    let errors: Vec<_> = written.responses().iter().map(|it| it["error"].clone()).collect();
    assert_eq!((errors.len(), &errors[0]), (2, &errors[1]), "one fixed text");
    assert!(!errors[0].to_string().contains("mark"), "{}", errors[0]);
    logs::wait_for(&name, "no model at /home/mark-5564");
    texts.extend(logs::of(&name));
    for text in texts {
        assert!(!text.contains("mark-5565") && !text.contains("mark-5566"), "{text}");
    }
}

/// M-UNTR-20, M-ERA-06
pub fn metadata_that_cannot_be_had_fails_its_call_alone(on: &Stage) {
    let asked = AtomicU64::new(0);
    let setup = Setup::new().on_request_meta(move |_, _| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        async move {
            match number {
                1 => Err("marker-5562".into()),
                2 => panic!("marker-5562"),
                _ => Ok(Map::new()),
            }
        }
    });
    let (client, playing) = on.play_with(Script::modern().answer_rest(), setup);
    for _ in 0..2 {
        let error = client.call_tool("echo", json!({ "message": "" })).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotSent);
    }
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    assert_eq!(playing.finish().check().count("tools/call"), 1);
}

/// M-TIME-04, M-TIME-06
pub fn a_call_that_waits_for_its_handler_is_cancelled_without_a_word(on: &Stage) {
    let (entered, waiting) = channel();
    let release = Arc::new(Semaphore::new(0));
    let waited_for = Arc::clone(&release);
    let setup = Setup::new().on_request_meta(move |_, method| {
        let (entered, waited_for) = (entered.clone(), Arc::clone(&waited_for));
        async move {
            if method == "tools/call" {
                // The future is dropped when nobody wants its answer any more. A thread that runs
                // it cannot be stopped, and its answer comes to nothing.
                entered.send(()).ok();
                waited_for.acquire().await.forget();
            }
            Ok(Map::new())
        }
    });
    let (client, playing) = on.play_with(Script::modern().answer_rest(), setup);
    let pending = client.begin("echo", json!({ "message": "" })).unwrap();
    let cancel = pending.cancel_handle();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| pending.wait());
        waiting.recv().unwrap();
        cancel();
        release.add_permits(1);
        let error = waits.join().unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotSent);
    });
    client.list_tools().unwrap();
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.methods(), ["server/discover", "tools/list"]);
}

/// M-CONN-14
pub fn a_slow_handler_holds_up_nothing_else(on: &Stage) {
    if on.runtime == Runtime::Pumped {
        // Without a thread of the client's it runs where somebody waits, and holds that up.
        return;
    }
    let release = Arc::new(Semaphore::new(0));
    let waited_for = Arc::clone(&release);
    let setup = Setup::new().on_elicitation(move |_, _| {
        let waited_for = Arc::clone(&waited_for);
        async move {
            waited_for.acquire().await.forget();
            Ok(json!({ "action": "decline" }))
        }
    });
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("\"e\"", "elicitation/create", "{}")
        .ask("\"p\"", "ping", "{}")
        .expect_response("\"p\"")
        .repeat(20, Script::new().answer("tools/call"))
        .expect_response("\"e\"")
        .text_for("call", "\"on\"");
    let (client, playing) = on.play_with(script, setup);
    let pending = client.begin("x", json!({})).unwrap();
    playing.wait_until(|it| it.responses().len() == 1);
    for n in 0..20 {
        assert_eq!(echo(&client, &n.to_string()), n.to_string());
    }
    release.add_permits(1);
    assert_eq!(pending.wait().unwrap().text(), "on");
    client.close();
    playing.finish().check();
}
