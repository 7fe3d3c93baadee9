//! Metadata of requests (specification: basic, "`_meta`").

use mcp_proto::model::Root;
use mcp_proto::op::{CustomRequest, ListTools, Ping};
use mcp_proto::{
    Answer, CallOptions, ConnectionConfig, Era, ErrorKind, Hearing, Input, Outcome, Owner,
    Question, Setting,
};
use serde_json::{Map, Value, json};

use crate::support::*;

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value}") };
    map
}

fn with(meta: Value) -> CallOptions {
    let mut with = CallOptions::default();
    with.meta = map(meta);
    with
}

fn hosts(meta: Value) -> ConnectionConfig {
    let mut config = config();
    config.meta = map(meta);
    config
}

/// The metadata without the protocol's own.
fn own(sent: &Sent) -> Value {
    let mut meta = sent.meta().as_object().cloned().unwrap_or_default();
    meta.retain(|key, _| {
        !key.starts_with("io.modelcontextprotocol/") || key.ends_with("/logLevel")
    });
    Value::Object(meta)
}

/// M-ERA-06, M-BASE-12: the host's metadata goes into every request, trace context unchanged.
#[test]
fn the_hosts_metadata_goes_everywhere() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let meta = json!({ "traceparent": trace, "tracestate": "a=b", "baggage": "k=v", "x.y/z": [1] });
    in_both_eras_with(hosts(meta.clone()), |bench| {
        bench.begin(ListTools);
        bench.begin(tool("x", json!({})));
        bench.begin(Ping);
        bench.begin(CustomRequest::new("a/b", Map::new()));
        for sent in bench.take_messages() {
            assert_eq!(own(&sent), meta, "{}", sent.method());
        }
    });
    let mut bench = Bench::stdio(hosts(meta.clone()));
    bench.begin(Ping);
    assert_eq!(own(&bench.expect("server/discover")), meta);
}

/// M-ERA-06, M-ERA-04: a call's own metadata beats the host's, member by member; the protocol's
/// keys are nobody's, the log level excepted.
#[test]
fn metadata_is_merged_by_rank() {
    let hosts = hosts(json!({
        "a": "host", "b": "host", "c": { "deep": "host" },
        "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/logLevel": "info",
    }));
    in_both_eras_with(hosts, |bench| {
        let call = bench.begin_with(
            tool("x", json!({ "n": 1, "_meta": { "b": "arguments", "d": "arguments" } })),
            with(json!({
                "a": "call", "c": 1, "d": "call",
                "io.modelcontextprotocol/clientInfo": { "name": "forged" },
                "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
                "io.modelcontextprotocol/logLevel": "debug",
            })),
        );
        let sent = bench.expect("tools/call");
        let want = json!({
            "a": "call", "b": "arguments", "c": 1, "d": "call",
            "io.modelcontextprotocol/logLevel": "debug",
        });
        assert_eq!(own(&sent), want);
        assert_eq!(sent.line.matches("clientInfo\"").count(), sent.line.matches("bench").count());
        assert_eq!(sent.params()["arguments"], json!({ "n": 1 }));
        if bench.era() == Era::Modern {
            let meta = sent.meta();
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
            assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "bench");
        } else {
            assert_eq!(sent.meta(), &want, "nothing of the modern era");
        }
        bench.cancel(&call);
        bench.take_messages();
    });
}

/// M-PROG-04, M-ERA-06: metadata among the arguments is lifted, whatever it is; what is no object is
/// dropped. Nothing named `_meta` is ever an argument.
#[test]
fn metadata_is_never_an_argument() {
    in_both_eras(|bench| {
        for (meta, want) in [
            (json!({ "a": 1 }), json!({ "a": 1 })),
            (json!({}), json!({})),
            (json!(null), json!({})),
            (json!([1]), json!({})),
            (json!("x"), json!({})),
        ] {
            let arguments = json!({ "_meta": meta, "keep": { "_meta": "inner" } });
            bench.begin(tool("x", arguments.clone()));
            let sent = bench.expect("tools/call");
            assert_eq!(sent.params()["arguments"], json!({ "keep": { "_meta": "inner" } }));
            assert_eq!(own(&sent), want);
            bench.begin(CustomRequest::new("a/b", map(arguments)));
            let sent = bench.expect("a/b");
            assert_eq!(sent.params()["keep"], json!({ "_meta": "inner" }));
            assert_eq!(own(&sent), want);
        }
    });
}

/// M-ERA-06, M-CAP-07: the metadata may change while the connection lives: the next request has it.
#[test]
fn settings_hold_from_the_next_request() {
    in_both_eras_with(hosts(json!({ "a": 1 })), |bench| {
        bench.begin(Ping);
        assert_eq!(own(&bench.next_message()), json!({ "a": 1 }));
        bench.input(Input::Set(Setting::Meta(map(json!({ "b": 2 })))));
        bench.begin(Ping);
        assert_eq!(own(&bench.next_message()), json!({ "b": 2 }));
    });
}

