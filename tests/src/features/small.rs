//! Servers that have nothing but tools.

use std::time::{Duration, Instant};

use mcp_proto::ErrorKind;
use mcp_proto::model::{LoggingLevel, Root};
use serde_json::json;

use super::{Check, Failure, Talk, holds, same};

/// What server-filesystem offers.
pub(super) const FILESYSTEM: &[Check] = &[
    ("offers", |talk| talk.offers(&["tools"])),
    ("tools", |talk| {
        let list = talk.client.list_tools()?;
        same("there is write_file", list.iter().any(|it| it.name == "write_file"), true)?;
        Ok(format!("{} tools", list.len()))
    }),
    ("roots", roots),
    ("capabilities", refused),
    ("failures", failures),
    ("batch", batch),
    ("ping", ping),
];

/// What mcp-server-time offers.
pub(super) const TIME: &[Check] = &[
    ("offers", |talk| talk.offers(&["prompts", "resources", "tools"])),
    ("tools", |talk| talk.tools(&["convert_time", "get_current_time"])),
    ("failures", |talk| {
        let failed = talk.client.call_tool("get_current_time", json!({ "timezone": "Nowhere" }))?;
        same("is_error", failed.is_error, true)?;
        holds("what failed", &failed.text(), "Nowhere")?;
        Ok("an unknown time zone is a failure of the tool".into())
    }),
    ("empty lists", nothing),
    ("ping", ping),
];

/// The roots of the client take the place of the folder on the command line.
fn roots(talk: &Talk) -> Result<String, Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().canonicalize()?;
    let path = path.to_str().ok_or("the folder for temporary files has no name in Unicode")?;
    std::fs::write(folder.path().join("note.txt"), "the note of a root")?;
    talk.client.set_roots(vec![Root::new(format!("file://{path}"))?])?;
    // The server asks when it has been told, and says nothing when it has read the answer.
    let since = Instant::now();
    loop {
        let folders = talk.call("list_allowed_directories", json!({}))?;
        if folders.text().contains(path) {
            break;
        }
        if since.elapsed() > Duration::from_secs(20) {
            holds("the folders", &folders.text(), path)?;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let note = json!({ "path": format!("{path}/note.txt") });
    talk.call_for("read_text_file", note, "the note of a root")?;
    Ok("a file below the new root was read".into())
}

fn failures(talk: &Talk) -> Result<String, Failure> {
    let failed = talk.client.call_tool("read_text_file", json!({ "path": "/etc/passwd" }))?;
    same("is_error", failed.is_error, true)?;
    holds("what failed", &failed.text(), "denied")?;
    Ok("a file outside is denied".into())
}

/// Several calls at once, each with its own answer.
fn batch(talk: &Talk) -> Result<String, Failure> {
    let call = || ("list_allowed_directories".to_owned(), json!({}));
    let results = talk.client.call_tools((0..20).map(|_| call()).collect());
    for result in &results {
        let result = result.as_ref().map_err(ToString::to_string)?;
        holds("one of them", &result.text(), "Allowed directories")?;
    }
    Ok(format!("{} calls at once", results.len()))
}

/// What is not offered is not asked for, or refused by the server.
fn refused(talk: &Talk) -> Result<String, Failure> {
    let error = talk.client.set_logging_level(LoggingLevel::Error).err().ok_or("a level")?;
    match error.kind() {
        ErrorKind::Capability(what) => same("what is not offered", &**what, "logging")?,
        _ => return Err(error.into()),
    }
    let error = talk.client.list_prompts().err().ok_or("a list that is not offered")?;
    same("the code", error.server_error().map(|it| it.code), Some(-32601))?;
    Ok("neither logging nor prompts".into())
}

/// What is offered may be nothing.
fn nothing(talk: &Talk) -> Result<String, Failure> {
    same("prompts", talk.client.list_prompts()?.len(), 0)?;
    same("resources", talk.client.list_resources()?.len(), 0)?;
    same("templates", talk.client.list_resource_templates()?.len(), 0)?;
    Ok("no prompts, resources and templates".into())
}

pub(super) fn ping(talk: &Talk) -> Result<String, Failure> {
    talk.client.ping()?;
    Ok("it is there".into())
}
