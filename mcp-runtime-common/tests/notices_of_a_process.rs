//! Notices of deprecated features in the log of a process. It has one test, since what is told once a
//! process can be seen once.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mcp_runtime_common::Notices;
use mcp_runtime_common::proto::DeprecatedFeature::{HttpSse, Roots, Sampling};
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, span, subscriber};

/// Takes events up to a level, and writes each as a line, or panics.
#[derive(Clone)]
struct Log {
    most: Level,
    panics: bool,
    again: Option<Notices>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn new(most: Level) -> Self {
        Log { most, panics: false, again: None, lines: Arc::default() }
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        assert!(!self.panics, "a subscriber that cannot log");
        let metadata = event.metadata();
        let mut line = format!("{} {}", metadata.level(), metadata.target());
        event.record(&mut Fields(&mut line));
        self.lines.lock().unwrap().push(line);
        if let Some(notices) = &self.again {
            notices.used(Roots);
            notices.settle();
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// M-DEPR-04, M-DEPR-11, M-DEPR-12
#[test]
fn a_notice_is_owed_until_somebody_can_see_it_and_told_once() {
    let notices = Notices::log();
    // Nobody is there.
    notices.used(Roots);
    // Somebody is there who takes no warnings.
    let deaf = Log::new(Level::ERROR);
    subscriber::with_default(deaf.clone(), || notices.used(Roots));
    assert_eq!(deaf.lines(), [""; 0]);
    // Somebody is there who panics: the feature is used all the same.
    let broken = Log { panics: true, ..Log::new(Level::TRACE) };
    subscriber::with_default(broken, || notices.used(Roots));
    // Clients that tell nothing spend nothing.
    let good = Log { again: Some(Notices::log()), ..Log::new(Level::WARN) };
    subscriber::with_default(good.clone(), || {
        Notices::silent().used(Sampling);
        Notices::silent().settle();
        assert_eq!(good.lines(), [""; 0]);
        // A later event of any client's tells what is owed, and each feature is told once.
        Notices::log().settle();
        notices.used(Sampling);
        notices.used(Sampling);
        Notices::log().used(Roots);
        notices.settle();
    });
    let lines = good.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for (line, name) in lines.iter().zip(["roots", "sampling"]) {
        assert!(line.starts_with("WARN mcp::deprecated"), "{line}");
        let feature = format!("feature={name:?}");
        let removal = "earliest_removal=\"the first revision released on or after 2027-07-28\"";
        for part in [&*feature, "since=\"2026-07-28\"", removal, "migration=\"", "SEP-2577"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    // Nobody of the log's is told again, whoever listens, while another feature is still news.
    let late = Log::new(Level::WARN);
    subscriber::with_default(late.clone(), || {
        for feature in [Roots, Sampling, HttpSse] {
            notices.used(feature);
        }
    });
    let lines = late.lines();
    assert!(lines.len() == 1 && lines[0].contains("Streamable HTTP"), "{lines:#?}");
}
