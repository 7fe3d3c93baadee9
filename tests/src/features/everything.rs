//! What server-everything offers. It is the specification's own server for tests, on the official
//! SDK for TypeScript, and speaks the legacy era alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_proto::driver::CallOptions;
use mcp_proto::model::{CompletionReference, Content, LoggingLevel, NotificationKind, TaskSupport};
use mcp_proto::op::Complete;
use mcp_proto::{ErrorKind, Outcome};
use serde_json::{Value, json};

use super::host::{Host, OPINION};
use super::small::ping;
use super::{Check, Failure, Talk, holds, same};
use crate::client::within;

const TOOLS: &[&str] = &[
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-roots-list",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "simulate-research-query",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-elicitation-request",
    "trigger-long-running-operation",
    "trigger-sampling-request",
    "trigger-url-elicitation",
];

const TEXT: &str = "demo://resource/dynamic/text/";
const BLOB: &str = "demo://resource/dynamic/blob/";

pub(super) const CHECKS: &[Check] = &[
    ("offers", |talk| {
        talk.offers(&["completions", "logging", "prompts", "resources", "tasks", "tools"])
    }),
    ("tools", |talk| talk.tools(TOOLS)),
    ("results", results),
    ("content", content),
    ("annotations", annotations),
    ("prompts", prompts),
    ("resources", resources),
    ("templates", templates),
    ("list changes", list_changes),
    ("completion", completion),
    ("logging", logging),
    ("progress", progress),
    ("cancellation", cancellation),
    ("timeouts", timeouts),
    ("elicitation", elicitation),
    ("pages to visit", pages),
    ("sampling", sampling),
    ("roots", roots),
    ("batch", batch),
    ("ping", ping),
];

