//! What is known of a server's tools: the parameters of those that it listed, and the one refresh
//! when it says that headers do not fit them (specification: basic/transports/streamable-http,
//! "Custom Headers from Tool Parameters").
//!
//! A call does not fetch the list beforehand: most tools have no parameters in headers, and a server
//! that wants some refuses the call with -32020, which proves that it did not run it. The list is
//! read then, as a request of the call's own, and the call is sent once more.

use std::collections::BTreeMap;

use super::calls::{Fetch, Pages, Past, Step};
use super::{Connection, answer};
use crate::config::{MAX_HELD_TOOL_BYTES, MAX_TOOLS_EXCLUDED};
use crate::error::ServerError;
use crate::interface::ResendReason;
use crate::op::{LIST_TOOLS, list_items};
use crate::schema::{HeaderParameters, ToolParameters};
use crate::{CallId, ErrorKind, Event, Raw, model, text};

/// A server's code for headers that do not fit the body.
const HEADER_MISMATCH: i64 = -32020;

/// The tools whose parameters matter to a call, by their names.
#[derive(Debug, Default)]
pub(super) struct Tools {
    all: BTreeMap<String, Held>,
    /// The bytes of their names and schemas.
    bytes: usize,
}

#[derive(Debug)]
enum Held {
    /// The schema as it came: most tools are never called.
    Schema(Box<str>),
    Read(Box<ToolParameters>),
}

impl Tools {
    pub(super) fn forget(&mut self) {
        *self = Tools::default();
    }

    /// The bytes that are held.
    #[cfg(feature = "testing")]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds what a tool's schema says, in the place of what was held of it. What is more than may
    /// be held is not.
    fn hold(&mut self, name: &str, schema: Option<&str>) {
        if let Some((name, old)) = self.all.remove_entry(name) {
            self.bytes -= weight(&name, &old);
        }
        let Some(schema) = schema.filter(|schema| matters(schema)) else { return };
        let bytes = name.len() + schema.len();
        if self.bytes + bytes <= MAX_HELD_TOOL_BYTES {
            let held = Held::Schema(Box::from(schema));
            self.bytes += weight(name, &held);
            self.all.insert(String::from(name), held);
        }
    }

    /// What is known of a tool's parameters.
    fn parameters(&mut self, name: &str) -> Option<&ToolParameters> {
        let held = self.all.get_mut(name)?;
        if let Held::Schema(schema) = held {
            self.bytes -= schema.len();
            *held = Held::Read(Box::new(ToolParameters::read(schema)));
        }
        match held {
            Held::Read(parameters) if !parameters.is_empty() => Some(parameters),
            _ => None,
        }
    }
}

fn weight(name: &str, held: &Held) -> usize {
    match held {
        Held::Schema(schema) => name.len() + schema.len(),
        Held::Read(_) => name.len(),
    }
}

/// Whether a schema can say anything that matters to a call. Keys may hide behind escapes.
fn matters(schema: &str) -> bool {
    ["x-mcp-header", "\"required\"", "\\u"].iter().any(|it| schema.contains(it))
}

impl Connection {
    /// Whether parameters stand in headers on the way to this server.
    pub(super) fn mirrors(&self) -> bool {
        self.link.is_http() && self.is_modern()
    }

    /// Judges the arguments of a tool's call by what is known of it, and finds its headers.
    /// `false`: it has ended.
    pub(super) fn judge_arguments(&mut self, id: CallId) -> bool {
        let mirrors = self.mirrors();
        let Some(call) = self.calls.get_mut(id) else { return false };
        if call.method() != "tools/call" {
            return true;
        }
        let name = call.erased.params.name.as_deref().unwrap_or_default();
        let Some(tool) = self.tools.parameters(name) else {
            call.mirrored.clear();
            return true;
        };
        match tool.judge(call.erased.params.object.as_str(), mirrors) {
            Ok(headers) => {
                call.mirrored = headers;
                true
            }
            Err(why) => {
                let why = format!("{why} (tool {})", text::excerpt(name));
                self.end_call(id, ErrorKind::Validation(why));
                false
            }
        }
    }

