//! Notices of deprecated features, each told once.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use mcp_proto::{DEPRECATIONS, DeprecatedFeature, Deprecation};

/// What this process has logged. The core keeps nothing of a process, so it is here.
static PROCESS: Told = Told::new();

/// Where notices go when a feature is used that the specification has deprecated.
///
/// By default they are logged, once a process for each feature: to `tracing`, at the level `WARN`
/// and under the target `mcp::deprecated`, whichever client uses the feature first. A notice says
/// since which revision the feature is deprecated, which may be the first one without it, and what
/// to do instead.
///
/// A notice that nobody could see stays owed, and is told at a later event of a client's, when
/// somebody can: as long as there is no subscriber, or none that takes this target at this level, or
/// one that panics. Subscribers are asked by `tracing`, through all their layers. A filter that looks
/// at more than the target and the level, or a writer that loses what it is given, spends the notice.
/// Nothing waits for a notice that is being told, not even a subscriber that uses the feature itself;
/// and one that blocks holds up whoever drives the client, as it does with each event.
///
/// The features work in any case.
#[derive(Clone, Default)]
pub struct Notices(To);

#[derive(Clone, Default)]
enum To {
    #[default]
    Log,
    Nobody,
    Host(Arc<Collector>),
}

struct Collector {
    told: Told,
    tell: Box<dyn Fn(&Deprecation) + Send + Sync>,
}

impl Notices {
    /// They are logged, once a process.
    #[must_use]
    pub const fn log() -> Self {
        Notices(To::Log)
    }

    /// They are not told. What is not told here stays owed to clients that log theirs.
    #[must_use]
    pub const fn silent() -> Self {
        Notices(To::Nobody)
    }

    /// They go to the host, in the place of the log: once for each feature, over all clients that
    /// are given a clone of this value. A function that panics has not been told.
    ///
    /// It may be run by whoever moves the bytes: it must not call the client.
    #[must_use]
    pub fn to(tell: impl Fn(&Deprecation) + Send + Sync + 'static) -> Self {
        let tell = Box::new(tell);
        Notices(To::Host(Arc::new(Collector { told: Told::new(), tell })))
    }

    /// A feature is used.
    pub fn used(&self, feature: DeprecatedFeature) {
        let entry = feature.deprecation();
        match &self.0 {
            To::Log => PROCESS.used(entry, log),
            To::Nobody => {}
            To::Host(host) => host.told.used(entry, |entry| host.told_to(entry)),
        }
    }

    /// Tells what is owed, if somebody can see it by now.
    pub fn settle(&self) {
        match &self.0 {
            To::Log => PROCESS.settle(log),
            To::Nobody => {}
            To::Host(host) => host.told.settle(|entry| host.told_to(entry)),
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            To::Log => "Notices::log",
            To::Nobody => "Notices::silent",
            To::Host(_) => "Notices::to",
        })
    }
}

impl Collector {
    fn told_to(&self, entry: &Deprecation) -> bool {
        (self.tell)(entry);
        true
    }
}

/// Whether somebody took it.
fn log(entry: &Deprecation) -> bool {
    let Deprecation { name, since, earliest_removal, migration, decision, .. } = *entry;
    if !tracing::enabled!(target: "mcp::deprecated", tracing::Level::WARN) {
        return false;
    }
    tracing::warn!(
        target: "mcp::deprecated",
        feature = name, since, earliest_removal, migration, decision,
        "a deprecated feature is used"
    );
    true
}

const UNUSED: u8 = 0;
const OWED: u8 = 1;
const TELLING: u8 = 2;
const TOLD: u8 = 3;

/// How far the notice of each feature is, in the order of the registry.
struct Told([AtomicU8; DEPRECATIONS.len()]);

impl Told {
    const fn new() -> Self {
        Told([const { AtomicU8::new(UNUSED) }; DEPRECATIONS.len()])
    }

    fn used(&self, entry: &Deprecation, tell: impl Fn(&Deprecation) -> bool) {
        let known = DEPRECATIONS.iter().zip(&self.0).find(|(known, _)| *known == entry);
        if let Some((entry, state)) = known {
            let _ = state.compare_exchange(UNUSED, OWED, Ordering::AcqRel, Ordering::Acquire);
            try_to_tell(entry, state, tell);
        }
    }

    fn settle(&self, tell: impl Fn(&Deprecation) -> bool) {
        for (entry, state) in DEPRECATIONS.iter().zip(&self.0) {
            try_to_tell(entry, state, &tell);
        }
    }
}

/// Tells a notice that is owed. Who finds that another is at it stands down.
fn try_to_tell(entry: &Deprecation, state: &AtomicU8, tell: impl Fn(&Deprecation) -> bool) {
    let claimed = state.compare_exchange(OWED, TELLING, Ordering::AcqRel, Ordering::Acquire);
    if claimed.is_err() {
        return;
    }
    let told = catch_unwind(AssertUnwindSafe(|| tell(entry))).unwrap_or(false);
    state.store(if told { TOLD } else { OWED }, Ordering::Release);
}
