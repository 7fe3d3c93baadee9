//! The demo server judged by what a client sees.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::cli::Serving;
use super::{Action, Answers, Demo, Eras, HttpOptions, Options, Outgoing, Revision, over_pipe};

mod eras;
mod errors;

const MODERN: &str = "2026-07-28";

/// A demo server, and the client that talks to it.
struct Client {
    demo: Demo,
    next_id: u64,
}

impl Client {
    fn new(options: Options) -> Self {
        Client { demo: Demo::new(options), next_id: 1 }
    }

    /// Speaks to a server that has done the handshake of this revision.
    fn legacy(version: &str) -> Self {
        let mut client = Client::new(Options::default());
        let answer = client.ask("initialize", initialize(version));
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) -> Vec<Value> {
        let text = message.to_string();
        let actions = self.demo.receive(text.as_bytes());
        actions.into_iter().flat_map(perform).collect()
    }

    /// Sends a request and expects one answer to it.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut answers = self.send(&request);
        assert_eq!(answers.len(), 1, "{request} was answered by {answers:?}");
        let answer = answers.remove(0);
        assert_eq!(answer["jsonrpc"], "2.0");
        assert_eq!(answer["id"], id);
        answer
    }

    /// Sends a request with the metadata of the modern era.
    fn ask_modern(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, with_meta(params))
    }

    fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        assert_eq!(self.send(&message), Vec::<Value>::new());
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask_modern("tools/call", params)["result"].take()
    }
}

fn perform(action: Action) -> Vec<Value> {
    match action {
        Action::Send(message) => vec![message.to_value()],
        Action::Run(call) => call.flatten().map(|message| message.to_value()).collect(),
        Action::Cancel(_) => Vec::new(),
    }
}

fn with_meta(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

fn only(eras: Eras) -> Options {
    Options { eras, ..Options::default() }
}

fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

fn names(result: &Value, member: &str) -> Vec<String> {
    let items = result[member].as_array().unwrap();
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    items.iter().map(name).collect()
}

#[test]
fn the_tools_answer() {
    let mut client = Client::new(Options::default());
    let echoed = client.call("echo", json!({ "message": "grüße\n\"x\"" }));
    assert_eq!(text(&echoed), "grüße\n\"x\"");
    assert_eq!(echoed.get("isError"), None);
    let added = client.call("add", json!({ "a": 20, "b": 22 }));
    assert_eq!(text(&added), "42");
    assert_eq!(added["structuredContent"], json!({ "sum": 42 }));
    let added = client.call("add", json!({ "a": 0.5, "b": 1 }));
    assert_eq!(added["structuredContent"], json!({ "sum": 1.5 }));
    let added = client.call("add", json!({ "a": i64::MAX, "b": 1 }));
    assert_eq!(added["structuredContent"]["sum"].as_f64(), Some(i64::MAX as f64));
    let failed = client.call("fail", json!({}));
    assert_eq!(failed["isError"], true);
    assert!(!text(&failed).is_empty());
    let blob = client.call("blob", json!({ "bytes": 100_000 }));
    assert_eq!(text(&blob), "x".repeat(100_000));
    assert_eq!(blob["resultType"], "complete");
}

#[test]
fn arguments_that_break_the_schema_are_told_to_the_model() {
    let mut client = Client::new(Options::default());
    for (tool, arguments) in [
        ("echo", json!({})),
        ("echo", json!({ "message": 1 })),
        ("add", json!({ "a": 1 })),
        ("add", json!({ "a": "1", "b": 2 })),
        ("add", json!({ "a": f64::MAX, "b": f64::MAX })),
        ("blob", json!({})),
        ("blob", json!({ "bytes": -1 })),
        ("slow", json!({ "steps": "many" })),
        ("slow", json!({ "until_cancelled": 1 })),
    ] {
        let result = client.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}");
        assert!(!text(&result).is_empty());
    }
}

