//! What a POST of revision 2026-07-28 has to carry beside its body (basic/transports/
//! streamable-http, "Server Validation").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::message::Failure;
use super::super::{Demo, Revision, modern};
use crate::http::Request;

pub(super) const VERSION: &str = "MCP-Protocol-Version";

const HEADER_MISMATCH: i64 = -32020;

/// Checks a request against its headers, and its metadata. A failure of either kind is answered
/// with status 400.
pub(super) fn check(
    demo: &Demo,
    request: &Request,
    method: &str,
    params: &Value,
) -> Result<(), Failure> {
    let version = one(request, VERSION)?.ok_or_else(|| {
        // This text is all that the user of a legacy client sees.
        mismatch(format!(
            "{VERSION} is missing; this server speaks {}",
            demo.supported_versions().join(", ")
        ))
        .with_data(serde_json::json!({ "supported": demo.supported_versions() }))
    })?;
    match modern::version_in(params) {
        Some(of_body) if of_body != version => {
            return Err(mismatch(format!(
                "{VERSION} is {version:?}, and the body says {of_body:?}"
            )));
        }
        _ => demo.check_metadata(params)?,
    }
    same(request, "Mcp-Method", method, false)?;
    let source = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    match params.get(source).and_then(Value::as_str) {
        Some(name) => same(request, "Mcp-Name", name, true),
        // What is wrong with the body is said by whoever reads it.
        None => Ok(()),
    }
}

/// Whether a request is meant to be modern, whatever its body looks like.
pub(super) fn is_named(request: &Request) -> bool {
    request.header(VERSION) == Some(Revision::MODERN.name())
}

fn mismatch(what: impl std::fmt::Display) -> Failure {
    Failure::new(HEADER_MISMATCH, format!("Header mismatch: {what}"))
}

/// The value of a header that may be there once.
fn one<'a>(request: &'a Request, name: &'a str) -> Result<Option<&'a str>, Failure> {
    let mut all = request.all(name);
    let value = all.next();
    let is_text = |c: u8| c.is_ascii_graphic() || matches!(c, b' ' | b'\t');
    match value {
        _ if all.next().is_some() => Err(mismatch(format!("{name} is there more than once"))),
        Some(value) if !value.bytes().all(is_text) => {
            Err(mismatch(format!("{name} has characters that no header may have")))
        }
        value => Ok(value),
    }
}

fn same(request: &Request, name: &str, of_body: &str, coded: bool) -> Result<(), Failure> {
    let sent = one(request, name)?.ok_or_else(|| mismatch(format!("{name} is missing")))?;
    let decoded = match sent.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?=")) {
        Some(text) if coded => {
            let bytes = STANDARD.decode(text).ok();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            text.ok_or_else(|| mismatch(format!("{name} is no Base64 of a text")))?
        }
        _ => sent.to_owned(),
    };
    if decoded != of_body {
        return Err(mismatch(format!("{name} is {decoded:?}, and the body says {of_body:?}")));
    }
    Ok(())
}
