//! The answers that decide an era.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::ServerError;
use crate::model::{Implementation, ServerCapabilities, ServerInfo};
use crate::{Era, ProtocolVersion, Raw, meta};

/// What the server answered to a question of the start's.
#[derive(Debug)]
pub(crate) enum Answered {
    Result(Raw),
    Error(ServerError),
    /// A line that answers the question and is no message.
    Malformed(String),
}

/// What client and server have agreed on.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) info: ServerInfo,
    /// For how long that holds, from its receipt on. `None`: as long as the session.
    pub(crate) fresh_for: Option<Duration>,
}

/// The result of `server/discover` (specification: server/discover).
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) versions: Vec<String>,
    capabilities: Map<String, Value>,
    implementation: Option<Implementation>,
    instructions: Option<String>,
    fresh_for: Duration,
}

impl Discovered {
    pub(super) fn agreed(self, version: ProtocolVersion) -> Agreed {
        let info = ServerInfo {
            era: Era::Modern,
            version,
            implementation: self.implementation,
            capabilities: ServerCapabilities::new(self.capabilities),
            instructions: self.instructions,
        };
        Agreed { info, fresh_for: Some(self.fresh_for) }
    }
}

/// Reads what a modern server says anew of itself. The version is the one that was agreed on.
pub(crate) fn discovered(raw: &Raw, version: ProtocolVersion) -> Result<Agreed, String> {
    discover(raw).map(|result| result.agreed(version))
}

/// Reads the result of `server/discover`. Without a list of versions it is none: some legacy
/// servers answer anything with an empty result.
pub(super) fn discover(raw: &Raw) -> Result<Discovered, String> {
    let Ok(mut members) = raw.parse::<Map<String, Value>>() else {
        return Err(String::from("a result that is no object"));
    };
    match members.get("resultType") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind == "complete" => {}
        Some(_) => return Err(String::from("a result that is not complete")),
    }
    let Some(Value::Array(versions)) = members.get("supportedVersions") else {
        return Err(String::from("a result without supportedVersions"));
    };
    let versions = versions.iter().filter_map(Value::as_str).map(String::from).collect();
    let implementation = members.get("_meta").and_then(|m| m.get(meta::SERVER_INFO));
    let implementation = implementation.and_then(introduced);
    Ok(Discovered {
        versions,
        implementation,
        fresh_for: fresh_for(members.get("ttlMs")),
        capabilities: object(&mut members, "capabilities"),
        instructions: text(&mut members, "instructions"),
    })
}

/// Reads the result of `initialize`. The error is what stood in the place of a version that this
/// client can speak.
pub(super) fn initialize(raw: &Raw) -> Result<Agreed, String> {
    let Ok(mut members) = raw.parse::<Map<String, Value>>() else {
        return Err(String::from("(a result that is no object)"));
    };
    let version = match members.get("protocolVersion") {
        Some(Value::String(version)) => version,
        Some(_) => return Err(String::from("(no text)")),
        None => return Err(String::from("(none)")),
    };
    let spoken = ProtocolVersion::parse(version).filter(|v| v.era() == Era::Legacy);
    let Some(version) = spoken else {
        return Err(crate::text::excerpt(version));
    };
    let implementation = members.get("serverInfo").and_then(introduced);
    let info = ServerInfo {
        era: Era::Legacy,
        version,
        implementation,
        capabilities: ServerCapabilities::new(object(&mut members, "capabilities")),
        instructions: text(&mut members, "instructions"),
    };
    Ok(Agreed { info, fresh_for: None })
}

/// For how long a result is fresh. Without a time, or with one that is none, it never is
/// (specification: server/utilities/caching, "TTL").
fn fresh_for(ttl_ms: Option<&Value>) -> Duration {
    let number = ttl_ms.and_then(|ttl| {
        let whole = |it: &f64| it.fract() == 0.0 && (0.0..=u64::MAX as f64).contains(it);
        ttl.as_u64().or_else(|| ttl.as_f64().filter(whole).map(|it| it as u64))
    });
    number.map_or(Duration::ZERO, Duration::from_millis)
}

/// Who the server says it is; nothing, if that is malformed.
fn introduced(info: &Value) -> Option<Implementation> {
    if info.is_object() { Implementation::deserialize(info).ok() } else { None }
}

fn object(members: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match members.shift_remove(name) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

fn text(members: &mut Map<String, Value>, name: &str) -> Option<String> {
    match members.shift_remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
