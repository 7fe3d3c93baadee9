//! Lists in pages, and the definitions in them.

use mcp_proto::model::TaskSupport;
use mcp_proto::op::ToolList;
use mcp_proto::{Error, ErrorKind, PaginationFault, PeerError, Raw};
use serde_json::{Value, json};

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::script::{Script, Transcript};

const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object"}}"#;

/// Lists the tools of a server, which is closed then.
fn list(on: &Stage, script: Script, setup: Setup) -> (Result<ToolList, Error>, Transcript) {
    let (client, playing) = on.play_with(script, setup);
    let tools = client.list_tools();
    client.close();
    (tools, playing.finish().check())
}

fn fault(error: &Error) -> (&PaginationFault, usize) {
    match error.kind() {
        ErrorKind::Pagination { reason, partial, .. } => (reason, partial.pages.len()),
        other => panic!("{other:?}"),
    }
}

/// M-PAGE-01
pub fn a_cursor_that_comes_again_ends_the_list(on: &Stage) {
    let page = |cursor: &str| {
        let result = format!(r#"{{"tools":[{TOOL}],"nextCursor":{cursor}}}"#);
        Script::new().expect("tools/list").result(&result)
    };
    let script = Script::modern().then(page("\"a\"")).then(page("\"b\"")).then(page(r#""\u0061""#));
    let (tools, written) = list(on, script, Setup::new());
    let error = tools.unwrap_err();
    assert_eq!(fault(&error), (&PaginationFault::RepeatedCursor, 3));
    let partial = error.partial().unwrap();
    let first: Value = partial.pages[0].parse().unwrap();
    assert_eq!(first["tools"][0]["name"], "t", "what was read is kept");
    assert_eq!(written.count("tools/list"), 3);
}

/// M-PAGE-02
pub fn an_endless_list_is_given_up(on: &Stage) {
    let page = Script::new().expect("tools/list").result(r#"{"tools":[],"nextCursor":$n.string}"#);
    let (tools, written) = list(on, Script::modern().repeat(1000, page), Setup::new());
    assert_eq!(fault(&tools.unwrap_err()), (&PaginationFault::TooManyPages(1000), 1000));
    assert_eq!(written.count("tools/list"), 1000);
}

/// M-PAGE-01
pub fn the_bytes_of_a_list_are_bounded(on: &Stage) {
    let padding = "x".repeat(1000);
    let result = format!(r#"{{"tools":[],"nextCursor":$n.string,"padding":"{padding}"}}"#);
    let page = Script::new().expect("tools/list").result(&result);
    let setup = Setup::new().with(|config| config.max_list_bytes = 10_000);
    let (tools, written) = list(on, Script::modern().repeat(10, page), setup);
    assert_eq!(fault(&tools.unwrap_err()).0, &PaginationFault::TooManyBytes(10_000));
    assert_eq!(written.count("tools/list"), 10, "with which they are beyond the bound");
}

/// M-PAGE-03
pub fn an_empty_cursor_is_a_cursor(on: &Stage) {
    let script = Script::modern()
        .expect("tools/list")
        .result(&format!(r#"{{"tools":[{TOOL}],"nextCursor":""}}"#))
        .expect("tools/list")
        .result(&format!(r#"{{"tools":[{TOOL}]}}"#));
    let (tools, written) = list(on, script, Setup::new());
    assert_eq!(tools.unwrap().len(), 2);
    assert_eq!(written.of("tools/list")[1]["params"]["cursor"], "");
}

/// M-PAGE-03
pub fn a_cursor_goes_back_as_it_came(on: &Stage) {
    let cursor = r#""a\"\\\u0000\u00e9 \ud83e\udd80=""#;
    let script = Script::legacy("2025-11-25")
        .expect("tools/list")
        .result(&format!(r#"{{"tools":[],"nextCursor":{cursor}}}"#))
        .expect("tools/list")
        .result(r#"{"tools":[]}"#);
    let (tools, written) = list(on, script, Setup::new());
    tools.unwrap();
    let sent = &written.of("tools/list")[1]["params"]["cursor"];
    assert_eq!(*sent, serde_json::from_str::<Value>(cursor).unwrap());
}

/// M-PAGE-04
pub fn pages_have_any_size(on: &Stage) {
    let page = |count: usize, next: &str| {
        let tools = vec![TOOL; count].join(",");
        let result = format!(r#"{{"tools":[{tools}]{next}}}"#);
        Script::new().expect("tools/list").result(&result)
    };
    let script = Script::modern()
        .then(page(1, r#","nextCursor":"a""#))
        .then(page(0, r#","nextCursor":"b""#))
        .then(page(500, r#","nextCursor":"c""#))
        .then(page(0, ""));
    let (tools, written) = list(on, script, Setup::new());
    assert_eq!(tools.unwrap().len(), 501);
    assert_eq!(written.count("tools/list"), 4);
}

/// M-PAGE-06
pub fn a_page_of_the_wrong_shape_is_an_error(on: &Stage) {
    let results = ["5", "null", "[]", "\"tools\"", "{}", r#"{"tools":5}"#, r#"{"tools":null}"#];
    for result in results {
        let script = Script::modern().expect("tools/list").result(result).answer_rest();
        let (client, playing) = on.play(script);
        let error = client.list_tools().unwrap_err();
        let kind = error.kind();
        assert!(matches!(kind, ErrorKind::Peer(PeerError::Result(_))), "{result}: {kind:?}");
        assert_eq!(client.list_tools().unwrap().len(), 5, "the next list is another matter");
        client.close();
        playing.finish().check();
    }
}

/// M-TOOL-01, M-TOOL-20, M-TOOL-12
pub fn every_member_of_a_tool_is_there(on: &Stage) {
    let full = concat!(
        r#"{"name":"full","title":"Full","description":"d","inputSchema":{"type":"object"},"#,
        r#""outputSchema":{"type":"object","x":1},"annotations":{"title":"A","readOnlyHint":true,"#,
        r#""destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"#,
        r#""icons":[{"src":"https://e/x.png","sizes":["any"]}],"_meta":{"k":[1]},"future":{}}"#,
    );
    let titled = r#"{"name":"n","inputSchema":{},"annotations":{"title":"A"}}"#;
    let result = format!(r#"{{"tools":[{full},{titled},{TOOL}]}}"#);
    let script = Script::modern().expect("tools/list").result(&result);
    let tools = list(on, script, Setup::new()).0.unwrap();
    let first = &tools[0];
    assert_eq!(first.title.as_deref(), Some("Full"));
    assert_eq!(first.output_schema.as_ref().unwrap().as_str(), r#"{"type":"object","x":1}"#);
    assert!(first.annotations.read_only() && first.annotations.idempotent());
    assert!(!first.annotations.destructive() && !first.annotations.open_world());
    assert_eq!(first.icons[0].src, "https://e/x.png");
    assert_eq!(first.raw.member("_meta").as_ref().map(Raw::as_str), Some(r#"{"k":[1]}"#));
    assert_eq!(first.raw.as_str(), full);
    let shown: Vec<_> = tools.iter().map(|tool| tool.display_name()).collect();
    assert_eq!(shown, ["Full", "A", "t"]);
    assert!(tools[2].output_schema.is_none());
}

/// M-TOOL-13
pub fn a_tool_says_whether_it_can_be_a_task(on: &Stage) {
    let values = [
        (r#","execution":{"taskSupport":"optional"}"#, TaskSupport::Optional),
        (r#","execution":{"taskSupport":"required"}"#, TaskSupport::Required),
        (r#","execution":{"taskSupport":"forbidden"}"#, TaskSupport::Forbidden),
        (r#","execution":{"taskSupport":"someday"}"#, TaskSupport::Forbidden),
        (r#","execution":{}"#, TaskSupport::Forbidden),
        ("", TaskSupport::Forbidden),
    ];
    let tools = values.map(|(member, _)| format!(r#"{{"name":"t","inputSchema":{{}}{member}}}"#));
    let result = format!(r#"{{"tools":[{}]}}"#, tools.join(","));
    let script = Script::modern().expect("tools/list").result(&result);
    let tools = list(on, script, Setup::new()).0.unwrap();
    let told: Vec<_> = tools.iter().map(|tool| tool.task_support).collect();
    assert_eq!(told, values.map(|(_, support)| support));
}

/// M-TOOL-21
pub fn schemas_survive_as_they_are(on: &Stage) {
    let schema = concat!(
        r##"{ "$schema":"https://json-schema.org/draft/2020-12/schema","$anchor":"a","z":1, "##,
        r##""$defs":{"d":{"$ref":"#/$defs/d"}},"allOf":[{"if":{},"then":false}],"a":1e400}"##,
    );
    let result = format!(r#"{{"tools":[{{"name":"s","inputSchema":{schema}}}]}}"#);
    let script = Script::modern().expect("tools/list").result(&result);
    let tools = list(on, script, Setup::new()).0.unwrap();
    assert_eq!(tools[0].input_schema.as_str(), schema);
}

/// M-TOOL-01, M-TOOL-19
pub fn a_malformed_tool_costs_itself(on: &Stage) {
    let result = format!(
        r#"{{"tools":[{TOOL},{{"inputSchema":{{}}}},7,{{"name":5}},{{"name":"T"}},{TOOL}]}}"#
    );
    let script = Script::modern().expect("tools/list").result(&result).answer_rest();
    let (client, playing) = on.play(script);
    let tools = client.list_tools().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["t", "T", "t"], "names are case-sensitive");
    assert_eq!(tools.malformed.len(), 3);
    client.close();
    playing.finish().check();
}

/// M-TOOL-02
pub fn a_call_carries_its_name_and_arguments(on: &Stage) {
    let (client, playing) = on.play(Script::modern().answer_rest());
    let arguments = json!({ "b": [1, 2.5, null], "a": { "ü": "\n" }, "_meta": { "traceparent": "00" } });
    let _ = client.call_tool("No/Such Tool", arguments);
    let error = client.call_tool("x", json!([1])).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error:?}");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let written = playing.finish().check();
    let params = &written.of("tools/call")[0]["params"];
    assert_eq!(params["name"], "No/Such Tool");
    let text = params["arguments"].to_string();
    assert_eq!(text, r#"{"b":[1,2.5,null],"a":{"ü":"\n"}}"#, "in the order of the host's");
    assert_eq!(params["_meta"]["traceparent"], "00", "metadata is no argument");
    assert_eq!(written.count("tools/call"), 2, "arguments that are no object are not sent");
}
