//! Arguments that stand in headers, and what becomes of a call whose headers a server refuses.

use mcp_proto::op::{Connect, CustomRequest, ListTools, ListToolsPage};
use mcp_proto::{
    CallId, CallOptions, Error, ErrorKind, Event, Input, MAX_TOOLS_EXCLUDED, Outcome, ResendReason,
    ServerErrorKind,
};
use serde_json::{Value, json};

use crate::support::*;

/// A tool with this input schema.
fn listed(name: &str, properties: &Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

fn region() -> Value {
    json!({ "region": { "type": "string", "x-mcp-header": "Region" } })
}

/// A modern server that has listed these tools.
fn with_tools(tools: &Value) -> Bench {
    let mut bench = Bench::modern();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    bench.completes(&post, json!({ "tools": tools }));
    bench.done(&list).unwrap();
    bench
}

fn mismatch(bench: &mut Bench, post: &Posted) {
    bench.says(post, 400, &refusal(post, -32020));
}

fn is_mismatch(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Server(error) if error.kind() == ServerErrorKind::HeaderMismatch)
}

/// M-HDR-01: by its path, in lower case as all headers, and nowhere but on calls of the tool.
#[test]
fn arguments_stand_in_headers() {
    let mut properties = region();
    properties["plain"] = json!({ "type": "string" });
    properties["deep"] = json!({ "type": "object", "properties": {
        "n": { "type": "integer", "x-mcp-header": "Depth" },
        "flag": { "type": "boolean", "x-mcp-header": "Flag" },
    } });
    let mut bench = with_tools(&json!([listed("query", &properties), listed("x", &json!({}))]));
    let arguments = json!({ "region": "Zürich", "plain": "p", "deep": { "n": -7, "flag": false } });
    bench.begin(tool("query", arguments.clone()));
    let post = bench.expect("tools/call");
    assert_eq!(post.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(post.header("Mcp-Param-Depth"), Some("-7"));
    assert_eq!(post.header("mcp-param-flag"), Some("false"));
    assert_eq!(post.params()["arguments"], arguments);
    let params = post.request.headers.iter().filter(|(name, _)| name.starts_with("mcp-param"));
    assert_eq!(params.count(), 3);
    // A request of the host's own making is a call all the same.
    let Value::Object(params) = json!({ "name": "query", "arguments": { "region": "eu" } }) else {
        panic!("an object")
    };
    bench.begin(CustomRequest::new("tools/call", params));
    assert_eq!(bench.expect("tools/call").header("mcp-param-region"), Some("eu"));
    bench.begin(tool("x", json!({ "region": "eu" })));
    bench.begin(tool("query", json!({ "region": null })));
    bench.begin(ListTools);
    for post in bench.take_posts() {
        assert_eq!(post.header("mcp-param-region"), None, "{}", post.line());
    }
}

/// M-CONN-18: what a host has configured stands in for no argument.
#[test]
fn a_configured_header_is_no_argument() {
    let target = target().header("Mcp-Param-Region", "configured");
    let mut bench = Bench::new(config(), target);
    let list = bench.begin(ListTools);
    bench.speak_modern();
    let post = bench.expect("tools/list");
    bench.completes(&post, json!({ "tools": [listed("query", &region())] }));
    bench.done(&list).unwrap();
    for (arguments, value) in [(json!({}), None), (json!({ "region": "eu" }), Some("eu"))] {
        bench.begin(tool("query", arguments));
        assert_eq!(bench.expect("tools/call").header("mcp-param-region"), value);
    }
}

/// M-HDR-02: one list and one more call, however often the server refuses.
#[test]
fn a_refusal_of_headers_lists_the_tools_and_calls_once_more() {
    for pages in [1, 3] {
        for ends_well in [true, false] {
            let mut bench = Bench::modern();
            let call = bench.begin(tool("query", json!({ "region": "eu" })));
            let post = bench.expect("tools/call");
            assert_eq!(post.header("mcp-param-region"), None);
            mismatch(&mut bench, &post);
            for page in 1..=pages {
                let post = bench.expect("tools/list");
                assert_eq!((post.header("mcp-name"), &post.params()["name"]), (None, &Value::Null));
                assert_eq!(post.params()["cursor"].as_str().is_some(), page > 1);
                let mut result = json!({ "tools": [listed(&format!("t{page}"), &json!({}))] });
                if page < pages {
                    result["nextCursor"] = json!(format!("c{page}"));
                } else {
                    result["tools"].as_array_mut().unwrap().push(listed("query", &region()));
                }
                assert_eq!(bench.watch.resends(call.id()), []);
                bench.completes(&post, result);
            }
            assert_eq!(bench.watch.resends(call.id()), [ResendReason::HeaderMismatch]);
            let again = bench.expect("tools/call");
            assert_eq!(again.header("mcp-param-region"), Some("eu"));
            assert_eq!(again.params()["arguments"], json!({ "region": "eu" }));
            assert_eq!(again.params().get("cursor"), None);
            if ends_well {
                bench.completes(&again, json!({ "content": [] }));
                bench.done(&call).unwrap();
            } else {
                mismatch(&mut bench, &again);
                let error = bench.done(&call).unwrap_err();
                assert!(is_mismatch(&error), "{error}");
                assert_eq!(error.outcome(), Outcome::NotRun);
            }
            bench.quiet();
            // What was learnt is of use to the next call.
            bench.begin(tool("query", json!({ "region": "us" })));
            assert_eq!(bench.expect("tools/call").header("mcp-param-region"), Some("us"));
        }
    }
}

/// M-HDR-02: a list that cannot be had leaves the refusal, and nothing was run.
#[test]
fn without_the_list_the_refusal_stands() {
    let ways: [fn(&mut Bench, &Posted); 7] = [
        |bench, list| bench.says(list, 500, ""),
        |bench, list| bench.says(list, 200, &refusal(list, -32601)),
        |bench, list| mismatch(bench, list),
        |bench, list| bench.completes(list, json!({ "tools": [], "nextCursor": 7 })),
        |bench, list| bench.result(list, json!({ "resultType": "input_required" })),
        |bench, list| bench.result(list, json!([])),
        |bench, list| {
            bench.streams(list, "");
            bench.ends(list);
        },
    ];
    for way in ways {
        let mut bench = Bench::modern();
        let call = bench.begin(tool("query", json!({})));
        let post = bench.expect("tools/call");
        mismatch(&mut bench, &post);
        let list = bench.expect("tools/list");
        way(&mut bench, &list);
        let error = bench.done(&call).unwrap_err();
        assert!(is_mismatch(&error), "{error}");
        assert_eq!(error.outcome(), Outcome::NotRun);
        assert_eq!(bench.watch.resends(call.id()), []);
        bench.quiet();
    }
}

/// M-HDR-02: pages without an end are bounded as those of any list.
#[test]
fn a_list_without_an_end_is_given_up() {
    let mut config = config();
    config.max_pages = 3;
    let mut bench = Bench::modern_with(config);
    let call = bench.begin(tool("query", json!({})));
    let post = bench.expect("tools/call");
    mismatch(&mut bench, &post);
    for page in 0..3 {
        let post = bench.expect("tools/list");
        bench.completes(&post, json!({ "tools": [], "nextCursor": format!("{page}") }));
    }
    assert!(is_mismatch(&bench.done(&call).unwrap_err()));
    bench.quiet();
}

/// M-HDR-02: while the list is read the call can end as at any time, and nothing was run.
#[test]
fn the_call_may_end_while_the_list_is_read() {
    let ends: [fn(&mut Bench, CallId); 4] = [
        |bench, call| bench.input(Input::Cancel(call)),
        |bench, _| bench.advance(std::time::Duration::from_secs(40)),
        |bench, _| bench.input(Input::Disconnect),
        |bench, _| bench.input(Input::Close),
    ];
    for end in ends {
        let mut bench = Bench::modern();
        let call = bench.begin(tool("query", json!({})));
        let post = bench.expect("tools/call");
        mismatch(&mut bench, &post);
        bench.expect("tools/list");
        end(&mut bench, call.id());
        let error = bench.done(&call).unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotRun, "{error}");
    }
}

