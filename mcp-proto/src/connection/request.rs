//! The parameters of requests, with what the connection adds to them.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::interface::{Answer, Hearing};
use crate::model::{LoggingLevel, Root};
use crate::wire::jsonrpc::push_flat;
use crate::{ConnectionConfig, Era, ProtocolVersion, meta};

/// What a client declares it can do, from what its host has registered.
///
/// To legacy servers roots are declared in any case, so that roots which are set later can be asked
/// for; modern servers are told with each request.
pub(super) fn capabilities(hears: &[Hearing], roots: &[Root], era: Era) -> Value {
    let hears = |hearing: Hearing| hears.contains(&hearing);
    let mut all = Map::new();
    let mut declare = |name: &str, value: Value| all.insert(String::from(name), value);
    match era {
        Era::Legacy => drop(declare("roots", json!({ "listChanged": true }))),
        Era::Modern if roots.is_empty() => {}
        Era::Modern => drop(declare("roots", json!({}))),
    }
    match (hears(Hearing::Sampling), hears(Hearing::SamplingTools)) {
        (false, _) => {}
        (true, false) => drop(declare("sampling", json!({}))),
        (true, true) => drop(declare("sampling", json!({ "tools": {} }))),
    }
    // Without a mode named, it is forms.
    match (hears(Hearing::Elicitation), hears(Hearing::UrlElicitation)) {
        (false, false) => {}
        (true, false) => drop(declare("elicitation", json!({}))),
        (false, true) => drop(declare("elicitation", json!({ "url": {} }))),
        (true, true) => drop(declare("elicitation", json!({ "form": {}, "url": {} }))),
    }
    Value::Object(all)
}

/// The members of `_meta` that every modern request carries, as JSON text without braces
/// (specification: basic, "Per-request protocol fields").
pub(super) fn protocol_meta(
    config: &ConnectionConfig,
    hears: &[Hearing],
    roots: &[Root],
    version: ProtocolVersion,
) -> String {
    let mut members = Map::new();
    members.insert(String::from(meta::PROTOCOL_VERSION), Value::from(version.as_str()));
    if config.send_client_info {
        let info = serde_json::to_value(&config.client_info).unwrap_or_default();
        members.insert(String::from(meta::CLIENT_INFO), info);
    }
    let capabilities = capabilities(hears, roots, Era::Modern);
    members.insert(String::from(meta::CLIENT_CAPABILITIES), capabilities);
    let text = Value::Object(members).to_string();
    String::from(inner(&text))
}

/// The parameters of `initialize` (2025-11-25: basic/lifecycle). `hears` is `None` where the server
/// can ask for nothing.
pub(super) fn initialize(
    config: &ConnectionConfig,
    hears: Option<&[Hearing]>,
    roots: &[Root],
    version: ProtocolVersion,
    host_meta: Map<String, Value>,
) -> String {
    let mut params = Map::new();
    params.insert(String::from("protocolVersion"), Value::from(version.as_str()));
    let capabilities = hears.map(|hears| capabilities(hears, roots, Era::Legacy));
    params.insert(String::from("capabilities"), capabilities.unwrap_or_else(|| json!({})));
    let info = serde_json::to_value(&config.client_info).unwrap_or_default();
    params.insert(String::from("clientInfo"), info);
    if !host_meta.is_empty() {
        params.insert(String::from("_meta"), Value::Object(host_meta));
    }
    Value::Object(params).to_string()
}

/// What a modern server is told with each request about how much it is to tell of itself. Legacy
/// servers are asked once.
pub(super) fn level_meta(level: LoggingLevel) -> Map<String, Value> {
    Map::from_iter([(String::from(meta::LOG_LEVEL), Value::from(level.as_str()))])
}

/// The metadata for one request, as the host has computed it.
pub(super) fn answered_meta(answer: Answer) -> Result<Map<String, Value>, String> {
    let Answer::RequestMeta(meta) = answer else {
        return Err(String::from("the host gave no metadata for the request"));
    };
    match meta::check_keys(&meta) {
        Ok(()) => Ok(meta),
        Err(wrong) => Err(format!("the metadata that the host gave for the request: {wrong}")),
    }
}

