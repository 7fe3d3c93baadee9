//! What a run takes: time, processor time, memory, allocations.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

#[cfg(feature = "counted")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// A measurement that has begun.
pub struct Meter {
    time: Instant,
    cpu: Duration,
    allocations: usize,
    resident: u64,
}

impl Meter {
    /// Begins one.
    #[must_use]
    pub fn start() -> Self {
        let (allocations, resident) = (allocations(), memory("VmRSS:"));
        Meter { time: Instant::now(), cpu: cpu(), allocations, resident }
    }

    /// Ends it, and prints it.
    pub fn print(self, count: usize) {
        let (time, cpu) = (self.time.elapsed(), cpu().saturating_sub(self.cpu));
        let allocations = allocations() - self.allocations;
        println!(
            r#"{{"count":{count},"seconds":{},"cpu":{},"allocations":{allocations},"grown":{},"peak":{}}}"#,
            time.as_secs_f64(),
            cpu.as_secs_f64(),
            memory("VmRSS:").saturating_sub(self.resident),
            memory("VmHWM:"),
        );
    }
}

#[cfg(feature = "counted")]
fn allocations() -> usize {
    let stats = stats_alloc::INSTRUMENTED_SYSTEM.stats();
    stats.allocations + stats.reallocations
}

#[cfg(not(feature = "counted"))]
fn allocations() -> usize {
    0
}

/// Processor time of all threads, in user space and in the kernel.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Of this process, in bytes.
fn memory(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024
}

/// Lets this process open as many files as it may.
pub fn many_files() -> Result<(), crate::Failure> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(())
}
