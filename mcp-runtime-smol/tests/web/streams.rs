//! What a legacy server says by itself, and what it has to take for it.

use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;

use super::server::{Era, Kind, Web, reply};
use super::{Client, echo, word};
use crate::block_on;

/// M-SESS-08, M-ELIC-01: what comes on the GET stream reaches the host's handler, whose answer goes
/// out by POST; the stream ends when the client does.
#[test]
fn a_question_on_the_get_stream_is_answered() {
    let ((answered, answers), (went, gone)) = (channel(), channel());
    let web = Web::start(move |mut line| {
        while let Some(request) = line.request() {
            if request.line.starts_with("GET") {
                let params = json!({ "message": "?", "requestedSchema": {} });
                line.begin_events();
                line.event(&json!({
                    "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": params,
                }));
                line.wait_end();
                let _ = went.send(());
                return;
            }
            if request.body.get("result").is_some() {
                let _ = answered.send(request.body["result"]["action"].clone());
            }
            line.answer(&request, Era::Legacy, Kind::Json);
        }
    });
    block_on(async {
        let builder = Client::builder();
        let builder =
            builder.on_elicitation(|_| async { Ok(json!({ "action": "decline" }).into()) });
        let client = builder.connect(web.url()).await.unwrap();
        assert_eq!(word(&answers).await, "decline");
        assert_eq!(echo(&client, "beside it").await.unwrap(), "beside it");
        client.close().await;
        word(&gone).await;
    });
}

/// M-UNTR-14: a stream whose server takes no answers is not read further, and is as soon as it does.
#[test]
fn a_stream_is_read_on_once_its_server_takes_its_answers() {
    // How many pongs have come, and whether they are taken.
    let gate = Arc::new((Mutex::new((0, false)), Condvar::new()));
    let web = Web::start(move |mut line| {
        while let Some(request) = line.request() {
            let (state, changed) = &*gate;
            if request.method() == "tools/call" {
                line.begin_events();
                for n in 0..8 {
                    line.event(&json!({ "jsonrpc": "2.0", "id": n, "method": "ping" }));
                }
                let pongs = state.lock().unwrap();
                let mut state = changed.wait_while(pongs, |state| state.0 < 8).unwrap();
                line.event(&reply(&request.body, Era::Legacy).unwrap());
                state.1 = true;
                changed.notify_all();
                drop(state);
                return line.wait_end();
            }
            if request.body.get("result").is_some() {
                let mut pongs = state.lock().unwrap();
                pongs.0 += 1;
                changed.notify_all();
                drop(changed.wait_while(pongs, |state| !state.1).unwrap());
            }
            line.answer(&request, Era::Legacy, Kind::Json);
        }
    });
    block_on(async {
        let client = Client::connect(web.url()).await.unwrap();
        assert_eq!(echo(&client, "at last").await.unwrap(), "at last");
        client.close().await;
    });
}
