//! The client for tokio.

use bench_load::{Failure, Plan, Side, WIDTH, share};
use mcp_runtime_tokio::Client;
use mcp_runtime_tokio::proto::EraChoice;
use serde_json::{Map, Value};

#[derive(Clone)]
struct Tokio(Client);

fn main() -> Result<(), Failure> {
    let plan = Plan::from_args()?;
    if plan.flavour == "threads" {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(async { tokio::spawn(bench_load::run::<Tokio>(plan)).await? });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(bench_load::run::<Tokio>(plan))
}

impl Side for Tokio {
    async fn connect(plan: &Plan) -> Result<Self, Failure> {
        let era = if plan.modern { EraChoice::Modern } else { EraChoice::Legacy };
        let builder = Client::builder().era(era);
        Ok(Tokio(match plan.url() {
            Some(url) => builder.connect(url).await?,
            None => builder.connect(&plan.target).await?,
        }))
    }

    async fn call(&self, tool: &'static str) -> Result<usize, Failure> {
        let arguments = Map::from_iter([(String::from("message"), Value::from("hi"))]);
        Ok(self.0.call_tool(tool, arguments).await?.text().len())
    }

    async fn tools(&self) -> Result<usize, Failure> {
        Ok(self.0.list_tools().await?.len())
    }

    async fn close(self) -> Result<(), Failure> {
        self.0.close().await;
        Ok(())
    }

    async fn flight(&self, calls: usize) -> Result<(), Failure> {
        let all: Vec<_> = (0..WIDTH).map(|_| tokio::spawn(share(self.clone(), calls))).collect();
        for one in all {
            one.await??;
        }
        Ok(())
    }
}