#[test]
fn a_blob_is_written_without_being_held() {
    let mut demo = Demo::new(Options::default());
    let bytes = u64::MAX;
    let params = json!({ "name": "blob", "arguments": { "bytes": bytes } });
    let request = json!({ "jsonrpc": "2.0", "id": "<blob>", "method": "tools/call", "params": with_meta(params) });
    let actions = demo.receive(request.to_string().as_bytes());
    let [Action::Send(Outgoing::Padded { before, filler, after })] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(*filler, bytes);
    assert!(before.contains(r#""id":"<blob>""#) && before.ends_with('"'), "{before}");
    assert!(after.starts_with('"'), "{after}");
}

#[test]
fn progress_goes_to_those_who_gave_a_token() {
    let mut client = Client::new(Options::default());
    let params = json!({ "name": "slow", "arguments": { "steps": 2 } });
    let silent = client.ask_modern("tools/call", params.clone());
    assert_eq!(text(&silent["result"]), "Done after 2 steps.");
    for token in [json!(0), json!("t")] {
        let mut params = with_meta(params.clone());
        params["_meta"]["progressToken"] = token.clone();
        let request =
            json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let messages = client.send(&request);
        assert_eq!(messages.len(), 3);
        for (step, message) in messages[..2].iter().enumerate() {
            assert_eq!(message["method"], "notifications/progress");
            let progress = json!({
                "progressToken": token,
                "progress": step + 1,
                "total": 2,
                "message": format!("step {} of 2", step + 1),
            });
            assert_eq!(message["params"], progress);
        }
        assert_eq!(messages[2]["id"], 7);
    }
}

#[test]
fn lists_come_whole_or_in_pages() {
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let whole = Client::new(Options::default()).ask_modern(method, json!({}));
        let whole = &whole["result"];
        assert_eq!(whole.get("nextCursor"), None);
        let mut paged = Client::new(Options { page_size: Some(2), ..Options::default() });
        let (mut collected, mut params) = (Vec::new(), json!({}));
        loop {
            let page = paged.ask_modern(method, params)["result"].take();
            let page_names = names(&page, member);
            assert!((1..=2).contains(&page_names.len()), "{page}");
            collected.extend(page_names);
            match page.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        assert_eq!(collected, names(whole, member));
    }
}

#[test]
fn prompts_and_resources_are_served() {
    let mut client = Client::new(Options::default());
    let prompts = client.ask_modern("prompts/list", json!({}))["result"].take();
    assert_eq!(names(&prompts, "prompts"), ["greeting", "review"]);
    let params = json!({ "name": "review", "arguments": { "code": "1 + 1" } });
    let prompt = client.ask_modern("prompts/get", params)["result"].take();
    let asked = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(asked.contains("1 + 1"), "{asked}");

    let resources = client.ask_modern("resources/list", json!({}))["result"].take();
    assert_eq!(names(&resources, "resources"), ["readme", "pixel"]);
    let mut read =
        |uri: &str| client.ask_modern("resources/read", json!({ "uri": uri }))["result"].take();
    let readme = read("demo://readme");
    assert!(readme["contents"][0]["text"].is_string(), "{readme}");
    assert!(readme["ttlMs"].is_u64(), "reading is cacheable: {readme}");
    let pixel = read("demo://pixel");
    let blob = pixel["contents"][0]["blob"].as_str().unwrap();
    let engine = base64::engine::general_purpose::STANDARD;
    let bytes = base64::Engine::decode(&engine, blob).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
    let greeting = read("demo://greeting/Ada");
    assert_eq!(greeting["contents"][0]["text"], "Hello, Ada!");
}

/// Speaks to the runner over a pipe: `slow` does not hold up what follows it, and a cancelled
/// call is not answered.
#[test]
fn a_slow_call_blocks_nobody_and_ends_when_cancelled() {
    let ((reader, mut writer), serving) = over_pipe(Options::default(), 64);
    let mut reader = BufReader::new(reader);
    let mut ask = |id: Value, tool: &str, arguments: Value| {
        let params = with_meta(json!({ "name": tool, "arguments": arguments }));
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(writer, "{request}").unwrap();
    };
    let mut answer = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let hour = 3_600_000;
    ask(json!(1), "slow", json!({ "until_cancelled": true, "steps": 0 }));
    ask(json!("1"), "slow", json!({ "millis": hour }));
    ask(json!(2), "echo", json!({ "message": "meanwhile" }));
    assert_eq!(answer()["id"], 2);
    for id in [json!(1), json!("1")] {
        let params = json!({ "requestId": id });
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        writeln!(writer, "{cancel}").unwrap();
    }
    let params = with_meta(json!({ "name": "slow", "arguments": { "steps": 1000 } }));
    let request = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params });
    writeln!(writer, "{request}").unwrap();
    assert_eq!(answer()["id"], 3);
    drop(writer);
    let mut rest = String::new();
    reader.read_line(&mut rest).unwrap();
    assert_eq!(rest, "", "the cancelled calls stay silent");
    serving.join().unwrap().unwrap();
}

