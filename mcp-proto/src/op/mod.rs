//! Operations as values: what a host may ask a server, and how the answer is read.

mod completion;
mod connect;
mod custom;
mod find;
mod list;
mod logging;
mod ping;
mod prompts;
mod resources;
mod resume;
mod tools;

use alloc::sync::Arc;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use completion::Complete;
pub use connect::Connect;
pub use custom::CustomRequest;
pub use find::NamePattern;
pub(crate) use list::{LIST_TOOLS, list_items};
pub use list::{
    List, ListPrompts, ListPromptsPage, ListResourceTemplates, ListResourceTemplatesPage,
    ListResources, ListResourcesPage, ListTools, ListToolsPage, Page, ToolList,
};
pub use logging::SetLoggingLevel;
pub use ping::Ping;
pub use prompts::GetPrompt;
pub use resources::ReadResource;
pub use resume::{Continuation, Resume, Resumed};
pub use tools::CallTool;

use crate::interface::CallOptions;
use crate::model::{LoggingLevel, ServerInfo};
use crate::{ApiMisuse, CallId, Era, Error, ProtocolVersion, Raw};

/// One thing that a host may ask a server.
///
/// An operation is data: the connection sends it, pages it and repeats it by what its [`Spec`]
/// says, and the operation that asked decodes the answer, on the caller's side.
pub trait Operation {
    /// What the answer is decoded to.
    type Output;

    /// How the connection treats the operation.
    fn spec(&self) -> &'static Spec;

    /// The parameters of the request.
    ///
    /// # Errors
    /// When they cannot be sent.
    fn params(&self) -> Result<Params, ApiMisuse>;

    /// Reads the answer.
    ///
    /// # Errors
    /// When it does not fit the operation.
    fn decode(&self, reply: &Reply) -> Result<Self::Output, Error>;

    /// Says more precisely what an error means for this operation.
    fn explain(&self, error: Error) -> Error {
        error
    }
}

/// How the connection treats an operation. It is data, so that one state machine serves all.
#[derive(Debug)]
#[non_exhaustive]
pub struct Spec {
    /// The name by which a journal finds the operation again.
    pub name: &'static str,
    /// What a modern server is sent.
    pub modern: Wire,
    /// What a legacy server is sent.
    pub legacy: Wire,
    /// The member of the result that is a list in pages, if there is one.
    pub paged: Option<&'static str>,
    /// Whether the server may answer with a demand for input (basic/patterns/mrtr).
    pub may_ask: bool,
    /// Whether sending the request twice does no more than sending it once.
    pub idempotent: bool,
    /// The capability, step by step, without which a server is not asked. Empty: it is asked
    /// whatever it offers.
    pub needs: &'static [&'static str],
}

/// What an operation is on the wire, in one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire {
    /// A request with this method.
    Request(&'static str),
    /// A request whose method is in [`Params::method`].
    Custom,
    /// Nothing: it ends as soon as the connection is ready.
    Local,
}

impl Spec {
    /// The operations that a journal may name.
    pub(crate) fn find(name: &str) -> Option<&'static Spec> {
        let single: [&'static Spec; 8] = [
            &connect::SPEC,
            &custom::SPEC,
            &ping::SPEC,
            &tools::CALL,
            &prompts::GET,
            &resources::READ,
            &completion::COMPLETE,
            &logging::SET_LEVEL,
        ];
        let mut all = single.into_iter().chain(list::SPECS.iter().copied());
        all.find(|spec| spec.name == name)
    }

    /// What the operation is on the wire in an era.
    #[must_use]
    pub fn wire(&self, era: Era) -> Wire {
        match era {
            Era::Modern => self.modern,
            Era::Legacy => self.legacy,
        }
    }
}

/// The parameters of a request, without what the connection adds: `_meta` and `cursor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Params {
    /// The method, for [`Wire::Custom`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool, prompt or resource that the request is about: what intermediaries may route by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text of a JSON object that has no `_meta`.
    pub object: Raw,
    /// Metadata that the parameters brought along; it goes into `_meta`.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub meta: serde_json::Map<String, Value>,
    /// The logging level that the connection keeps from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LoggingLevel>,
    /// From where the call goes on, when it is not a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Box<Continuation>>,
}

