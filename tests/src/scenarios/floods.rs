//! Floods: what a server can send without end.

use std::io::{BufRead, BufReader, Write, copy};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mcp_proto::EraChoice;
use mcp_proto::driver::CallOptions;
use serde_json::json;

use super::{Over, Stage};
use super::conversation::echo;
use crate::client::{Client, Setup, within};
use crate::logs;
use crate::pipe::{duplex, pipe};
use crate::script::Script;

/// M-UNTR-14, M-NOTE-06
pub fn pings_wait_while_nobody_reads_their_answers(on: &Stage) {
    const PINGS: u64 = 2000;
    let script = Script::new()
        .handshake("2025-11-25")
        .expect_as("tools/call", "call")
        .repeat(PINGS, Script::new().ask("$n", "ping", "{}"))
        .wait_for("tools/call")
        .text_for("call", "\"done\"")
        .answer_rest();
    // What the client writes goes through a pipe of 64 bytes, and on to the server only as far as
    // the first call until the floodgate is opened. The server itself has room for all of it.
    let (stream, (reader, writer)) = duplex(64);
    let (mut onward, input) = pipe(1 << 20);
    let (open, floodgate) = channel::<()>();
    let relay = thread::spawn(move || {
        let mut reader = BufReader::with_capacity(1, reader);
        for _ in ["initialize", "notifications/initialized", "tools/call"] {
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line).unwrap();
            onward.write_all(&line).unwrap();
        }
        floodgate.recv().unwrap();
        copy(&mut reader, &mut onward).unwrap();
    });
    let playing = script.spawn(input, writer);
    // A pong is 36 bytes and more: all of them never fit.
    let setup = Setup::new().era(EraChoice::Legacy);
    let setup = setup.with(|config| config.max_reply_bytes = 16 * 1024);
    let client = Client::over(on.runtime, stream, setup).unwrap();
    let call = client.begin("x", json!({})).unwrap();
    let error = client.call_tool_with("x", json!({}), within(Duration::from_secs(1))).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    open.send(()).unwrap();
    assert_eq!(call.wait().unwrap().text(), "done");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    relay.join().unwrap();
    assert_eq!(playing.finish().check().responses().len(), 2000);
}

/// M-PROG-07, M-TIME-11
pub fn a_stalled_callback_stalls_its_own_call_only(on: &Stage) {
    const STEPS: u64 = 5000;
    let progress = Script::new().notify(
        "notifications/progress",
        r#"{"progressToken":$slow.token,"progress":$n,"message":"some words about it"}"#,
    );
    let script = Script::modern()
        .expect_as("tools/call", "slow")
        .repeat(STEPS, progress)
        .text_for("slow", "\"slow\"")
        .answer_rest();
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let (client, playing) = on.play_with(script, setup);
    let (entered, stalled) = channel();
    let (release, released) = channel::<()>();
    let mut seen = 0;
    let options = CallOptions::new().timeout(Duration::from_secs(120)).on_progress(move |_| {
        seen += 1;
        if seen == 1 {
            entered.send(()).unwrap();
            released.recv().unwrap();
        }
    });
    let (reported, caller) = channel();
    let calling = client.clone();
    let thread = thread::spawn(move || {
        reported.send(calling.call_tool_with("x", json!({}), options)).unwrap();
    });
    stalled.recv().unwrap();
    for n in 0..20 {
        assert_eq!(echo(&client, &n.to_string()), n.to_string());
    }
    if on.over == Over::Stdio {
        // One stream brings everything, and is read on. Of an exchange nobody has to read more.
        logs::wait_for(&name, "too many items wait");
    }
    assert!(caller.try_recv().is_err(), "its result waits for its callback");
    release.send(()).unwrap();
    assert_eq!(caller.recv().unwrap().unwrap().text(), "slow");
    thread.join().unwrap();
    client.close();
    playing.finish().check();
}
