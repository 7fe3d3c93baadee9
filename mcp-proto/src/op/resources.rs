//! Reading resources (specification: server/resources).

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{Operation, Params, Reply, Spec, Wire};
use crate::model::{ReadResourceResult, ResourceContents};
use crate::{ApiMisuse, Error, ErrorKind, Outcome, ServerErrorKind};

pub(super) static READ: Spec = Spec {
    name: "resources/read",
    modern: Wire::Request("resources/read"),
    legacy: Wire::Request("resources/read"),
    paged: None,
    may_ask: true,
    idempotent: true,
    needs: &[],
};

/// Reads a resource.
#[derive(Clone, Debug)]
pub struct ReadResource {
    uri: String,
}

impl ReadResource {
    /// The resource at this address.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        ReadResource { uri: uri.into() }
    }
}

#[derive(Deserialize)]
struct WireResult<'a> {
    #[serde(borrow)]
    contents: Vec<&'a RawValue>,
}

/// Reads a result.
pub(super) fn read(reply: &Reply) -> Result<ReadResourceResult, Error> {
    let raw = reply.result()?.clone();
    let wire: WireResult<'_> = serde_json::from_str(raw.as_str())
        .map_err(|error| Error::result(crate::wire::json_trouble(&error)))?;
    let (mut contents, mut malformed) = (Vec::new(), Vec::new());
    for item in wire.contents {
        match ResourceContents::read(raw.cut(item.get())) {
            Ok(item) => contents.push(item),
            Err(error) => malformed.push(crate::wire::json_trouble(&error)),
        }
    }
    Ok(ReadResourceResult { contents, malformed, raw })
}

impl Operation for ReadResource {
    type Output = ReadResourceResult;

    fn spec(&self) -> &'static Spec {
        &READ
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let params = json!({ "uri": self.uri });
        Ok(Params { name: Some(self.uri.clone()), ..Params::text(params.to_string()) })
    }

    fn decode(&self, reply: &Reply) -> Result<ReadResourceResult, Error> {
        read(reply)
    }

    /// Servers say in two ways that a resource is not there: -32602 since 2026-07-28, and -32002
    /// before.
    fn explain(&self, error: Error) -> Error {
        use ServerErrorKind::{InvalidParams, ResourceNotFound};
        let said = error
            .server_error()
            .filter(|said| matches!(said.kind(), InvalidParams | ResourceNotFound));
        let Some(said) = said.cloned() else { return error };
        let uri = self.uri.clone();
        error.turned(ErrorKind::ResourceNotFound { uri, error: Box::new(said) }, Outcome::NotRun)
    }
}
