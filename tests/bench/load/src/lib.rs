//! The same work for every client: what is run, and how it is measured. A client is a
//! [`Side`]; `bench-SIDE WORKLOAD COUNT ERA FLAVOUR TARGET...` makes one run in a process of its
//! own, and prints what it took as a line of JSON.

mod meter;

use std::future::Future;

pub use meter::Meter;

/// What goes wrong ends the run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long the text of a large result is.
pub const BLOB: usize = 32 << 20;

/// How many calls are out at once in the workload `flight`.
pub const WIDTH: usize = 64;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which workload.
    pub workload: String,
    /// How often.
    pub count: usize,
    /// Whether the modern era is spoken, or the legacy one.
    pub modern: bool,
    /// Which of its kinds the client is, such as `threads`.
    pub flavour: String,
    /// A URL, or a program and its arguments.
    pub target: Vec<String>,
}

impl Plan {
    /// Reads the arguments of the process.
    ///
    /// # Errors
    /// When they are none of a plan.
    pub fn from_args() -> Result<Self, Failure> {
        let mut args = std::env::args().skip(1);
        let mut next = || args.next().ok_or("usage: WORKLOAD COUNT ERA FLAVOUR TARGET...");
        let (workload, count, era, flavour) = (next()?, next()?, next()?, next()?);
        let target: Vec<String> = args.collect();
        Ok(Plan { workload, count: count.parse()?, modern: era == "modern", flavour, target })
    }

    /// The URL, if the target is one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.target.first().map(String::as_str).filter(|target| target.starts_with("http://"))
    }
}

/// A client under test. What it returns has been looked at: a wrong answer is a failure.
pub trait Side: Clone + Send + Sync + Sized + 'static {
    /// Whether it only moves bytes. Then it knows of no lengths and counts, and says 0 for them.
    const RAW: bool = false;

    /// A client of a server that is ready to be called.
    fn connect(plan: &Plan) -> impl Future<Output = Result<Self, Failure>> + Send;

    /// Calls the tool, and returns the length of the text that it answers with.
    fn call(&self, tool: &'static str) -> impl Future<Output = Result<usize, Failure>> + Send;

    /// Lists the tools, and returns how many there are.
    fn tools(&self) -> impl Future<Output = Result<usize, Failure>> + Send;

    /// Closes it, with everything that it has begun.
    fn close(self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Makes the calls, [`WIDTH`] of them at once.
    fn flight(&self, calls: usize) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// One of those tasks that share the calls of the workload `flight`.
///
/// # Errors
/// When a call fails.
pub async fn share<S: Side>(side: S, calls: usize) -> Result<(), Failure> {
    for _ in 0..calls / WIDTH {
        echo(&side).await?;
    }
    Ok(())
}

async fn echo<S: Side>(side: &S) -> Result<(), Failure> {
    expect(side.call("echo").await?, if S::RAW { 0 } else { 2 })
}

fn expect(found: usize, wanted: usize) -> Result<(), Failure> {
    if found == wanted { Ok(()) } else { Err(format!("{found} in the place of {wanted}").into()) }
}

/// Runs the plan, and prints what it took.
///
/// # Errors
/// When an answer is wrong, or there is none.
pub async fn run<S: Side>(plan: Plan) -> Result<(), Failure> {
    meter::many_files()?;
    let count = plan.count;
    match plan.workload.as_str() {
        "calls" => {
            let side = S::connect(&plan).await?;
            for _ in 0..count / 20 + 1 {
                echo(&side).await?;
            }
            let meter = Meter::start();
            for _ in 0..count {
                echo(&side).await?;
            }
            meter.print(count);
            side.close().await
        }
        "flight" => {
            let count = count.next_multiple_of(WIDTH);
            let side = S::connect(&plan).await?;
            side.flight((count / 20).next_multiple_of(WIDTH)).await?;
            let meter = Meter::start();
            side.flight(count).await?;
            meter.print(count);
            side.close().await
        }
        tool @ ("plain" | "escaped") => {
            let tool = if tool == "plain" { "plain" } else { "escaped" };
            let wanted = if S::RAW { 0 } else { text_length(tool) };
            let side = S::connect(&plan).await?;
            // The server makes the text when it is asked the first time.
            expect(side.call(tool).await?, wanted)?;
            let meter = Meter::start();
            for _ in 0..count {
                expect(side.call(tool).await?, wanted)?;
            }
            meter.print(count);
            side.close().await
        }
        "tools" => {
            let side = S::connect(&plan).await?;
            let wanted = if S::RAW { 0 } else { 5000 };
            expect(side.tools().await?, wanted)?;
            let meter = Meter::start();
            for _ in 0..count {
                expect(side.tools().await?, wanted)?;
            }
            meter.print(count);
            side.close().await
        }
        "lifecycle" => {
            lifecycle::<S>(&plan).await?;
            let meter = Meter::start();
            for _ in 0..count {
                lifecycle::<S>(&plan).await?;
            }
            meter.print(count);
            Ok(())
        }
        "idle" => {
            lifecycle::<S>(&plan).await?;
            let meter = Meter::start();
            let mut sides = Vec::with_capacity(count);
            for _ in 0..count {
                let side = S::connect(&plan).await?;
                echo(&side).await?;
                sides.push(side);
            }
            meter.print(count);
            for side in sides {
                side.close().await?;
            }
            Ok(())
        }
        other => Err(format!("no workload is called {other}").into()),
    }
}

fn text_length(tool: &str) -> usize {
    if tool == "plain" { BLOB } else { BLOB / 80 * 80 }
}

async fn lifecycle<S: Side>(plan: &Plan) -> Result<(), Failure> {
    let side = S::connect(plan).await?;
    expect(side.tools().await?, if S::RAW { 0 } else { 10 })?;
    echo(&side).await?;
    side.close().await
}
