//! The four revisions that start with `initialize`.

use serde_json::{Value, json};

use super::message::{Failure, INVALID_REQUEST, Outgoing};
use super::{Action, Demo, Handshake, Revision};

impl Demo {
    pub(super) fn legacy_request(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> Result<Vec<Action>, Failure> {
        let answer = |result| Ok(vec![Action::Send(Outgoing::result(id.clone(), result))]);
        match (method, self.handshake) {
            ("ping", _) => answer(json!({})),
            ("initialize", Handshake::None) => answer(self.initialize(params)?),
            ("initialize", _) => {
                Err(Failure::new(INVALID_REQUEST, "Invalid request: already initialized"))
            }
            (_, Handshake::Complete(revision)) => self.call_method(revision, id, method, params),
            (_, Handshake::Answered(_)) => Err(Failure::new(
                INVALID_REQUEST,
                "Invalid request: notifications/initialized has not arrived yet",
            )),
            (_, Handshake::None) => match self.options.refusal {
                Some(code) => Err(Failure::new(code, format!("{method} before initialize"))),
                None => Ok(Vec::new()),
            },
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Failure> {
        let invalid = |what| Failure::invalid_params(format!("Invalid params: {what}"));
        let requested = params.get("protocolVersion").and_then(Value::as_str);
        let requested = requested.ok_or_else(|| invalid("protocolVersion is required"))?;
        if !params.get("capabilities").is_some_and(Value::is_object) {
            return Err(invalid("capabilities is required"));
        }
        let client = params.get("clientInfo");
        for member in ["name", "version"] {
            let value = client.and_then(|client| client.get(member));
            if !value.is_some_and(Value::is_string) {
                return Err(invalid("clientInfo needs a name and a version"));
            }
        }
        let revision = Revision::legacy(requested).unwrap_or(Revision::LEGACY[0]);
        self.handshake = Handshake::Answered(revision);
        Ok(json!({
            "protocolVersion": revision.name(),
            "capabilities": super::catalog::capabilities(),
            "serverInfo": super::catalog::server_info(revision),
            "instructions": super::catalog::INSTRUCTIONS,
        }))
    }
}
