//! What the client says to `tracing`, by server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span;

/// How many lines are kept for each server: a flood of events must not fill the memory.
const KEPT: usize = 2000;

/// How long [`wait_for`] waits before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Collected {
    lines: Mutex<BTreeMap<String, Vec<String>>>,
    changed: Condvar,
}

static COLLECTED: Collected =
    Collected { lines: Mutex::new(BTreeMap::new()), changed: Condvar::new() };

/// Collects every event of this process from now on, whatever its level.
pub fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Another collector in its place would leave every wait without its line.
        tracing::subscriber::set_global_default(Collector).expect("the only collector");
    });
}

/// The lines about the server of this name: the level, then the fields.
pub fn of(server: &str) -> Vec<String> {
    lock().get(server).cloned().unwrap_or_default()
}

/// All lines, whatever they are about.
pub fn all() -> Vec<String> {
    lock().values().flatten().cloned().collect()
}

/// Blocks until there is a line about this server that contains the text, and returns it.
///
/// # Panics
/// When there is none within a minute.
#[track_caller]
pub fn wait_for(server: &str, text: &str) -> String {
    let end = Instant::now() + PATIENCE;
    let mut lines = lock();
    loop {
        let about = lines.get(server).into_iter().flatten();
        if let Some(line) = about.clone().find(|line| line.contains(text)) {
            return line.clone();
        }
        let left = end.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "no line with {text:?}: {:#?}", about.collect::<Vec<_>>());
        let waited = COLLECTED.changed.wait_timeout(lines, left);
        lines = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<String, Vec<String>>> {
    COLLECTED.lines.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Collector;

/// The fields of one event.
#[derive(Default)]
struct Fields {
    server: String,
    text: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "server" {
            value.clone_into(&mut self.server);
        }
        let _ = write!(self.text, " {}={value:?}", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.text, " {}={value:?}", field.name());
    }
}

impl tracing::Subscriber for Collector {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = format!("{}{}", event.metadata().level(), fields.text);
        let mut lines = lock();
        let about = lines.entry(fields.server).or_default();
        if about.len() < KEPT {
            about.push(line);
        }
        drop(lines);
        COLLECTED.changed.notify_all();
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