/// M-HDR-02: the code means nothing of headers where there are none, nor from another request.
#[test]
fn only_a_modern_call_of_a_tool_is_refused_because_of_its_headers() {
    let mut bench = Bench::legacy();
    let call = bench.begin(tool("query", json!({})));
    let post = bench.expect("tools/call");
    mismatch(&mut bench, &post);
    assert!(is_mismatch(&bench.done(&call).unwrap_err()));
    bench.quiet();
    let mut bench = Bench::modern();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    mismatch(&mut bench, &post);
    assert!(is_mismatch(&bench.done(&list).unwrap_err()));
    bench.quiet();
}

/// M-MRTR-25: each round is a request with all of its headers and metadata.
#[test]
fn each_round_has_the_headers_again() {
    let mut bench = with_tools(&json!([listed("query", &region())]));
    let mut options = CallOptions::default();
    options.meta.insert(String::from("own/key"), json!(1));
    let call = bench.begin_with(tool("query", json!({ "region": "eu" })), options);
    let mut meta = Value::Null;
    for round in 0..3 {
        let post = bench.expect("tools/call");
        assert_eq!(post.header("mcp-param-region"), Some("eu"));
        assert_eq!(
            (post.header("mcp-method"), post.header("mcp-name")),
            (Some("tools/call"), Some("query"))
        );
        assert_eq!(post.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(post.meta()["own/key"], 1);
        assert!(round == 0 || meta == *post.meta(), "{} and {meta}", post.meta());
        meta = post.meta().clone();
        if round == 2 {
            bench.completes(&post, json!({ "content": [] }));
        } else {
            bench.result(&post, json!({ "resultType": "input_required", "requestState": "s" }));
            bench.advance(std::time::Duration::from_secs(2));
        }
    }
    bench.done(&call).unwrap();
}

/// M-MRTR-25, M-HDR-02: a refusal in a later round keeps what the host has answered.
#[test]
fn a_refusal_in_a_later_round_keeps_the_round() {
    let mut bench = Bench::modern();
    let call = bench.begin(tool("query", json!({ "region": "eu" })));
    let post = bench.expect("tools/call");
    bench.result(&post, json!({ "resultType": "input_required", "requestState": "s" }));
    bench.advance(std::time::Duration::from_secs(1));
    let post = bench.expect("tools/call");
    assert_eq!(post.params()["requestState"], "s");
    mismatch(&mut bench, &post);
    let list = bench.expect("tools/list");
    assert_eq!(list.params().get("requestState"), None);
    bench.completes(&list, json!({ "tools": [listed("query", &region())] }));
    let again = bench.expect("tools/call");
    assert_eq!(
        (again.header("mcp-param-region"), &again.params()["requestState"]),
        (Some("eu"), &json!("s"))
    );
    bench.completes(&again, json!({ "content": [] }));
    bench.done(&call).unwrap();
}

/// M-HDR-03: on whole lists and on pages; legacy servers and their tools do not care.
#[test]
fn tools_with_invalid_annotations_are_left_out() {
    let bad = |name: &str| listed(name, &json!({ "a": { "type": "number", "x-mcp-header": "A" } }));
    let tools = json!([bad("bad\n1"), listed("good", &region()), bad("bad2")]);
    let mut bench = Bench::modern();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    bench.completes(&post, json!({ "tools": tools }));
    let told = |events: &[Event]| {
        let told = events.iter().filter_map(|event| match event {
            Event::ToolExcluded { tool, why } => Some((tool.clone(), why.clone())),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let found = bench.done(&list).unwrap();
    assert_eq!(found.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["good"]);
    assert_eq!(found.malformed.len(), 2);
    assert!(found.malformed[1].contains("bad2") && found.malformed[1].contains("integer"));
    let events = told(&bench.events);
    assert_eq!(events.iter().map(|(tool, _)| &**tool).collect::<Vec<_>>(), ["bad\\n1", "bad2"]);
    assert!(events.iter().all(|(_, why)| why.contains("integer")), "{events:?}");

    let page = bench.begin(ListToolsPage::new(None));
    let post = bench.expect("tools/list");
    bench.completes(&post, json!({ "tools": tools }));
    assert_eq!(bench.done(&page).unwrap().items.len(), 1);
    // What is left out is not called either.
    let call = bench.begin(tool("bad2", json!({ "a": 1 })));
    let error = bench.done(&call).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Validation(why) if why.contains("x-mcp-header")));
    assert_eq!(error.outcome(), Outcome::NotSent);

    let mut bench = Bench::legacy();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    bench.completes(&post, json!({ "tools": tools }));
    assert_eq!(bench.done(&list).unwrap().len(), 3);
    assert_eq!(told(&bench.events), []);
    bench.begin(tool("bad2", json!({ "a": 1 })));
    assert_eq!(bench.expect("tools/call").header("mcp-param-a"), None);
}

/// M-HDR-03: a list that is nothing but invalid does not fill the host's log.
#[test]
fn what_is_told_of_invalid_tools_is_bounded() {
    let bad = json!({ "a": { "type": "number", "x-mcp-header": "A" } });
    let tools: Vec<_> = (0..100).map(|n| listed(&format!("t{n}"), &bad)).collect();
    let bench = with_tools(&Value::from(tools));
    let told = bench.events.iter().filter(|it| matches!(it, Event::ToolExcluded { .. }));
    assert_eq!(told.count(), MAX_TOOLS_EXCLUDED);
}

/// M-HDR-10: nothing is sent with a value that a header must not have.
#[test]
fn a_value_that_fits_no_header_ends_the_call_before_it_is_sent() {
    let size = json!({ "size": { "type": "integer", "x-mcp-header": "Size" } });
    let mut bench = with_tools(&json!([listed("query", &size)]));
    for value in [json!(9_007_199_254_740_992_u64), json!("7"), json!(1.5)] {
        let call = bench.begin(tool("query", json!({ "size": value })));
        let error = bench.done(&call).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
    }
    bench.quiet();
}

/// M-TOOL-08: whatever the era, as far as the tool is known.
#[test]
fn a_call_without_a_required_argument_is_not_sent() {
    in_both_eras(|bench| {
        let schema = json!({ "type": "object", "required": ["a", "b"],
            "properties": { "b": { "default": 1 } } });
        let call = bench.begin(tool("query", json!({})));
        let post = bench.expect("tools/call");
        bench.completes(&post, json!({ "content": [] }));
        bench.done(&call).unwrap();
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        bench.completes(&post, json!({ "tools": [{ "name": "query", "inputSchema": schema }] }));
        bench.done(&list).unwrap();
        let call = bench.begin(tool("query", json!({ "b": 2 })));
        let error = bench.done(&call).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(why) if why.contains("\"a\"")));
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
        bench.begin(tool("query", json!({ "a": null })));
        bench.expect("tools/call");
    });
}

