//! The use of deprecated features (specification: deprecated).

use mcp_proto::model::{LoggingLevel, Root};
use mcp_proto::op::{Connect, SetLoggingLevel};
use mcp_proto::{
    Answer, CallOptions, ConnectionConfig, DeprecatedFeature, Event, Hearing, Input, Setting,
};
use serde_json::{Map, Value, json};

use crate::support::*;

/// What was told since the last time.
fn told(bench: &mut Bench) -> Vec<DeprecatedFeature> {
    let events = std::mem::take(&mut bench.events);
    let deprecated = events.into_iter().filter_map(|event| match event {
        Event::Deprecated(feature) => Some(feature),
        _ => None,
    });
    deprecated.collect()
}

fn some_roots() -> Vec<Root> {
    vec![Root::new("file:///work").unwrap()]
}

fn level() -> Map<String, Value> {
    Map::from_iter([("io.modelcontextprotocol/logLevel".into(), json!("info"))])
}

fn hears(hearing: Hearing) -> ConnectionConfig {
    let mut config = config();
    config.hears = vec![hearing];
    config
}

/// M-DEPR-05: roots that are configured or set are told once, and an empty list never.
#[test]
fn roots_that_are_configured_or_set() {
    let mut configured = config();
    configured.roots = some_roots();
    in_both_eras_with(configured, |bench| {
        assert_eq!(told(bench), [DeprecatedFeature::Roots]);
        bench.input(Input::Set(Setting::Roots(Vec::new())));
        bench.input(Input::Set(Setting::Roots(some_roots())));
        assert_eq!(told(bench), []);
    });
    in_both_eras(|bench| {
        bench.input(Input::Set(Setting::Roots(Vec::new())));
        if bench.era() == mcp_proto::Era::Legacy {
            let asks = json!({ "jsonrpc": "2.0", "id": "r", "method": "roots/list" });
            bench.line(&asks.to_string());
            assert_eq!(bench.next_message().message["result"], json!({ "roots": [] }));
        }
        assert_eq!(told(bench), []);
        bench.input(Input::Set(Setting::Roots(some_roots())));
        assert_eq!(told(bench), [DeprecatedFeature::Roots]);
    });
}

/// M-DEPR-05: a connection that has not begun tells of what is set before.
#[test]
fn roots_that_are_set_before_the_start() {
    let mut bench = Bench::stdio(config());
    bench.input(Input::Set(Setting::Roots(some_roots())));
    assert_eq!(told(&mut bench), [DeprecatedFeature::Roots]);
    bench.begin(Connect);
    bench.speak_modern();
    assert_eq!(told(&mut bench), []);
}

/// M-DEPR-05: nothing is told of what is set after the end.
#[test]
fn roots_that_are_set_after_the_end() {
    let mut bench = Bench::stdio(config());
    bench.input(Input::Close);
    bench.input(Input::Set(Setting::Roots(some_roots())));
    assert_eq!(told(&mut bench), []);
}

/// M-DEPR-06: a handler of sampling is told, from the start or when it comes later, with tools or
/// without.
#[test]
fn handlers_of_sampling() {
    for hearing in [Hearing::Sampling, Hearing::SamplingTools] {
        in_both_eras_with(hears(hearing), |bench| {
            assert_eq!(told(bench), [DeprecatedFeature::Sampling]);
        });
    }
    in_both_eras_with(hears(Hearing::Elicitation), |bench| {
        assert_eq!(told(bench), []);
        bench.input(Input::Set(Setting::Hear(Hearing::Sampling)));
        bench.input(Input::Set(Setting::Hear(Hearing::SamplingTools)));
        assert_eq!(told(bench), [DeprecatedFeature::Sampling]);
    });
}

/// M-DEPR-07: the level that a host sets, whether or not the server knows of levels.
#[test]
fn a_level_that_is_set() {
    for offered in [json!({ "logging": {} }), json!({})] {
        in_both_eras_offering(&offered, |bench| {
            bench.begin(SetLoggingLevel(LoggingLevel::Info));
            assert_eq!(told(bench), [DeprecatedFeature::Logging]);
        });
    }
}

/// M-DEPR-07: a level in the metadata of the connection, of a call, or computed for a request.
#[test]
fn a_level_in_metadata() {
    let mut with_level = config();
    with_level.meta = level();
    in_both_eras_with(with_level, |bench| {
        assert_eq!(told(bench), [DeprecatedFeature::Logging]);
    });
    in_both_eras(|bench| {
        bench.begin(tool("t", json!({})));
        assert_eq!(told(bench), []);
        let mut options = CallOptions::default();
        options.meta = level();
        bench.begin_with(tool("t", json!({})), options.clone());
        bench.begin_with(tool("t", json!({})), options);
        assert_eq!(told(bench), [DeprecatedFeature::Logging]);
    });
    in_both_eras_with(hears(Hearing::RequestMeta), |bench| {
        bench.begin(tool("t", json!({})));
        let (id, ..) = bench.question();
        assert_eq!(told(bench), []);
        bench.reply(id, Answer::RequestMeta(level()));
        assert_eq!(told(bench), [DeprecatedFeature::Logging]);
    });
}

/// M-DEPR-07: log messages that a server sends, however many.
#[test]
fn messages_that_a_server_logs() {
    in_both_eras(|bench| {
        for _ in 0..1000 {
            let params = json!({ "level": "info", "data": "marker-2271" });
            let message =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
            bench.line(&message.to_string());
        }
        assert_eq!(told(bench), [DeprecatedFeature::Logging]);
    });
}

/// M-DEPR-09, M-SAMP-18: a request for sampling that wants the context of servers included, in either era.
#[test]
fn context_that_is_to_be_included() {
    let says = json!([{ "role": "user", "content": { "type": "text", "text": "hi" } }]);
    for (include, deprecated) in [
        (json!("thisServer"), true),
        (json!("allServers"), true),
        (json!("none"), false),
        (json!(null), false),
        (json!(5), false),
    ] {
        let params = json!({ "messages": says, "maxTokens": 5, "includeContext": include });
        in_both_eras_with(hears(Hearing::Sampling), |bench| {
            told(bench);
            for id in ["a", "b"] {
                ask_for_sample(bench, id, &params);
            }
            let expected: &[_] =
                if deprecated { &[DeprecatedFeature::IncludeContext] } else { &[] };
            assert_eq!(told(bench), expected, "{include}");
        });
    }
}

fn ask_for_sample(bench: &mut Bench, id: &str, params: &Value) {
    let method = "sampling/createMessage";
    if bench.era() == mcp_proto::Era::Legacy {
        let asks = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        bench.line(&asks.to_string());
    } else {
        bench.begin(tool("t", json!({})));
        let call = bench.expect("tools/call");
        let requests = json!({ "s": { "method": method, "params": params } });
        let result = json!({ "resultType": "input_required", "inputRequests": requests });
        bench.result(&call, result);
    }
    bench.question();
}
