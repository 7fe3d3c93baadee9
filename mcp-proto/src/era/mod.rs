//! Finding out which era a server speaks (specification: basic/versioning, and "Backward
//! Compatibility" of each transport). It decides; the connection sends.

mod answers;
mod asked;
mod early;
mod http;
mod learnt;

use std::time::Duration;

pub(crate) use answers::{Agreed, Answered, discovered};
use asked::{Asked, Before, Told};
pub(crate) use early::{EarlyMessage, EarlyMessages};
pub(crate) use http::{Tries, backoff};
pub(crate) use learnt::Learnt;

use crate::error::{Attempt, Incompatible};
use crate::interface::Hearing;
use crate::{Era, EraChoice, ErrorKind, HttpTransport, ProtocolVersion, TransportError};

/// A start in progress.
#[derive(Debug)]
pub(crate) struct Start {
    choice: EraChoice,
    asked: Asked,
    told: Told,
    /// What was asked for in vain, for the text of the error.
    attempts: Vec<Attempt>,
    /// `initialize` was refused and sent once more with another version.
    initialize_retried: bool,
    /// What the server asked meanwhile.
    pub(crate) held: EarlyMessages,
    /// What was declared in `initialize`.
    pub(crate) declared: Vec<Hearing>,
    /// The version that `initialize` was sent with last.
    greeted_with: Option<ProtocolVersion>,
    /// Over HTTP: which transports there are, and how transient failures are met.
    http: Option<http::Tries>,
}

