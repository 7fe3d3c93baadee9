//! Tools and what they answer (specification: server/tools).

use mcp_proto::model::{CallToolResult, Content, TaskSupport, Tool};
use mcp_proto::op::{ListTools, ToolList};
use mcp_proto::{Era, ErrorKind};
use serde_json::{Value, json};

use crate::support::*;

fn lists(bench: &mut Bench, tools: &str) -> ToolList {
    let call = bench.begin(ListTools);
    let sent = bench.expect("tools/list");
    bench.answers(&sent, &format!(r#"{{"tools":{tools}}}"#));
    bench.done(&call).unwrap()
}

fn answers(bench: &mut Bench, result: &str) -> CallToolResult {
    let call = bench.begin(tool("x", json!({})));
    let sent = bench.expect("tools/call");
    bench.answers(&sent, result);
    bench.done(&call).unwrap()
}

/// M-TOOL-02, M-TOOL-19: the name and the arguments are sent as they are; names that differ in case
/// are different tools.
#[test]
fn a_call_sends_name_and_arguments() {
    in_both_eras(|bench| {
        for name in ["get", "Get", "a b/c", "工具", ""] {
            let arguments = json!({ "z": 1, "a": [null, 1.5, "é"], "m": { "name": "x" } });
            let call = bench.begin(tool(name, arguments.clone()));
            let sent = bench.expect("tools/call");
            assert_eq!(sent.params()["name"], name);
            assert_eq!(sent.params()["arguments"], arguments);
            let order = sent.line.find("\"z\":").unwrap() < sent.line.find("\"a\":").unwrap();
            assert!(order, "arguments keep their order: {}", sent.line);
            bench.completes(&sent, json!({ "content": [] }));
            bench.done(&call).unwrap();
        }
    });
}

/// M-TOOL-01, M-TOOL-21: a tool says everything that its server said, schemas byte by byte.
#[test]
fn a_tool_is_read_whole() {
    let schema = r#"{ "type":"object", "$anchor":"a", "$defs":{"x":{"$dynamicRef":"m"}},
        "oneOf":[{"if":{},"then":false}], "properties":{"z":{"x-mcp-header":"Z"},"a":true} }"#
        .replace('\n', " ");
    let output = r#"{"unevaluatedItems":false,"x":1e2}"#;
    let text = format!(
        r#"[{{"name":"x","title":"An X","description":"does x","inputSchema":{schema},
            "outputSchema":{output},"annotations":{{"title":"t","readOnlyHint":true}},
            "icons":[{{"src":"data:image/png;base64,","mimeType":"image/png","sizes":["any"]}}],
            "execution":{{"taskSupport":"optional"}},"_meta":{{"a/b":1}},"unknown":[1]}}]"#
    )
    .replace('\n', " ");
    in_both_eras(|bench| {
        let tools = lists(bench, &text);
        let [tool] = tools.as_ref() else { panic!("{tools:?}") };
        assert_eq!((&*tool.name, tool.title.as_deref()), ("x", Some("An X")));
        assert_eq!(tool.description.as_deref(), Some("does x"));
        assert_eq!(tool.input_schema.as_str(), schema);
        assert_eq!(tool.output_schema.as_ref().unwrap().as_str(), output);
        assert_eq!(tool.icons[0].mime_type.as_deref(), Some("image/png"));
        assert_eq!(tool.task_support, TaskSupport::Optional);
        let raw: Value = tool.raw.parse().unwrap();
        assert_eq!((&raw["_meta"], &raw["unknown"]), (&json!({ "a/b": 1 }), &json!([1])));
        assert!(tool.annotations.read_only());
    });
}

