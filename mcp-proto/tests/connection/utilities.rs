//! Completion and logging (specification: server/utilities).

use mcp_proto::model::{CompletionReference, LoggingLevel};
use mcp_proto::op::{Complete, SetLoggingLevel};
use mcp_proto::{Era, ErrorKind, Outcome};
use serde_json::{Value, json};

use crate::support::*;

fn language() -> Complete {
    Complete::new(CompletionReference::prompt("review"), "language", "py")
}

/// M-COMP-01, M-COMP-02
#[test]
fn a_completion_names_what_it_is_about() {
    in_both_eras_offering(&json!({ "completions": {} }), |bench| {
        let call = bench.begin(language().given("code", "x = 1"));
        let sent = bench.expect("completion/complete");
        assert_eq!(sent.params()["ref"], json!({ "type": "ref/prompt", "name": "review" }));
        assert_eq!(sent.params()["argument"], json!({ "name": "language", "value": "py" }));
        assert_eq!(sent.params()["context"], json!({ "arguments": { "code": "x = 1" } }));
        let values = json!({ "values": ["python", "pypy"], "total": 10, "hasMore": true });
        bench.completes(&sent, json!({ "completion": values }));
        let completion = bench.done(&call).unwrap();
        assert_eq!(completion.values, ["python", "pypy"]);
        assert_eq!((completion.total, completion.has_more), (Some(10), true));

        let template = CompletionReference::resource("demo://{name}");
        let call = bench.begin(Complete::new(template, "name", ""));
        let sent = bench.expect("completion/complete");
        assert_eq!(sent.params()["ref"], json!({ "type": "ref/resource", "uri": "demo://{name}" }));
        assert_eq!(sent.params().get("context"), None);
        bench.completes(&sent, json!({ "completion": { "values": ["a"] } }));
        let completion = bench.done(&call).unwrap();
        assert_eq!((completion.total, completion.has_more), (None, false));
    });
}

/// M-COMP-04, M-COMP-05
#[test]
fn sloppy_completions_are_read() {
    let hundred: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    in_both_eras_offering(&json!({ "completions": {} }), |bench| {
        for (answer, values, total, more) in [
            (json!({}), 0, None, false),
            (json!({ "completion": null }), 0, None, false),
            (json!({ "completion": { "values": null, "hasMore": null } }), 0, None, false),
            (json!({ "completion": { "values": hundred, "hasMore": true } }), 100, None, true),
            (json!({ "completion": { "values": [], "total": 7.0 } }), 0, Some(7), false),
            (json!({ "completion": { "values": [], "total": -1 } }), 0, None, false),
        ] {
            let call = bench.begin(language());
            let sent = bench.expect("completion/complete");
            bench.completes(&sent, answer);
            let got = bench.done(&call).unwrap();
            assert_eq!((got.values.len(), got.total, got.has_more), (values, total, more));
        }
        let call = bench.begin(language());
        let sent = bench.expect("completion/complete");
        bench.completes(&sent, json!({ "completion": { "values": [1] } }));
        assert!(matches!(bench.error(&call).kind(), ErrorKind::Peer(_)));
    });
}

/// M-COMP-03, M-LOG-03, M-CAP-05
#[test]
fn what_a_server_does_not_offer_it_is_not_asked() {
    for offered in [json!({}), json!({ "completions": null, "logging": false, "tools": {} })] {
        in_both_eras_offering(&offered, |bench| {
            let complete = bench.begin(language());
            let level = bench.begin(SetLoggingLevel(LoggingLevel::Error));
            bench.quiet();
            let [complete, level] = [bench.error(&complete), bench.error(&level)];
            for (error, needed) in [(&complete, "completions"), (&level, "logging")] {
                assert!(matches!(error.kind(), ErrorKind::Capability(named) if named == needed));
                assert_eq!((error.outcome(), error.server()), (Outcome::NotSent, "peer"));
            }
        });
    }
    // A server that nobody has spoken with yet is greeted first, and judged then.
    let mut bench = Bench::stdio(config());
    let call = bench.begin(language());
    bench.speak_modern();
    assert!(matches!(bench.error(&call).kind(), ErrorKind::Capability(_)));
    bench.quiet();
}

/// M-LOG-01, M-LOG-02, M-LOG-07
#[test]
fn the_level_is_set_as_the_era_has_it() {
    let key = "io.modelcontextprotocol/logLevel";
    in_both_eras_offering(&json!({ "logging": {}, "tools": {} }), |bench| {
        let era = bench.era();
        let sent_with = |bench: &mut Bench| -> Value {
            let call = bench.begin(tool("x", json!({})));
            let sent = bench.expect("tools/call");
            bench.completes(&sent, json!({ "content": [] }));
            bench.done(&call).unwrap();
            sent.meta().get(key).cloned().unwrap_or_default()
        };
        assert_eq!(sent_with(bench), Value::Null, "nobody asked for any");
        for level in LoggingLevel::ALL {
            let call = bench.begin(SetLoggingLevel(level));
            if era == Era::Legacy {
                let sent = bench.expect("logging/setLevel");
                assert_eq!(sent.params()["level"], level.as_str());
                bench.completes(&sent, json!({}));
            }
            bench.done(&call).unwrap();
            bench.quiet();
            let told = if era == Era::Modern { json!(level.as_str()) } else { Value::Null };
            assert_eq!(sent_with(bench), told);
            assert_eq!(level.as_str().parse::<LoggingLevel>().unwrap(), level);
        }
        assert!("verbose".parse::<LoggingLevel>().is_err());
    });
}

/// M-LOG-02, M-ERA-11: the level goes along as metadata, and a call's own wins.
#[test]
fn a_call_may_have_a_level_of_its_own() {
    let key = "io.modelcontextprotocol/logLevel";
    in_both_eras_offering(&json!({ "logging": {}, "tools": {} }), |bench| {
        if bench.era() == Era::Legacy {
            return;
        }
        let call = bench.begin(SetLoggingLevel(LoggingLevel::Error));
        bench.done(&call).unwrap();
        let mut with = options(None, false);
        with.meta.insert(key.into(), json!("debug"));
        let call = bench.begin_with(tool("x", json!({})), with);
        let sent = bench.expect("tools/call");
        assert_eq!(sent.meta()[key], "debug");
        bench.completes(&sent, json!({ "content": [] }));
        bench.done(&call).unwrap();
    });
}

/// M-COMP-06: how often to ask is the host's to decide; nothing is dropped or kept back here.
#[test]
fn a_thousand_quick_completions_are_all_answered() {
    in_both_eras_offering_with(quick(), &json!({ "completions": {} }), |bench| {
        let calls: Vec<_> = (0..1000).map(|_| bench.begin(language())).collect();
        let asked = bench.take_messages();
        assert_eq!(asked.len(), 1000);
        for (n, sent) in asked.iter().enumerate().rev() {
            bench.completes(sent, json!({ "completion": { "values": [n.to_string()] } }));
        }
        for (n, call) in calls.iter().enumerate() {
            assert_eq!(bench.done(call).unwrap().values, [n.to_string()]);
        }
    });
}