/// What follows.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Nothing yet.
    Wait,
    /// Ask `server/discover`.
    Discover,
    /// Open the stream of HTTP+SSE.
    OpenEvents,
    /// Go on with this transport, and [`begin`](Start::begin) anew.
    Turn(HttpTransport),
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
    /// A start. Over HTTP it may go through several transports.
    pub(crate) fn new(choice: EraChoice, max_held: usize, http: Option<Tries>) -> Self {
        Start {
            choice,
            asked: Asked::Nothing,
            told: Told::Nothing,
            attempts: Vec::new(),
            initialize_retried: false,
            held: EarlyMessages::new(max_held),
            declared: Vec::new(),
            greeted_with: None,
            http,
        }
    }

    /// The first question. With `legacy_first` the server is known to take `server/discover` badly.
    pub(crate) fn begin(&mut self, legacy_first: bool) -> Verdict {
        match self.choice {
            _ if self.over() == Some(HttpTransport::Sse) => self.open_events(),
            EraChoice::Auto if legacy_first => self.initialize(None),
            EraChoice::Auto | EraChoice::Modern => self.ask_discover(),
            EraChoice::Legacy => self.initialize(None),
        }
    }

    fn ask_discover(&mut self) -> Verdict {
        self.asked = match self.asked {
            Asked::Nothing => Asked::Discover(Before::NotAsked),
            Asked::Initialize(_) => Asked::Discover(Before::Refused),
            // Once more, or beside the other.
            same => same,
        };
        Verdict::Discover
    }

    fn initialize(&mut self, version: Option<ProtocolVersion>) -> Verdict {
        self.asked = match self.asked {
            Asked::Nothing => Asked::Initialize(Before::NotAsked),
            Asked::Discover(_) | Asked::Events => Asked::Initialize(Before::Refused),
            same => same,
        };
        let version = version.unwrap_or(ProtocolVersion::newest(Era::Legacy));
        self.greeted_with = Some(version);
        Verdict::Initialize(version)
    }

    /// Whether the first question is still to be asked.
    pub(crate) fn has_not_begun(&self) -> bool {
        self.asked == Asked::Nothing
    }

    /// Whether the automatic detection is under way, so that its probe has a time of its own.
    pub(crate) fn probes(&self) -> bool {
        self.choice == EraChoice::Auto && self.asked.waits_for_discover()
    }

    /// Whether the server may still turn out to be a legacy one.
    fn may_fall_back(&self) -> bool {
        self.choice == EraChoice::Auto && self.told != Told::Modern
    }

    /// Whether the server has been greeted as a legacy one. From then on its pings are answered.
    pub(crate) fn initialize_sent(&self) -> bool {
        !matches!(self.asked, Asked::Nothing | Asked::Events | Asked::Discover(Before::NotAsked))
    }

    /// `server/discover` has gone unanswered for `discover_timeout`: silence may mean legacy, or a
    /// slow start. Both questions are out from now on.
    pub(crate) fn discover_unanswered(&mut self) -> Verdict {
        if self.asked == Asked::Discover(Before::NotAsked) && self.may_fall_back() {
            self.asked = Asked::Both;
            return self.initialize(None);
        }
        Verdict::Wait
    }

    pub(crate) fn discover_answered(&mut self, answer: Answered) -> Verdict {
        if !self.asked.waits_for_discover() {
            return Verdict::Wait;
        }
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
                    Some(_) if self.told != Told::Modern => {
                        self.told = Told::Modern;
                        self.ask_discover()
                    }
                    Some(_) => Verdict::Fail(ErrorKind::Server(Box::new(error))),
                    None => self.versions_offered(offered),
                }
            }
            // What only a modern server says: falling back would hide it.
            Answered::Error(error) if error.is_modern() || self.told == Told::Modern => {
                Verdict::Fail(ErrorKind::Server(Box::new(error)))
            }
            Answered::Error(error) => self.discover_failed(error.to_string()),
            Answered::Malformed(why) => self.discover_failed(why),
        }
    }

    /// The server named its versions, and no modern one is among them. A legacy one will do if the
    /// era is open.
    fn versions_offered(&mut self, offered: Vec<String>) -> Verdict {
        let legacy = ProtocolVersion::mutual(&offered, Era::Legacy);
        if let (EraChoice::Auto, Some(version)) = (self.choice, legacy) {
            self.told = Told::Legacy(version);
            match self.asked {
                Asked::Both => {
                    self.asked = Asked::Initialize(Before::Refused);
                    return Verdict::Wait;
                }
                Asked::Discover(Before::NotAsked) => return self.initialize(Some(version)),
                Asked::Discover(_) if !self.initialize_retried => {
                    self.initialize_retried = true;
                    return self.initialize(Some(version));
                }
                _ => {}
            }
        }
        let wanted = self.wanted();
        Verdict::Fail(ErrorKind::Incompatible(Incompatible::Versions { offered, wanted }))
    }

    fn discover_failed(&mut self, met: String) -> Verdict {
        self.attempt("server/discover", met);
        match self.asked {
            Asked::Both if self.may_fall_back() => {
                self.asked = Asked::Initialize(Before::Refused);
                Verdict::Wait
            }
            Asked::Discover(Before::NotAsked) if self.may_fall_back() => self.initialize(None),
            _ => self.give_up(),
        }
    }

    pub(crate) fn initialize_answered(&mut self, answer: Answered) -> Verdict {
        if !self.asked.waits_for_initialize() {
            return Verdict::Wait;
        }
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
                let told = if let Told::Legacy(version) = self.told { Some(version) } else { None };
                let other = ProtocolVersion::mutual(&offered, Era::Legacy).or(told);
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
        self.attempt("initialize", met);
        match self.asked {
            // An error here does not decide while the other question is out.
            Asked::Both => {
                self.asked = Asked::Discover(Before::Refused);
                Verdict::Wait
            }
            Asked::Initialize(Before::NotAsked) if self.choice == EraChoice::Auto => {
                self.ask_discover()
            }
            _ => self.give_up(),
        }
    }

    /// The server is gone before the era was decided.
    pub(crate) fn lost(&mut self, mut error: TransportError) -> Verdict {
        let died = matches!(error, TransportError::Exited { .. });
        if let TransportError::Exited { unanswered, .. } = &mut error {
            *unanswered = match self.asked {
                Asked::Initialize(_) | Asked::Both => Some("initialize"),
                Asked::Discover(_) => Some("server/discover"),
                Asked::Nothing | Asked::Events | Asked::All => None,
            };
        }
        let probed =
            self.asked.waits_for_discover() || self.asked == Asked::Initialize(Before::Refused);
        // Some legacy servers end at the first message that is not `initialize`, with or without
        // an answer to it. They get one more chance; nobody else gets any.
        if died && probed && self.may_fall_back() {
            let waits = self.asked.waits_for_discover();
            let method = if waits { "server/discover" } else { "initialize" };
            self.attempt(method, error.to_string());
            self.asked = Asked::Initialize(Before::Deadly);
            self.held.take();
            return Verdict::Relaunch;
        }
        Verdict::Fail(ErrorKind::Transport(error))
    }

    /// The successor of a process that died of the probe is there.
    pub(crate) fn greet(&mut self) -> Verdict {
        self.initialize(None)
    }

    /// What was tried before in vain, for the text of an error.
    pub(crate) fn notes(&self) -> Vec<String> {
        let tried = self.attempts.iter();
        tried.map(|attempt| format!("`{}` met before: {}", attempt.method, attempt.met)).collect()
    }

    fn attempt(&mut self, method: &'static str, met: String) {
        let over = self.http.as_ref().and_then(Tries::over_which);
        self.attempts.push(Attempt { method, over, met });
    }

    fn give_up(&mut self) -> Verdict {
        if let Some(next) = self.next_transport() {
            return Verdict::Turn(next);
        }
        self.asked = Asked::All;
        let attempts = std::mem::take(&mut self.attempts);
        let forced = match self.choice {
            _ if self.over() == Some(HttpTransport::Sse) => None,
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
}
