//! Notices of deprecated features behind the filters of a log. It has one test, since what is told
//! once a process can be seen once.

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use mcp_runtime_common::Notices;
use mcp_runtime_common::proto::DeprecatedFeature::{Logging, Roots, Sampling};
use tracing::{Event, Level, Metadata, Subscriber, span, subscriber};

/// What it is given is kept: from which thread it came.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<ThreadId>>>);

impl Log {
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A log in a coat: what is wanted at all, by target and level, and of that each event.
struct Coat {
    log: Log,
    wants: fn(&Metadata<'_>) -> bool,
    each: bool,
}

impl Subscriber for Coat {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        (self.wants)(metadata)
    }

    fn event_enabled(&self, _: &Event<'_>) -> bool {
        self.each
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        self.log.0.lock().unwrap().push(thread::current().id());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// M-DEPR-13, M-DEPR-14, M-DEPR-16: what `tracing` can be asked is asked, through all that is around
/// a log; what nobody can be asked spends the notice; and a log that takes its time takes that of
/// whoever uses the feature, since it runs there.
#[test]
fn what_a_filter_can_say_keeps_a_notice_owed_and_what_it_cannot_spends_it() {
    let notices = Notices::log();
    let log = Log::default();
    let coat = |wants, each| Coat { log: log.clone(), wants, each };
    let other: fn(&Metadata<'_>) -> bool = |it| it.target() != "mcp::deprecated";
    let quiet: fn(&Metadata<'_>) -> bool = |it| *it.level() < Level::WARN;
    let all: fn(&Metadata<'_>) -> bool = |_| true;
    for wants in [other, quiet] {
        subscriber::with_default(coat(wants, true), || notices.used(Roots));
    }
    assert_eq!(log.count(), 0);
    subscriber::with_default(coat(all, true), || notices.used(Roots));
    assert_eq!(*log.0.lock().unwrap(), [thread::current().id()]);

    // A filter of each event, and a log that loses what it takes.
    subscriber::with_default(coat(all, false), || notices.used(Logging));
    let lost = Coat { log: Log::default(), wants: all, each: true };
    subscriber::with_default(lost, || notices.used(Sampling));
    subscriber::with_default(coat(all, true), || {
        for feature in [Roots, Logging, Sampling] {
            notices.used(feature);
        }
    });
    assert_eq!(log.count(), 1, "all of them are spent");
}
