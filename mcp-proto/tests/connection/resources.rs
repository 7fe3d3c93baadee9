//! Resources (specification: server/resources).

use mcp_proto::model::{Content, ReadResourceResult};
use mcp_proto::op::{
    ListResourceTemplates, ListResourceTemplatesPage, ListResources, ListResourcesPage,
    ReadResource,
};
use mcp_proto::{ErrorKind, Outcome};
use serde_json::{Value, json};

use crate::support::*;

fn read(bench: &mut Bench, contents: Value) -> ReadResourceResult {
    let call = bench.begin(ReadResource::new("a:b"));
    let sent = bench.expect("resources/read");
    bench.completes(&sent, json!({ "contents": contents }));
    bench.done(&call).unwrap()
}

/// M-RES-01, M-RES-07
#[test]
fn resources_and_templates_say_all_of_themselves() {
    let annotations = json!({
        "audience": ["user", "assistant"], "priority": 1, "lastModified": "2025-01-12T15:00:58Z",
    });
    in_both_eras(|bench| {
        let common = json!({
            "name": "n", "title": "N", "description": "d", "mimeType": "text/plain",
            "annotations": annotations, "icons": [{ "src": "data:," }], "_meta": { "a/b": 1 },
        });
        let with = |name: &str, value: Value| {
            let mut item = common.clone();
            item[name] = value;
            item
        };
        let call = bench.begin(ListResources);
        let sent = bench.expect("resources/list");
        let mut full = with("uri", json!("file:///x"));
        full["size"] = json!(12.0);
        let plain = json!({ "uri": "a:b", "name": "p", "size": 1.5 });
        bench.completes(&sent, json!({ "resources": [full, plain, { "uri": "no name" }] }));
        let list = bench.done(&call).unwrap();
        let [full, plain] = list.as_ref() else { panic!("{list:?}") };
        assert_eq!((&*full.uri, full.display_name(), full.size), ("file:///x", "N", Some(12)));
        assert_eq!(full.mime_type.as_deref(), Some("text/plain"));
        let read = full.annotations.as_ref().unwrap();
        assert_eq!((read.audience.len(), read.priority), (2, Some(1.0)));
        assert_eq!(read.last_modified.as_deref(), Some("2025-01-12T15:00:58Z"));
        assert_eq!(full.icons.len(), 1);
        assert!(full.raw.member("_meta").is_some());
        assert_eq!((plain.display_name(), plain.size), ("p", None));
        assert_eq!(list.malformed.len(), 1);

        let call = bench.begin(ListResourceTemplates);
        let sent = bench.expect("resources/templates/list");
        let template = with("uriTemplate", json!("file:///{path}"));
        bench.completes(&sent, json!({ "resourceTemplates": [template] }));
        let list = bench.done(&call).unwrap();
        let [template] = list.as_ref() else { panic!("{list:?}") };
        assert_eq!((&*template.uri_template, template.display_name()), ("file:///{path}", "N"));
        assert_eq!(template.description.as_deref(), Some("d"));
        assert_eq!(template.annotations.as_ref().unwrap().priority, Some(1.0));
        assert_eq!((template.icons.len(), template.raw.member("_meta").is_some()), (1, true));
    });
}

/// M-PAGE-05, M-PAGE-03
#[test]
fn a_page_is_asked_for_by_its_cursor() {
    in_both_eras(|bench| {
        let call = bench.begin(ListResourcesPage::default());
        let sent = bench.expect("resources/list");
        assert_eq!(sent.params().get("cursor"), None);
        let item = json!({ "uri": "a:b", "name": "n" });
        bench.completes(&sent, json!({ "resources": [item, 5], "nextCursor": "" }));
        let page = bench.done(&call).unwrap();
        assert_eq!((page.items.len(), page.malformed.len()), (1, 1));
        assert_eq!(page.next_cursor.as_deref(), Some(""), "an empty cursor is one");

        let call = bench.begin(ListResourceTemplatesPage::new(Some(String::from("\"é"))));
        let sent = bench.expect("resources/templates/list");
        assert_eq!(sent.params()["cursor"], "\"é");
        bench.completes(&sent, json!({ "resourceTemplates": [], "nextCursor": null }));
        assert_eq!(bench.done(&call).unwrap().next_cursor, None);
        bench.quiet();

        let call = bench.begin(ListResourcesPage::default());
        let sent = bench.expect("resources/list");
        bench.completes(&sent, json!({ "resources": [], "nextCursor": 5 }));
        assert!(matches!(bench.error(&call).kind(), ErrorKind::Peer(_)), "no text, no cursor");
    });
}

