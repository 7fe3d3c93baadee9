//! What the official conformance suite wants of a client, scenario by scenario.
//!
//! The suite starts a server of its own for each scenario, runs `conformance-client` with the URL
//! as its last argument, and judges what the server saw. Here is only what a host would do: every
//! message is the client's own.

use std::error::Error;

use serde_json::{Map, Value, json};

use crate::client::{Client, Runtime, Setup};

/// What goes wrong: in one line.
pub type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "usage: conformance-client --runtime blocking|smol|tokio|tokio-threads URL";
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// What some scenarios tell of what is to be done, as JSON.
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// Does what the scenario in the environment asks for.
///
/// # Errors
/// Those of the client, and that the scenario is not known.
pub fn run(
    args: impl IntoIterator<Item = String>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(), Failure> {
    let args: Vec<String> = args.into_iter().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ["--runtime", runtime, url] = args[..] else { return Err(USAGE.into()) };
    let runtime: Runtime = runtime.parse().map_err(|error| format!("{error}\n{USAGE}"))?;
    let scenario = env(SCENARIO).ok_or_else(|| format!("{SCENARIO} names no scenario"))?;
    let act = behaviour(&scenario)
        .ok_or_else(|| format!("the client does not yet do what {scenario} asks for"))?;
    let client = Client::connect(runtime, url, setup(&scenario))?;
    act(&client)?;
    client.close();
    Ok(())
}

/// Who answers the server's questions.
fn setup(scenario: &str) -> Setup {
    match scenario {
        // What the user leaves out is filled in by the client.
        "elicitation-sep1034-client-defaults" => Setup::plain()
            .on_elicitation(|_, _| async { Ok(json!({ "action": "accept", "content": {} })) }),
        // The host goes on with other things while its user thinks.
        "sep-2322-client-request-state" => Setup::plain().on_elicitation(|caller, _| async move {
            caller.call_tool("test_mrtr_unrelated", json!({})).await?;
            Ok(json!({ "action": "accept", "content": { "confirmed": true } }))
        }),
        _ => Setup::plain(),
    }
}

type Act = fn(&Client) -> Result<(), Failure>;

fn behaviour(scenario: &str) -> Option<Act> {
    Some(match scenario {
        "initialize" | "json-schema-ref-no-deref" | "request-metadata" => list_tools,
        "tools_call" => add_numbers,
        "http-custom-headers" | "http-invalid-tool-headers" => call_with_headers,
        "sse-retry" => call_across_streams,
        "http-standard-headers" => ask_for_everything,
        "json-schema-2020-12-preservation" => echo_a_schema,
        "elicitation-sep1034-client-defaults" => fill_in_a_form,
        "sep-2322-client-request-state" => go_round,
        _ => return None,
    })
}

/// The suite looks at how the client connects, and at what it makes of the schemas.
fn list_tools(client: &Client) -> Result<(), Failure> {
    client.list_tools()?;
    Ok(())
}

fn add_numbers(client: &Client) -> Result<(), Failure> {
    client.list_tools()?;
    let sum = client.call_tool("add_numbers", json!({ "a": 19, "b": 23 }))?;
    if sum.is_error { Err(sum.text().into()) } else { Ok(()) }
}

/// The stream of the answer ends before the answer.
fn call_across_streams(client: &Client) -> Result<(), Failure> {
    client.list_tools()?;
    client.call_tool("test_reconnection", json!({}))?;
    Ok(())
}

/// The server asks on the stream that it was asked to open by GET.
fn fill_in_a_form(client: &Client) -> Result<(), Failure> {
    client.list_tools()?;
    client.call_tool("test_client_elicitation_defaults", json!({}))?;
    Ok(())
}

/// Tools that ask before they answer, with a state of theirs and without, and one that seems to.
fn go_round(client: &Client) -> Result<(), Failure> {
    client.list_tools()?;
    for tool in ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"] {
        client.call_tool(tool, json!({}))?;
    }
    Ok(())
}

