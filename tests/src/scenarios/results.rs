//! Results and errors, as servers really answer.

use mcp_proto::model::Content;
use mcp_proto::{ErrorKind, PeerError, ServerErrorKind};
use serde_json::{Value, json};

use super::{Over, Stage};
use super::conversation::echo;
use crate::script::Script;

/// M-PAGE-03, M-TOOL-10
pub fn null_counts_as_absent(on: &Stage) {
    let tool = r#"{"name":"a","title":null,"description":null,"inputSchema":{"type":"object"},
        "outputSchema":null,"annotations":null,"icons":null,"execution":null,"_meta":null}"#;
    let tool = tool.replace('\n', "");
    let script = Script::modern()
        .expect("tools/list")
        .result(&format!(r#"{{"tools":[{tool}],"nextCursor":null,"_meta":null,"ttlMs":null}}"#))
        .expect("tools/call")
        .result(r#"{"content":null,"structuredContent":null,"isError":null,"resultType":null}"#)
        .expect("tools/call")
        .send(r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[]},"error":null,"method":null}"#)
        .answer_rest();
    let (client, playing) = on.play(script);
    let tools = client.list_tools().unwrap();
    assert_eq!((tools.len(), tools.malformed.len()), (1, 0));
    assert_eq!((tools[0].description.as_deref(), tools[0].output_schema.is_none()), (None, true));
    assert!(tools[0].annotations.destructive() && !tools[0].annotations.read_only());
    let result = client.call_tool("a", json!({})).unwrap();
    assert!(result.content.is_empty() && !result.is_error);
    assert!(client.call_tool("a", json!({})).unwrap().content.is_empty());
    client.close();
    let written = playing.finish().check();
    let nulls = written.lines().iter().filter(|line| line.windows(5).any(|w| w == b":null"));
    assert_eq!(nulls.count(), 0, "nothing is sent as null");
}

/// M-BASE-03, M-TOOL-18
pub fn results_of_every_shape(on: &Stage) {
    let script = Script::modern()
        .expect("tools/call")
        .result("{}")
        .expect("tools/call")
        .result(r#"{"structuredContent":{"a":1},"_meta":{"k":1},"extra":[]}"#)
        .expect("tools/call")
        .result(r#"{"resultType":"bogus","content":[]}"#)
        .expect("tools/call")
        .result(r#"{"resultType":"input_required","inputRequests":{"a":{}},"content":[]}"#)
        .expect("tools/call")
        .result("5")
        .expect("tools/list")
        .result(r#"{"resultType":"input_required","inputRequests":{"a":{}},"tools":[]}"#)
        .answer_rest();
    let (client, playing) = on.play(script);
    let call = || client.call_tool("x", json!({}));
    let empty = call().unwrap();
    assert!(empty.content.is_empty() && !empty.is_error && empty.structured_content.is_none());
    let structured = call().unwrap();
    assert_eq!(structured.structured::<Value>().unwrap(), json!({ "a": 1 }));
    assert!(structured.raw.as_str().contains("extra"));
    let kind = call().unwrap_err().kind().clone();
    assert!(matches!(kind, ErrorKind::Peer(PeerError::ResultType(it)) if it == "bogus"));
    assert!(matches!(call().unwrap_err().kind(), ErrorKind::InputRequired(_)));
    assert!(matches!(call().unwrap_err().kind(), ErrorKind::Peer(PeerError::Result(_))));
    let kind = client.list_tools().unwrap_err().kind().clone();
    assert!(matches!(kind, ErrorKind::Peer(PeerError::InputRequired)), "{kind:?}");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    playing.finish().check();
}

/// M-TOOL-14
pub fn unknown_content_is_kept_beside_the_known(on: &Stage) {
    let pieces = concat!(
        r#"[{"type":"text","text":"ok"},{"type":"hologram","data":1},{"type":"text","text":7},"#,
        r#"{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA=="},"#,
        r#"{"type":"resource_link","uri":"a://b","name":"n"},{},"#,
        r#"{"type":"resource","resource":{"uri":"a://b","text":"t"}}]"#,
    );
    let script = Script::modern().expect("tools/call").result(&format!(r#"{{"content":{pieces}}}"#));
    let (client, playing) = on.play(script.answer_rest());
    let result = client.call_tool("x", json!({})).unwrap();
    let kinds: Vec<_> = result.content.iter().map(kind).collect();
    assert_eq!(kinds, ["text", "?", "?", "image", "audio", "link", "?", "resource"]);
    assert_eq!(result.text(), "ok");
    let Content::Unknown(raw) = &result.content[1] else { panic!("{result:?}") };
    assert_eq!(raw.as_str(), r#"{"type":"hologram","data":1}"#);
    client.close();
    playing.finish().check();
}

fn kind(piece: &Content) -> &'static str {
    match piece {
        Content::Text(_) => "text",
        Content::Image(_) => "image",
        Content::Audio(_) => "audio",
        Content::ResourceLink(_) => "link",
        Content::Resource(_) => "resource",
        _ => "?",
    }
}

/// M-TOOL-18, M-ERR-02, M-BASE-06
pub fn failures_keep_what_the_server_said(on: &Stage) {
    let answer = r#"{"jsonrpc":"2.0","id":$id,"error":"plain words"}"#;
    // Sent at once with the answer: over HTTP they would be the next call's if they came on its
    // stream.
    let nobodys = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    let nameless = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"?","data":[[]]}}"#;
    let script = Script::modern()
        .expect("tools/call")
        .result(r#"{"isError":true,"content":[{"type":"text","text":"boom"}]}"#)
        .expect("tools/call")
        .send(r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"Unknown tool"}}"#)
        .expect("tools/call")
        .send(r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32050,"message":"m","data":[1,"a"]}}"#)
        .expect("tools/call")
        .send(r#"{"id":$id,"error":{"code":7}}"#)
        .expect("tools/call")
        .send(&[answer, nobodys, nameless].join("\n"))
        .answer_rest();
    let (client, playing) = on.play(script);
    let call = || client.call_tool("x", json!({}));
    let failed = call().unwrap();
    assert!(failed.is_error);
    assert_eq!(failed.text(), "boom");
    let said = || call().unwrap_err().server_error().cloned().unwrap();
    let unknown = said();
    assert_eq!((unknown.code, unknown.message.as_str()), (-32602, "Unknown tool"));
    assert_eq!(unknown.data, None);
    let generic = said();
    assert_eq!((generic.code, generic.data), (-32050, Some(json!([1, "a"]))));
    let bare = said();
    assert_eq!((bare.code, bare.message.as_str()), (7, ""));
    assert_eq!(said().message, "plain words");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    playing.finish().check();
}

/// M-BASE-04, M-BASE-05, M-ERA-25
pub fn codes_mean_what_the_specification_says(on: &Stage) {
    let codes = [
        (-32000, ServerErrorKind::Other),
        (-32002, ServerErrorKind::ResourceNotFound),
        (-32004, ServerErrorKind::Other),
        (-32019, ServerErrorKind::Other),
        (-32020, ServerErrorKind::HeaderMismatch),
        (-32021, ServerErrorKind::MissingRequiredClientCapability),
        (-32023, ServerErrorKind::Other),
        (-32099, ServerErrorKind::Other),
        (-32601, ServerErrorKind::MethodNotFound),
        (404, ServerErrorKind::Other),
    ];
    let mut script = Script::modern();
    for (code, _) in codes {
        script = script.expect("tools/call").error(code, "no");
        if code == -32020 && on.over == Over::Http {
            // It is about headers there: the tools are asked for, but cannot be had.
            script = script.expect("tools/list").error(-32601, "no");
        }
    }
    let (client, playing) = on.play(script.answer_rest());
    for (code, kind) in codes {
        let error = client.call_tool("x", json!({})).unwrap_err();
        let said = error.server_error().unwrap();
        assert_eq!((said.code, said.kind()), (code, kind));
        assert!(!error.is_transport());
    }
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("tools/call"), codes.len(), "none is sent again");
}

/// M-ERA-26
pub fn a_missing_capability_is_named_and_nothing_is_sent_again(on: &Stage) {
    let error = r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}"#;
    let answer = format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{error}}}"#);
    let (client, playing) = on.play(Script::modern().expect("tools/call").send(&answer));
    let error = client.call_tool("x", json!({})).unwrap_err();
    let said = error.server_error().unwrap();
    assert_eq!(said.required_capabilities().unwrap(), &json!({ "sampling": {} }));
    client.close();
    assert_eq!(playing.finish().check().count("tools/call"), 1);
}
