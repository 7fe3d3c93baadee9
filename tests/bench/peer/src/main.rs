//! rmcp, as its documentation says: with its own HTTP client (flavours `current`, `threads`), or
//! with one that keeps its connections and as many requests as there are (`...-pooled`).

use std::sync::Arc;

use bench_load::{BLOB, Failure, Plan, Side, WIDTH, share};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{Peer, RoleClient};
use serde_json::{Map, Value};
use tokio::process::Command;

#[derive(Clone)]
struct Rmcp {
    peer: Peer<RoleClient>,
    service: Arc<RunningService<RoleClient, ()>>,
}

fn main() -> Result<(), Failure> {
    let plan = Plan::from_args()?;
    if plan.flavour.starts_with("threads") {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(async { tokio::spawn(bench_load::run::<Rmcp>(plan)).await? });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(bench_load::run::<Rmcp>(plan))
}

impl Side for Rmcp {
    async fn connect(plan: &Plan) -> Result<Self, Failure> {
        let lifecycle = if plan.modern {
            ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            }
        } else {
            ClientLifecycleMode::Initialize
        };
        let service = if let Some(url) = plan.url() {
            let mut config = StreamableHttpClientTransportConfig::with_uri(url);
            // By default it refuses what is longer than 16 MiB.
            config.max_json_response_size = 2 * BLOB;
            config.max_sse_event_size = 2 * BLOB;
            let transport = if plan.flavour.ends_with("-pooled") {
                config.max_concurrent_requests = WIDTH;
                let client = reqwest::Client::builder().build()?;
                StreamableHttpClientTransport::with_client(client, config)
            } else {
                StreamableHttpClientTransport::from_config(config)
            };
            ().serve_with_lifecycle(transport, lifecycle).await?
        } else {
            let [program, arguments @ ..] = &plan.target[..] else {
                return Err("no target".into());
            };
            let mut command = Command::new(program);
            command.args(arguments);
            ().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        };
        Ok(Rmcp { peer: service.peer().clone(), service: Arc::new(service) })
    }

    async fn call(&self, tool: &'static str) -> Result<usize, Failure> {
        let arguments = Map::from_iter([(String::from("message"), Value::from("hi"))]);
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.peer.call_tool(params).await?;
        let text = result.content.first().and_then(|content| content.as_text());
        Ok(text.ok_or("no text")?.text.len())
    }

    async fn tools(&self) -> Result<usize, Failure> {
        Ok(self.peer.list_all_tools().await?.len())
    }

    async fn close(self) -> Result<(), Failure> {
        drop(self.peer);
        let service = Arc::into_inner(self.service).ok_or("it is still used")?;
        service.cancel().await?;
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
