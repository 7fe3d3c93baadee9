//! What the demo server has to offer, in the shape of each revision.

use serde_json::{Value, json};

use super::Revision;
use super::message::Failure;

pub(super) const INSTRUCTIONS: &str =
    "Try `add` with two numbers, or `echo` with a message. Nothing here has side effects.";

const README: &str = "demo://readme";
const PIXEL: &str = "demo://pixel";
const GREETING: &str = "demo://greeting/";

/// A PNG of one white pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

pub(super) fn capabilities() -> Value {
    json!({ "tools": {}, "prompts": {}, "resources": {} })
}

pub(super) fn server_info(revision: Revision) -> Value {
    let mut info = json!({ "name": "mcp-demo", "version": env!("CARGO_PKG_VERSION") });
    titled(revision, &mut info, "Demo server");
    info
}

pub(super) fn tools(revision: Revision) -> Vec<Value> {
    let number = || json!({ "type": "number" });
    let count = |text: &str| json!({ "type": "integer", "minimum": 0, "description": text });
    let flag = |text: &str| json!({ "type": "boolean", "description": text });
    let mut tools = [
        tool("echo", "Answers with the message it was given")
            .takes(json!({ "message": { "type": "string" } }), &["message"]),
        tool("add", "Adds two numbers")
            .takes(json!({ "a": number(), "b": number() }), &["a", "b"])
            .answers(json!({ "sum": number() })),
        tool("fail", "Reports that it went wrong, as tools do"),
        tool("slow", "Reports progress step by step, then answers").takes(
            json!({
                "steps": count("How many progress notifications, 3 unless said otherwise"),
                "millis": count("The pause before each step, none unless said otherwise"),
                "until_cancelled": flag("Never answer: wait until the request is cancelled"),
            }),
            &[],
        ),
        tool("blob", "Answers with a text of the given length")
            .takes(json!({ "bytes": count("The length") }), &["bytes"]),
    ];
    tools.iter_mut().map(|tool| tool.shape(revision)).collect()
}

/// A tool's definition, before a revision takes away what it does not know.
struct Definition(Value);

fn tool(name: &str, description: &str) -> Definition {
    Definition(json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    }))
}

impl Definition {
    fn takes(mut self, properties: Value, required: &[&str]) -> Self {
        self.0["inputSchema"]["properties"] = properties;
        if !required.is_empty() {
            self.0["inputSchema"]["required"] = json!(required);
        }
        self
    }

    /// All members of the structured content are always there.
    fn answers(mut self, properties: Value) -> Self {
        let members = properties.as_object().into_iter().flatten();
        let required: Vec<&String> = members.map(|(name, _)| name).collect();
        let required = json!(required);
        self.0["outputSchema"] =
            json!({ "type": "object", "properties": properties, "required": required });
        self
    }

    fn shape(&mut self, revision: Revision) -> Value {
        let mut tool = self.0.take();
        if let Some(members) = tool.as_object_mut() {
            if !revision.has_annotations() {
                members.remove("annotations");
            }
            if !revision.has_structured_content() {
                members.remove("outputSchema");
            }
        }
        tool
    }
}

pub(super) fn prompts(revision: Revision) -> Vec<Value> {
    let mut greeting = json!({ "name": "greeting", "description": "Says hello" });
    let mut review = json!({
        "name": "review",
        "description": "Asks for a review of some code",
        "arguments": [
            { "name": "code", "description": "The code", "required": true },
            { "name": "language", "description": "What it is written in" },
        ],
    });
    titled(revision, &mut greeting, "Greeting");
    titled(revision, &mut review, "Code review");
    vec![greeting, review]
}

pub(super) fn prompt(params: &Value) -> Result<Value, Failure> {
    let invalid = |what: &str| Failure::invalid_params(format!("Invalid params: {what}"));
    let name = params.get("name").and_then(Value::as_str);
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => None,
        Some(Value::Object(arguments)) if arguments.values().all(Value::is_string) => {
            Some(arguments)
        }
        Some(_) => return Err(invalid("arguments is an object of strings")),
    };
    let argument = |name: &str| {
        let value = arguments.and_then(|arguments| arguments.get(name));
        value.and_then(Value::as_str)
    };
    let (description, text) = match name.ok_or_else(|| invalid("name is required"))? {
        "greeting" => ("Says hello", "Hello! What can you do?".to_owned()),
        "review" => {
            let code = argument("code").ok_or_else(|| invalid("the argument code is required"))?;
            let language = argument("language").unwrap_or("code");
            let text = format!("Please review this {language}:\n\n{code}");
            ("Asks for a review of some code", text)
        }
        unknown => return Err(invalid(&format!("unknown prompt {unknown}"))),
    };
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    Ok(json!({ "description": description, "messages": [message] }))
}

pub(super) fn resources(revision: Revision) -> Vec<Value> {
    let mut readme = json!({ "uri": README, "name": "readme", "mimeType": "text/plain" });
    let mut pixel = json!({ "uri": PIXEL, "name": "pixel", "mimeType": "image/png" });
    titled(revision, &mut readme, "About this server");
    titled(revision, &mut pixel, "One white pixel");
    vec![readme, pixel]
}

pub(super) fn templates(revision: Revision) -> Vec<Value> {
    let mut greeting = json!({
        "uriTemplate": format!("{GREETING}{{name}}"),
        "name": "greeting",
        "mimeType": "text/plain",
    });
    titled(revision, &mut greeting, "A greeting by name");
    vec![greeting]
}

pub(super) fn contents(uri: &str) -> Option<Value> {
    let text = |text: String| json!({ "uri": uri, "mimeType": "text/plain", "text": text });
    match uri {
        README => Some(text(format!("The demo server. {INSTRUCTIONS}"))),
        PIXEL => Some(json!({ "uri": uri, "mimeType": "image/png", "blob": PNG })),
        _ => {
            let name = uri.strip_prefix(GREETING)?;
            (!name.is_empty()).then(|| text(format!("Hello, {name}!")))
        }
    }
}

fn titled(revision: Revision, item: &mut Value, title: &str) {
    if revision.has_structured_content() {
        item["title"] = title.into();
    }
}
