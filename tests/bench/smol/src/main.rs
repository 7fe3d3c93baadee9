//! The client for smol.

use bench_load::{Failure, Plan, Side, WIDTH, share};
use mcp_runtime_smol::Client;
use mcp_runtime_smol::proto::EraChoice;
use serde_json::{Map, Value};

#[derive(Clone)]
struct Smol(Client);

fn main() -> Result<(), Failure> {
    smol::block_on(bench_load::run::<Smol>(Plan::from_args()?))
}

impl Side for Smol {
    async fn connect(plan: &Plan) -> Result<Self, Failure> {
        let era = if plan.modern { EraChoice::Modern } else { EraChoice::Legacy };
        let builder = Client::builder().era(era);
        Ok(Smol(match plan.url() {
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
        let all: Vec<_> = (0..WIDTH).map(|_| smol::spawn(share(self.clone(), calls))).collect();
        for one in all {
            one.await?;
        }
        Ok(())
    }
}
