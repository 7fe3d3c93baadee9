//! Conversations, whole.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use futures_lite::future::yield_now;
use serde_json::json;

use super::server::{Era, Kind, Web};
use super::{Client, begin, echo};
use crate::block_on;

const ALL: [(Era, Kind); 4] = [
    (Era::Modern, Kind::Json),
    (Era::Modern, Kind::Sse),
    (Era::Legacy, Kind::Json),
    (Era::Legacy, Kind::Sse),
];

/// M-HTTP-01, M-HTTP-02
#[test]
fn answers_come_as_json_and_as_events_in_both_eras() {
    for (era, kind) in ALL {
        let (tell, told) = channel();
        let web = Web::start(move |mut line| {
            while let Some(request) = line.request() {
                let accepts = request.header("accept").unwrap_or_default();
                assert_eq!(accepts, "application/json, text/event-stream");
                let _ = tell.send((request.line.clone(), String::from(request.method())));
                line.answer(&request, era, kind);
            }
        });
        block_on(async {
            let client = Client::connect(web.url()).await.unwrap();
            assert_eq!(client.server().unwrap().era.to_string(), format!("{era:?}").to_lowercase());
            assert_eq!(client.list_tools().await.unwrap()[0].name, "echo");
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            client.close().await;
        });
        let lines: Vec<_> = told.try_iter().collect();
        let post = |line: &str| line == "POST /mcp HTTP/1.1";
        let ends = usize::from(era == Era::Legacy);
        let posts = lines.iter().filter(|(line, _)| post(line)).count();
        assert_eq!(lines.len() - posts, ends, "a legacy session is deleted: {lines:?}");
    }
}

#[test]
fn a_result_of_32_mib_arrives_as_json_and_as_events() {
    const LENGTH: usize = 32 * 1024 * 1024;
    for kind in [Kind::Json, Kind::Sse] {
        let web = Web::start(move |line| line.serve(Era::Modern, kind));
        block_on(async {
            let client = Client::connect(web.url()).await.unwrap();
            let long = client.call_tool("long", json!({ "length": LENGTH })).await.unwrap();
            assert_eq!(long.text().len(), LENGTH);
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
        });
    }
}

#[test]
fn many_calls_at_once_are_answered_and_their_connections_used_again() {
    let web = Web::start(|line| line.serve(Era::Modern, Kind::Sse));
    block_on(async {
        let client = Client::connect(web.url()).await.unwrap();
        for _ in 0..3 {
            let calls: Vec<_> = (0..64).map(|n| begin(&client, &n.to_string())).collect();
            for (n, call) in calls.into_iter().enumerate() {
                assert_eq!(call.await.unwrap().text(), n.to_string());
            }
        }
        assert!(web.connections() <= 64 + 16, "{}", web.connections());
    });
}

/// M-ERA-22: what one client has learnt of a server the next one need not find out.
#[test]
fn what_was_learnt_is_stored_with_the_host() {
    let (tell, told) = channel();
    let web = Web::start(move |mut line| {
        while let Some(request) = line.request() {
            let _ = tell.send(String::from(request.method()));
            line.answer(&request, Era::Legacy, Kind::Json);
        }
    });
    let shelf = Arc::new(Mutex::new(BTreeMap::new()));
    for probes in [1, 0] {
        let (load, save) = (Arc::clone(&shelf), Arc::clone(&shelf));
        block_on(async {
            let builder = Client::builder().on_load(move |key| {
                let found = load.lock().unwrap().get(&key).cloned();
                async { Ok(found) }
            });
            let builder = builder.on_save(move |stored| {
                save.lock().unwrap().insert(stored.key, stored.value);
                async { Ok(()) }
            });
            let client = builder.connect(web.url()).await.unwrap();
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            while shelf.lock().unwrap().is_empty() {
                yield_now().await;
            }
            client.close().await;
        });
        let asked = told.try_iter().filter(|method| method == "server/discover").count();
        assert_eq!(asked, probes);
    }
}
