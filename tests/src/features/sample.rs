//! What `sample.py` offers: the official SDK for Python, which speaks both eras, and asks its client
//! in the form of each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_proto::driver::CallOptions;
use mcp_proto::model::{CompletionReference, Content, LoggingLevel, NotificationKind};
use mcp_proto::op::Complete;
use mcp_proto::{ErrorKind, Outcome};
use serde_json::{Value, json};

use super::host::{Host, OPINION};
use super::small::ping;
use super::{Check, Failure, Talk, holds, same};
use crate::client::within;

const TOOLS: &[&str] = &[
    "add",
    "contents",
    "everything",
    "fail",
    "folders",
    "grow",
    "log",
    "opinion",
    "page",
    "person",
    "slow",
    "stopped",
];

pub(super) const CHECKS: &[Check] = &[
    ("offers", |talk| talk.offers(&["completions", "logging", "prompts", "resources", "tools"])),
    ("tools", |talk| talk.tools(TOOLS)),
    ("results", results),
    ("content", content),
    ("prompts", prompts),
    ("resources", resources),
    ("list changes", list_changes),
    ("completion", completion),
    ("logging", logging),
    ("progress", progress),
    ("cancellation", cancellation),
    ("timeouts", timeouts),
    ("elicitation", elicitation),
    ("pages to visit", page),
    ("sampling", sampling),
    ("roots", roots),
    ("several questions", everything),
    ("batch", batch),
    ("ping", ping),
];

fn results(talk: &Talk) -> Result<String, Failure> {
    let sum: Value = talk.call("add", json!({ "a": 19, "b": 23 }))?.structured()?;
    same("the sum", sum, json!({ "result": 42 }))?;
    let failed = talk.client.call_tool("fail", json!({}))?;
    same("is_error", failed.is_error, true)?;
    holds("what failed", &failed.text(), "this tool always fails")?;
    let failed = talk.client.call_tool("add", json!({ "a": 1 }));
    let error = failed.err().ok_or("added nothing to one")?;
    same("the call was not sent", error.outcome(), Outcome::NotSent)?;
    let unknown = talk.client.call_tool("nothing", json!({}));
    match unknown {
        Ok(result) => holds("an unknown tool", &result.text(), "nothing")?,
        Err(error) => holds("an unknown tool", &error.to_string(), "nothing")?,
    }
    Ok("structured, failed, unknown".into())
}

fn content(talk: &Talk) -> Result<String, Failure> {
    let result = talk.call("contents", json!({}))?;
    let [
        Content::Text(text),
        Content::Image(image),
        Content::Audio(audio),
        Content::ResourceLink(link),
        Content::Resource(held),
    ] = &*result.content
    else {
        return Err(format!("not one of each: {:?}", result.content).into());
    };
    same("the text", &*text.text, "one of each")?;
    same("the image", (&*image.mime_type, image.bytes()?), ("image/png", b"\x89PNG".to_vec()))?;
    same("the sound", (&*audio.mime_type, audio.bytes()?), ("audio/wav", b"RIFF".to_vec()))?;
    same("the link", &*link.uri, "sample://greeting")?;
    same("the resource", held.resource.bytes()?, b"\x89PNG".to_vec())?;
    Ok("one of each of 5 kinds".into())
}

fn prompts(talk: &Talk) -> Result<String, Failure> {
    let prompts = talk.client.list_prompts()?;
    let names: Vec<&str> = prompts.iter().map(|it| it.name.as_str()).collect();
    same("the prompts", names, vec!["sum_in_words", "review"])?;
    let arguments: Vec<(&str, bool)> =
        prompts[1].arguments.iter().map(|it| (it.name.as_str(), it.required)).collect();
    same("the arguments", arguments, vec![("code", true), ("language", false)])?;
    let get = |name: &str, arguments| talk.client.get_prompt(name.into(), arguments);
    let sum = get("sum_in_words", json!({ "a": "1", "b": "2" }))?;
    let text = sum.messages.first().and_then(|it| it.content.as_text());
    same("the sum", text, Some("What is 1 plus 2? Answer with one word."))?;
    let review = get("review", json!({ "code": "x = 1" }))?;
    let roles: Vec<&str> = review.messages.iter().map(|it| it.role.as_str()).collect();
    same("who speaks", roles, vec!["user", "assistant", "user"])?;
    let text = review.messages[0].content.as_text();
    same("with the default", text, Some("Review this rust: x = 1"))?;
    let image = matches!(review.messages[2].content, Content::Image(_));
    same("the last is an image", image, true)?;
    let error = get("review", json!({})).err().ok_or("a prompt without its argument")?;
    same("it is the server's error", error.server_error().is_some(), true)?;
    Ok("2 prompts, got with and without arguments".into())
}