/// M-TOOL-11: the older style of annotations counts when it is literally true, beside the hints.
#[test]
fn older_annotations_are_read_beside_the_hints() {
    in_both_eras(|bench| {
        let old = |value: &str| {
            format!(
                r#"{{"name":"old","annotations":{{"readOnly":{value},"destructive":{value},
                    "requiresConfirmation":{value}}}}}"#
            )
            .replace('\n', " ")
        };
        let hints = r#"{"name":"new","annotations":{"readOnlyHint":true,"destructiveHint":true}}"#;
        let text =
            [old("true"), old("false"), old("\"true\""), old("1"), old("null"), hints.into()];
        let tools = lists(bench, &format!("[{}]", text.join(",")));
        assert_eq!((tools.len(), &*tools.malformed), (6, &[""; 0].map(String::from)[..]));
        for (at, tool) in tools.iter().enumerate() {
            let it = &tool.annotations;
            let marks =
                [it.marked_read_only(), it.marked_destructive(), it.requires_confirmation()];
            assert_eq!(marks, [at == 0; 3], "{at}");
            assert_eq!(it.read_only(), at == 5, "only the hint is a hint: {at}");
        }
    });
}

/// M-TOOL-15: a tool is found by a piece of its name, or by what a function says, such as a regular
/// expression.
#[test]
fn tools_are_found_by_their_names() {
    let mut bench = Bench::modern(config());
    let text = r#"[{"name":"read_file"},{"name":"Read"},{"name":"write_file"},{"name":"a.b"}]"#;
    let tools = lists(&mut bench, text);
    let name = |tool: Option<&mcp_proto::model::Tool>| tool.map(|tool| tool.name.clone());
    assert_eq!(name(tools.named("Read")).as_deref(), Some("Read"));
    assert_eq!(name(tools.named("read")), None, "the whole name, and case counts");
    assert_eq!(name(tools.find("_file")).as_deref(), Some("read_file"), "the first");
    assert_eq!(name(tools.find("a.")).as_deref(), Some("a.b"), "a dot is a dot");
    assert_eq!(name(tools.find(".*")), None);
    let regex = regex::Regex::new("^(?i:read)|e_.*le$").unwrap();
    let matches = |name: &str| regex.is_match(name);
    assert_eq!(name(tools.find(matches)).as_deref(), Some("read_file"));
    let all: Vec<_> = tools.find_all(matches).map(|tool| &*tool.name).collect();
    assert_eq!(all, ["read_file", "Read", "write_file"]);
    assert_eq!(tools.find_all("_file").count(), 2);
    assert_eq!(tools.find_all("nothing").count(), 0);
}