impl Params {
    /// No parameters.
    #[must_use]
    pub fn none() -> Self {
        Params::text("{}")
    }

    /// The parameters as the text of a JSON object that has no `_meta`.
    #[must_use]
    pub fn text(object: impl Into<String>) -> Self {
        let meta = serde_json::Map::new();
        Params {
            method: None,
            name: None,
            object: Raw::new(object),
            meta,
            level: None,
            resume: None,
        }
    }

    /// The parameters in a JSON object. A `_meta` in it is taken out and becomes request metadata.
    #[must_use]
    pub fn object(mut members: serde_json::Map<String, Value>) -> Self {
        let meta = match members.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => serde_json::Map::new(),
        };
        Params { meta, ..Params::text(Value::Object(members).to_string()) }
    }
}

/// Takes a `_meta` out of arguments: it is metadata of the request, and never an argument.
fn split_meta(
    arguments: &serde_json::Map<String, Value>,
) -> (Cow<'_, serde_json::Map<String, Value>>, serde_json::Map<String, Value>) {
    let Some(meta) = arguments.get("_meta") else {
        return (Cow::Borrowed(arguments), serde_json::Map::new());
    };
    let meta = meta.as_object().cloned().unwrap_or_default();
    let mut arguments = arguments.clone();
    arguments.shift_remove("_meta");
    (Cow::Owned(arguments), meta)
}

/// An operation without its type, on its way through the connection. A journal holds all of it.
#[derive(Clone, Debug)]
pub struct ErasedCall {
    pub(crate) spec: &'static Spec,
    pub(crate) params: Params,
    pub(crate) options: CallOptions,
}

impl ErasedCall {
    /// Erases the type of an operation.
    ///
    /// # Errors
    /// When its parameters or its metadata cannot be sent.
    pub fn new<O: Operation>(operation: &O, options: CallOptions) -> Result<Self, ApiMisuse> {
        for key in options.meta.keys() {
            crate::meta::check_key(key)?;
        }
        Ok(ErasedCall { spec: operation.spec(), params: operation.params()?, options })
    }
}

/// A call that was begun: its id, and the operation that will read its answer.
#[derive(Debug)]
pub struct Call<O> {
    id: CallId,
    operation: O,
}

impl<O: Operation> Call<O> {
    pub(crate) fn new(id: CallId, operation: O) -> Self {
        Call { id, operation }
    }

    /// The id by which the connection speaks of the call.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }

    /// The operation.
    #[must_use]
    pub fn operation(&self) -> &O {
        &self.operation
    }

    /// Reads what [`Output::Done`](crate::Output::Done) brought. It may take long for a large
    /// answer: do it outside of any lock.
    ///
    /// # Errors
    /// The error of the call, or that its answer does not fit the operation.
    pub fn finish(&self, done: Result<Reply, Error>) -> Result<O::Output, Error> {
        let reply = done.map_err(|error| self.operation.explain(error))?;
        self.operation
            .decode(&reply)
            .map_err(|error| error.of(&reply.server, self.operation.spec().name))
    }
}

/// The answer to a call, not yet decoded, with everything that decoding depends on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The results: one for each page. None for an operation that sends nothing.
    pub pages: Vec<Raw>,
    /// The server, as it introduced itself to the connection that answered.
    pub info: Arc<ServerInfo>,
    /// What the configuration calls the server.
    pub server: Arc<str>,
    /// Whether arguments stand in headers on the way to the server, so that tools whose annotations
    /// break the rules must be left out: modern servers over HTTP.
    pub mirrors: bool,
}

impl Reply {
    /// The result of a call that has one page.
    ///
    /// # Errors
    /// When there is none.
    pub fn result(&self) -> Result<&Raw, Error> {
        self.pages.last().ok_or_else(|| Error::result("there is no result"))
    }

    /// The era of the server that answered.
    #[must_use]
    pub fn era(&self) -> Era {
        self.info.era
    }

    /// The revision under which the answer came.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.info.version
    }
}
