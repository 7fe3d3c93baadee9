//! Fewer steps that still lead to the same end.

use mcp_proto::testing::{Setup, Split};

use super::case::Failure;

/// How often a script is played for it, at most.
const TRIES: usize = 3000;

/// Takes steps out for as long as the same rule is broken, then makes the setup plainer.
#[must_use]
pub fn shrink(failure: &Failure) -> Failure {
    let mut best = failure.clone();
    let mut tries = TRIES;
    let mut size = best.steps.len().div_ceil(2).max(1);
    loop {
        let before = best.steps.len();
        let mut at = 0;
        while at < best.steps.len() && tries > 0 {
            tries -= 1;
            let mut steps = best.steps.clone();
            steps.drain(at..(at + size).min(steps.len()));
            match same(&best, Failure { steps, ..best.clone() }) {
                Some(smaller) => best = smaller,
                None => at += size,
            }
        }
        if tries == 0 || (size == 1 && best.steps.len() == before) {
            break;
        }
        size = size.div_ceil(2).max(1);
    }
    plainer(best)
}

fn plainer(mut best: Failure) -> Failure {
    let setup = best.setup;
    let all = [
        Setup { metadata: false, ..setup },
        Setup { elicitation: false, ..setup },
        Setup { notified: false, ..setup },
        Setup { small: false, ..setup },
        Setup { lets_go: true, ..setup },
        Setup { ready: false, ..setup },
        Setup { split: Split::Whole, ..setup },
    ];
    for plain in all {
        // One change at a time, on top of those that held.
        let setup = Setup {
            metadata: best.setup.metadata && plain.metadata,
            elicitation: best.setup.elicitation && plain.elicitation,
            notified: best.setup.notified && plain.notified,
            small: best.setup.small && plain.small,
            lets_go: best.setup.lets_go || plain.lets_go,
            ready: best.setup.ready && plain.ready,
            split: if plain.split == Split::Whole { Split::Whole } else { best.setup.split },
            ..best.setup
        };
        if setup != best.setup && best.twin != Some(setup.split) {
            best = same(&best, Failure { setup, ..best.clone() }).unwrap_or(best);
        }
    }
    best
}

fn same(of: &Failure, other: Failure) -> Option<Failure> {
    other.again().filter(|found| found.rule() == of.rule())
}
