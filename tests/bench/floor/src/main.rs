//! What is left without a protocol: the same bytes, written and read on each runtime. The flavours
//! are `blocking`, `ureq`, `smol`, `current` and `threads` (tokio).

mod on_smol;
mod on_threads;
mod on_tokio;
mod over_ureq;
mod side;
mod whole;

use bench_load::{Failure, Plan};

use side::Floor;

fn main() -> Result<(), Failure> {
    let plan = Plan::from_args()?;
    match plan.flavour.as_str() {
        "blocking" => on_threads::now(bench_load::run::<Floor<on_threads::Pipes>>(plan)),
        "ureq" => on_threads::now(bench_load::run::<Floor<over_ureq::Pipes>>(plan)),
        "smol" => smol::block_on(bench_load::run::<Floor<on_smol::Pipes>>(plan)),
        "current" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(bench_load::run::<Floor<on_tokio::Pipes>>(plan))
        }
        "threads" => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(async {
                tokio::spawn(bench_load::run::<Floor<on_tokio::Pipes>>(plan)).await?
            })
        }
        other => Err(format!("no floor is called {other}").into()),
    }
}
