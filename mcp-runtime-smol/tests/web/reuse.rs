//! Connections that are used again, and those that cannot be.

use std::sync::mpsc::channel;

use mcp_proto::{HttpFailureKind, Outcome, Sent};

use super::server::{Era, Kind, Web};
use super::tls::Authority;
use super::{Client, echo, failure, impatient, word};
use crate::block_on;

#[test]
fn a_thousand_calls_take_one_connection() {
    for kind in [Kind::Json, Kind::Sse] {
        let web = Web::start(move |line| line.serve(Era::Modern, kind));
        block_on(async {
            let client = Client::connect(web.url()).await.unwrap();
            for n in 0..1000 {
                assert_eq!(echo(&client, &n.to_string()).await.unwrap(), n.to_string());
            }
        });
        assert_eq!(web.connections(), 1, "{kind:?}");
    }
}

/// A server that answers the probe, and then closes the connection as soon as the next request is
/// there, without an answer. Later connections are served. It tells the methods it was asked.
fn closing() -> (Web, std::sync::mpsc::Receiver<String>) {
    let (tell, told) = channel();
    let web = Web::start(move |mut line| {
        let mut answered = 0;
        while let Some(request) = line.request() {
            let _ = tell.send(String::from(request.method()));
            if line.number == 1 && answered == 1 {
                return;
            }
            line.answer(&request, Era::Modern, Kind::Json);
            answered += 1;
        }
    });
    (web, told)
}

/// M-RTRY-06, M-RTRY-13, M-RTRY-14
#[test]
fn a_connection_that_closes_under_a_tool_call_is_told_and_nothing_repeated() {
    let (web, told) = closing();
    block_on(async {
        let client = Client::connect(impatient(web.url())).await.unwrap();
        let error = echo(&client, "hi").await.unwrap_err();
        let failed = failure(&error);
        assert_eq!((failed.kind, failed.sent), (HttpFailureKind::Closed, Sent::All), "{error}");
        assert!(!failed.answered);
        assert_eq!(error.outcome(), Outcome::Unknown);
        assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
    });
    let calls = told.try_iter().filter(|method| method == "tools/call").count();
    assert_eq!(calls, 2, "one for each call of the host's");
}

/// M-RTRY-03
#[test]
fn a_connection_that_closes_under_an_idempotent_request_goes_unnoticed() {
    let (web, told) = closing();
    block_on(async {
        let client = Client::connect(impatient(web.url())).await.unwrap();
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
    });
    let methods: Vec<_> = told.try_iter().collect();
    assert_eq!(methods, ["server/discover", "tools/list", "tools/list"]);
    assert_eq!(web.connections(), 2);
}

#[test]
fn a_connection_that_was_closed_while_idle_is_not_used() {
    let authority = Authority::new();
    for tls in [false, true] {
        let (tell, told) = channel();
        let (ask, asked) = channel();
        let serve = move |mut line: super::server::Line| {
            while let Some(request) = line.request() {
                let _ = tell.send(String::from(request.method()));
                line.answer(&request, Era::Modern, Kind::Json);
                if line.number < 3 {
                    drop(line);
                    let _ = ask.send("closed");
                    return;
                }
            }
        };
        let web = match tls {
            false => Web::start(serve),
            true => Web::secure(authority.server(&["127.0.0.1"]), serve),
        };
        block_on(async {
            let builder = Client::builder().root_certificates([authority.der()]);
            let client = builder.connect(web.url()).await.unwrap();
            for _ in 0..2 {
                assert_eq!(word(&asked).await, "closed");
                assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            }
        });
        let methods: Vec<_> = told.try_iter().collect();
        assert_eq!(methods, ["server/discover", "tools/call", "tools/call"]);
    }
}