fn resources(talk: &Talk) -> Result<String, Failure> {
    let resources = talk.client.list_resources()?;
    let names: Vec<&str> = resources.iter().take(2).map(|it| it.uri.as_str()).collect();
    same("the resources", names, vec!["sample://greeting", "sample://pixel"])?;
    let templates = talk.client.list_resource_templates()?;
    let uris: Vec<&str> = templates.iter().map(|it| it.uri_template.as_str()).collect();
    same("the templates", uris, vec!["sample://greeting/{name}"])?;
    let read = |uri: &str| talk.client.read_resource(uri.into());
    let text = read("sample://greeting")?;
    let text = text.contents.first().and_then(|it| it.text());
    same("the text", text, Some("Good morning from the sample server."))?;
    let pixel = read("sample://pixel")?;
    let pixel = pixel.contents.first().ok_or("no contents")?;
    same("its type", pixel.mime_type.as_deref(), Some("image/png"))?;
    same("its beginning", pixel.bytes()?.starts_with(b"\x89PNG\r\n\x1a\n"), true)?;
    let ada = read("sample://greeting/Ada")?;
    let text = ada.contents.first().and_then(|it| it.text());
    same("by the template", text, Some("Good morning, Ada."))?;
    for nowhere in ["sample://greeting/nobody", "sample://nowhere"] {
        let error = read(nowhere).err().ok_or("something is nowhere")?;
        let ErrorKind::ResourceNotFound { uri, .. } = error.kind() else {
            return Err(error.into());
        };
        same("what is not there", &**uri, nowhere)?;
    }
    Ok("a text, bytes, a template, nothing".into())
}

/// A modern server says so on a listen stream alone, which this client does not ask for yet.
fn list_changes(talk: &Talk) -> Result<String, Failure> {
    talk.host.forget();
    let name = format!("made-{}-{:?}", std::process::id(), talk.era).to_lowercase();
    let uri = talk.call("grow", json!({ "name": name }))?.text().into_owned();
    let read = talk.client.read_resource(uri.clone())?;
    let text = read.contents.first().and_then(|it| it.text()).map(str::to_owned);
    same("what has grown", text, Some(format!("{name} has grown")))?;
    let listed = talk.client.list_resources()?;
    same("it is listed", listed.iter().filter(|it| it.uri == uri).count(), 1)?;
    if talk.is_modern() {
        return Ok("a resource has grown".into());
    }
    talk.host.wait_for("resources", |it| it.kind == NotificationKind::ResourcesChanged)?;
    Ok("a resource has grown, and the server has said so".into())
}

fn completion(talk: &Talk) -> Result<String, Failure> {
    let prompt = || CompletionReference::prompt("review");
    let begun = talk.client.complete(prompt(), "language".into(), "c".into())?;
    same("languages", begun.values, vec!["c".to_owned(), "cobol".into()])?;
    same("how many", (begun.total, begun.has_more), (Some(2), false))?;
    let template = CompletionReference::resource("sample://greeting/{name}");
    let name = talk.client.complete(template, "name".into(), "A".into())?;
    same("names", name.values, vec!["A-of-sample://greeting/{name}".to_owned()])?;
    let given = Complete::new(prompt(), "code", "").given("language", "rust");
    let after = talk.client.complete_with(given)?.values;
    same("after another", after, vec!["code after ['language']".to_owned()])?;
    Ok("of a prompt, of a template, with what is settled".into())
}

