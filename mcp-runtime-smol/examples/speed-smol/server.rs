//! What both speed examples share: a server that costs as little as possible, and the figures.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use mcp_tests::demo::{Action, Demo, Options};

/// The argument by which the program is told to be the server.
pub(crate) const SERVE: &str = "--serve";

/// One request, as a bare loop sends it.
pub(crate) const REQUEST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1234567,"method":"tools/call","params":{"name":"echo","#,
    r#""arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"#,
    r#""2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-proto","version":"0.1.0"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n"
);

/// Answers `tools/call` without looking at more than its id, and all else as the demo server does.
pub(crate) fn serve() {
    let mut demo = Demo::new(Options::default());
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout());
    let (mut buffer, mut held, mut answer) = (vec![0; 65536], Vec::new(), Vec::new());
    while let Ok(n @ 1..) = stdin.read(&mut buffer) {
        held.extend_from_slice(&buffer[..n]);
        let mut done = 0;
        while let Some(end) = held[done..].iter().position(|byte| *byte == b'\n') {
            answer_line(&mut demo, &held[done..done + end], &mut answer);
            done += end + 1;
        }
        held.drain(..done);
        // Not through `Stdout`, which would look for line ends.
        if !answer.is_empty() && stdout.write_all(&answer).and_then(|()| stdout.flush()).is_err() {
            return;
        }
        answer.clear();
    }
}

fn answer_line(demo: &mut Demo, line: &[u8], answer: &mut Vec<u8>) {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let id = text.split_once(r#""id":"#).filter(|_| text.contains("tools/call"));
    if let Some((_, rest)) = id {
        let id = rest.split([',', '}']).next().unwrap_or_default();
        answer.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        answer.extend_from_slice(id.as_bytes());
        answer.extend_from_slice(
            br#","result":{"resultType":"complete","content":[{"type":"text","text":"hi"}]}}"#,
        );
        answer.push(b'\n');
        return;
    }
    for action in demo.receive(line) {
        if let Action::Send(message) = action {
            let _ = message.write_line(answer);
        }
    }
}

/// Calls a second, for one stretch of calls.
pub(crate) fn rate(calls: u32, took: Duration) -> f64 {
    f64::from(calls) / took.as_secs_f64()
}

/// Prints the medians of two columns of rates, and what the second is of the first.
pub(crate) fn report(runtime: &str, rounds: &mut [(f64, f64)]) {
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let bare = median(rounds.iter().map(|round| round.0).collect());
    let client = median(rounds.iter().map(|round| round.1).collect());
    let ratio = median(rounds.iter().map(|round| round.1 / round.0).collect());
    println!("{runtime}: bare {bare:.0}/s, client {client:.0}/s, ratio {ratio:.3}");
}

/// How long one stretch took.
pub(crate) struct Stretch(Instant);

impl Stretch {
    /// It begins now.
    pub(crate) fn begin() -> Self {
        Stretch(Instant::now())
    }

    /// It has ended, with this many calls.
    pub(crate) fn end(self, calls: u32) -> f64 {
        rate(calls, self.0.elapsed())
    }
}
