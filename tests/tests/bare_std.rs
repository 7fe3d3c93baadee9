//! The example that shows how a runtime is written, at work: it calls tools of the demo server, over
//! pipes and over HTTP, in both eras, and lets go of it.

use mcp_tests::demo::{Answers, Eras, HttpDemo, HttpOptions, Options};

#[allow(dead_code, reason = "its `main` is not ours")]
#[path = "../../mcp-proto/examples/bare-std.rs"]
mod bare_std;

const DEMO: &str = env!("CARGO_BIN_EXE_demo");

fn sum(target: &str) -> String {
    bare_std::call(target, "add", r#"{"a":19,"b":23}"#).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_runtime_on_std_alone_calls_a_tool_of_a_process() {
    for era in ["modern", "legacy", "both"] {
        assert_eq!(sum(&format!("'{DEMO}' stdio --era {era}")), "42", "{era}");
    }
}

#[test]
fn a_runtime_on_std_alone_calls_a_tool_over_http() {
    for eras in [Eras::Modern, Eras::Legacy] {
        for answers in [Answers::Json, Answers::Sse] {
            let demo = Options { eras, ..Options::default() };
            let demo = HttpDemo::start(HttpOptions { answers, demo, ..HttpOptions::default() });
            let demo = demo.unwrap();
            assert_eq!(sum(demo.url()), "42", "{eras:?} {answers:?}");
            let counters = demo.wait_until(|counters| counters.open == 0);
            assert_eq!(counters.tool_runs, 1, "{eras:?} {answers:?}");
        }
    }
}

#[test]
fn what_goes_wrong_is_told_and_ends() {
    let told = |target: &str| bare_std::call(target, "add", "{}").unwrap_err().to_string();
    assert!(told("/no/such/program").contains("/no/such/program"));
    let dying = told("sh -c 'echo some last words >&2; exit 3'");
    assert!(dying.contains("status 3") && dying.contains("some last words"), "{dying}");
}
