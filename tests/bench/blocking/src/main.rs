//! The client for threads.

use std::collections::VecDeque;

use bench_load::{Failure, Plan, Side, WIDTH};
use mcp_runtime_blocking::op::CallTool;
use mcp_runtime_blocking::proto::EraChoice;
use mcp_runtime_blocking::{Client, PendingCall};
use serde_json::{Map, Value};

#[derive(Clone)]
struct Blocking(Client);

fn main() -> Result<(), Failure> {
    // Its futures block, and are ready when they are polled.
    let mut run = std::pin::pin!(bench_load::run::<Blocking>(Plan::from_args()?));
    match run.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => Err("a blocking client waits for a waker".into()),
    }
}

impl Side for Blocking {
    async fn connect(plan: &Plan) -> Result<Self, Failure> {
        let era = if plan.modern { EraChoice::Modern } else { EraChoice::Legacy };
        let builder = Client::builder().era(era);
        Ok(Blocking(match plan.url() {
            Some(url) => builder.connect(url)?,
            None => builder.connect(&plan.target)?,
        }))
    }

    async fn call(&self, tool: &'static str) -> Result<usize, Failure> {
        Ok(self.0.call_tool(tool, arguments())?.text().len())
    }

    async fn tools(&self) -> Result<usize, Failure> {
        Ok(self.0.list_tools()?.len())
    }

    async fn close(self) -> Result<(), Failure> {
        self.0.close();
        Ok(())
    }

    async fn flight(&self, calls: usize) -> Result<(), Failure> {
        let mut out = VecDeque::with_capacity(WIDTH);
        for _ in 0..calls {
            if out.len() == WIDTH {
                arrived(out.pop_front())?;
            }
            out.push_back(self.0.begin(CallTool::new("echo", arguments()))?);
        }
        while !out.is_empty() {
            arrived(out.pop_front())?;
        }
        Ok(())
    }
}

fn arguments() -> Map<String, Value> {
    Map::from_iter([(String::from("message"), Value::from("hi"))])
}

fn arrived(call: Option<PendingCall<CallTool>>) -> Result<(), Failure> {
    let text = call.ok_or("no call is out")?.wait()?;
    if text.text() == "hi" { Ok(()) } else { Err("another answer".into()) }
}
