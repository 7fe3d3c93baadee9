//! Calling tools (specification: server/tools).

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Operation, Params, Reply, Spec, Wire, split_meta};
use crate::model::CallToolResult;
use crate::{ApiMisuse, Error};

pub(super) static CALL: Spec = Spec {
    name: "tools/call",
    modern: Wire::Request("tools/call"),
    legacy: Wire::Request("tools/call"),
    paged: None,
    may_ask: true,
    idempotent: false,
    needs: &[],
};

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

/// Reads a result.
pub(super) fn read(reply: &Reply) -> Result<CallToolResult, Error> {
    CallToolResult::read(reply.result()?.clone(), reply.era())
}

impl Operation for CallTool {
    type Output = CallToolResult;

    fn spec(&self) -> &'static Spec {
        &CALL
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let (arguments, meta) = split_meta(&self.arguments);
        let params = CallParams { name: &self.name, arguments: &arguments };
        let object = serde_json::to_string(&params).map_err(|error| ApiMisuse::Params {
            method: String::from(CALL.name),
            why: error.to_string(),
        })?;
        Ok(Params { name: Some(self.name.clone()), meta, ..Params::text(object) })
    }

    fn decode(&self, reply: &Reply) -> Result<CallToolResult, Error> {
        read(reply)
    }
}
