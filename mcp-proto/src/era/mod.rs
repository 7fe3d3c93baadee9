//! Finding out which era a server speaks (specification: basic/versioning, and "Backward
//! Compatibility" of each transport). It decides; the connection sends.

mod answers;
mod http;

use std::collections::VecDeque;
use std::time::Duration;

pub(crate) use answers::{Agreed, Answered};
pub(crate) use http::backoff;

use crate::error::{Attempt, Incompatible};
use crate::interface::Hearing;
use crate::transport::Origin;
use crate::wire::jsonrpc::Message;
use crate::{Era, EraChoice, ErrorKind, ProtocolVersion, TransportError};

/// How many bytes of messages are held until the era is known.
const MAX_HELD_BYTES: usize = 1024 * 1024;

/// A message that waits until the era is known, and the request whose exchange brought it.
pub(crate) type Held = (Message, Option<Origin>);

/// A start in progress.
#[derive(Debug)]
pub(crate) struct Start {
    choice: EraChoice,
    discover: Try,
    initialize: Try,
    /// What was asked for in vain, for the text of the error.
    attempts: Vec<Attempt>,
    /// A modern version was refused and asked for once more. Only modern servers refuse so.
    version_retried: bool,
    /// The newest legacy version that the server listed.
    offered: Option<ProtocolVersion>,
    /// `initialize` was refused and sent once more with another version.
    initialize_retried: bool,
    held: VecDeque<Held>,
    held_bytes: usize,
    max_held: usize,
    /// What was declared in it.
    pub(crate) declared: Vec<Hearing>,
    /// The version that `initialize` was sent with last.
    greeted_with: Option<ProtocolVersion>,
    /// Over HTTP: how transient failures are met.
    retries: Option<http::Retries>,
}

/// How far one of the two questions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Try {
    NotSent,
    Waiting,
    Failed,
    /// The server died of it. It is not asked again.
    Deadly,
}

/// What follows.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Nothing yet.
    Wait,
    /// Ask `server/discover`.
    Discover,
    /// Send `initialize` with this version.
    Initialize(ProtocolVersion),
    /// The era is decided.
    Agreed(Box<Agreed>),
    /// Launch the server again; it died of the probe.
    Relaunch,
    /// Wait this long, and then [`ask again`](Start::ask_again).
    Pause(Duration),
    /// The start has failed.
    Fail(ErrorKind),
}

impl Start {
    /// A start. Over HTTP `retries` says how often a question is asked again after a transient
    /// failure, and how long the first pause is.
    pub(crate) fn new(
        choice: EraChoice,
        max_held: usize,
        retries: Option<(u32, Duration)>,
    ) -> Self {
        Start {
            choice,
            discover: Try::NotSent,
            initialize: Try::NotSent,
            attempts: Vec::new(),
            version_retried: false,
            offered: None,
            initialize_retried: false,
            held: VecDeque::new(),
            held_bytes: 0,
            max_held,
            declared: Vec::new(),
            greeted_with: None,
            retries: retries.map(http::Retries::new),
        }
    }

    /// How many messages wait until the era is known.
    #[cfg(feature = "testing")]
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// The first question. With `legacy_first` the server is known to take `server/discover` badly.
    pub(crate) fn begin(&mut self, legacy_first: bool) -> Verdict {
        match self.choice {
            EraChoice::Auto if legacy_first => self.initialize(None),
            EraChoice::Auto | EraChoice::Modern => self.ask_discover(),
            EraChoice::Legacy => self.initialize(None),
        }
    }

    fn ask_discover(&mut self) -> Verdict {
        self.discover = Try::Waiting;
        Verdict::Discover
    }

    fn initialize(&mut self, version: Option<ProtocolVersion>) -> Verdict {
        self.initialize = Try::Waiting;
        let version = version.unwrap_or(ProtocolVersion::newest(Era::Legacy));
        self.greeted_with = Some(version);
        Verdict::Initialize(version)
    }