/// M-HDR-01: what more tools than can be held want in headers is found when a server asks for it.
#[test]
fn a_tool_beyond_what_is_held_is_found_by_the_refusal() {
    let long = "x".repeat(1024 * 1024);
    let big = |name: &str| {
        let properties =
            json!({ "r": { "type": "string", "description": long, "x-mcp-header": "R" } });
        listed(name, &properties)
    };
    let tools: Vec<_> = (0..6).map(|n| big(&format!("t{n}"))).collect();
    let mut bench = with_tools(&json!(tools));
    let call = bench.begin(tool("t5", json!({ "r": "x" })));
    let post = bench.expect("tools/call");
    assert_eq!(post.header("mcp-param-r"), None);
    mismatch(&mut bench, &post);
    let list = bench.expect("tools/list");
    bench.completes(&list, json!({ "tools": tools }));
    let again = bench.expect("tools/call");
    assert_eq!(again.header("mcp-param-r"), Some("x"));
    bench.completes(&again, json!({ "content": [] }));
    bench.done(&call).unwrap();
}

/// M-HDR-01: what a server says is no longer so does not count.
#[test]
fn a_list_that_has_changed_is_forgotten() {
    let mut bench = with_tools(&json!([listed("query", &region())]));
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    let changed = event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    bench.streams(&post, &changed);
    bench.begin(tool("query", json!({ "region": "eu" })));
    assert_eq!(bench.expect("tools/call").header("mcp-param-region"), None);
    assert!(bench.is_pending(&list));
}

/// M-HDR-01: a connection that went to rest knows the tools of the same address still.
#[test]
fn what_is_known_of_tools_outlives_a_rest() {
    let mut bench = with_tools(&json!([listed("query", &region())]));
    bench.input(Input::Disconnect);
    let call = bench.begin(Connect);
    bench.speak_modern();
    bench.done(&call).unwrap();
    bench.begin(tool("query", json!({ "region": "eu" })));
    assert_eq!(bench.expect("tools/call").header("mcp-param-region"), Some("eu"));
}
