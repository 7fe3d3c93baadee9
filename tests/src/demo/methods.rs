//! The methods that both eras share, and the paging of lists.

use serde_json::{Value, json};

use super::catalog;
use super::message::{Failure, INVALID_PARAMS, LEGACY_RESOURCE_NOT_FOUND, Outgoing};
use super::{Action, Demo, Revision, tools};

/// Cursors are this and the position of the page's first item.
const CURSOR: &str = "from-";

impl Demo {
    pub(super) fn call_method(
        &self,
        revision: Revision,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> Result<Vec<Action>, Failure> {
        if !params.is_object() && !params.is_null() {
            return Err(Failure::invalid_params("Invalid params: not an object"));
        }
        let (result, cacheable) = match method {
            "tools/list" => (self.page("tools", catalog::tools(revision), params)?, true),
            "tools/call" => return tools::call(self, revision, id, params),
            "prompts/list" => {
                let prompts = catalog::prompts(revision);
                (self.page("prompts", prompts, params)?, true)
            }
            "prompts/get" => (catalog::prompt(params)?, false),
            "resources/list" => {
                let resources = catalog::resources(revision);
                (self.page("resources", resources, params)?, true)
            }
            "resources/templates/list" => {
                let templates = catalog::templates(revision);
                (self.page("resourceTemplates", templates, params)?, true)
            }
            "resources/read" => (read(revision, params)?, true),
            _ => return Err(Failure::unknown_method(method)),
        };
        let result = self.finish(revision, result, cacheable);
        Ok(vec![Action::Send(Outgoing::result(id.clone(), result))])
    }

    /// Adds what a modern result carries beside its own members.
    pub(super) fn finish(&self, revision: Revision, mut result: Value, cacheable: bool) -> Value {
        if revision.is_modern() {
            result["resultType"] = "complete".into();
            result["_meta"] =
                json!({ "io.modelcontextprotocol/serverInfo": catalog::server_info(revision) });
            if cacheable {
                result["ttlMs"] = self.options.ttl_ms.into();
                result["cacheScope"] = "public".into();
            }
        }
        result
    }

    fn page(&self, member: &str, items: Vec<Value>, params: &Value) -> Result<Value, Failure> {
        let total = items.len();
        let start = match params.get("cursor") {
            None | Some(Value::Null) => 0,
            Some(cursor) => cursor
                .as_str()
                .and_then(|cursor| cursor.strip_prefix(CURSOR))
                .and_then(|start| start.parse().ok())
                .filter(|start| *start < total)
                .ok_or_else(|| Failure::invalid_params("Invalid params: unknown cursor"))?,
        };
        let size = self.options.page_size.unwrap_or(total).max(1);
        let page: Vec<Value> = items.into_iter().skip(start).take(size).collect();
        let next = start + page.len();
        let mut result = json!({ member: page });
        if next < total {
            result["nextCursor"] = format!("{CURSOR}{next}").into();
        }
        Ok(result)
    }
}

fn read(revision: Revision, params: &Value) -> Result<Value, Failure> {
    let uri = params.get("uri").and_then(Value::as_str);
    let uri = uri.ok_or_else(|| Failure::invalid_params("Invalid params: uri is required"))?;
    let contents = catalog::contents(uri).ok_or_else(|| {
        let code = match revision.is_modern() {
            true => INVALID_PARAMS,
            false => LEGACY_RESOURCE_NOT_FOUND,
        };
        Failure::new(code, "Resource not found").with_data(json!({ "uri": uri }))
    })?;
    Ok(json!({ "contents": [contents] }))
}