/// Whatever the server has to offer is asked for once.
fn ask_for_everything(client: &Client) -> Result<(), Failure> {
    for tool in client.list_tools()? {
        client.call_tool(&tool.name, fitting(tool.input_schema.as_str())?)?;
    }
    for uri in listed(client, "resources/list", "resources", "uri")? {
        client.request("resources/read", members([("uri", uri)]))?;
    }
    for name in listed(client, "prompts/list", "prompts", "name")? {
        client.request("prompts/get", members([("name", name)]))?;
    }
    Ok(())
}

/// Something for each argument that a schema requires.
fn fitting(schema: &str) -> Result<Value, Failure> {
    let schema: Value = serde_json::from_str(schema)?;
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => json!("text"),
    };
    let names = required.iter().filter_map(Value::as_str);
    Ok(names.map(|name| (name.to_owned(), value(name))).collect::<Map<_, _>>().into())
}

/// The calls that the suite names, or else one of each tool that the client lists.
fn call_with_headers(client: &Client) -> Result<(), Failure> {
    let tools = client.list_tools()?;
    let context = std::env::var(CONTEXT).unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    if let Some(calls) = context["toolCalls"].as_array() {
        for call in calls {
            let name = call["name"].as_str().ok_or("a call in the context has no name")?;
            client.call_tool(name, call["arguments"].clone())?;
        }
        return Ok(());
    }
    for tool in tools {
        client.call_tool(&tool.name, json!({ "region": "us-west1" }))?;
    }
    Ok(())
}

/// The schema of one tool is the argument of another, as it came.
fn echo_a_schema(client: &Client) -> Result<(), Failure> {
    let tools = client.list_tools()?;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = tool.ok_or("there is no tool json_schema_2020_12_tool")?.input_schema.as_str();
    let arguments: Value = serde_json::from_str(&format!(r#"{{"schema":{schema}}}"#))?;
    client.call_tool("json_schema_echo", arguments)?;
    Ok(())
}

/// One member of each item of a list.
fn listed(client: &Client, method: &str, list: &str, of: &str) -> Result<Vec<Value>, Failure> {
    let result: Value = serde_json::from_str(client.request(method, Map::new())?.as_str())?;
    let items = result[list].as_array().ok_or_else(|| format!("{method} has no {list}"))?;
    Ok(items.iter().map(|item| item[of].clone()).collect())
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{HttpDemo, HttpOptions};

    fn run_with(args: &[&str], scenario: Option<&str>) -> Result<(), String> {
        let args = args.iter().map(|it| (*it).to_owned());
        let env = |name: &str| scenario.filter(|_| name == SCENARIO).map(str::to_owned);
        run(args, env).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_known_is_said() {
        let error = run_with(&["--runtime", "blocking", "http://x/"], None).unwrap_err();
        assert!(error.contains(SCENARIO), "{error}");
        let error = run_with(&["--runtime", "blocking", "http://x/"], Some("new")).unwrap_err();
        assert!(error.contains("new"), "{error}");
        let error = run_with(&["--runtime", "forth", "http://x/"], Some("initialize")).unwrap_err();
        assert!(error.contains("forth"), "{error}");
        assert_eq!(run_with(&["http://x/"], Some("initialize")).unwrap_err(), USAGE);
    }

    #[test]
    fn everything_is_asked_for() {
        let demo = HttpDemo::start(HttpOptions::default()).unwrap();
        let args = ["--runtime", "blocking", demo.url()];
        // One of the prompts has an argument, which is not given.
        let error = run_with(&args, Some("http-standard-headers")).unwrap_err();
        assert!(error.contains("the argument code is required"), "{error}");
        let counters = demo.counters();
        let times = |method| counters.messages(method);
        assert_eq!((times("tools/call"), times("resources/read"), times("prompts/get")), (5, 2, 2));
    }
}
