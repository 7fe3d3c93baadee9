//! What both speed examples share: a server that costs as little as possible, and the figures.

use std::io::{BufRead, Write};
use std::time::Instant;

use mcp_tests::demo::{Action, Demo, Options};

/// The argument by which the program is told to be the server.
const SERVE: &str = "--serve";

/// One request, as a bare loop sends it.
pub(crate) const REQUEST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","#,
    r#""arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"#,
    r#""2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-proto","version":"0.1.0"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n"
);

/// What the command line asks for. `None`: this process was the server, and is done.
pub(crate) struct Asked {
    /// How often both are measured, the one after the other.
    pub(crate) rounds: u32,
    /// How many calls a measurement has.
    pub(crate) calls: u32,
    /// The command line of the server: a program and its argument.
    pub(crate) server: [String; 2],
}

impl Asked {
    pub(crate) fn read() -> Option<Self> {
        let mut args = std::env::args().skip(1).peekable();
        if args.next_if(|arg| arg == SERVE).is_some() {
            serve();
            return None;
        }
        let mut number = |default| args.next().and_then(|arg| arg.parse().ok()).unwrap_or(default);
        let (rounds, calls) = (number(7), number(50_000));
        let program = std::env::current_exe().expect("the path of this program");
        let program = program.to_str().expect("a path that is text");
        Some(Asked { rounds, calls, server: [program, SERVE].map(String::from) })
    }
}

/// Answers `tools/call` without looking at more than its id, and all else as the demo server does.
fn serve() {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout());
    let (mut demo, mut line, mut answer) = (Demo::new(Options::default()), Vec::new(), Vec::new());
    while stdin.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        answer_line(&mut demo, &line, &mut answer);
        if stdout.write_all(&answer).and_then(|()| stdout.flush()).is_err() {
            return;
        }
        line.clear();
        answer.clear();
    }
}

fn answer_line(demo: &mut Demo, line: &[u8], answer: &mut Vec<u8>) {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let Some((id, _)) = text
        .strip_prefix(r#"{"jsonrpc":"2.0","id":"#)
        .and_then(|rest| rest.split_once(r#","method":"tools/call","#))
    else {
        for action in demo.receive(line) {
            if let Action::Send(message) = action {
                let _ = message.write_line(answer);
            }
        }
        return;
    };
    let said = if text.contains(r#""name":"pid""#) { std::process::id() } else { 0 };
    let _ = writeln!(
        answer,
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{said}"}}]}}}}"#,
    );
}

/// What a stretch of calls cost.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Calls a second.
    by_clock: f64,
    /// Calls per second of processor time, that of the server included: what they would be on a
    /// machine that does nothing else.
    by_processor: f64,
}

/// Measures calls, after some that warm up.
pub(crate) async fn measure(calls: u32, server: u32, mut call: impl AsyncFnMut()) -> Cost {
    for _ in 0..1000 {
        call().await;
    }
    let processor = || used("self") + used(&server.to_string());
    let (begin, before) = (Instant::now(), processor());
    for _ in 0..calls {
        call().await;
    }
    let calls = f64::from(calls);
    Cost {
        by_clock: calls / begin.elapsed().as_secs_f64(),
        by_processor: calls / (processor() - before),
    }
}

/// The processor time of all threads of a process, in seconds (Linux).
fn used(pid: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e9
}

/// Prints the medians of what the bare loop and the client cost, and of the ratios.
pub(crate) fn report(runtime: &str, rounds: &[(Cost, Cost)]) {
    let median = |of: &dyn Fn(&(Cost, Cost)) -> f64| {
        let mut all: Vec<_> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let line = |name: &str, of: &dyn Fn(&Cost) -> f64| {
        let (bare, client) = (median(&|(bare, _)| of(bare)), median(&|(_, client)| of(client)));
        let ratio = median(&|(bare, client)| of(client) / of(bare));
        println!("{runtime}, {name}: bare {bare:.0}/s, client {client:.0}/s, ratio {ratio:.3}");
    };
    line("by the clock", &|cost| cost.by_clock);
    line("by processor time", &|cost| cost.by_processor);
}