/// M-ERA-06: a host that computes its metadata is asked for each request, each page too; what it
/// says is below the call's own.
#[test]
fn computed_metadata_is_asked_for_each_request() {
    let mut config = hosts(json!({ "a": "config", "b": "config", "c": "config" }));
    config.hears = vec![Hearing::RequestMeta];
    in_both_eras_with(config, |bench| {
        let call = bench.begin_with(ListTools, with(json!({ "c": "call" })));
        for page in 0..3 {
            let (id, owner, question) = bench.question();
            assert_eq!(owner, Owner::Call(call.id()));
            assert_eq!(question, Question::RequestMeta { method: "tools/list".into() });
            bench.quiet();
            let said = json!({ "n": page, "b": "host", "c": "host" });
            bench.reply(id, Answer::RequestMeta(map(said)));
            let sent = bench.expect("tools/list");
            let want = json!({ "a": "config", "b": "host", "c": "call", "n": page });
            assert_eq!(own(&sent), want);
            let next = if page == 2 { Value::Null } else { json!(page.to_string()) };
            bench.completes(&sent, json!({ "tools": [], "nextCursor": next }));
        }
        bench.done(&call).unwrap();
        assert_eq!(bench.asked.len(), 0);
    });
}

/// M-ERA-06, M-ERR-07: a host that cannot say fails its call, and nothing is sent.
#[test]
fn a_host_without_an_answer_fails_its_call() {
    let mut config = config();
    config.hears = vec![Hearing::RequestMeta];
    in_both_eras_with(config, |bench| {
        for answer in [Answer::Failed, Answer::Elicit(json!({}))] {
            let call = bench.begin(tool("x", json!({})));
            let (id, ..) = bench.question();
            bench.reply(id, answer);
            let error = bench.error(&call);
            assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error}");
            assert_eq!(error.outcome(), Outcome::NotSent);
            bench.quiet();
        }
    });
}

/// M-BASE-11, M-ERR-07: keys that the specification does not allow are refused before anything
/// happens.
#[test]
fn keys_are_checked() {
    let mut bench = Bench::stdio(config());
    let now = mcp_proto::Now::at(bench.now);
    for key in ["-a", "a b", "1x/y", "a..b/c", "a/b/c", "é"] {
        let begun = bench.connection.start(Ping, with(json!({ key: 1 })), now);
        assert!(begun.unwrap_err().to_string().contains(key), "{key}");
    }
    assert!(bench.connection.poll_output().is_none());
    assert!(bench.connection.is_idle());
}

/// M-ERA-04, M-CAP-02, M-ROOT-08: what the host can do is declared in the handshake of a legacy
/// server, and to a modern one with each request. Roots a legacy server may ask for in any case.
#[test]
fn declarations_follow_what_is_registered() {
    use Hearing::{RequestMeta, Sampling, SamplingTools, Wait};
    let root = || vec![Root::new("file:///a").unwrap()];
    declares(vec![], vec![], json!({}));
    declares(vec![RequestMeta, Wait], vec![], json!({}));
    declares(vec![Sampling], root(), json!({ "roots": {}, "sampling": {} }));
    declares(vec![Sampling, SamplingTools], vec![], json!({ "sampling": { "tools": {} } }));
    declares(vec![SamplingTools], vec![], json!({}));
}

/// M-ELIC-10: without a mode named it is forms.
#[test]
fn each_mode_of_elicitation_is_declared() {
    use Hearing::{Elicitation, UrlElicitation};
    declares(vec![Elicitation], vec![], json!({ "elicitation": {} }));
    declares(vec![UrlElicitation], vec![], json!({ "elicitation": { "url": {} } }));
    let both = json!({ "elicitation": { "form": {}, "url": {} } });
    declares(vec![Elicitation, UrlElicitation], vec![], both);
}

/// A host with these handlers and roots declares this to a modern server.
fn declares(hears: Vec<Hearing>, roots: Vec<Root>, modern: Value) {
    let mut config = config();
    (config.hears, config.roots) = (hears, roots);
    let mut bench = Bench::stdio(config);
    bench.begin(Ping);
    let probe = bench.expect("server/discover");
    assert_eq!(probe.meta()["io.modelcontextprotocol/clientCapabilities"], modern);
    let mut legacy = modern;
    legacy["roots"] = json!({ "listChanged": true });
    bench.refuse(&probe, -32601, "no");
    assert_eq!(bench.expect("initialize").params()["capabilities"], legacy);
}

/// M-ERA-10, M-BASE-09: requests of the host's own choice go out under their own name, with the
/// metadata of the era; a ping has two names.
#[test]
fn requests_have_the_names_of_their_era() {
    in_both_eras(|bench| {
        let modern = bench.era() == Era::Modern;
        bench.begin(Ping);
        bench.expect(if modern { "server/discover" } else { "ping" });
        let call = bench.begin(CustomRequest::new("x/\"y\"\n", map(json!({ "p": 1 }))));
        let sent = bench.next_message();
        assert_eq!((sent.method(), &sent.params()["p"]), ("x/\"y\"\n", &json!(1)));
        assert_eq!(sent.params().get("_meta").is_some(), modern);
        bench.completes(&sent, json!({ "r": [1] }));
        assert_eq!(bench.done(&call).unwrap().parse::<Value>().unwrap()["r"], json!([1]));
    });
}
