//! Getting a connection ready, without asking anything of the server.

use alloc::sync::Arc;

use super::{Operation, Params, Reply, Spec, Wire};
use crate::model::ServerInfo;
use crate::{ApiMisuse, Error};

pub(super) static SPEC: Spec = Spec {
    name: "connect",
    modern: Wire::Local,
    legacy: Wire::Local,
    paged: None,
    may_ask: false,
    idempotent: true,
    needs: &[],
};

/// Waits until the connection is ready, and starts it if need be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connect;

impl Operation for Connect {
    type Output = Arc<ServerInfo>;

    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        Ok(Params::none())
    }

    fn decode(&self, reply: &Reply) -> Result<Arc<ServerInfo>, Error> {
        Ok(Arc::clone(&reply.info))
    }
}
