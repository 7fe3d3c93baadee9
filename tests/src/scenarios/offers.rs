//! What servers offer beside tools, and several calls at once.

use mcp_proto::ErrorKind;
use mcp_proto::model::{CompletionReference, Content, LoggingLevel};
use serde_json::{Value, json};

use super::Stage;
use crate::client::{Client, Setup};
use crate::script::Script;

fn demo(on: &Stage, arguments: &[&str]) -> Client {
    on.connect(on.demo(arguments), Setup::new()).expect("the demo server")
}

/// A modern server that offers this.
fn modern(capabilities: &str) -> Script {
    let result = format!(
        r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":60000}}"#
    );
    Script::new().expect("server/discover").result(&result)
}

/// A legacy server that offers this.
fn legacy(capabilities: &str) -> Script {
    let version = r#""protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"}"#;
    Script::new()
        .expect("server/discover")
        .error(-32601, "Method not found")
        .expect("initialize")
        .result(&format!(r#"{{{version},"capabilities":{capabilities}}}"#))
        .expect("notifications/initialized")
}

/// M-PRMT-01, M-PRMT-02, M-PRMT-05
pub fn prompts_are_listed_and_got(on: &Stage) {
    for era in ["modern", "legacy"] {
        let client = demo(on, &["--era", era, "--page-size", "1"]);
        let prompts = client.list_prompts().unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["greeting", "review"]);
        assert_eq!(prompts[1].display_name(), "Code review");
        assert!(prompts[1].arguments[0].required);
        let arguments = json!({ "code": "x = 1", "language": "python" });
        let prompt = client.get_prompt("review".into(), arguments).unwrap();
        let [message] = &*prompt.messages else { panic!("{prompt:?}") };
        assert_eq!(message.role.as_str(), "user");
        let Content::Text(text) = &message.content else { panic!("{message:?}") };
        assert_eq!(text.text, "Please review this python:\n\nx = 1");
        let error = client.get_prompt("nobody".into(), json!({})).unwrap_err();
        assert_eq!(error.server_error().unwrap().code, -32602);
        client.close();
    }
}

/// M-RES-01, M-RES-02, M-PAGE-05
pub fn resources_are_listed_and_read(on: &Stage) {
    for era in ["modern", "legacy"] {
        let client = demo(on, &["--era", era, "--page-size", "1"]);
        let resources = client.list_resources().unwrap();
        let names: Vec<_> = resources.iter().map(|resource| resource.name.as_str()).collect();
        assert_eq!(names, ["readme", "pixel"]);
        let first = client.list_resources_page(None).unwrap();
        assert_eq!(first.items, resources[..1]);
        let second = client.list_resources_page(first.next_cursor).unwrap();
        assert_eq!((&second.items[..], second.next_cursor), (&resources[1..], None));
        let templates = client.list_resource_templates().unwrap();
        let page = client.list_resource_templates_page(None).unwrap();
        assert_eq!((&page.items[..], page.next_cursor), (&templates[..], None));
        assert_eq!(templates[0].name, "greeting");

        let readme = client.read_resource(resources[0].uri.clone()).unwrap();
        assert!(readme.contents[0].text().unwrap().starts_with("The demo server."));
        let pixel = client.read_resource(resources[1].uri.clone()).unwrap();
        assert!(pixel.contents[0].bytes().unwrap().starts_with(b"\x89PNG"));
        client.close();
    }
}

/// M-RES-06
pub fn a_resource_that_is_not_there_is_named(on: &Stage) {
    for era in ["modern", "legacy"] {
        let client = demo(on, &["--era", era]);
        let error = client.read_resource("demo://nowhere".into()).unwrap_err();
        let ErrorKind::ResourceNotFound { uri, .. } = error.kind() else { panic!("{error}") };
        assert_eq!(uri, "demo://nowhere");
        client.close();
    }
}

/// M-COMP-01, M-COMP-03
pub fn arguments_are_completed_where_that_is_offered(on: &Stage) {
    let ask = |client: &Client| {
        let reference = CompletionReference::prompt("review");
        client.complete(reference, "language".into(), "py".into())
    };
    let script = modern(r#"{"completions":{}}"#)
        .expect("completion/complete")
        .result(r#"{"completion":{"values":["python"],"hasMore":true}}"#)
        .answer_rest();
    let (client, playing) = on.play(script);
    let completion = ask(&client).unwrap();
    assert_eq!((&*completion.values, completion.has_more), (&["python".to_owned()][..], true));
    client.close();
    let written = playing.finish().check();
    let params = &written.of("completion/complete")[0]["params"];
    assert_eq!(params["ref"], json!({ "type": "ref/prompt", "name": "review" }));

    let client = demo(on, &[]);
    let error = ask(&client).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Capability(what) if what == "completions"));
    client.close();
}

/// M-ERA-24, M-CAP-04
pub fn an_offer_that_is_stale_is_asked_for_again(on: &Stage) {
    let says = |offers: &str| {
        let versions = r#""resultType":"complete","supportedVersions":["2026-07-28"]"#;
        format!(r#"{{{versions},"capabilities":{offers},"ttlMs":0}}"#)
    };
    let script = Script::new()
        .expect("server/discover")
        .result(&says("{}"))
        .expect("server/discover")
        .result(&says(r#"{"completions":{}}"#))
        .expect("completion/complete")
        .result(r#"{"completion":{"values":["python"]}}"#)
        .expect("server/discover")
        .result(&says("{}"));
    let (client, playing) = on.play(script);
    let ask = || {
        let reference = CompletionReference::prompt("review");
        client.complete(reference, "language".into(), "py".into())
    };
    assert_eq!(ask().unwrap().values, ["python"]);
    let error = ask().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Capability(what) if what == "completions"));
    assert!(!client.server().unwrap().capabilities.has(&["completions"]));
    client.close();
    playing.finish().check();
}

/// M-LOG-02, M-LOG-03
pub fn the_logging_level_is_told(on: &Stage) {
    let logging = r#"{"logging":{}}"#;
    let script = legacy(logging).expect("logging/setLevel").result("{}").answer_rest();
    let (client, playing) = on.play(script);
    client.set_logging_level(LoggingLevel::Warning).unwrap();
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.of("logging/setLevel")[0]["params"], json!({ "level": "warning" }));

    let (client, playing) = on.play(modern(logging).answer_rest());
    client.set_logging_level(LoggingLevel::Warning).unwrap();
    client.ping().unwrap();
    client.close();
    let written = playing.finish().check();
    let told = &written.of("server/discover")[1]["params"]["_meta"];
    assert_eq!(told["io.modelcontextprotocol/logLevel"], "warning");

    let client = demo(on, &[]);
    let error = client.set_logging_level(LoggingLevel::Debug).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Capability(what) if what == "logging"));
    client.close();
}

/// M-TOOL-05
pub fn several_calls_end_in_their_order(on: &Stage) {
    let client = demo(on, &[]);
    let mut calls: Vec<_> =
        (0..20).map(|n| ("add".to_owned(), json!({ "a": n, "b": 1 }))).collect();
    calls.insert(7, ("fail".to_owned(), json!({})));
    calls.insert(11, ("echo".to_owned(), Value::from("no object")));
    let results = client.call_tools(calls);
    assert_eq!(results.len(), 22);
    assert!(results[7].as_ref().unwrap().is_error);
    let error = results[11].as_ref().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error}");
    let texts: Vec<_> = results.iter().enumerate().filter(|(at, _)| ![7, 11].contains(at)).collect();
    for (n, (_, result)) in texts.into_iter().enumerate() {
        assert_eq!(result.as_ref().unwrap().text(), (n + 1).to_string());
    }
    client.close();
}
