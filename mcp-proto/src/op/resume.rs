//! Going on with a call that stopped while its server waited for input (specification:
//! basic/patterns/mrtr).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Operation, Params, Reply, Spec, prompts, resources, tools};
use crate::model::{CallToolResult, GetPromptResult, ReadResourceResult, ResourceContents};
use crate::{ApiMisuse, Error, Raw};

/// Where a call stopped: what it asked for, what its server wanted, and what was answered already.
///
/// It holds what the server will see again, and may be kept for as long as the server keeps its
/// state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Continuation {
    pub(crate) operation: String,
    pub(crate) params: Params,
    #[serde(default)]
    pub(crate) requests: Option<Raw>,
    #[serde(default)]
    pub(crate) state: Option<Raw>,
    pub(crate) answers: Map<String, Value>,
    pub(crate) round: u32,
    pub(crate) resumable: bool,
}

impl Continuation {
    /// The method of the request.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.operation
    }

    /// Its parameters, without metadata.
    #[must_use]
    pub fn params(&self) -> &Raw {
        &self.params.object
    }

    /// What the server wanted (`inputRequests`), as it was sent.
    #[must_use]
    pub fn input_requests(&self) -> Option<&Raw> {
        self.requests.as_ref()
    }

    /// What the server wants to have back (`requestState`), as it was sent. It means nothing to a
    /// client.
    #[must_use]
    pub fn request_state(&self) -> Option<&Raw> {
        self.state.as_ref()
    }

    /// The answers that were given already, by the keys of `inputRequests`. Nobody is asked for them
    /// again.
    #[must_use]
    pub fn answers(&self) -> &Map<String, Value> {
        &self.answers
    }

    /// How often the server has asked for input.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.round
    }

    /// Whether [`Resume`] can go on from here: nothing is out that may have run, and the server has
    /// not refused to go on.
    #[must_use]
    pub fn is_resumable(&self) -> bool {
        self.resumable
    }

    fn spec(&self) -> Option<&'static Spec> {
        let may_ask = [&tools::CALL, &prompts::GET, &resources::READ];
        may_ask.into_iter().find(|spec| spec.name == self.operation)
    }
}

/// Goes on with a call that stopped while its server waited for input. It is a new call, with a
/// timeout of its own; the rounds go on being counted.
#[derive(Clone, Debug)]
pub struct Resume {
    from: Continuation,
    spec: &'static Spec,
}

impl Resume {
    /// Goes on from where a call ended with this error.
    ///
    /// # Errors
    /// When the error holds nothing to go on from, or going on is not safe: the request may have
    /// run, or its server has refused to go on.
    pub fn new(error: &Error) -> Result<Self, Error> {
        let wrong = |why: &str| Error::validation(format!("this call cannot be resumed: {why}"));
        let from = error.continuation().ok_or_else(|| wrong("its server wanted no input"))?;
        if !from.resumable {
            return Err(wrong("it may have run, or its server has refused to go on"));
        }
        let spec = from.spec().ok_or_else(|| wrong("its method takes no input"))?;
        Ok(Resume { from: from.clone(), spec })
    }
}

/// The result of a call that went on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resumed {
    /// Of `tools/call`.
    Tool(CallToolResult),
    /// Of `prompts/get`.
    Prompt(GetPromptResult),
    /// Of `resources/read`.
    Resource(ReadResourceResult),
}

impl Resumed {
    /// The result of a tool, if it was one that was called.
    #[must_use]
    pub fn tool(self) -> Option<CallToolResult> {
        match self {
            Resumed::Tool(result) => Some(result),
            _ => None,
        }
    }

    /// The prompt, if it was one that was asked for.
    #[must_use]
    pub fn prompt(self) -> Option<GetPromptResult> {
        match self {
            Resumed::Prompt(result) => Some(result),
            _ => None,
        }
    }

    /// The contents, if it was a resource that was read.
    #[must_use]
    pub fn contents(self) -> Option<Vec<ResourceContents>> {
        match self {
            Resumed::Resource(result) => Some(result.contents),
            _ => None,
        }
    }
}

impl Operation for Resume {
    type Output = Resumed;

    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let resume = Some(Box::new(self.from.clone()));
        Ok(Params { resume, ..self.from.params.clone() })
    }

    fn decode(&self, reply: &Reply) -> Result<Resumed, Error> {
        match self.spec.name {
            "prompts/get" => prompts::read(reply).map(Resumed::Prompt),
            "resources/read" => resources::read(reply).map(Resumed::Resource),
            _ => tools::read(reply).map(Resumed::Tool),
        }
    }
}
