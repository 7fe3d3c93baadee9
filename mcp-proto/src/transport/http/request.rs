//! What is sent: the headers of each message.

use url::Url;

use super::super::Outgoing;
use crate::config::HttpConfig;
use crate::interface::{HttpRequest, Method};
use crate::wire::headers;
use crate::{ApiMisuse, Era, ProtocolVersion};

/// Headers that belong to the protocol or to HTTP itself, so that a host's value is not sent.
const OWNED: [&str; 17] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks a header that a host wants on every request.
///
/// # Errors
/// When its name or value cannot be sent, or when it is not the host's to set.
pub(crate) fn check_header(name: &str, value: &str) -> Result<(), ApiMisuse> {
    let wrong = |why| Err(ApiMisuse::Header { name: String::from(name), why });
    if !headers::is_name(name) {
        return wrong("a header name consists of letters, digits and some marks (RFC 9110, token)");
    }
    if !headers::is_value(value) {
        return wrong("its value has characters that no header may have");
    }
    if OWNED.contains(&&*name.to_ascii_lowercase()) {
        return wrong("the client sets this header itself");
    }
    Ok(())
}

/// A POST to the endpoint, with the headers that every message has.
pub(super) fn post(
    config: &HttpConfig,
    endpoint: &Url,
    era: Option<Era>,
    version: Option<ProtocolVersion>,
    session: Option<&str>,
) -> HttpRequest {
    let mut all = Vec::with_capacity(config.headers.len() + 8);
    let mut add = |name: &str, value: &str| all.push((String::from(name), String::from(value)));
    for (name, value) in &config.headers {
        // What mirrors a parameter must come from the parameter (M-CONN-18).
        let mirrors = name.to_ascii_lowercase().starts_with("mcp-param-");
        if !(mirrors && era != Some(Era::Legacy)) {
            add(&name.to_ascii_lowercase(), value);
        }
    }
    add("content-type", "application/json");
    add("accept", "application/json, text/event-stream");
    add("accept-encoding", "gzip");
    if let Some(version) = version {
        add("mcp-protocol-version", version.as_str());
    }
    if let Some(session) = session {
        add("mcp-session-id", session);
    }
    HttpRequest { method: Method::Post, url: endpoint.to_string(), headers: all, body: Vec::new() }
}

/// Answers come as JSON only.
pub(super) fn accept_json(request: &mut HttpRequest) {
    let accept = request.headers.iter_mut().filter(|(name, _)| name == "accept");
    accept.for_each(|(_, value)| *value = String::from("application/json"));
}

/// The same without a body: what ends a session, or asks for its stream.
pub(super) fn bodiless(method: Method, mut request: HttpRequest) -> HttpRequest {
    request.headers.retain(|(name, _)| name != "content-type");
    if method == Method::Get {
        let accept = request.headers.iter_mut().filter(|(name, _)| name == "accept");
        accept.for_each(|(_, value)| *value = String::from("text/event-stream"));
    }
    HttpRequest { method, ..request }
}

/// The headers that mirror a modern request (2026-07-28: "Standard Request Headers"). A legacy
/// server does not know them, and they do no harm there, but they are not sent.
pub(super) fn standard_headers(request: &mut HttpRequest, message: &Outgoing<'_>) {
    let Outgoing::Request { method, name, mirrored, modern: true, .. } = message else { return };
    // A method is the host's text in a custom request, so it is encoded like a name.
    request.headers.push(("mcp-method".into(), headers::encode(method).into_owned()));
    if let Some(name) = name {
        request.headers.push(("mcp-name".into(), headers::encode(name).into_owned()));
    }
    request.headers.extend_from_slice(mirrored);
}