    /// Whether the automatic detection is under way, so that its probe has a time of its own.
    pub(crate) fn probes(&self) -> bool {
        self.choice == EraChoice::Auto && self.discover == Try::Waiting
    }

    /// Whether the server may still turn out to be a legacy one.
    fn may_fall_back(&self) -> bool {
        self.choice == EraChoice::Auto && !self.version_retried
    }

    /// Whether the server has been greeted as a legacy one. From then on its pings are answered.
    pub(crate) fn initialize_sent(&self) -> bool {
        self.initialize != Try::NotSent
    }

    /// `server/discover` has gone unanswered for `discover_timeout`: silence may mean legacy, or a
    /// slow start. Both questions are out from now on.
    pub(crate) fn discover_unanswered(&mut self) -> Verdict {
        let silent = self.probes() && self.may_fall_back();
        if silent && self.initialize == Try::NotSent {
            return self.initialize(None);
        }
        Verdict::Wait
    }

    pub(crate) fn discover_answered(&mut self, answer: Answered) -> Verdict {
        if self.discover != Try::Waiting {
            return Verdict::Wait;
        }
        self.discover = Try::Failed;
        match answer {
            Answered::Result(raw) => match answers::discover(&raw) {
                Ok(result) => match ProtocolVersion::mutual(&result.versions, Era::Modern) {
                    Some(version) => Verdict::Agreed(Box::new(result.agreed(version))),
                    None => self.versions_offered(result.versions),
                },
                Err(why) => self.discover_failed(why),
            },
            Answered::Error(error) if error.code == -32022 => {
                let offered = error.supported_versions();
                match ProtocolVersion::mutual(&offered, Era::Modern) {
                    Some(_) if !self.version_retried => {
                        self.version_retried = true;
                        self.ask_discover()
                    }
                    Some(_) => Verdict::Fail(ErrorKind::Server(Box::new(error))),
                    None => self.versions_offered(offered),
                }
            }
            // What only a modern server says: falling back would hide it.
            Answered::Error(error) if error.is_modern() || self.version_retried => {
                Verdict::Fail(ErrorKind::Server(Box::new(error)))
            }
            Answered::Error(error) => self.discover_failed(error.to_string()),
            Answered::Malformed(why) => self.discover_failed(why),
        }
    }

    /// The server named its versions, and no modern one is among them. A legacy one will do if the
    /// era is open.
    fn versions_offered(&mut self, offered: Vec<String>) -> Verdict {
        self.offered = ProtocolVersion::mutual(&offered, Era::Legacy);
        match (self.choice, self.offered, self.initialize) {
            (EraChoice::Auto, Some(version), Try::NotSent) => self.initialize(Some(version)),
            (EraChoice::Auto, Some(_), Try::Waiting) => Verdict::Wait,
            (EraChoice::Auto, Some(version), Try::Failed) if !self.initialize_retried => {
                self.initialize_retried = true;
                self.initialize(Some(version))
            }
            _ => {
                let wanted = self.wanted();
                Verdict::Fail(ErrorKind::Incompatible(Incompatible::Versions { offered, wanted }))
            }
        }
    }

    fn discover_failed(&mut self, met: String) -> Verdict {
        self.attempts.push(Attempt { method: "server/discover", met });
        match (self.may_fall_back(), self.initialize) {
            (true, Try::NotSent) => self.initialize(None),
            (true, Try::Waiting) => Verdict::Wait,
            _ => self.give_up(),
        }
    }

