//! Runtimes move bytes, and nothing else: each client makes of the same conversation the same inputs,
//! and so the same outputs.

use mcp_proto::Outcome;
use mcp_proto::journal::replay;
use mcp_tests::client::{Client, Runtime, Setup};
use mcp_tests::journal::{Gist, Kept};
use mcp_tests::script::{HttpScript, Program, Reply, Script};
use serde_json::{Value, json};

const RUNTIMES: &[Runtime] = &[
    Runtime::Blocking,
    Runtime::Pumped,
    Runtime::Smol,
    #[cfg(feature = "tokio")]
    Runtime::TokioCurrentThread,
    #[cfg(feature = "tokio")]
    Runtime::TokioMultiThread,
];

const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}"#;

/// Has the same conversation on each runtime, and returns what they agree about.
#[track_caller]
fn agreed(talk: impl Fn(Runtime, Setup)) -> Gist {
    let mut first: Option<Gist> = None;
    for &runtime in RUNTIMES {
        let journal = Kept::default();
        let setup = Setup::new().with(|config| config.name = String::from("peer"));
        talk(runtime, setup.journal(journal.writer()));
        let text = journal.text();
        replay(&text).unwrap_or_else(|error| panic!("{runtime:?}: {error}"));
        let gist = Gist::of(&text);
        let Some(first) = &first else {
            first = Some(gist);
            continue;
        };
        same("outputs", runtime, &first.outputs, &gist.outputs);
        same("inputs", runtime, &first.inputs, &gist.inputs);
    }
    first.unwrap()
}

#[track_caller]
fn same(what: &str, runtime: Runtime, first: &[String], other: &[String]) {
    let at = first.iter().zip(other).take_while(|(one, other)| one == other).count();
    let from = at.saturating_sub(3);
    let end =
        |all: &[String]| all.iter().skip(from).take(8).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        first == other,
        "{what} {at}\n{:?}:\n{}\n{runtime:?}:\n{}",
        RUNTIMES[0],
        end(first),
        end(other)
    );
}

fn launch(runtime: Runtime, script: Script, setup: Setup) -> Client {
    let program = Program::new(env!("CARGO_BIN_EXE_scripted"), script);
    Client::connect(runtime, program.argv(), setup).unwrap_or_else(|error| panic!("{error}"))
}

fn with_form(setup: Setup) -> Setup {
    setup.on_elicitation(|_, _| async {
        Ok(json!({ "action": "accept", "content": { "name": "me" } }))
    })
}

fn asks() -> String {
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{"f":{FORM}}},"requestState":"S"}}"#
    )
}

fn echo(client: &Client) -> String {
    let said = client.call_tool("echo", json!({ "message": "hi" }));
    said.unwrap_or_else(|error| panic!("{error}")).text().into_owned()
}

#[test]
fn a_modern_process_asks_before_it_answers() {
    let gist = agreed(|runtime, setup| {
        let script = Script::modern()
            .expect("tools/call")
            .result(&asks())
            .expect("tools/call")
            .text("\"done\"")
            .answer_rest();
        let client = launch(runtime, script, with_form(setup));
        assert_eq!(echo(&client), "done");
        client.close();
    });
    assert_eq!((gist.told("ask"), gist.told("resend")), (1, 1), "{:#?}", gist.outputs);
}

#[test]
fn a_legacy_process_asks_while_it_is_called() {
    let gist = agreed(|runtime, setup| {
        let script = Script::legacy("2025-11-25")
            .expect_as("tools/call", "call")
            .ask("\"q\"", "elicitation/create", &params(FORM))
            .expect_response("\"q\"")
            .text_for("call", "$params.content.name")
            .answer_rest();
        let client = launch(runtime, script, with_form(setup));
        assert_eq!(echo(&client), "me");
        client.close();
    });
    assert_eq!((gist.told("ask"), gist.told("resend")), (1, 0), "{:#?}", gist.outputs);
}

#[test]
fn a_process_that_dies_in_a_call_is_replaced_by_the_next() {
    let gist = agreed(|runtime, setup| {
        let script = Script::modern()
            .expect("tools/call")
            .text("\"$params.arguments.message\"")
            .expect("tools/call")
            .stderr("no more\n")
            .exit(3);
        let client = launch(runtime, script, setup);
        for _ in 0..2 {
            echo(&client);
            let error = client.call_tool("echo", json!({ "message": "hi" })).unwrap_err();
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert!(error.to_string().contains("no more"), "{error}");
        }
        client.close();
    });
    assert_eq!(gist.told("done"), 5, "{:#?}", gist.outputs);
}

#[test]
fn a_process_is_sent_to_rest_and_another_one_launched() {
    let gist = agreed(|runtime, setup| {
        let client = launch(runtime, Script::modern().answer_rest(), setup);
        for _ in 0..3 {
            echo(&client);
            client.disconnect();
            client.closed();
        }
        client.close();
    });
    assert_eq!(gist.told("done"), 4, "{:#?}", gist.outputs);
}

#[test]
fn a_server_over_http_asks_before_it_answers() {
    let gist = agreed(|runtime, setup| {
        let server = HttpScript::modern()
            .expect("tools/call")
            .result(&asks())
            .expect("tools/call")
            .text("\"done\"")
            .start();
        let client = Client::connect(runtime, server.url(), with_form(setup)).unwrap();
        assert_eq!(echo(&client), "done");
        client.close();
    });
    assert_eq!((gist.told("ask"), gist.told("resend")), (1, 1), "{:#?}", gist.outputs);
}

#[test]
fn a_stream_that_breaks_is_asked_for_once_more() {
    let gist = agreed(|runtime, setup| {
        let server = HttpScript::modern()
            .expect("tools/call")
            .events()
            .sse(": alive\n\n")
            .reset()
            .expect("tools/call")
            .text("\"here\"")
            .start();
        let client = Client::connect(runtime, server.url(), setup).unwrap();
        assert_eq!(echo(&client), "here");
        client.close();
    });
    assert_eq!((gist.told("resend"), gist.told("done")), (1, 2), "{:#?}", gist.outputs);
}

#[test]
fn a_session_that_is_lost_is_begun_anew() {
    let gist = agreed(|runtime, setup| {
        let server = HttpScript::with_session("2025-11-25", "one")
            .expect("tools/list")
            .respond(Reply::new(404))
            .handshake("2025-11-25", Reply::new(200).header("Mcp-Session-Id", "two"))
            .expect("tools/list")
            .result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#)
            .start();
        let client = Client::connect(runtime, server.url(), setup).unwrap();
        assert_eq!(client.list_tools().unwrap().len(), 1);
        client.close();
    });
    assert_eq!((gist.told("resend"), gist.told("done")), (1, 2), "{:#?}", gist.outputs);
}

/// The parameters of a request.
fn params(request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    request["params"].to_string()
}