/// The server ends with its input although a call is still going on.
#[test]
fn the_end_of_input_ends_the_server() {
    let ((reader, mut writer), serving) = over_pipe(Options::default(), 64);
    let params = with_meta(json!({ "name": "slow", "arguments": { "until_cancelled": true } }));
    let request = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params });
    writeln!(writer, "{request}").unwrap();
    drop(writer);
    serving.join().unwrap().unwrap();
    assert_eq!(reader.buffered(), 0);
}

/// A client that goes away while the server writes is no error of the server's.
#[test]
fn a_client_that_is_gone_ends_the_server() {
    let ((reader, mut writer), serving) = over_pipe(Options::default(), 64);
    let params = with_meta(json!({ "name": "blob", "arguments": { "bytes": 1000 } }));
    let request = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params });
    writeln!(writer, "{request}").unwrap();
    drop(reader);
    serving.join().unwrap().unwrap();
}

#[test]
fn the_command_line_says_what_it_cannot_do() {
    let parse = |line: &str| {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        super::cli::parse(&args)
    };
    assert_eq!(parse("stdio").unwrap(), Serving::Stdio(Options::default()));
    let legacy = Options { eras: Eras::Legacy, page_size: Some(2), ..Options::default() };
    let options = parse("stdio --era legacy --page-size 2").unwrap();
    assert_eq!(options, Serving::Stdio(legacy.clone()));
    let http = HttpOptions {
        demo: legacy,
        port: 8080,
        answers: Answers::Sse,
        sessions: false,
        ..HttpOptions::default()
    };
    let line = "http 8080 --no-sessions --answers sse --era legacy --page-size 2";
    assert_eq!(parse(line).unwrap(), Serving::Http(http, None));
    let secure = HttpOptions { tls: true, ..HttpOptions::default() };
    let file = Some("ca.pem".into());
    assert_eq!(parse("http 0 --tls ca.pem").unwrap(), Serving::Http(secure, file));
    for wrong in [
        "",
        "tcp",
        "stdio --era",
        "stdio --era old",
        "stdio --page-size 0",
        "stdio x",
        "http",
        "http 65536",
        "http 0 --answers xml",
        "stdio --answers sse",
        "stdio --get-stream",
        "stdio --tls x",
        "http 0 --tls",
    ] {
        let message = parse(wrong).unwrap_err();
        assert!(message.contains("usage: demo stdio"), "{wrong}: {message}");
    }
    assert_eq!(super::main_from_args(["quickstart"]), None);
    assert_eq!(super::main_from_args(["quickstart", "stdio"]), None);
    let refused = super::main_from_args(["quickstart", "--demo-server", "tcp"]);
    assert_eq!(refused, Some(std::process::ExitCode::FAILURE));
}