    pub(crate) fn initialize_answered(&mut self, answer: Answered) -> Verdict {
        if self.initialize != Try::Waiting {
            return Verdict::Wait;
        }
        self.initialize = Try::Failed;
        let met = match answer {
            Answered::Result(raw) => match answers::initialize(&raw) {
                Ok(agreed) => return Verdict::Agreed(Box::new(agreed)),
                // With a result the server has said what it is, whatever else is still out.
                Err(answered) => {
                    let wanted = self.wanted();
                    let kind = Incompatible::Initialize { answered, wanted };
                    return Verdict::Fail(ErrorKind::Incompatible(kind));
                }
            },
            Answered::Error(error) => {
                let offered = error.supported_versions();
                let other = ProtocolVersion::mutual(&offered, Era::Legacy).or(self.offered);
                if let (Some(version), false) = (other, self.initialize_retried) {
                    self.initialize_retried = true;
                    return self.initialize(Some(version));
                }
                error.to_string()
            }
            Answered::Malformed(why) => why,
        };
        self.initialize_failed(met)
    }

    fn initialize_failed(&mut self, met: String) -> Verdict {
        self.attempts.push(Attempt { method: "initialize", met });
        match (self.choice, self.discover) {
            // An error here does not decide while the other question is out.
            (EraChoice::Auto, Try::Waiting) => Verdict::Wait,
            (EraChoice::Auto, Try::NotSent) => self.ask_discover(),
            _ => self.give_up(),
        }
    }

    /// The server is gone before the era was decided.
    pub(crate) fn lost(&mut self, mut error: TransportError) -> Verdict {
        let died = matches!(error, TransportError::Exited { .. });
        if let TransportError::Exited { unanswered, .. } = &mut error {
            *unanswered = match (self.discover, self.initialize) {
                (_, Try::Waiting) => Some("initialize"),
                (Try::Waiting, _) => Some("server/discover"),
                _ => None,
            };
        }
        // Some legacy servers end at the first message that is not `initialize`, with or without
        // an answer to it. They get one more chance; nobody else gets any.
        if died && self.may_fall_back() && matches!(self.discover, Try::Waiting | Try::Failed) {
            let waits = self.discover == Try::Waiting;
            let method = if waits { "server/discover" } else { "initialize" };
            self.attempts.push(Attempt { method, met: error.to_string() });
            self.discover = Try::Deadly;
            self.initialize = Try::NotSent;
            self.held.clear();
            self.held_bytes = 0;
            return Verdict::Relaunch;
        }
        Verdict::Fail(ErrorKind::Transport(error))
    }

    /// What was tried before in vain, for the text of an error.
    pub(crate) fn notes(&self) -> Vec<String> {
        let tried = self.attempts.iter();
        tried.map(|attempt| format!("`{}` met before: {}", attempt.method, attempt.met)).collect()
    }

    fn give_up(&mut self) -> Verdict {
        self.note_unbuilt_attempts();
        let attempts = std::mem::take(&mut self.attempts);
        let forced = match self.choice {
            EraChoice::Auto => None,
            EraChoice::Modern => Some(Era::Modern),
            EraChoice::Legacy => Some(Era::Legacy),
        };
        Verdict::Fail(ErrorKind::Incompatible(Incompatible::Attempts { forced, attempts }))
    }

    fn wanted(&self) -> Vec<String> {
        let wanted = |version: &ProtocolVersion| match self.choice {
            EraChoice::Auto => true,
            EraChoice::Modern => version.era() == Era::Modern,
            EraChoice::Legacy => version.era() == Era::Legacy,
        };
        ProtocolVersion::ALL.into_iter().filter(wanted).map(|v| v.to_string()).collect()
    }

    /// Keeps a request of the server's until the era is known. `false` when there is no room.
    pub(crate) fn hold(&mut self, message: Message, from: Option<Origin>) -> bool {
        let bytes = match &message {
            Message::Request { id, method, params } => {
                id.len() + method.len() + params.as_ref().map_or(0, crate::Raw::len)
            }
            _ => 0,
        };
        if self.held.len() >= self.max_held || self.held_bytes + bytes > MAX_HELD_BYTES {
            return false;
        }
        self.held_bytes += bytes;
        self.held.push_back((message, from));
        true
    }

    /// What was held, to be looked at again.
    pub(crate) fn take_held(&mut self) -> VecDeque<Held> {
        self.held_bytes = 0;
        std::mem::take(&mut self.held)
    }
}