fn results(talk: &Talk) -> Result<String, Failure> {
    let weather = talk.call("get-structured-content", json!({ "location": "Chicago" }))?;
    let weather: Value = weather.structured()?;
    let wanted = json!({ "temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82 });
    same("the weather", weather, wanted)?;
    talk.call_for("get-env", json!({}), "\"PATH\"")?;
    let failed = talk.client.call_tool("get-sum", json!({ "a": "x", "b": 1 }));
    match failed {
        Ok(result) => same("is_error", result.is_error, true)?,
        Err(error) => same("the code", error.server_error().map(|it| it.code), Some(-32602))?,
    }
    let list = talk.client.list_tools()?;
    let research = list.iter().find(|it| it.name == "simulate-research-query");
    let support = research.map(|tool| tool.task_support);
    same("the task that it must be", support, Some(TaskSupport::Required))?;
    Ok("structured, failed".into())
}

fn content(talk: &Talk) -> Result<String, Failure> {
    let image = talk.call("get-tiny-image", json!({}))?;
    let [Content::Text(_), Content::Image(image), Content::Text(_)] = &*image.content else {
        return Err(format!("no text, image, text: {:?}", image.content).into());
    };
    same("the type of the image", &*image.mime_type, "image/png")?;
    same("it is a PNG", image.bytes()?.starts_with(b"\x89PNG"), true)?;

    let links = talk.call("get-resource-links", json!({ "count": 4 }))?;
    let links: Vec<&str> = links.content.iter().filter_map(link).collect();
    let wanted = [(BLOB, 1), (TEXT, 2), (BLOB, 3), (TEXT, 4)].map(|(at, id)| format!("{at}{id}"));
    same("the links", links, wanted.iter().map(String::as_str).collect())?;

    for (kind, at) in [("Text", TEXT), ("Blob", BLOB)] {
        let arguments = json!({ "resourceType": kind, "resourceId": 7 });
        let result = talk.call("get-resource-reference", arguments)?;
        let held = result.content.iter().find_map(|it| match it {
            Content::Resource(held) => Some(&held.resource),
            _ => None,
        });
        let held = held.ok_or("no resource in the result")?;
        same("its address", held.uri.clone(), format!("{at}7"))?;
        same("it is text", held.is_text(), kind == "Text")?;
        holds("it", &String::from_utf8_lossy(&held.bytes()?), "Resource 7")?;
    }
    Ok("an image, 4 links, a text and a blob inside".into())
}

fn link(content: &Content) -> Option<&str> {
    match content {
        Content::ResourceLink(link) => Some(&link.uri),
        _ => None,
    }
}

fn annotations(talk: &Talk) -> Result<String, Failure> {
    let arguments = json!({ "messageType": "error", "includeImage": true });
    let result = talk.call("get-annotated-message", arguments)?;
    let [Content::Text(text), Content::Image(image)] = &*result.content else {
        return Err(format!("no text and image: {:?}", result.content).into());
    };
    let of_text = text.annotations.as_ref().ok_or("no annotations on the text")?;
    same("for whom the text is", &*of_text.audience, &["user".into(), "assistant".into()][..])?;
    same("how important it is", of_text.priority, Some(1.0))?;
    let of_image = image.annotations.as_ref().ok_or("no annotations on the image")?;
    same("for whom the image is", &*of_image.audience, &["user".into()][..])?;
    let echo = talk.client.list_tools()?;
    let echo = echo.iter().find(|tool| tool.name == "echo").ok_or("no echo")?;
    same("echo only reads", echo.annotations.read_only(), true)?;
    Ok("of content and of tools".into())
}

fn prompts(talk: &Talk) -> Result<String, Failure> {
    let prompts = talk.client.list_prompts()?;
    let names: Vec<&str> = prompts.iter().map(|it| it.name.as_str()).collect();
    let wanted = ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"];
    same("the prompts", names, wanted.to_vec())?;
    let arguments: Vec<(&str, bool)> =
        prompts[1].arguments.iter().map(|it| (it.name.as_str(), it.required)).collect();
    same("the arguments", arguments, vec![("city", true), ("state", false)])?;

    let get = |name: &str, arguments| talk.client.get_prompt(name.into(), arguments);
    let said = |name: &str, arguments: Value| -> Result<String, Failure> {
        let prompt = get(name, arguments)?;
        let text = prompt.messages.first().and_then(|message| message.content.as_text());
        Ok(text.ok_or("no text in the prompt")?.to_owned())
    };
    let simple = said("simple-prompt", json!({}))?;
    same("the simple one", &*simple, "This is a simple prompt without arguments.")?;
    let where_to = said("args-prompt", json!({ "city": "Bern" }))?;
    same("with one argument", &*where_to, "What's weather in Bern?")?;
    let where_to = said("args-prompt", json!({ "city": "Bern", "state": "BE" }))?;
    same("with both arguments", &*where_to, "What's weather in Bern, BE?")?;
    let promoted = said("completable-prompt", json!({ "department": "Sales", "name": "Eve" }))?;
    holds("the completable one", &promoted, "promote Eve to the head of the Sales team")?;

    let with = get("resource-prompt", json!({ "resourceType": "Blob", "resourceId": "3" }))?;
    let Some(Content::Resource(held)) = with.messages.get(1).map(|it| &it.content) else {
        return Err(format!("no resource in the prompt: {with:?}").into());
    };
    holds("the resource", &String::from_utf8_lossy(&held.resource.bytes()?), "Resource 3")?;
    let error = get("args-prompt", json!({})).err().ok_or("a prompt without its argument")?;
    same("the code", error.server_error().map(|it| it.code), Some(-32602))?;
    Ok("4 prompts, got with and without arguments".into())
}

fn resources(talk: &Talk) -> Result<String, Failure> {
    let resources = talk.client.list_resources()?;
    let documents = "demo://resource/static/document/";
    let documents: Vec<_> = resources.iter().filter(|it| it.uri.starts_with(documents)).collect();
    same("the documents", documents.len(), 7)?;
    let mut bytes = 0;
    for document in &documents {
        same("the type", document.mime_type.as_deref(), Some("text/markdown"))?;
        let read = talk.client.read_resource(document.uri.clone())?;
        let text = read.contents.first().and_then(|it| it.text()).ok_or("no text")?;
        holds(&document.uri, text, "# ")?;
        bytes += text.len();
    }
    let missing = talk.client.read_resource("demo://nowhere".into());
    let error = missing.err().ok_or("something is nowhere")?;
    same("the code", error.server_error().map(|it| it.code), Some(-32602))?;
    Ok(format!("{} documents of {bytes} bytes", documents.len()))
}

fn templates(talk: &Talk) -> Result<String, Failure> {
    let templates = talk.client.list_resource_templates()?;
    let uris: Vec<&str> = templates.iter().map(|it| it.uri_template.as_str()).collect();
    let wanted = [TEXT, BLOB].map(|at| format!("{at}{{resourceId}}"));
    same("the templates", uris, wanted.iter().map(String::as_str).collect())?;
    for (at, is_text) in [(TEXT, true), (BLOB, false)] {
        let read = talk.client.read_resource(format!("{at}12"))?;
        let contents = read.contents.first().ok_or("no contents")?;
        same("it is text", contents.is_text(), is_text)?;
        holds("it", &String::from_utf8_lossy(&contents.bytes()?), "Resource 12: This is a ")?;
    }
    Ok("a text and a blob".into())
}

/// A tool makes a resource, and the server says that there are others now.
fn list_changes(talk: &Talk) -> Result<String, Failure> {
    talk.host.forget();
    let name = format!("made-{}", std::process::id());
    let arguments = json!({ "name": name, "data": "data:text/plain,hello" });
    let made = talk.call("gzip-file-as-resource", arguments)?;
    let uri = made.content.iter().find_map(link).ok_or("no link")?;
    talk.host.wait_for("resources", |it| it.kind == NotificationKind::ResourcesChanged)?;
    let listed = talk.client.list_resources()?;
    same("it is listed", listed.iter().filter(|it| it.uri == uri).count(), 1)?;
    let read = talk.client.read_resource(uri.to_owned())?;
    let bytes = read.contents.first().ok_or("no contents")?.bytes()?;
    same("it is compressed", bytes.starts_with(&[0x1f, 0x8b]), true)?;
    Ok("a resource was made and listed".into())
}

fn completion(talk: &Talk) -> Result<String, Failure> {
    let prompt = || CompletionReference::prompt("completable-prompt");
    let begins = talk.client.complete(prompt(), "department".into(), "S".into())?;
    same("departments with S", begins.values, vec!["Sales".to_owned(), "Support".into()])?;
    let given = Complete::new(prompt(), "name", "").given("department", "Sales");
    let names = talk.client.complete_with(given)?.values;
    same("people in Sales", names, vec!["David".to_owned(), "Eve".into(), "Frank".into()])?;
    let template = CompletionReference::resource(format!("{TEXT}{{resourceId}}"));
    let id = talk.client.complete(template, "resourceId".into(), "12".into())?;
    same("ids", id.values, vec!["12".to_owned()])?;
    Ok("of a prompt, with what is settled, of a template".into())
}

fn logging(talk: &Talk) -> Result<String, Failure> {
    talk.client.set_logging_level(LoggingLevel::Debug)?;
    talk.host.forget();
    talk.call_for("toggle-simulated-logging", json!({}), "Started")?;
    let told = talk.host.wait_for("a simulated log message", |it| {
        let said = it.params.as_ref().map(|params| params.as_str().to_lowercase());
        matches!(it.kind, NotificationKind::Message(_))
            && said.is_some_and(|said| said.contains("level message") || said.contains("level-mes"))
    })?;
    talk.call_for("toggle-simulated-logging", json!({}), "Stopped")?;
    let NotificationKind::Message(message) = told.kind else { return Err("no message".into()) };
    let level = format!("{:?}", message.level);
    // The text begins with its level.
    holds("the message", message.data.as_str(), &level)?;
    Ok(level)
}

/// Three steps, each told once and in order.
fn progress(talk: &Talk) -> Result<String, Failure> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let options = CallOptions::new().on_progress(move |it| {
        telling.lock().unwrap_or_else(PoisonError::into_inner).push((it.progress, it.total));
    });
    let arguments = json!({ "duration": 0.15, "steps": 3 });
    let result =
        talk.client.call_tool_with("trigger-long-running-operation", arguments, options)?;
    holds("the result", &result.text(), "completed. Duration: 0.15 seconds, Steps: 3.")?;
    let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    same("the progress", told, vec![(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))])?;
    Ok("3 steps".into())
}

