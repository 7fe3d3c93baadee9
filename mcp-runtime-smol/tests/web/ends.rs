//! The ends of clients, and servers that take no end.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::json;

use super::server::{Era, Kind, Line, Web, reply};
use super::{Client, begin, echo, timed, within, word};
use crate::block_on;

/// How long a close may take whose server answers.
const CLOSE: Duration = Duration::from_millis(100);

/// Begins an event stream for each call and leaves it open.
fn streams(mut line: Line, era: Era, tell: &Sender<&'static str>) {
    while let Some(request) = line.request() {
        if request.method() != "tools/call" {
            line.answer(&request, era, Kind::Json);
            continue;
        }
        line.begin_events();
        let _ = tell.send("open");
        line.wait_end();
        let _ = tell.send("ended");
    }
}

async fn expect(ten: &'static str, told: &Receiver<&'static str>) {
    for _ in 0..10 {
        assert_eq!(word(told).await, ten);
    }
}

#[test]
fn a_close_ends_all_streams_at_once() {
    for era in [Era::Modern, Era::Legacy] {
        within(CLOSE, || {
            let (tell, told) = channel();
            let web = Web::start(move |line| streams(line, era, &tell));
            block_on(async {
                let client = Client::connect(web.url()).await.unwrap();
                let calls: Vec<_> = (0..10).map(|_| begin(&client, "hi")).collect();
                expect("open", &told).await;
                let ((), took) = {
                    let began = std::time::Instant::now();
                    client.close().await;
                    ((), began.elapsed())
                };
                for call in calls {
                    call.await.unwrap_err();
                }
                expect("ended", &told).await;
                took
            })
        });
    }
}

#[test]
fn a_drop_ends_all_streams_and_needs_nobody_who_polls() {
    within(CLOSE, || {
        let (tell, told) = channel();
        let web = Web::start(move |line| streams(line, Era::Modern, &tell));
        let (client, calls) = block_on(async {
            let client = Client::connect(web.url()).await.unwrap();
            let calls: Vec<_> = (0..10).map(|_| begin(&client, "hi")).collect();
            expect("open", &told).await;
            (client, calls)
        });
        let ((), took) = timed(|| drop((client, calls)));
        for _ in 0..10 {
            assert_eq!(told.recv().unwrap(), "ended");
        }
        took
    });
}

/// M-HTTP-13
#[test]
fn a_stream_that_goes_on_after_its_result_is_let_go_of() {
    let (tell, told) = channel();
    let web = Web::start(move |mut line| {
        while let Some(request) = line.request() {
            if request.method() != "tools/call" {
                line.answer(&request, Era::Modern, Kind::Json);
                continue;
            }
            line.begin_events();
            line.event(&reply(&request.body, Era::Modern).unwrap());
            line.wait_end();
            let _ = tell.send("ended");
        }
    });
    block_on(async {
        let client = Client::connect(web.url()).await.unwrap();
        for _ in 0..3 {
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
        }
        for _ in 0..3 {
            assert_eq!(word(&told).await, "ended");
        }
    });
}

#[test]
fn a_stream_that_ends_soon_after_its_result_leaves_its_connection() {
    let (go, gone) = channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let web = Web::start(move |mut line| {
        while let Some(request) = line.request() {
            if request.method() != "tools/call" {
                line.answer(&request, Era::Modern, Kind::Json);
                continue;
            }
            line.begin_events();
            line.event(&reply(&request.body, Era::Modern).unwrap());
            // Once the client has its result.
            gone.lock().unwrap().recv().unwrap();
            line.end_events();
        }
    });
    block_on(async {
        let client = Client::connect(web.url()).await.unwrap();
        for _ in 0..20 {
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            go.send(()).unwrap();
        }
        // A busy machine may take longer than the client waits for the end.
        assert!(web.connections() < 10, "{}", web.connections());
    });
}

#[test]
fn a_server_that_stalls_one_answer_does_not_hold_up_the_others() {
    let (tell, told) = channel();
    let web = Web::start(move |mut line| {
        while let Some(request) = line.request() {
            if request.body["params"]["arguments"]["message"] == json!("stall") {
                line.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{");
                let _ = tell.send("stalled");
                return line.wait_end();
            }
            line.answer(&request, Era::Modern, Kind::Sse);
        }
    });
    block_on(async {
        let client = Client::connect(web.url()).await.unwrap();
        let stalled: Vec<_> = (0..3).map(|_| begin(&client, "stall")).collect();
        for _ in 0..3 {
            assert_eq!(word(&told).await, "stalled");
        }
        for n in 0..100 {
            assert_eq!(echo(&client, &n.to_string()).await.unwrap(), n.to_string());
        }
        drop(stalled);
        client.close().await;
    });
}
