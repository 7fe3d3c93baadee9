//! What has to hold on smol and on tokio alike. Whoever includes it provides `Client`, `block_on`,
//! `spawn` and `unblock`.

use std::path::PathBuf;
use std::process::Command as Tool;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_lite::future::zip;
use mcp_proto::Command;
use mcp_tests::processes::wait_gone;
use tempfile::TempDir;

use super::{Client, unblock};

mod calls;
mod ends;

/// The longest that a drop may take.
pub(crate) const DROP: Duration = Duration::from_millis(150);

/// The demo server: the quickstart of this crate, which cargo builds before its tests.
pub(crate) fn demo() -> Vec<String> {
    let test = std::env::current_exe().unwrap();
    let examples = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let program = examples.join("quickstart");
    assert!(program.exists(), "run all tests of this crate, so that its examples are built");
    [program.to_str().unwrap(), "--demo-server", "stdio"].map(String::from).to_vec()
}

/// Where servers write down their pids, each line by line; reading waits for the writers to close.
pub(crate) struct Pids {
    path: PathBuf,
    _dir: TempDir,
}

impl Pids {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pids");
        assert!(Tool::new("mkfifo").arg(&path).status().unwrap().success());
        Pids { path, _dir: dir }
    }

    /// A command line that writes its pid before it becomes that program.
    pub(crate) fn of(&self, program: Vec<String>) -> Command {
        self.sh(r#"echo $$ > "$0"; exec "$@""#, program)
    }

    /// A shell that waits for the program, as launchers do, and writes the pids of both.
    pub(crate) fn of_wrapped(&self, program: Vec<String>) -> Command {
        let script = r#"exec 3<&0; "$@" <&3 3<&- & exec 3<&-; echo $$ $! > "$0"; wait"#;
        self.sh(script, program)
    }

    /// A server that neither answers nor goes when its stdin is closed, and has a child.
    pub(crate) fn of_silent(&self) -> Command {
        self.sh(r#"sleep 300 & echo $$ $! > "$0"; wait"#, Vec::new())
    }

    fn sh(&self, script: &str, program: Vec<String>) -> Command {
        let path = self.path.to_str().unwrap();
        Command::new("sh").args(["-c", script, path]).args(program)
    }

    /// The pids of the next server. It waits until that is launched.
    pub(crate) fn read(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(&self.path).unwrap();
        text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// The same for a server whose launch nothing else drives.
    pub(crate) async fn wait(self: &Arc<Self>) -> Vec<u32> {
        let this = Arc::clone(self);
        unblock(move || this.read()).await
    }
}

/// A client of a server that writes down its pids, and these.
pub(crate) async fn connect(pids: &Arc<Pids>, target: Command) -> (Client, Vec<u32>) {
    let (client, pids) = zip(Client::connect(target), pids.wait()).await;
    (client.unwrap(), pids)
}

/// A server's children were killed by now, which they may take a moment to notice.
#[track_caller]
pub(crate) fn assert_gone(pids: &[u32]) {
    assert!(!pids.is_empty());
    for pid in pids {
        assert!(wait_gone(*pid, Duration::from_secs(10)), "process {pid} still runs");
    }
}

/// Does it until it takes less than a drop may: a busy machine adds its own time. What it has to
/// leave behind holds each time.
#[track_caller]
pub(crate) fn within_a_drop(mut act: impl FnMut() -> Duration) {
    let took: Vec<_> = (0..10).map(|_| act()).take_while(|took| *took > DROP).collect();
    assert!(took.len() < 10, "each drop takes too long: {took:?}");
}

pub(crate) fn timed(act: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    act();
    begin.elapsed()
}

pub(crate) async fn add(client: &Client, a: u32, b: u32) -> String {
    let arguments = serde_json::json!({ "a": a, "b": b });
    client.call_tool("add", arguments).await.unwrap().text().into_owned()
}
