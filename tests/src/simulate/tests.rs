//! A short run, and what the simulator says of itself.

use super::{Run, run};

/// M-UNTR-13, M-TIME-11, M-RTRY-06
#[test]
fn two_thousand_worlds_break_no_rule() {
    let all = run(Run { from: 0, seeds: 2000, doctored: 0, threads: 2, most: 1 });
    assert_eq!(all.failures, []);
    assert!(all.steps / all.seeds >= 150, "{} steps", all.steps);
    assert_eq!(all.cover.wonders().collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn neither_threads_nor_order_make_a_difference() {
    let half = |from, threads| run(Run { from, seeds: 150, doctored: 0, threads, most: 1 });
    let (first, second) = (half(0, 1), half(150, 3));
    let all = run(Run { from: 0, seeds: 300, doctored: 0, threads: 2, most: 1 });
    assert_eq!(first.digest.wrapping_add(second.digest), all.digest);
    assert_eq!(first.steps + second.steps, all.steps);
    assert_ne!(first.digest, second.digest);
}

/// The planted bugs of `mcp-proto`, each found soon: what the simulator checks can fail.
#[cfg(feature = "doctored")]
#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without optimisation")]
fn every_planted_bug_is_found_within_five_thousand_worlds() {
    for doctored in 1..=super::BUGS {
        let found = run(Run { from: 0, seeds: 5000, doctored, threads: 2, most: 1 });
        let first = found.failures.first();
        let told = first.map(|(seed, failure)| format!("seed {seed}: {}", failure.text));
        println!("bug {doctored}: {}", told.as_deref().unwrap_or("not found"));
        assert!(first.is_some(), "bug {doctored} stays hidden in {} worlds", found.seeds);
        assert!(first.and_then(|(_, failure)| failure.rule()).is_some(), "a rule is broken");
    }
}