/// A call that has begun for certain is given up, and the server goes on.
fn cancellation(talk: &Talk) -> Result<String, Failure> {
    let begun = Arc::new(AtomicBool::new(false));
    let telling = Arc::clone(&begun);
    let options = CallOptions::new().on_progress(move |_| telling.store(true, Ordering::SeqCst));
    let arguments = json!({ "duration": 2, "steps": 40 });
    let mut call = talk.client.begin_with("trigger-long-running-operation", arguments, options)?;
    let cancel = call.cancel_handle();
    let since = Instant::now();
    // The blocking client shows progress to whoever looks at the call.
    while !begun.load(Ordering::SeqCst) {
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
    talk.call_for("echo", json!({ "message": "on" }), "Echo: on")?;
    Ok("the server goes on".into())
}

fn timeouts(talk: &Talk) -> Result<String, Failure> {
    let arguments = json!({ "duration": 1, "steps": 1 });
    let options = within(Duration::from_millis(100));
    let ended = talk.client.call_tool_with("trigger-long-running-operation", arguments, options);
    let error = ended.err().ok_or("a result after the time")?;
    same("it is a timeout", error.is_timeout(), true)?;
    same("what became of it", error.outcome(), Outcome::Unknown)?;
    talk.call_for("echo", json!({ "message": "on" }), "Echo: on")?;
    Ok("after 0.1 s".into())
}

/// The form has a field of each kind. What the user leaves out gets its default.
fn elicitation(talk: &Talk) -> Result<String, Failure> {
    let ask = |answer: Value| {
        talk.host.will_answer(answer);
        talk.call("trigger-elicitation-request", json!({}))
    };
    let content = json!({ "name": "Ada", "check": true, "integer": 7 });
    let result = ask(json!({ "action": "accept", "content": content }))?;
    let asked = talk.host.asked()?;
    let fields = asked["requestedSchema"]["properties"].as_object().map(serde_json::Map::len);
    same("the fields of the form", fields, Some(13))?;
    let text = result.text();
    for line in ["- Name: Ada\n", "- Agreed to terms: true\n", "- Favorite Integer: 7\n"] {
        holds("what was filled in", &text, line)?;
    }
    for default in ["3.14", "\"Monica\"", "\"Guitar\"", "\"hero-1\"", "\"fish-1\"", "\"pet-1\""] {
        holds("the defaults", &text, default)?;
    }
    holds("a refusal", &ask(json!({ "action": "decline" }))?.text(), "User declined")?;
    holds("a closed dialog", &ask(json!({ "action": "cancel" }))?.text(), "User cancelled")?;
    same("how often it asked", talk.host.times_asked(), 2)?;
    Ok("accepted with defaults, declined, cancelled".into())
}

fn pages(talk: &Talk) -> Result<String, Failure> {
    let url = "https://login.example.com/start";
    let mut arguments = json!({ "url": url, "message": "log in", "elicitationId": "page-1" });
    talk.host.will_answer(json!({ "action": "accept" }));
    talk.call_for("trigger-url-elicitation", arguments.clone(), "User completed")?;
    let asked = talk.host.asked()?;
    let wanted =
        json!({ "message": "log in", "url": url, "domain": "login.example.com", "id": "page-1" });
    same("what was asked", asked, wanted)?;

    // The server may also refuse the call until a page was visited.
    arguments["errorPath"] = true.into();
    let refused = talk.client.call_tool("trigger-url-elicitation", arguments.clone());
    let error = refused.err().ok_or("nothing was to be visited first")?;
    let error = error.server_error().ok_or("no error of the server's")?.clone();
    same("the code", error.code, -32042)?;
    let data = error.data.map(|data| data.to_string()).unwrap_or_default();
    holds("the data", &data, "https://modelcontextprotocol.io")?;
    talk.host.will_answer(json!({ "action": "decline" }));
    talk.call_for("trigger-url-elicitation", arguments, "User declined")?;
    same("how often it asked", talk.host.times_asked(), 1)?;
    Ok("visited, asked for by an error, declined".into())
}

fn sampling(talk: &Talk) -> Result<String, Failure> {
    let arguments = json!({ "prompt": "the weather", "maxTokens": 11 });
    let result = talk.call("trigger-sampling-request", arguments)?;
    let asked = talk.host.asked()?;
    let texts = json!(["Resource trigger-sampling-request context: the weather"]);
    let system = "You are a helpful test server.";
    same("what was asked", asked, json!({ "texts": texts, "system": system, "maxTokens": 11 }))?;
    let text = result.text();
    for part in [OPINION, "\"small-1\"", "\"endTurn\"", "\"assistant\""] {
        holds("the answer", &text, part)?;
    }
    Ok("the server has the answer".into())
}

/// The server asks for the roots when the session begins, and again when they are others.
fn roots(talk: &Talk) -> Result<String, Failure> {
    let listed = |part: &str| talk.call_for("get-roots-list", json!({}), part);
    listed("(1 total):\n\n1. one\n   URI: file:///tmp/one")?;
    talk.host.forget();
    talk.client.set_roots(Host::roots(2))?;
    talk.host.wait_for("the new roots", |it| {
        it.params.as_ref().is_some_and(|it| it.as_str().contains("Roots updated: 2 root(s)"))
    })?;
    listed("2. two\n   URI: file:///tmp/two")?;
    Ok("1, then 2".into())
}

fn batch(talk: &Talk) -> Result<String, Failure> {
    let calls = (0..20).map(|n| ("get-sum".to_owned(), json!({ "a": n, "b": 1 })));
    let results = talk.client.call_tools(calls.collect());
    for (n, result) in results.iter().enumerate() {
        let result = result.as_ref().map_err(ToString::to_string)?;
        holds("one of them", &result.text(), &format!("of {n} and 1 is {}.", n + 1))?;
    }
    Ok(format!("{} calls at once", results.len()))
}
