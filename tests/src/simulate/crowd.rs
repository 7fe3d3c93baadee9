//! Many seeds, on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mcp_proto::testing::mix;

use super::case::{Failure, play};
use super::cover::Cover;

/// Which seeds are played, and how.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The first.
    pub from: u64,
    /// How many.
    pub seeds: u64,
    /// The number of the planted bug; 0 for none.
    pub doctored: u8,
    /// How many threads.
    pub threads: usize,
    /// After how many failures it is over.
    pub most: usize,
}

/// What they came to. Neither the number of threads nor their order makes a difference.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// How many seeds were played.
    pub seeds: u64,
    /// How many steps they had.
    pub steps: u64,
    /// How many inputs were handed in.
    pub inputs: u64,
    /// A number that stands for all outputs of all seeds.
    pub digest: u64,
    /// What was met.
    pub cover: Cover,
    /// Those that broke a rule, by seed.
    pub failures: Vec<(u64, Failure)>,
}

/// How many seeds a thread takes at once.
const BATCH: u64 = 64;

/// Plays seeds.
#[must_use]
pub fn run(run: Run) -> Totals {
    let next = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let all = Mutex::new(Totals::default());
    std::thread::scope(|scope| {
        for _ in 0..run.threads.max(1) {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let begin = next.fetch_add(BATCH, Ordering::Relaxed);
                    if begin >= run.seeds {
                        break;
                    }
                    let batch = batch(run, begin..run.seeds.min(begin + BATCH), &over);
                    let Ok(mut all) = all.lock() else { break };
                    all.join(batch);
                    if all.failures.len() >= run.most {
                        over.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_default();
    all.failures.sort_by_key(|(seed, _)| *seed);
    all
}

fn batch(run: Run, seeds: std::ops::Range<u64>, over: &AtomicBool) -> Totals {
    let mut totals = Totals::default();
    for seed in seeds.map(|n| run.from + n) {
        if over.load(Ordering::Relaxed) || totals.failures.len() >= run.most {
            break;
        }
        let played = play(seed, run.doctored);
        totals.seeds += 1;
        totals.steps += played.steps;
        totals.inputs += played.end.inputs;
        totals.digest = totals.digest.wrapping_add(mix(seed ^ mix(played.end.digest)));
        totals.cover.add(&played);
        totals.failures.extend(played.failure.map(|failure| (seed, failure)));
    }
    totals
}

impl Totals {
    fn join(&mut self, other: Totals) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.inputs += other.inputs;
        self.digest = self.digest.wrapping_add(other.digest);
        self.cover.join(&other.cover);
        self.failures.extend(other.failures);
    }
}
