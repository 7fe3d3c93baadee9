//! What two runtimes that have done the same thing agree about.

use serde_json::{Value, json};

/// Where servers of a test listen; the port is another one each time.
const HERE: &str = "127.0.0.1:";

/// The inputs and the outputs of a journal, without what each run has of its own: times, the number
/// of a process, the port of a server, the pieces in which bytes came, timeouts, and how much was
/// written when.
///
/// Two things are left open, since no runtime decides about them. A process that ends closes its
/// pipes and dies in one go, and whoever looks meanwhile sees some of it. And what was let go of (an
/// exchange that is no longer wanted, the pipes of a process whose stdin was closed) ends whenever
/// that suits the one who performs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gist {
    /// The inputs, in order. Bytes of one source that no other input came between are one input.
    pub inputs: Vec<String>,
    /// The outputs, in order.
    pub outputs: Vec<String>,
}

impl Gist {
    /// Boils a journal down.
    ///
    /// # Panics
    /// When it is no journal.
    pub fn of(journal: &str) -> Self {
        let (mut inputs, mut outputs, mut let_go) = (Vec::new(), Vec::new(), Vec::new());
        for line in journal.lines().skip(1) {
            let mut line: Value =
                serde_json::from_str(&without_port(line)).expect("a line of JSON");
            if let Some(output) = line.get("out") {
                let_go.extend(no_longer_wanted(output));
                outputs.push(output.to_string());
                continue;
            }
            let input = line.get_mut("in").map(Value::take).expect("an input or an output");
            if counts(&input) {
                inputs.push(without_pid(input));
            }
        }
        inputs.retain(|input| !let_go.iter().any(|of| of == input));
        for of_one in inputs
            .chunk_by_mut(|one, next| process(one).is_some_and(|it| Some(it) == process(next)))
        {
            of_one.sort_by_key(pipe);
        }
        let mut joined: Vec<Value> = Vec::new();
        for input in inputs {
            if !joined.last_mut().is_some_and(|last| join(last, &input)) {
                joined.push(input);
            }
        }
        Gist { inputs: joined.iter().map(Value::to_string).collect(), outputs }
    }

    /// How often an output with this member was told.
    pub fn told(&self, member: &str) -> usize {
        let has = |output: &&String| {
            let output: Value = serde_json::from_str(output).unwrap_or_default();
            output.get(member).is_some()
        };
        self.outputs.iter().filter(has).count()
    }
}

/// The process that an input is about.
fn process(input: &Value) -> Option<&Value> {
    input.pointer("/stdio/0")
}

/// What of a process an input is about, in the order in which each is put.
fn pipe(input: &Value) -> usize {
    let what = input.pointer("/stdio/1");
    let word = what.and_then(Value::as_str);
    let member = what.and_then(Value::as_object).and_then(|it| it.keys().next());
    let name = word.or(member.map(String::as_str)).unwrap_or_default();
    let all = ["spawned", "stdout", "stdout_closed", "stderr", "stderr_closed", "exited"];
    let at = all.iter().position(|it| *it == name).unwrap_or(all.len());
    // Bytes and the end of a pipe stay as they came.
    if matches!(name, "stdout_closed" | "stderr_closed") { at - 1 } else { at }
}

/// The inputs that may come at any time, or never, once this was told.
fn no_longer_wanted(output: &Value) -> Vec<Value> {
    let (exchange, process) = (&output["exchange"], &output["process"]);
    if output["http"] == "release" || output["http"] == "abort" {
        vec![json!({ "http": [exchange, "end"] })]
    } else if output["stdio"] == "close_stdin" {
        ["stdout_closed", "stderr_closed"].map(|it| json!({ "stdio": [process, it] })).into()
    } else {
        Vec::new()
    }
}

