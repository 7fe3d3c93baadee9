//! What a legacy server says by itself over HTTP, what it has to take for it, and what is remembered
//! of it.

mod support;

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mcp_runtime_blocking::Client;
use serde_json::json;
use support::http::{Server, as_json, legacy};
use support::{BACKGROUNDS, echo};

#[test]
fn server() {
    support::serve();
}

const LONG: Duration = Duration::from_secs(20);

/// M-SESS-08, M-ELIC-01: what comes on the GET stream reaches the host's handler, whose answer goes
/// out by POST; the stream ends when the client does.
#[test]
fn a_question_on_the_get_stream_is_answered() {
    for background in BACKGROUNDS {
        let ((answered, answers), (went, gone)) = (channel(), channel());
        let told = Mutex::new((answered, went));
        let server = Server::start(legacy(move |request, conn| match request.method() {
            "GET" => {
                conn.stream_head();
                let params = json!({ "message": "?", "requestedSchema": {} });
                let ask = json!({
                    "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": params,
                });
                conn.event(&ask.to_string());
                conn.wait_end();
                let _ = told.lock().unwrap().1.send(());
                false
            }
            "POST" => {
                let _ = told.lock().unwrap().0.send(request.body["result"]["action"].clone());
                conn.status("202 Accepted", "");
                true
            }
            _ => as_json(request, conn),
        }));
        let builder = Client::builder().background(background);
        let builder = builder.on_elicitation(|_| Ok(json!({ "action": "decline" }).into()));
        let client = builder.connect(server.url()).unwrap();
        let action = loop {
            client.pump(Duration::from_millis(1));
            if let Ok(action) = answers.try_recv() {
                break action;
            }
        };
        assert_eq!(action, "decline");
        echo(&client, "beside it");
        client.close();
        gone.recv_timeout(LONG).unwrap();
    }
}

/// M-UNTR-14: a stream whose server takes no answers is not read further, and is as soon as it does.
#[test]
fn a_stream_is_read_on_once_its_server_takes_its_answers() {
    for background in BACKGROUNDS {
        // How many pongs have come, and whether they are taken.
        let gate = Arc::new((Mutex::new((0_u32, false)), Condvar::new()));
        let server = Server::start(legacy(move |request, conn| {
            let (state, changed) = &*gate;
            let mut state = state.lock().unwrap();
            match request.method() {
                "tools/call" => {
                    conn.stream_head();
                    for n in 0..8 {
                        let ping = json!({ "jsonrpc": "2.0", "id": n, "method": "ping" });
                        conn.event(&ping.to_string());
                    }
                    state = changed.wait_while(state, |state| state.0 < 8).unwrap();
                    conn.event(&request.usual());
                    state.1 = true;
                    changed.notify_all();
                    drop(state);
                    conn.wait_end();
                    false
                }
                "POST" => {
                    state.0 += 1;
                    changed.notify_all();
                    drop(changed.wait_while(state, |state| !state.1).unwrap());
                    conn.status("202 Accepted", "");
                    true
                }
                _ => as_json(request, conn),
            }
        }));
        let client = Client::builder().background(background).connect(server.url()).unwrap();
        echo(&client, "at last");
        client.close();
    }
}

/// M-ERA-22: what one client has learnt of a server the next one need not find out.
#[test]
fn what_was_learnt_is_stored_with_the_host() {
    for background in BACKGROUNDS {
        let server = Server::start(legacy(as_json));
        let shelf = Arc::new(Mutex::new(BTreeMap::new()));
        for _ in 0..2 {
            let (load, save) = (Arc::clone(&shelf), Arc::clone(&shelf));
            let builder = Client::builder().background(background);
            let builder = builder.on_load(move |key| Ok(load.lock().unwrap().get(&key).cloned()));
            let builder = builder.on_save(move |stored| {
                save.lock().unwrap().insert(stored.key, stored.value);
                Ok(())
            });
            let client = builder.connect(server.url()).unwrap();
            echo(&client, "hi");
            while shelf.lock().unwrap().is_empty() {
                client.pump(Duration::from_millis(1));
            }
            client.close();
        }
        assert_eq!(server.count("server/discover"), 1);
        assert_eq!(server.count("initialize"), 2);
    }
}
