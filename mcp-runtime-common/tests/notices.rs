//! Notices of deprecated features, as hosts collect them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use mcp_runtime_common::Notices;
use mcp_runtime_common::proto::DeprecatedFeature::{Logging, Roots, Sampling};
use mcp_runtime_common::proto::{DEPRECATIONS, DeprecatedFeature};

type Seen = Arc<Mutex<Vec<DeprecatedFeature>>>;

fn collected() -> (Notices, Seen) {
    let seen = Seen::default();
    let to = Arc::clone(&seen);
    let notices = Notices::to(move |entry| to.lock().unwrap().push(entry.feature));
    (notices, seen)
}

/// M-DEPR-04: each feature is told once, over all clones.
#[test]
fn each_feature_is_told_once() {
    let (notices, seen) = collected();
    for feature in [Roots, Sampling, Roots, Logging, Sampling] {
        notices.clone().used(feature);
        notices.settle();
    }
    assert_eq!(*seen.lock().unwrap(), [Roots, Sampling, Logging]);
    for entry in &DEPRECATIONS {
        notices.used(entry.feature);
    }
    assert_eq!(seen.lock().unwrap().len(), DEPRECATIONS.len());
}

/// M-DEPR-12: a collector that panics has not been told, and is told again.
#[test]
fn what_panics_has_not_been_told() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let notices = Notices::to(move |_| {
        assert!(counted.fetch_add(1, Ordering::Relaxed) >= 2, "not yet");
    });
    notices.used(Roots);
    notices.settle();
    assert_eq!(count.load(Ordering::Relaxed), 2);
    notices.settle();
    notices.settle();
    notices.used(Roots);
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

/// M-DEPR-15: whoever uses the feature while it is being told stands down, the collector too.
#[test]
fn nothing_waits_for_a_notice_that_is_being_told() {
    let own: Arc<OnceLock<Notices>> = Arc::default();
    let (again, told) = (Arc::clone(&own), Arc::new(AtomicU32::new(0)));
    let (begun, other_is_through) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (count, begins, waits) =
        (Arc::clone(&told), Arc::clone(&begun), Arc::clone(&other_is_through));
    let notices = Notices::to(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        let own: &Notices = own.get().unwrap();
        own.used(Roots);
        own.settle();
        begins.wait();
        waits.wait();
    });
    assert!(again.set(notices.clone()).is_ok());
    let other = notices.clone();
    let thread = thread::spawn(move || notices.used(Roots));
    begun.wait();
    other.used(Roots);
    other.settle();
    other_is_through.wait();
    thread.join().unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

/// M-DEPR-10: what is switched off is not told, and shows what it is.
#[test]
fn notices_can_be_switched_off() {
    let notices = Notices::silent();
    notices.used(Roots);
    notices.settle();
    let shown = [Notices::silent(), Notices::default(), collected().0];
    let shown = shown.map(|notices| format!("{notices:?}"));
    assert_eq!(shown, ["Notices::silent", "Notices::log", "Notices::to"]);
}