/// M-RES-02, M-RES-03, M-RES-07
#[test]
fn contents_are_texts_or_bytes() {
    in_both_eras(|bench| {
        let result = read(
            bench,
            json!([
                { "uri": "a:b#1", "mimeType": "text/plain", "text": "é", "_meta": { "k": 1 } },
                { "uri": "a:b#2", "blob": "aGk=", "annotations": { "priority": 0.25 } },
                { "uri": "a:b#3", "blob": "aG\nk", "text": null },
                { "uri": "a:b#4", "blob": "?" },
                { "uri": "a:b#5", "blob": "aGk=", "text": "both" },
                { "uri": "a:b#6" },
                { "text": "no address" },
            ]),
        );
        let [text, blob, lines, broken] = &*result.contents else { panic!("{result:?}") };
        assert_eq!((text.is_text(), text.is_binary(), text.text()), (true, false, Some("é")));
        assert_eq!((&*text.uri, text.bytes().unwrap()), ("a:b#1", "é".as_bytes().to_vec()));
        assert!(text.raw.member("_meta").is_some());
        assert_eq!((blob.is_text(), blob.is_binary(), blob.text()), (false, true, None));
        assert_eq!(blob.bytes().unwrap(), b"hi");
        assert_eq!(blob.annotations.as_ref().unwrap().priority, Some(0.25));
        assert_eq!(lines.bytes().unwrap(), b"hi");
        assert!(broken.bytes().unwrap_err().to_string().contains("Base64"));
        assert_eq!(result.malformed.len(), 3, "{:?}", result.malformed);
    });
}

/// M-RES-24
#[test]
fn no_contents_are_no_error() {
    in_both_eras(|bench| {
        let result = read(bench, json!([]));
        assert_eq!((result.contents.len(), result.malformed.len()), (0, 0));
    });
}

/// M-RES-05, M-RES-06
#[test]
fn two_codes_say_that_a_resource_is_not_there() {
    in_both_eras(|bench| {
        for code in [-32602, -32002] {
            let call = bench.begin(ReadResource::new("demo://nowhere"));
            let sent = bench.expect("resources/read");
            assert_eq!(sent.params()["uri"], "demo://nowhere");
            bench.fails(&sent, json!({ "code": code, "message": "gone", "data": { "k": 1 } }));
            let error = bench.error(&call);
            let ErrorKind::ResourceNotFound { uri, error: said } = error.kind() else {
                panic!("{error}")
            };
            assert_eq!((&**uri, said.code), ("demo://nowhere", code));
            assert_eq!(error.server_error().unwrap().data, Some(json!({ "k": 1 })));
            assert_eq!((error.server(), error.outcome()), ("peer", Outcome::NotRun));
            assert!(error.to_string().contains("no resource at \"demo://nowhere\""), "{error}");
        }
        let call = bench.begin(ReadResource::new("demo://nowhere"));
        let sent = bench.expect("resources/read");
        bench.refuse(&sent, -32603, "disk full");
        let error = bench.error(&call);
        assert!(matches!(error.kind(), ErrorKind::Server(_)), "any other failure is one: {error}");
    });
}

/// M-RES-04
#[test]
fn links_to_resources_are_typed() {
    in_both_eras(|bench| {
        let call = bench.begin(tool("x", json!({})));
        let sent = bench.expect("tools/call");
        let link = json!({
            "type": "resource_link", "uri": "file:///x", "name": "x", "title": "X",
            "description": "an x", "mimeType": "text/x", "size": 5, "annotations": { "priority": 1 },
            "icons": [{ "src": "https://a/b.png", "sizes": ["48x48"] }], "_meta": { "k": 1 },
        });
        bench.completes(&sent, json!({ "content": [link] }));
        let result = bench.done(&call).unwrap();
        let [Content::ResourceLink(link)] = &*result.content else { panic!("{result:?}") };
        assert_eq!((&*link.uri, &*link.name, link.size), ("file:///x", "x", Some(5)));
        assert_eq!((link.title.as_deref(), link.description.as_deref()), (Some("X"), Some("an x")));
        assert_eq!(link.mime_type.as_deref(), Some("text/x"));
        assert_eq!(link.icons[0].sizes, ["48x48"]);
        assert_eq!(link.annotations.as_ref().unwrap().priority, Some(1.0));
        assert!(link.raw.member("_meta").is_some());
    });
}
