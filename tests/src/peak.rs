//! What a client costs: the program `peak`, which does one thing in a process of its own, and says
//! how much memory and what else it took.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mcp_proto::driver::CallOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, Runtime, Setup, within};
use crate::script::{Program, Script};

/// What went wrong.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The most memory that was ever resident, in bytes (`VmHWM`), before the work and after it.
    pub before: u64,
    /// The same after it.
    pub peak: u64,
    /// How many file descriptors were open before the work.
    pub fds_before: usize,
    /// The same after it.
    pub fds_after: usize,
    /// How many children have ended and were not waited for.
    pub zombies: usize,
}

const USAGE: &str = "usage: peak --runtime blocking|smol|tokio|tokio-threads \
    (blob BYTES | blob-json BYTES | blob-sse BYTES | pings | progress | restarts COUNT)";

/// How large each message of a flood is, and how many there are: 32 MiB.
const PAD: usize = 1024;
const FLOOD: u64 = 32 * 1024;

/// Does what the arguments ask for. The servers are the programs beside this one.
///
/// # Errors
/// When the work cannot be done, or its outcome is not what it has to be.
pub fn run(args: impl IntoIterator<Item = String>) -> Result<Cost, Failure> {
    let args: Vec<String> = args.into_iter().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ["--runtime", runtime, work @ ..] = &args[..] else { return Err(USAGE.into()) };
    let runtime = runtime.parse().map_err(|error| format!("{error}\n{USAGE}"))?;
    let folder = std::env::current_exe()?.parent().map(Path::to_owned).unwrap_or_default();
    let place = Place { runtime, folder };
    // What a runtime sets up once is no leak.
    place.connect_demo()?.close();
    let (before, fds_before) = (high_water_mark()?, open_descriptors()?);
    match work {
        ["blob", bytes] => place.blob(place.connect_demo()?, bytes.parse()?)?,
        ["blob-json", bytes] => place.blob_over_http("json", bytes.parse()?)?,
        ["blob-sse", bytes] => place.blob_over_http("sse", bytes.parse()?)?,
        ["pings"] => place.pings()?,
        ["progress"] => place.progress()?,
        ["restarts", count] => place.restarts(count.parse()?)?,
        _ => return Err(USAGE.into()),
    }
    Ok(Cost {
        before,
        peak: high_water_mark()?,
        fds_before,
        fds_after: open_descriptors()?,
        zombies: zombies()?,
    })
}

struct Place {
    runtime: Runtime,
    folder: PathBuf,
}

impl Place {
    fn connect_demo(&self) -> Result<Client, Failure> {
        let demo = self.folder.join("demo").to_string_lossy().into_owned();
        Ok(Client::connect(self.runtime, [demo.as_str(), "stdio"], Setup::new())?)
    }

    fn connect(&self, script: Script) -> Result<Client, Failure> {
        let program = Program::new(self.folder.join("scripted"), script);
        Ok(Client::connect(self.runtime, program.argv(), Setup::new())?)
    }

    /// One large result, over HTTP in one of the two kinds of answers. The server is a process of
    /// its own, whose memory is not counted.
    fn blob_over_http(&self, answers: &str, bytes: usize) -> Result<(), Failure> {
        let mut demo = Command::new(self.folder.join("demo"))
            .args(["http", "0", "--answers", answers])
            .stdout(Stdio::piped())
            .spawn()?;
        let told = demo.stdout.take().ok_or("no stdout")?;
        let done = (|| {
            let mut line = String::new();
            BufReader::new(told).read_line(&mut line)?;
            let url = line.trim_end().strip_prefix("listening on ").ok_or("no URL")?;
            let client = Client::connect(self.runtime, url, Setup::new())?;
            self.blob(client, bytes)
        })();
        demo.kill()?;
        demo.wait()?;
        done
    }

    /// One large result.
    fn blob(&self, client: Client, bytes: usize) -> Result<(), Failure> {
        let result = client.call_tool("blob", json!({ "bytes": bytes }))?;
        let length = result.text().len();
        client.close();
        expect(length == bytes, &format!("a text of {length} bytes"))
    }

    /// A flood of pings, from a server that reads none of the answers.
    fn pings(&self) -> Result<(), Failure> {
        let ping = Script::new().ask("$params.arguments.pad", "ping", "{}");
        let script = Script::legacy("2025-11-25").expect("tools/call").repeat(FLOOD, ping);
        let client = self.connect(script)?;
        let called = client.call_tool_with("x", padded(), within(Duration::from_secs(3)));
        expect(called.is_err_and(|error| error.is_timeout()), "it was answered")
    }

    /// A flood of progress for a call whose callback does not return.
    fn progress(&self) -> Result<(), Failure> {
        let params =
            r#"{"progressToken":$slow.token,"progress":$n,"message":$slow.params.arguments.pad}"#;
        let progress = Script::new().notify("notifications/progress", params);
        let script = Script::modern()
            .expect_as("tools/call", "slow")
            .repeat(FLOOD, progress)
            .text_for("slow", "\"slow\"")
            .expect("tools/call")
            .text("\"quick\"");
        let client = self.connect(script)?;
        let (entered, stalled) = channel();
        let (release, released) = channel::<()>();
        let options = CallOptions::new().timeout(Duration::from_secs(120)).on_progress(move |_| {
            if entered.send(()).is_ok() {
                let _ = released.recv();
            }
        });
        let calling = client.clone();
        let slow = thread::spawn(move || calling.call_tool_with("x", padded(), options));
        stalled.recv()?;
        drop(stalled);
        // Its answer comes after the whole flood.
        let quick = client.call_tool("x", json!({}))?;
        drop(release);
        let slow = slow.join().map_err(|_| "the other call panicked")??;
        client.close();
        expect(quick.text() == "quick" && slow.text() == "slow", "they were mixed up")
    }

    /// Servers that exit at once: in their start, and in the middle of a call.
    fn restarts(&self, count: usize) -> Result<(), Failure> {
        let started = self.connect(Script::new().expect("server/discover").exit(1));
        expect(started.is_err(), "a server that is gone was connected")?;
        let client = self.connect(Script::modern().expect("tools/call").exit(1))?;
        for _ in 0..count {
            let failed = Client::connect(self.runtime, ["false"], Setup::new());
            expect(failed.is_err(), "`false` is no server")?;
            let lost = client.call_tool("x", json!({}));
            expect(lost.is_err(), "a server that is gone has answered")?;
        }
        client.close();
        Ok(())
    }
}

fn padded() -> Value {
    json!({ "pad": "x".repeat(PAD) })
}

fn expect(holds: bool, else_what: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(else_what.into()) }
}

/// `VmHWM`, in bytes.
fn high_water_mark() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")).ok_or("no VmHWM")?;
    Ok(kib.trim().parse::<u64>()? * 1024)
}

fn open_descriptors() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}

/// Children of this process that have ended and were not waited for.
fn zombies() -> io::Result<usize> {
    let own = std::process::id().to_string();
    let mut found = 0;
    for entry in fs::read_dir("/proc")? {
        // Most entries are no processes, and processes may go while they are looked at.
        let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next(), fields.next());
        found += usize::from(state == Some("Z") && parent == Some(&*own));
    }
    Ok(found)
}