/// A modern server sends what the level of the request asks for. A legacy one of this SDK is told,
/// and sends everything.
fn logging(talk: &Talk) -> Result<String, Failure> {
    let levels = |talk: &Talk| {
        let told = talk.host.told();
        let levels = told.iter().filter_map(|it| match &it.kind {
            NotificationKind::Message(it) if it.logger.as_deref() == Some("sample") => {
                Some(it.level)
            }
            _ => None,
        });
        levels.collect::<Vec<_>>()
    };
    let is_error = |it: &mcp_proto::model::Notification| matches!(&it.kind, NotificationKind::Message(it) if it.level == LoggingLevel::Error);
    talk.host.forget();
    talk.client.set_logging_level(LoggingLevel::Error)?;
    talk.call_for("log", json!({}), "logged")?;
    let told = talk.host.wait_for("the error", is_error)?;
    if let NotificationKind::Message(message) = told.kind {
        let data: Value = message.data.parse()?;
        same("the error", data, json!({ "what": "a failure" }))?;
    }
    let both = vec![LoggingLevel::Debug, LoggingLevel::Error];
    let wanted = if talk.is_modern() { vec![LoggingLevel::Error] } else { both.clone() };
    same("what was told at the level `error`", levels(talk), wanted)?;
    talk.host.forget();
    talk.client.set_logging_level(LoggingLevel::Debug)?;
    talk.call_for("log", json!({}), "logged")?;
    talk.host.wait_for("the error", is_error)?;
    same("what was told at the level `debug`", levels(talk), both)?;
    Ok("at two levels".into())
}

fn progress(talk: &Talk) -> Result<String, Failure> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let options = CallOptions::new().on_progress(move |it| {
        let it = (it.progress, it.total, it.message.unwrap_or_default());
        telling.lock().unwrap_or_else(PoisonError::into_inner).push(it);
    });
    let arguments = json!({ "steps": 3, "pause": 0.01 });
    let result = talk.client.call_tool_with("slow", arguments, options)?;
    same("the result", &*result.text(), "3 steps")?;
    let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let wanted = [1, 2, 3].map(|n| (f64::from(n), Some(3.0), format!("step {n}")));
    same("the progress", told, wanted.to_vec())?;
    Ok("3 steps".into())
}