    /// The server has refused a call because of its headers: its tools are listed, once. `false`:
    /// that is not it, or not any more.
    pub(super) fn refreshes(&mut self, id: CallId, refusal: &ServerError) -> bool {
        let mirrors = self.mirrors();
        let Some(call) = self.calls.get_mut(id) else { return false };
        let fits = refusal.code == HEADER_MISMATCH && mirrors && call.method() == "tools/call";
        if !fits || (call.fetch != Fetch::No && !self.config.doctored(19)) {
            return false;
        }
        call.fetch = Fetch::Out(Box::new(refusal.clone()));
        call.pages = Pages::default();
        if call.past == Past::Sent {
            call.past = Past::Refused;
        }
        self.calls.advance(id, Step::Waiting);
        self.send_next(id);
        true
    }

    /// What came of the request for the list: after its last page the call is sent again.
    pub(super) fn on_fetched(&mut self, id: CallId, outcome: Result<Raw, ServerError>) {
        let Ok(result) = outcome else { return self.fetch_failed(id) };
        let most = 1 + u32::from(self.config.doctored(19));
        let next = match answer::read_result(&result, self.is_modern(), LIST_TOOLS) {
            Ok(answer::Next::Page(next)) => next,
            _ => return self.fetch_failed(id),
        };
        let Some(call) = self.calls.get_mut(id) else { return };
        match call.pages.take(result, next, &self.config) {
            Ok(Some(pages)) => {
                call.fetch = Fetch::Over;
                // Nothing of the list belongs to the call itself.
                call.pages = Pages::default();
                let name = call.erased.params.name.clone();
                self.hold_tools(&pages, true, name.as_deref());
                let Some(call) = self.calls.get_mut(id) else { return };
                if call.spent.resend(ResendReason::HeaderMismatch, most) {
                    self.send_again(id, ResendReason::HeaderMismatch);
                }
            }
            Ok(None) => {
                self.calls.advance(id, Step::Waiting);
                self.send_next(id);
            }
            Err(_) => self.fetch_failed(id),
        }
    }

    /// Without the list nothing can be corrected: the call ends with the server's refusal.
    pub(super) fn fetch_failed(&mut self, id: CallId) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if let Fetch::Out(refusal) = std::mem::replace(&mut call.fetch, Fetch::Over) {
            self.end_call(id, ErrorKind::Server(refusal));
        }
    }

    /// Holds what pages of a server's list say of the parameters of its tools: of this one first.
    /// `whole`: there are no others.
    pub(super) fn hold_tools(&mut self, pages: &[Raw], whole: bool, first: Option<&str>) {
        if whole {
            self.tools.forget();
        }
        let (mut excluded, mut held) = (0, false);
        let mirrors = self.mirrors();
        for only_first in [true, false] {
            if only_first && first.is_none() {
                continue;
            }
            for item in pages.iter().flat_map(|page| list_items(page, "tools")) {
                let Some((name, schema)) = model::tool_outline(item.as_str()) else { continue };
                if only_first {
                    if !held && first == Some(&*name) {
                        held = true;
                        self.tools.hold(&name, schema);
                    }
                    continue;
                }
                if first != Some(&*name) {
                    self.tools.hold(&name, schema);
                }
                let invalid = schema.filter(|_| mirrors).map(HeaderParameters::read);
                if let Some(Err(why)) = invalid
                    && excluded < MAX_TOOLS_EXCLUDED
                {
                    excluded += 1;
                    let tool = text::excerpt(&name);
                    self.event(Event::ToolExcluded { tool, why: why.to_string() });
                }
            }
        }
    }

    /// A list of tools has come, or a page of one.
    pub(super) fn learn_tools(&mut self, id: CallId, pages: &[Raw]) {
        let Some(call) = self.calls.get(id) else { return };
        if call.method() == "tools/list" && !pages.is_empty() {
            let whole = call.erased.spec.paged.is_some();
            self.hold_tools(pages, whole, None);
        }
    }
}
