//! Clients over byte streams of the host's own.

use std::thread;

use mcp_runtime_blocking::proto::{CloseReason, TransportError};
use mcp_runtime_blocking::{Background, Client, ErrorKind};
use mcp_tests::script::{Ending, Script};
use serde_json::json;

fn over(background: Background, script: Script) -> (Client, mcp_tests::script::Playing) {
    let ((reader, writer), playing) = script.over_pipe(64);
    (Client::builder().background(background).over(reader, writer).unwrap(), playing)
}

#[test]
fn many_calls_fit_through_a_pipe_of_64_bytes() {
    for background in [Background::Helper, Background::Never] {
        let (client, playing) = over(background, Script::new().answer_rest());
        thread::scope(|scope| {
            for caller in 0..64 {
                let client = &client;
                scope.spawn(move || {
                    let message = format!("{caller} {}", "x".repeat(200));
                    let result = client.call_tool("echo", json!({ "message": message })).unwrap();
                    assert_eq!(result.text(), message);
                });
            }
        });
        client.close();
        assert_eq!(client.closed(), CloseReason::Closed);
        assert_eq!(playing.finish().check().count("tools/call"), 64);
    }
}

#[test]
fn the_end_of_the_stream_is_the_end_of_the_client() {
    for background in [Background::Helper, Background::Never] {
        let script = Script::modern().expect("tools/call").close_stdout();
        let (client, playing) = over(background, script);
        let error = client.call_tool("x", ()).unwrap_err();
        let ended = ErrorKind::Transport(TransportError::StreamEnded).to_string();
        assert_eq!(error.kind().to_string(), ended);
        assert_eq!(client.closed(), CloseReason::Transport(TransportError::StreamEnded));
        let error = client.ping().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error}");
        playing.finish().check();
    }
}

/// The writer is dropped, although the reader is blocked in a read of its own.
#[test]
fn a_drop_lets_go_of_the_stream() {
    let (client, playing) = over(Background::Helper, Script::modern().expect_end());
    drop(client);
    let transcript = playing.finish();
    assert_eq!(transcript.check().ending(), Some(&Ending::Finished));
}

/// A flood of pings from a server that does not read is not read for ever, and closing works.
#[test]
fn a_server_that_does_not_read_can_be_closed() {
    let flood = Script::new().ask("$n", "ping", r#"{"padding":"................"}"#);
    let script = Script::legacy("2025-11-25").repeat(100_000, flood).hang();
    let (client, playing) = over(Background::Helper, script);
    let error = client
        .call_tool_with(
            "x",
            (),
            mcp_runtime_blocking::CallOptions::new().timeout(std::time::Duration::from_millis(100)),
        )
        .unwrap_err();
    assert!(error.is_timeout(), "{error}");
    drop(client);
    drop(playing);
}