fn without_port(line: &str) -> String {
    let mut parts = line.split(HERE);
    let mut text = String::from(parts.next().unwrap_or_default());
    for part in parts {
        text.push_str(HERE);
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}

/// Timeouts and counts of what was written are told whenever a runtime gets to it.
fn counts(input: &Value) -> bool {
    input != "timeout" && input.pointer("/stdio/1/written").is_none()
}

fn without_pid(mut input: Value) -> Value {
    if let Some(pid) = input.pointer_mut("/stdio/1/spawned") {
        *pid = json!(0);
    }
    input
}

/// Bytes go to those of the same source that came last. Whether they did.
fn join(last: &mut Value, input: &Value) -> bool {
    for (way, bytes) in [("stdio", "stdout"), ("stdio", "stderr"), ("http", "body")] {
        let (source, at) = (format!("/{way}/0"), format!("/{way}/1/{bytes}"));
        let more = input.pointer(&at).and_then(Value::as_str);
        let same = more.is_some() && last.pointer(&source) == input.pointer(&source);
        if let (true, Some(more), Some(before)) = (same, more, last.pointer_mut(&at))
            && let Some(text) = before.as_str()
        {
            *before = Value::from(format!("{text}{more}"));
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::Gist;

    #[test]
    fn what_each_run_has_of_its_own_is_left_out() {
        let gist = |port: u16, pid: u32, pieces: [&str; 3]| {
            let pieces = pieces
                .map(|it| format!(r#"{{"at":[1,2],"in":{{"stdio":[1,{{"stdout":"{it}"}}]}}}}"#));
            let [first, second, third] = pieces;
            Gist::of(&format!(
                "{{\"header\":1}}\n{{\"at\":[{pid},5],\"in\":{{\"stdio\":[1,{{\"spawned\":{pid}}}]}}}}\n\
                 {first}\n{{\"at\":[5,9],\"out\":{{\"event\":\"http://127.0.0.1:{port}/mcp\"}}}}\n\
                 {{\"at\":[1,1],\"in\":{{\"stdio\":[1,{{\"written\":{pid}}}]}}}}\n{second}\n\
                 {{\"at\":[1,1],\"in\":\"timeout\"}}\n{third}\n{{\"at\":[1,1],\"in\":\"close\"}}\n"
            ))
        };
        let one = gist(4711, 7, ["a", "", "bc"]);
        assert_eq!(one, gist(80, 8, ["abc", "", ""]));
        assert_eq!(one.inputs.len(), 3, "{one:?}");
        assert_ne!(one, gist(80, 8, ["abd", "", ""]));
        assert_eq!(one.told("event"), 1);
    }

    fn gist(inputs: &[&str]) -> Gist {
        let lines = inputs.iter().map(|it| format!("{{\"at\":[1,2],{it}}}\n"));
        Gist::of(&format!("{{}}\n{}", lines.collect::<String>()))
    }

    #[test]
    fn bytes_that_something_came_between_are_apart() {
        let one = r#""in":{"stdio":[1,{"stdout":"x"}]}"#;
        let other = r#""in":{"stdio":[2,{"stdout":"x"}]}"#;
        assert_eq!(gist(&[one, other, one]).inputs.len(), 3);
        assert_ne!(gist(&[one, one, other]), gist(&[other, one, one]));
    }

    #[test]
    fn a_process_ends_in_any_order() {
        let closed = r#""in":{"stdio":[1,"stdout_closed"]}"#;
        let (said, other) = (r#""in":{"stdio":[1,{"stderr":"x"}]}"#, r#""in":"close""#);
        let exited = r#""in":{"stdio":[1,{"exited":{"code":0}}]}"#;
        assert_eq!(gist(&[closed, said, exited]), gist(&[exited, said, closed]));
        assert_ne!(gist(&[closed, other, exited]), gist(&[exited, other, closed]));
        let end = r#""out":{"process":1,"stdio":"close_stdin"}"#;
        assert_eq!(gist(&[end, closed, exited, other]), gist(&[end, exited, other]));
        assert_ne!(gist(&[end, exited, other]), gist(&[end, other]));
    }

    #[test]
    fn an_exchange_that_was_let_go_of_ends_at_any_time() {
        let (end, close) = (r#""in":{"http":[1,"end"]}"#, r#""in":"close""#);
        let release = r#""out":{"exchange":1,"owner":"connection","http":"release"}"#;
        assert_eq!(gist(&[release, end, close]), gist(&[release, close, end]));
        assert_ne!(gist(&[end, close]), gist(&[close, end]));
    }
}
