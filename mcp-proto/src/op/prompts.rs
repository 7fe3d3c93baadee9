//! Getting prompts (specification: server/prompts).

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Operation, Params, Reply, Spec, Wire, split_meta};
use crate::model::{Content, GetPromptResult, PromptMessage, Role};
use crate::{ApiMisuse, Error, Raw};

pub(super) static GET: Spec = Spec {
    name: "prompts/get",
    modern: Wire::Request("prompts/get"),
    legacy: Wire::Request("prompts/get"),
    paged: None,
    may_ask: true,
    idempotent: true,
    needs: &[],
};

/// Gets a prompt, with its arguments filled in.
#[derive(Clone, Debug)]
pub struct GetPrompt {
    name: String,
    arguments: Map<String, Value>,
}

impl GetPrompt {
    /// The prompt with this name. The values of its arguments are texts.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        GetPrompt { name: name.into(), arguments }
    }
}

#[derive(Deserialize)]
struct WireResult<'a> {
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    role: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

fn message(raw: &Raw) -> Result<PromptMessage, serde_json::Error> {
    let WireMessage { role, content } = crate::model::object(raw.as_str())?;
    let content = Content::read(raw.cut(content.get()));
    Ok(PromptMessage { role: Role::new(&role), content })
}

/// Reads a result.
pub(super) fn read(reply: &Reply) -> Result<GetPromptResult, Error> {
    let raw = reply.result()?.clone();
    let wire: WireResult<'_> = serde_json::from_str(raw.as_str())
        .map_err(|error| Error::result(crate::wire::json_trouble(&error)))?;
    let (mut messages, mut malformed) = (Vec::new(), Vec::new());
    for item in wire.messages {
        match message(&raw.cut(item.get())) {
            Ok(message) => messages.push(message),
            Err(error) => malformed.push(crate::wire::json_trouble(&error)),
        }
    }
    Ok(GetPromptResult { description: wire.description, messages, malformed, raw })
}

impl Operation for GetPrompt {
    type Output = GetPromptResult;

    fn spec(&self) -> &'static Spec {
        &GET
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let (arguments, meta) = split_meta(&self.arguments);
        if let Some((name, _)) = arguments.iter().find(|(_, value)| !value.is_string()) {
            let why = format!("the argument {name:?} is no text, and prompts take texts only");
            return Err(ApiMisuse::Params { method: String::from(GET.name), why });
        }
        let mut params = json!({ "name": self.name });
        if !arguments.is_empty() {
            params["arguments"] = Value::Object(arguments.into_owned());
        }
        let name = Some(self.name.clone());
        Ok(Params { name, meta, ..Params::text(params.to_string()) })
    }

    fn decode(&self, reply: &Reply) -> Result<GetPromptResult, Error> {
        read(reply)
    }
}
