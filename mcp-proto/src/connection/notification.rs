//! What the server says without being asked: whose business it is, and what reaches the host.

use alloc::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Asked, Connection};
use crate::interface::{Hearing, Item, Owner};
use crate::model::{Notification, NotificationKind, Progress, object};
use crate::transport::Origin;
use crate::wire::jsonrpc::own_id;
use crate::{CallId, DeprecatedFeature, Event, Raw, text};

const PROGRESS: &str = "notifications/progress";

impl Connection {
    pub(super) fn on_notification(
        &mut self,
        method: &str,
        params: Option<Raw>,
        from: Option<Origin>,
    ) {
        let came_on = from.and_then(|from| match from.owner {
            Owner::Call(id) if self.calls.contains(id) => Some(id),
            _ => None,
        });
        match (method, &params) {
            (PROGRESS, params) => {
                if let Some(params) = params {
                    self.on_progress(params, from);
                }
            }
            ("notifications/elicitation/complete", _) if self.is_modern() => {
                self.dropped("a modern server is asked again instead", Some(method));
            }
            (_, params) => {
                match (method, params) {
                    ("notifications/cancelled", Some(params)) => self.on_cancelled(params),
                    // What was known of its tools is not any more.
                    ("notifications/tools/list_changed", _) => self.tools.forget(),
                    _ => {}
                }
                self.tell_host(method, params.clone(), came_on);
            }
        }
    }

    /// A notification on its way to the host. What nobody knows goes there too; without a callback
    /// it does no harm.
    fn tell_host(&mut self, method: &str, params: Option<Raw>, call: Option<CallId>) {
        let params = params.map(|params| params.alone());
        let kind = NotificationKind::read(method, params.as_ref());
        if method == "notifications/message" && params.is_some() {
            self.deprecated(DeprecatedFeature::Logging);
        }
        if let NotificationKind::Message(message) = &kind {
            self.event(Event::Log {
                level: message.level,
                logger: message.logger.as_deref().map(text::excerpt),
                text: text::excerpt(&message.text()),
            });
        }
        let streams = |call: &CallId| self.calls.get(*call).is_some_and(|call| call.streams());
        let streamed = call.filter(streams);
        if streamed.is_none() && !self.hears.contains(&Hearing::Notifications) {
            return;
        }
        let bytes = method.len() + params.as_ref().map_or(0, Raw::weight);
        let (server, method) = (Arc::clone(&self.server), String::from(method));
        let notification = Notification { server, method, params, kind, call, lost: 0 };
        if let Some(call) = streamed {
            self.put_item(call, Item::Notification(notification.clone()), bytes);
        }
        self.put_notification(notification, bytes);
    }

    fn on_progress(&mut self, params: &Raw, from: Option<Origin>) {
        #[derive(Deserialize)]
        struct Token<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
        }
        let Ok(Token { token }) = object(params.as_str()) else {
            return;
        };
        // Most tokens are numbers of this client's; some servers send them back as texts.
        let spelled = serde_json::from_str::<Value>(token.get());
        let spelled = spelled.map(|token| token.to_string()).unwrap_or_default();
        let number = own_id(token.get().trim_matches('"')).map(|id| id.to_string());
        let by_number = number.and_then(|number| self.calls.by_token(&number));
        let Some(id) = self.calls.by_token(&spelled).or(by_number) else {
            return;
        };
        // What comes on the stream of a modern request belongs to that request.
        if self.is_modern() && from.is_some_and(|from| from.owner != Owner::Call(id)) {
            return self.dropped("it came on the stream of another request", Some(PROGRESS));
        }
        let Ok(progress) = params.parse::<Progress>() else {
            return self.dropped("its members have the wrong types", Some(PROGRESS));
        };
        if self.calls.get(id).is_some_and(|call| call.erased.options.wants_progress()) {
            self.put_item(id, Item::Progress(progress), params.len());
        }
        if self.hears.contains(&Hearing::Notifications) {
            self.tell_host(PROGRESS, Some(params.clone()), Some(id));
        }
    }

    /// The server gives up a request of its own. Requests of this client's are not its to cancel.
    fn on_cancelled(&mut self, params: &Raw) {
        let Some(request) = params.member("requestId") else {
            return;
        };
        self.held_answers.retain(|(id, _)| *id != request);
        let owner = |asked: &Asked| match asked {
            Asked::Server { id, owner, .. } if *id == request => Some(*owner),
            _ => None,
        };
        let found = self.questions.iter().find_map(|(id, asked)| Some((*id, owner(asked)?)));
        if let Some((id, owner)) = found {
            self.questions.remove(&id);
            self.outputs.push_back(crate::Output::Withdraw(id, owner));
        }
    }
}
