//! What the client wrote, and how the play ended.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a play ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All steps are played, and the client has closed its end.
    Finished,
    /// The script said so.
    Exited(i32),
    /// The script said so: by a signal, or by an abort (6).
    Died(i32),
    /// The client had closed the end that the server wrote to.
    Deserted,
    /// The client did not do what the script expects, or the script makes no sense.
    Failed(String),
}

/// What the client wrote, line by line, and how the play ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    lines: Vec<Vec<u8>>,
    ending: Option<Ending>,
}

/// A line of the transcript's file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Text(String),
    Base64(String),
    Ending(Ending),
}

impl Transcript {
    /// Reads the file that a child process has written. A child that was killed leaves one
    /// without an ending.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut transcript = Transcript::default();
        for line in fs::read_to_string(path)?.lines() {
            match serde_json::from_str(line)? {
                Entry::Text(text) => transcript.lines.push(text.into_bytes()),
                Entry::Base64(text) => {
                    let bytes = STANDARD.decode(text).map_err(io::Error::other)?;
                    transcript.lines.push(bytes);
                }
                Entry::Ending(ending) => transcript.ending = Some(ending),
            }
        }
        Ok(transcript)
    }

    pub(super) fn line_entry(line: &[u8]) -> String {
        let entry = match std::str::from_utf8(line) {
            Ok(text) => Entry::Text(text.to_owned()),
            Err(_) => Entry::Base64(STANDARD.encode(line)),
        };
        serde_json::to_string(&entry).unwrap_or_default()
    }

    pub(super) fn ending_entry(ending: &Ending) -> String {
        serde_json::to_string(&Entry::Ending(ending.clone())).unwrap_or_default()
    }

    pub(super) fn push(&mut self, line: &[u8]) {
        self.lines.push(line.to_vec());
    }

    pub(super) fn end(&mut self, ending: Ending) {
        self.ending = Some(ending);
    }

    /// The lines, each with its newline; only the last can lack it.
    pub fn lines(&self) -> &[Vec<u8>] {
        &self.lines
    }

    /// How the play ended; `None` while it goes on, or when the child was killed.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The lines that are JSON.
    pub fn messages(&self) -> Vec<Value> {
        let parse = |line: &Vec<u8>| serde_json::from_slice(line).ok();
        self.lines.iter().filter_map(parse).collect()
    }

    /// The method of each request and notification, in order.
    pub fn methods(&self) -> Vec<String> {
        let method = |message: Value| Some(message.get("method")?.as_str()?.to_owned());
        self.messages().into_iter().filter_map(method).collect()
    }

    /// The requests and notifications of this method, in order.
    pub fn of(&self, method: &str) -> Vec<Value> {
        let mut messages = self.messages();
        messages.retain(|message| message.get("method").is_some_and(|it| it == method));
        messages
    }

    /// How many requests and notifications of this method came.
    pub fn count(&self, method: &str) -> usize {
        self.of(method).len()
    }

    /// The client's answers to the server's requests, in order.
    pub fn responses(&self) -> Vec<Value> {
        let mut messages = self.messages();
        messages.retain(|message| message.get("method").is_none());
        messages
    }

    /// What breaks the rules of the stdio transport and of JSON-RPC, whatever the script.
    pub fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        let mut ids = BTreeSet::new();
        for line in &self.lines {
            if let Err(what) = judge(line, &mut ids) {
                let line = String::from_utf8_lossy(line);
                violations.push(format!("{what}: {line:?}"));
            }
        }
        violations
    }

    /// Panics, with everything that is known, when the play failed or the client broke a rule.
    /// Returns the transcript, for further assertions.
    #[track_caller]
    pub fn check(self) -> Self {
        if let Some(Ending::Failed(what)) = &self.ending {
            panic!("the play failed: {what}\nwritten by the client: {:#?}", self.messages());
        }
        let violations = self.violations();
        assert!(violations.is_empty(), "the client broke rules: {violations:#?}");
        self
    }
}

/// Judges one line; `ids` are those of the requests before it.
fn judge(line: &[u8], ids: &mut BTreeSet<String>) -> Result<(), &'static str> {
    let content = line.strip_suffix(b"\n").ok_or("no newline at its end")?;
    if content.trim_ascii().len() != content.len() || content.is_empty() {
        return Err("blank, or blanks around the message");
    }
    let text = std::str::from_utf8(content).map_err(|_| "not UTF-8")?;
    let message: Value = serde_json::from_str(text).map_err(|_| "not JSON")?;
    let Value::Object(members) = message else {
        return Err("not an object");
    };
    if members.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Err("`jsonrpc` is not \"2.0\"");
    }
    let id = members.get("id");
    if id.is_some_and(|id| !(id.is_string() || id.is_i64() || id.is_u64())) {
        return Err("`id` is neither a string nor an integer");
    }
    let (result, error) = (members.get("result"), members.get("error"));
    match (members.get("method"), id) {
        (Some(Value::String(_)), _) if result.is_some() || error.is_some() => {
            return Err("a request with a result");
        }
        (Some(Value::String(_)), Some(id)) if !ids.insert(id.to_string()) => {
            return Err("`id` was used before");
        }
        (Some(Value::String(_)), _) => {}
        (Some(_), _) => return Err("`method` is not a string"),
        (None, None) => return Err("neither a request nor an answer"),
        (None, Some(_)) if result.is_some() == error.is_some() => {
            return Err("an answer has either a result or an error");
        }
        (None, Some(_)) => {}
    }
    match members.get("params") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err("`params` is not an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(lines: &[&[u8]]) -> Vec<String> {
        let mut transcript = Transcript::default();
        for line in lines {
            transcript.push(line);
        }
        transcript.violations()
    }

    #[test]
    fn good_lines_pass() {
        let lines: [&[u8]; 5] = [
            b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"a\"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"0\",\"method\":\"a\",\"params\":{}}\n",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":1,\"message\":\"\"}}\n",
        ];
        assert_eq!(violations(&lines), Vec::<String>::new());
    }

    #[test]
    fn each_bad_line_is_named() {
        for bad in [
            &b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}"[..],
            b"\n",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\n",
            b"\xff\n",
            b"hello\n",
            b"[]\n",
            b"{\"method\":\"a\"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":{}}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}\n",
            b"{\"jsonrpc\":\"2.0\"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":null}\n",
        ] {
            assert_eq!(violations(&[bad]).len(), 1, "{}", String::from_utf8_lossy(bad));
        }
        let twice: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n";
        assert_eq!(violations(&[twice, twice]).len(), 1);
    }
}
