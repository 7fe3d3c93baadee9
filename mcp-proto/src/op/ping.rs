//! Asking a server whether it is there (2025-11-25: basic/utilities/ping; modern servers are
//! asked `server/discover`).

use super::{Operation, Params, Reply, Spec, Wire};
use crate::{ApiMisuse, Error};

pub(super) static SPEC: Spec = Spec {
    name: "ping",
    modern: Wire::Request("server/discover"),
    legacy: Wire::Request("ping"),
    paged: None,
    may_ask: false,
    idempotent: true,
    needs: &[],
};

/// Asks a server whether it is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ping;

impl Operation for Ping {
    type Output = ();

    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        Ok(Params::none())
    }

    fn decode(&self, reply: &Reply) -> Result<(), Error> {
        reply.result()?.check()
    }
}