/// How many calls the server has stopped, once that is as many as is wanted.
fn stopped(talk: &Talk, wanted: u64) -> Result<(), Failure> {
    let since = Instant::now();
    loop {
        let now: u64 = talk.call("stopped", json!({}))?.text().parse()?;
        if now == wanted {
            return Ok(());
        }
        if since.elapsed() > Duration::from_secs(20) {
            return same("calls that the server has stopped", now, wanted);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The server stops what was cancelled.
fn cancellation(talk: &Talk) -> Result<String, Failure> {
    let before: u64 = talk.call("stopped", json!({}))?.text().parse()?;
    let (begun, begins) = std::sync::mpsc::channel();
    let options = CallOptions::new().on_progress(move |_| {
        // Nobody listens any more once it has begun.
        let _ = begun.send(());
    });
    let arguments = json!({ "steps": 3000, "pause": 0.01 });
    let mut call = talk.client.begin_with("slow", arguments, options)?;
    let cancel = call.cancel_handle();
    let since = Instant::now();
    while begins.try_recv().is_err() {
        if let Some(ended) = call.try_take() {
            return Err(format!("ended before it was cancelled: {ended:?}").into());
        }
        if since.elapsed() > Duration::from_secs(20) {
            return Err("no progress to be seen".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    cancel();
    let error = call.wait().err().ok_or("a result after the cancellation")?;
    same("it was cancelled", matches!(error.kind(), ErrorKind::Cancelled), true)?;
    stopped(talk, before + 1)?;
    Ok("the server has stopped".into())
}

fn timeouts(talk: &Talk) -> Result<String, Failure> {
    let before: u64 = talk.call("stopped", json!({}))?.text().parse()?;
    let arguments = json!({ "steps": 1, "pause": 60 });
    let ended = talk.client.call_tool_with("slow", arguments, within(Duration::from_millis(300)));
    let error = ended.err().ok_or("a result after the time")?;
    same("it is a timeout", error.is_timeout(), true)?;
    stopped(talk, before + 1)?;
    Ok("after 0.3 s, and the server has stopped".into())
}

fn elicitation(talk: &Talk) -> Result<String, Failure> {
    let ask = |answer: Value| {
        talk.host.will_answer(answer);
        talk.call("person", json!({}))
    };
    let accepted = ask(json!({ "action": "accept", "content": { "name": "Ada" } }))?;
    same("with the defaults", &*accepted.text(), "Ada, 7, rust")?;
    let asked = talk.host.asked()?;
    same("the message", &asked["message"], &json!("Who are you?"))?;
    same("what is required", &asked["requestedSchema"]["required"], &json!(["name"]))?;
    let content = json!({ "name": "Eve", "age": 30, "language": "cobol" });
    let accepted = ask(json!({ "action": "accept", "content": content }))?;
    same("with everything", &*accepted.text(), "Eve, 30, cobol")?;
    same("a refusal", &*ask(json!({ "action": "decline" }))?.text(), "decline")?;
    same("a closed dialog", &*ask(json!({ "action": "cancel" }))?.text(), "cancel")?;
    same("how often it asked", talk.host.times_asked(), 3)?;
    Ok("accepted with defaults, declined, cancelled".into())
}

fn page(talk: &Talk) -> Result<String, Failure> {
    for action in ["accept", "decline"] {
        talk.host.will_answer(json!({ "action": action }));
        let result = talk.call("page", json!({}))?;
        same("what the server has heard", &*result.text(), action)?;
        let asked = talk.host.asked()?;
        same("the domain", &asked["domain"], &json!("login.example.com"))?;
        let id = if talk.is_modern() { Value::Null } else { json!("page-1") };
        same("the id", &asked["id"], &id)?;
    }
    Ok("visited, declined".into())
}

fn sampling(talk: &Talk) -> Result<String, Failure> {
    let result = talk.call("opinion", json!({ "topic": "cheese" }))?;
    same("the answer", result.text().into_owned(), format!("large-1: {OPINION}"))?;
    let texts = json!(["Say something about cheese."]);
    let wanted = json!({ "texts": texts, "system": "Be short.", "maxTokens": 9 });
    same("what was asked", talk.host.asked()?, wanted)?;
    Ok("the server has the answer of the model that it hinted at".into())
}

fn roots(talk: &Talk) -> Result<String, Failure> {
    talk.client.set_roots(Host::roots(1))?;
    let folders = talk.call("folders", json!({}))?;
    same("one root", &*folders.text(), "one: file:///tmp/one")?;
    talk.client.set_roots(Host::roots(2))?;
    let folders = talk.call("folders", json!({}))?;
    same("two roots", &*folders.text(), "one: file:///tmp/one; two: file:///tmp/two")?;
    Ok("1, then 2".into())
}

/// Three questions before one answer: at once on a modern server, one by one on a legacy one.
fn everything(talk: &Talk) -> Result<String, Failure> {
    talk.host.will_answer(json!({ "action": "accept", "content": { "name": "Ada" } }));
    let result = talk.call("everything", json!({ "topic": "cheese" }))?;
    same("the answer", &*result.text(), "Ada and large-1 in 2 folders")?;
    same("what was asked", talk.host.times_asked(), 2)?;
    Ok("a form, the model, the roots".into())
}

fn batch(talk: &Talk) -> Result<String, Failure> {
    let calls = (0..20).map(|n| ("add".to_owned(), json!({ "a": n, "b": 1 })));
    let results = talk.client.call_tools(calls.collect());
    for (n, result) in results.iter().enumerate() {
        let result = result.as_ref().map_err(ToString::to_string)?;
        same("one of them", result.text().into_owned(), (n + 1).to_string())?;
    }
    let over = if talk.over_sse { " over one stream" } else { "" };
    Ok(format!("{} calls at once{over}", results.len()))
}
