//! The program.

use std::process::ExitCode;
use std::time::Instant;

use super::case::{Failure, play};
use super::crowd::{Run, Totals, run};
use super::shrink::shrink;

const USAGE: &str = "\
simulate --seeds N [--from S] [--threads T] [--doctored K]
simulate --seed X [--trace] [--doctored K]

  --seeds N      plays N seeds
  --from S       the first of them; 0 when it is not named
  --threads T    2 when it is not named; the result is the same
  --seed X       plays one seed
  --trace        shows all inputs and outputs of it
  --doctored K   plants bug K, and stops at the first finding (needs --features doctored)";

#[derive(Debug, Default)]
struct Options {
    seeds: Option<u64>,
    from: u64,
    seed: Option<u64>,
    trace: bool,
    doctored: u8,
    threads: Option<usize>,
}

fn read(args: impl IntoIterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut number = || {
            let value = args.next().ok_or_else(|| format!("{arg} needs a number"))?;
            value.replace('_', "").parse::<u64>().map_err(|_| format!("{value:?} is no number"))
        };
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        match &*arg {
            "--seeds" => options.seeds = Some(number()?),
            "--from" => options.from = number()?,
            "--seed" => options.seed = Some(number()?),
            "--threads" => options.threads = Some(small(number()?)),
            "--doctored" => options.doctored = u8::try_from(number()?).unwrap_or(u8::MAX),
            "--trace" => options.trace = true,
            _ => return Err(format!("{arg:?} is not known")),
        }
    }
    if options.doctored > 0 && !cfg!(feature = "doctored") {
        return Err(String::from("no bug can be planted: build it with --features doctored"));
    }
    match (options.seeds, options.seed) {
        (Some(_), None) | (None, Some(_)) => Ok(options),
        _ => Err(String::from("either --seeds or --seed")),
    }
}

/// Plays what the arguments say. A failure of any seed is a failure.
pub fn main(args: impl IntoIterator<Item = String>) -> ExitCode {
    let options = match read(args) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("{why}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ok = match options.seed {
        Some(seed) => one(seed, &options),
        None => many(&options),
    };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one(seed: u64, options: &Options) -> bool {
    let played = play(seed, options.doctored);
    if options.trace {
        let script =
            played.failure.clone().unwrap_or_else(|| super::case::script(seed, options.doctored));
        script.traces().iter().for_each(|trace| println!("{trace}\n"));
    }
    println!("{:?}", played.setup);
    println!(
        "{} steps, {} inputs, digest {:016x}",
        played.steps, played.end.inputs, played.end.digest
    );
    if let Some(failure) = &played.failure {
        tell(seed, failure, options.doctored);
    }
    played.failure.is_none()
}

fn many(options: &Options) -> bool {
    let begin = Instant::now();
    let totals = run(Run {
        from: options.from,
        seeds: options.seeds.unwrap_or_default(),
        doctored: options.doctored,
        threads: options.threads.unwrap_or(2),
        most: if options.doctored > 0 { 1 } else { 20 },
    });
    let took = begin.elapsed().as_secs_f64();
    if options.doctored == 0 {
        println!("{}\n", totals.cover);
    }
    for (seed, failure) in totals.failures.iter().take(3) {
        tell(*seed, failure, options.doctored);
    }
    for wonder in totals.cover.wonders() {
        println!("met, although it is said to be impossible: {wonder}");
    }
    summary(&totals, took);
    totals.failures.is_empty() && totals.cover.wonders().next().is_none()
}

fn summary(totals: &Totals, took: f64) {
    let Totals { seeds, steps, inputs, digest, failures, .. } = totals;
    let each = *steps as f64 / (*seeds).max(1) as f64;
    println!(
        "{each:.0} steps and {:.0} inputs a seed, {:.0} seeds a second",
        *inputs as f64 / (*seeds).max(1) as f64,
        *seeds as f64 / took
    );
    if let Some((cell, times)) = totals.cover.least() {
        println!("least met: {cell}, {times} times");
    }
    println!("{seeds} seeds, {} failures, {steps} steps, digest {digest:016x}", failures.len());
}

/// Tells what is broken, how to see it again, and the shortest way there.
fn tell(seed: u64, failure: &Failure, doctored: u8) {
    println!("seed {seed}: {}", failure.text);
    let (feature, planted) = match doctored {
        0 => (String::new(), String::new()),
        bug => (String::from(" --features doctored"), format!(" --doctored {bug}")),
    };
    println!(
        "  cargo run --release -p mcp-tests{feature} --bin simulate -- --seed {seed} --trace{planted}"
    );
    let short = shrink(failure);
    println!("  {:?}", short.setup);
    if let Some(twin) = short.twin {
        println!("  and once more with {twin:?}");
    }
    for step in &short.steps {
        println!("    {step:?}");
    }
    println!("  {}\n", short.text);
}