/// M-TOOL-10, M-TOOL-20, M-TOOL-13: what is absent has the defaults of the specification.
#[test]
fn absent_members_have_defaults() {
    in_both_eras(|bench| {
        let nulls = r#"{"name":"n","title":null,"description":null,"inputSchema":{},
            "outputSchema":null,"annotations":null,"icons":null,"execution":null,"_meta":null}"#
            .replace('\n', " ");
        let tools = lists(bench, &format!(r#"[{{"name":"a"}},{nulls}]"#));
        for tool in &tools {
            let hints = &tool.annotations;
            assert!(!hints.read_only() && hints.destructive());
            assert!(!hints.idempotent() && hints.open_world());
            assert_eq!((&tool.title, &tool.description), (&None, &None));
            assert_eq!(tool.display_name(), tool.name);
            assert_eq!(tool.output_schema, None);
            assert!(tool.icons.is_empty());
            assert_eq!(tool.task_support, TaskSupport::Forbidden);
        }
        assert_eq!(tools.malformed, [""; 0]);
        let named = r#"[{"name":"n","annotations":{"title":"hint"}},
            {"name":"n","title":"title","annotations":{"title":"hint"}}]"#
            .replace('\n', " ");
        let names: Vec<_> =
            lists(bench, &named).iter().map(|tool| tool.display_name().to_owned()).collect();
        assert_eq!(names, ["hint", "title"]);
        let support = |s: &str| format!(r#"{{"name":"n","execution":{{"taskSupport":{s}}}}}"#);
        let kinds = ["\"optional\"", "\"required\"", "\"forbidden\"", "\"later\"", "null"];
        let text = format!("[{}]", kinds.map(support).join(","));
        let got: Vec<_> = lists(bench, &text).iter().map(|tool| tool.task_support).collect();
        use TaskSupport::{Forbidden, Optional, Required};
        assert_eq!(got, [Optional, Required, Forbidden, Forbidden, Forbidden]);
    });
}

/// M-TOOL-01, M-UNTR-21: a malformed definition costs itself and is told, without its text; order
/// and duplicates are the server's.
#[test]
fn a_malformed_tool_costs_itself() {
    in_both_eras(|bench| {
        let text = r#"[{"name":"b"},{"name":7},{},null,5,"s3cret",["b"],{"title":"s3cret"},
            {"name":"a","inputSchema":[]},{"name":"b"},{"name":"c","title":{"s3cret":1}}]"#
            .replace('\n', " ");
        let tools = lists(bench, &text);
        let names: Vec<_> = tools.iter().map(|tool: &Tool| tool.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert_eq!(tools.malformed.len(), 8);
        assert!(!tools.malformed.concat().contains("s3cret"), "{:?}", tools.malformed);
    });
}

/// M-TOOL-14: each kind of content is read, and what is unknown or malformed is kept as it came.
#[test]
fn content_of_every_kind_is_kept() {
    let pieces = [
        r#"{"type":"text","text":"hi","annotations":{"audience":["user"],"priority":0.5}}"#,
        r#"{"type":"image","data":"aGk=","mimeType":"image/png","_meta":{"a":1}}"#,
        r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav","annotations":null}"#,
        r#"{"type":"resource_link","uri":"x:y","name":"n","mimeType":null,"size":3}"#,
        r#"{"type":"resource","resource":{"uri":"x:y","text":"t","blob":null}}"#,
        r#"{"type":"resource","resource":{"uri":"x:y","blob":"aGk="}}"#,
        r#"{"type":"hologram","data":1}"#,
        r#"{"type":"text","text":7}"#,
        r#"{"type":"resource"}"#,
        r#"{"no":"type"}"#,
        r#"["text","hi"]"#,
        "null",
        "7",
    ];
    in_both_eras(|bench| {
        let result = answers(bench, &format!(r#"{{"content":[{}]}}"#, pieces.join(",")));
        let raws: Vec<_> = result.content.iter().map(|piece| piece.raw().as_str()).collect();
        assert_eq!(raws, pieces);
        let [text, image, audio, link, held, bytes, unknown @ ..] = &result.content[..] else {
            panic!("{:?}", result.content)
        };
        let Content::Text(text) = text else { panic!("{text:?}") };
        assert_eq!(text.annotations.as_ref().unwrap().priority, Some(0.5));
        let Content::Image(image) = image else { panic!("{image:?}") };
        assert_eq!((&*image.data, &*image.mime_type), ("aGk=", "image/png"));
        let Content::Audio(audio) = audio else { panic!("{audio:?}") };
        assert_eq!(audio.mime_type, "audio/wav");
        let Content::ResourceLink(link) = link else { panic!("{link:?}") };
        assert_eq!((&*link.uri, &link.mime_type, link.size), ("x:y", &None, Some(3)));
        let Content::Resource(held) = held else { panic!("{held:?}") };
        assert_eq!(held.resource.text(), Some("t"));
        let Content::Resource(bytes) = bytes else { panic!("{bytes:?}") };
        assert_eq!(bytes.resource.bytes().unwrap(), b"hi");
        assert!(unknown.iter().all(|piece| matches!(piece, Content::Unknown(_))));
        assert_eq!(result.text(), "hi");
    });
}

/// M-TOOL-14: no content is empty content; texts are joined by line ends.
#[test]
fn missing_content_is_empty() {
    in_both_eras(|bench| {
        for result in ["{}", r#"{"content":[]}"#, r#"{"content":null}"#, r#"{"_meta":{}}"#] {
            let result = answers(bench, result);
            assert_eq!((result.content.len(), &*result.text()), (0, ""));
            assert!(!result.is_error);
        }
        let two =
            r#"{"content":[{"type":"text","text":"a"},{"type":"x"},{"type":"text","text":"b"}]}"#;
        assert_eq!(answers(bench, two).text(), "a\nb");
    });
}

/// M-TOOL-18: a tool that failed is a result, and says so; so is one that did not say.
#[test]
fn a_failed_tool_is_a_result() {
    in_both_eras(|bench| {
        for (member, want) in [
            (r#""isError":true,"#, true),
            (r#""isError":false,"#, false),
            (r#""isError":null,"#, false),
            ("", false),
        ] {
            let text = r#""content":[{"type":"text","text":"boom"}]"#;
            let result = answers(bench, &format!("{{{member}{text}}}"));
            assert_eq!((result.is_error, &*result.text()), (want, "boom"));
        }
        // An unknown tool is an error of the protocol, and keeps its words.
        let call = bench.begin(tool("nope", json!({})));
        let sent = bench.expect("tools/call");
        bench.refuse(&sent, -32602, "Unknown tool: nope");
        let error = bench.error(&call);
        assert!(matches!(error.kind(), ErrorKind::Server(_)));
        assert!(error.to_string().contains("Unknown tool: nope"), "{error}");
    });
}

/// M-TOOL-14: a structured answer is any JSON value on modern servers, `null` included, and an
/// object on legacy ones; an absent one is none.
#[test]
fn structured_content_is_what_its_era_allows() {
    in_both_eras(|bench| {
        let modern = bench.era() == Era::Modern;
        for (value, legacy) in [
            (r#"{"a":1}"#, true),
            ("{}", true),
            ("null", false),
            ("[1]", false),
            ("7", false),
            ("\"x\"", false),
            ("false", false),
        ] {
            let result = answers(bench, &format!(r#"{{"structuredContent":{value}}}"#));
            let got = result.structured_content.as_ref().map(|raw| raw.as_str());
            assert_eq!(got, (modern || legacy).then_some(value));
            if got.is_some() {
                let want: Value = serde_json::from_str(value).unwrap();
                assert_eq!(result.structured::<Value>().unwrap(), want);
            } else {
                assert!(result.structured::<Value>().is_err());
            }
        }
        let result = answers(bench, r#"{"content":[]}"#);
        assert_eq!(result.structured_content, None);
        assert!(result.structured::<Value>().is_err());
        let error = answers(bench, r#"{"structuredContent":{"s3cret":1}}"#);
        let error = error.structured::<Vec<u8>>().unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    });
}

/// M-TOOL-14: members of the wrong type make the result an error, which quotes nothing; the whole
/// result is kept otherwise, with what is unknown.
#[test]
fn a_result_is_kept_whole_or_refused() {
    in_both_eras(|bench| {
        for result in [
            r#"{"content":"s3cret"}"#,
            r#"{"content":[{"type":"text","text":"s3cret"}],"isError":"yes"}"#,
            r#"{"content":{"s3cret":1}}"#,
        ] {
            let call = bench.begin(tool("x", json!({})));
            let sent = bench.expect("tools/call");
            bench.answers(&sent, result);
            let error = bench.error(&call);
            assert!(matches!(error.kind(), ErrorKind::Peer(_)), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let text = r#"{"content":[],"_meta":{"a":{"b":1}},"new":[1,2]}"#;
        assert_eq!(answers(bench, text).raw.as_str(), text);
    });
}

/// M-TOOL-17: a hint changes nothing about how a tool is called.
#[test]
fn hints_decide_nothing() {
    in_both_eras(|bench| {
        let line = |bench: &mut Bench, hints: &str| {
            lists(bench, &format!(r#"[{{"name":"x","annotations":{hints}}}]"#));
            let call = bench.begin(tool("x", json!({ "a": 1 })));
            let sent = bench.expect("tools/call");
            bench.completes(&sent, json!({ "content": [] }));
            bench.done(&call).unwrap();
            sent.params().clone()
        };
        let bold = line(bench, r#"{"readOnlyHint":true,"idempotentHint":true}"#);
        let meek = line(bench, r#"{"destructiveHint":true,"openWorldHint":true}"#);
        assert_eq!(bold, meek);
    });
}
