//! Calls over HTTP: their answers, their connections, their threads.

mod support;

use std::sync::Arc;
use std::thread;

use mcp_runtime_blocking::{Background, Client};
use support::http::{Server, as_events, as_json, legacy};
use support::{BACKGROUNDS, echo};

#[test]
fn server() {
    support::serve();
}

fn connect(background: Background, server: &Server) -> Client {
    Client::builder().background(background).connect(server.url()).unwrap()
}

/// M-HTTP-02
#[test]
fn either_kind_of_answer_will_do_in_either_era() {
    for background in BACKGROUNDS {
        let servers = [
            Server::start(as_json),
            Server::start(as_events),
            Server::start(legacy(as_json)),
            Server::start(legacy(as_events)),
        ];
        for server in servers {
            let client = connect(background, &server);
            assert_eq!(client.list_tools().unwrap().len(), 1);
            echo(&client, "hello");
            client.close();
        }
    }
}

#[test]
fn sequential_calls_use_one_connection() {
    for background in BACKGROUNDS {
        for server in [Server::start(as_json), Server::start(as_events)] {
            let client = connect(background, &server);
            for call in 0..1000 {
                echo(&client, &call.to_string());
            }
            client.close();
            assert_eq!(server.count("tools/call"), 1000);
            assert_eq!(server.connections(), 1);
        }
    }
}

#[test]
fn sixty_four_threads_call_at_once() {
    for background in BACKGROUNDS {
        let server = Server::start(as_events);
        let client = connect(background, &server);
        thread::scope(|scope| {
            for caller in 0..64 {
                let client = client.clone();
                scope.spawn(move || {
                    for call in 0..20 {
                        echo(&client, &format!("{caller}/{call}"));
                    }
                });
            }
        });
        client.close();
        assert_eq!(server.count("tools/call"), 64 * 20);
        let _ = Arc::strong_count(&server.seen);
    }
}

#[test]
fn thirty_two_mebibytes_come_as_either_kind_of_answer() {
    let long = "x".repeat(32 << 20);
    for answer in [false, true] {
        let text = long.clone();
        let server = Server::start(move |request, conn| {
            if request.method() != "tools/call" {
                return as_json(request, conn);
            }
            let body = request.result(&support::http::tool(&text));
            if answer {
                conn.sse(&body);
            } else {
                conn.json(&body);
            }
            true
        });
        let client = connect(Background::Helper, &server);
        assert!(client.call_tool("long", ()).unwrap().text() == long);
        client.close();
        assert_eq!(server.connections(), 1);
    }
}
