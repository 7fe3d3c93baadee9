//! Listing and calling tools (specification: server/tools).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Operation, Params, Reply, Spec, Wire};
use crate::model::{CallToolResult, Tool};
use crate::{ApiMisuse, Error};

pub(super) static LIST: Spec = Spec {
    name: "tools/list",
    modern: Wire::Request("tools/list"),
    legacy: Wire::Request("tools/list"),
    paged: Some("tools"),
    may_ask: false,
    idempotent: true,
};

pub(super) static CALL: Spec = Spec {
    name: "tools/call",
    modern: Wire::Request("tools/call"),
    legacy: Wire::Request("tools/call"),
    paged: None,
    may_ask: true,
    idempotent: false,
};

/// Lists all tools of a server, page after page.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListTools;

/// The tools of a server, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolList {
    /// The tools.
    pub tools: Vec<Tool>,
    /// What is wrong with the definitions that were left out because they are malformed.
    pub malformed: Vec<String>,
}

impl IntoIterator for ToolList {
    type Item = Tool;
    type IntoIter = std::vec::IntoIter<Tool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools.into_iter()
    }
}

impl<'a> IntoIterator for &'a ToolList {
    type Item = &'a Tool;
    type IntoIter = std::slice::Iter<'a, Tool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools.iter()
    }
}

impl std::ops::Deref for ToolList {
    type Target = [Tool];

    fn deref(&self) -> &[Tool] {
        &self.tools
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

impl Operation for ListTools {
    type Output = ToolList;

    fn spec(&self) -> &'static Spec {
        &LIST
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        Ok(Params::none())
    }

    fn decode(&self, reply: &Reply) -> Result<ToolList, Error> {
        let mut list = ToolList::default();
        for raw in &reply.pages {
            let page: Page<'_> = serde_json::from_str(raw.as_str())
                .map_err(|e| Error::result(crate::wire::json_trouble(&e)))?;
            for definition in page.tools {
                match Tool::read(raw.cut(definition.get())) {
                    Ok(tool) => list.tools.push(tool),
                    Err(e) => list.malformed.push(crate::wire::json_trouble(&e)),
                }
            }
        }
        Ok(list)
    }
}

/// Calls a tool.
#[derive(Clone, Debug)]
pub struct CallTool {
    name: String,
    arguments: Map<String, Value>,
}

impl CallTool {
    /// A call of the tool with this name.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        CallTool { name: name.into(), arguments }
    }
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
}

impl CallTool {
    fn named(&self, object: String) -> Params {
        Params { name: Some(self.name.clone()), ..Params::text(object) }
    }

    fn wire(&self, arguments: &Map<String, Value>) -> Result<String, ApiMisuse> {
        let params = CallParams { name: &self.name, arguments };
        serde_json::to_string(&params).map_err(|error| ApiMisuse::Params {
            method: String::from(CALL.name),
            why: error.to_string(),
        })
    }
}

impl Operation for CallTool {
    type Output = CallToolResult;

    fn spec(&self) -> &'static Spec {
        &CALL
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        // A `_meta` among the arguments is metadata of the request, never an argument.
        let Some(meta) = self.arguments.get("_meta") else {
            return Ok(self.named(self.wire(&self.arguments)?));
        };
        let mut arguments = self.arguments.clone();
        arguments.shift_remove("_meta");
        let meta = meta.as_object().cloned().unwrap_or_default();
        Ok(Params { meta, ..self.named(self.wire(&arguments)?) })
    }

    fn decode(&self, reply: &Reply) -> Result<CallToolResult, Error> {
        CallToolResult::read(reply.result()?.clone(), reply.era())
    }
}
