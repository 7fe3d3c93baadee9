//! How much a server tells of itself (specification: server/utilities/logging).

use serde_json::json;

use super::{Operation, Params, Reply, Spec, Wire};
use crate::model::LoggingLevel;
use crate::{ApiMisuse, Error};

pub(super) static SET_LEVEL: Spec = Spec {
    name: "logging/setLevel",
    modern: Wire::Local,
    legacy: Wire::Request("logging/setLevel"),
    paged: None,
    may_ask: false,
    idempotent: true,
    needs: &["logging"],
};

/// Sets how bad a log message has to be for the server to send it. A modern server is told with
/// each later request; a legacy one is asked at once.
#[derive(Clone, Copy, Debug)]
pub struct SetLoggingLevel(pub LoggingLevel);

impl Operation for SetLoggingLevel {
    type Output = ();

    fn spec(&self) -> &'static Spec {
        &SET_LEVEL
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let params = json!({ "level": self.0 });
        Ok(Params { level: Some(self.0), ..Params::text(params.to_string()) })
    }

    fn decode(&self, reply: &Reply) -> Result<(), Error> {
        reply.pages.last().map_or(Ok(()), |result| result.check())
    }
}