/// Joins metadata from several places. Later ones win; the protocol's own keys are nobody's to set.
pub(super) fn host_meta<'a>(
    places: impl IntoIterator<Item = &'a Map<String, Value>>,
) -> Cow<'a, Map<String, Value>> {
    let mut all: Option<Cow<'a, Map<String, Value>>> = None;
    for place in places {
        if place.is_empty() {
            continue;
        }
        match &mut all {
            None if !place.keys().any(|key| meta::is_owned(key)) => {
                all = Some(Cow::Borrowed(place));
            }
            _ => {
                let all = all.get_or_insert_with(|| Cow::Owned(Map::new())).to_mut();
                let allowed = place.iter().filter(|(key, _)| !meta::is_owned(key));
                all.extend(allowed.map(|(key, value)| (key.clone(), value.clone())));
            }
        }
    }
    all.unwrap_or(Cow::Owned(Map::new()))
}

/// Writes parameters.
pub(super) fn params(
    object: &str,
    cursor: Option<&str>,
    protocol_meta: &str,
    host_meta: &Map<String, Value>,
) -> String {
    let mut text = String::new();
    push_params(&mut text, [object, ""], cursor, protocol_meta, host_meta);
    text
}

/// Appends parameters: the operation's, then the input that the server wanted, then the cursor,
/// then `_meta`.
pub(super) fn push_params(
    text: &mut String,
    objects: [&str; 2],
    cursor: Option<&str>,
    protocol_meta: &str,
    host_meta: &Map<String, Value>,
) {
    text.push('{');
    for members in objects.map(inner) {
        if !members.is_empty() {
            separate(text);
            push_flat(text, members);
        }
    }
    if let Some(cursor) = cursor {
        separate(text);
        text.push_str(r#""cursor":"#);
        text.push_str(cursor);
    }
    if !protocol_meta.is_empty() || !host_meta.is_empty() {
        separate(text);
        text.push_str(r#""_meta":{"#);
        text.push_str(protocol_meta);
        if !host_meta.is_empty() {
            separate(text);
            let host = serde_json::to_string(host_meta).unwrap_or_default();
            text.push_str(inner(&host));
        }
        text.push('}');
    }
    text.push('}');
}

fn separate(text: &mut String) {
    if !text.ends_with('{') {
        text.push(',');
    }
}

/// The members of an object's text, without its braces.
fn inner(object: &str) -> &str {
    let object = object.trim_ascii();
    let object = object.strip_prefix('{').unwrap_or(object);
    object.strip_suffix('}').unwrap_or(object).trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn parameters_are_joined_without_stray_commas() {
        let none = Map::new();
        assert_eq!(params("{}", None, "", &none), "{}");
        assert_eq!(params("{}", Some("\"\""), "", &none), r#"{"cursor":""}"#);
        let meta = map(r#"{"a":1}"#);
        let text = params(r#"{ "name" : "x" }"#, Some("\"c\""), "\"p\":2", &meta);
        assert_eq!(text, r#"{"name" : "x","cursor":"c","_meta":{"p":2,"a":1}}"#);
        assert_eq!(params("{}", None, "", &meta), r#"{"_meta":{"a":1}}"#);
    }

    /// M-BASE-12, M-ERA-06
    #[test]
    fn the_protocols_keys_win_and_the_calls_metadata_beats_the_clients() {
        let client = map(
            r#"{"a":1,"b":1,"io.modelcontextprotocol/protocolVersion":"x","traceparent":"00-1"}"#,
        );
        let call = map(r#"{"b":2,"io.modelcontextprotocol/logLevel":"debug"}"#);
        let joined = host_meta([&client, &call]).into_owned();
        let want =
            map(r#"{"a":1,"b":2,"traceparent":"00-1","io.modelcontextprotocol/logLevel":"debug"}"#);
        assert_eq!(joined, want);
    }
}
