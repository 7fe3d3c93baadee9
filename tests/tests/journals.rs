//! Journals that each runtime's client writes: full of marked secrets, none of which is in them, and
//! they replay.

use mcp_proto::journal::{Replayed, replay};
use mcp_tests::client::{Client, Runtime, Setup};
use mcp_tests::journal::Kept;
use mcp_tests::script::{HttpScript, Program, Reply, Script};
use serde_json::json;

const RUNTIMES: &[Runtime] = &[
    Runtime::Blocking,
    Runtime::Smol,
    #[cfg(feature = "tokio")]
    Runtime::TokioCurrentThread,
    #[cfg(feature = "tokio")]
    Runtime::TokioMultiThread,
];

/// No secret is in a journal, its header warns of what is, and it replays.
fn check(journal: &Kept, runtime: Runtime) -> Replayed {
    let text = journal.text();
    for mark in ["mark-", "marked"] {
        let line = text.lines().find(|line| line.contains(mark));
        assert_eq!(line, None, "{runtime:?}");
    }
    let header = text.lines().next().unwrap();
    assert!(header.contains("tool arguments and results are readable in this file"));
    let replayed = replay(&text).unwrap_or_else(|error| panic!("{runtime:?}: {error}"));
    assert!(!replayed.truncated, "{runtime:?}");
    replayed
}

const EVERYTHING: &str = "mark-env-1 mark-token-2 mark-session-3 mark-query-4 mark-user-5 readable";

/// M-UNTR-18, M-UNTR-19: over HTTP, with a server that repeats all that it knows, a byte at a time.
#[test]
fn secrets_of_a_server_over_http_are_not_in_its_journal() {
    for &runtime in RUNTIMES {
        let error = json!({ "code": -32000, "message": EVERYTHING });
        let body = format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{error}}}"#);
        let sse = json!({ "content": [{ "type": "text", "text": EVERYTHING }] });
        let sse = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{sse}}}\n\n");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
        let cookie = "Set-Cookie: id=mark-cookie-6\r\nConnection: close\r\n\r\n";
        let server = HttpScript::with_session("2025-11-25", "mark-session-3")
            .expect("tools/call")
            .raw_in_chunks(&format!("{head}{cookie}: {EVERYTHING}\nid: mark-session-3\n{sse}"), 1)
            .close()
            .expect("tools/call")
            .respond(Reply::new(400).json(&body))
            .expect("tools/call")
            .respond(Reply::new(401).header("WWW-Authenticate", EVERYTHING).json(&body))
            .expect("tools/call")
            .respond(Reply::new(302).header("Location", "https://x.test/?token=mark-next-7"))
            .start();
        let journal = Kept::default();
        let setup = Setup::new()
            .header("Authorization", "Bearer mark-token-2")
            .header("X-Env", "mark-env-1")
            .header("X-User", "mark-user-5")
            .journal(journal.writer());
        let client =
            Client::connect(runtime, format!("{}?key=mark-query-4", server.url()), setup).unwrap();
        let said = client.call_tool("t", json!({})).unwrap();
        assert_eq!(said.text(), EVERYTHING, "{runtime:?}");
        for _ in 0..3 {
            client.call_tool("t", json!({ "argument": "readable" })).unwrap_err();
        }
        client.close();
        drop(client);
        let replayed = check(&journal, runtime);
        assert!(replayed.inputs >= 20 && replayed.outputs >= 20, "{runtime:?}: {replayed:?}");
        let text = journal.text();
        assert!(text.contains("readable") && text.contains("x.test"), "{text}");
        // `mark-next-7` came after all else.
        assert!(text.contains("https://x.test/?masked"), "{text}");
    }
}

/// M-UNTR-18: credentials of a proxy that refuses them, and says which.
#[test]
fn credentials_of_a_proxy_are_not_in_the_journal() {
    for &runtime in RUNTIMES {
        let answer = "HTTP/1.1 407 mark-proxy-8\r\nProxy-Authenticate: Basic realm=\"mark-proxy-8\"\
            \r\nContent-Length: 12\r\nConnection: close\r\n\r\nmark-proxy-8";
        let proxy =
            HttpScript::new().expect_http("CONNECT").raw_in_chunks(answer, 1).close().start();
        let journal = Kept::default();
        let at = proxy.url().replace("http://", "http://mark-user:mark-proxy-8@");
        let at = at.trim_end_matches("/mcp").to_owned();
        let setup = Setup::new().proxy(at).journal(journal.writer());
        let error = Client::connect(runtime, "https://server.test/mcp", setup).unwrap_err();
        assert!(!error.to_string().contains("mark-"), "{runtime:?}: {error}");
        // The writer ends with the client, which was never given out: what failed is written.
        let replayed = check(&journal, runtime);
        assert!(journal.text().contains("\"failed\""), "{runtime:?}: {replayed:?}");
    }
}

/// M-UNTR-18, M-UNTR-19: a process that repeats its environment on both its streams, in pieces.
#[test]
fn secrets_of_a_process_are_not_in_its_journal() {
    for &runtime in RUNTIMES {
        let journal = Kept::default();
        let result = json!({ "content": [{ "type": "text", "text": EVERYTHING }] });
        let answer = format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#) + "\n";
        let script = Script::legacy("2025-11-25")
            .stderr(&format!("begins with {EVERYTHING}\n"))
            .expect("tools/call")
            .send_in_chunks(&answer, 3)
            .expect("tools/call")
            .stderr("cannot use mark-env-1\n")
            .exit(1);
        // Its command line holds the script, and so the secrets too.
        let program = Program::new(env!("CARGO_BIN_EXE_scripted"), script);
        let setup = EVERYTHING.split(' ').filter(|word| word.starts_with("mark-"));
        let setup = setup.fold(Setup::new(), |setup, word| setup.env(&word.to_uppercase(), word));
        let setup = setup.journal(journal.writer());
        let client = Client::connect(runtime, program.argv(), setup).unwrap();
        assert_eq!(client.call_tool("t", json!({})).unwrap().text(), EVERYTHING);
        let error = client.call_tool("t", json!({})).unwrap_err().to_string();
        assert!(error.contains("cannot use mark-env-1"), "the host may read it: {error}");
        client.close();
        drop(client);
        check(&journal, runtime);
        assert!(journal.text().contains("MARK-ENV-1"), "names are told");
    }
}

/// A redactor takes what the host finds secret, on every runtime.
#[test]
fn a_redactor_changes_lines_before_they_are_written() {
    for &runtime in RUNTIMES {
        let server = HttpScript::modern().rest().start();
        let journal = Kept::default();
        let setup = Setup::new()
            .journal(journal.writer())
            .redact(|line| line.replace("marked-argument", "***************"));
        let client = Client::connect(runtime, server.url(), setup).unwrap();
        let said = client.call_tool("echo", json!({ "message": "marked-argument" })).unwrap();
        assert_eq!(said.text(), "marked-argument");
        client.close();
        drop(client);
        check(&journal, runtime);
        assert!(journal.text().contains("***************"));
    }
}
