//! The work of a floor: requests that stand there as text, and answers that nobody reads.

use std::future::Future;
use std::sync::Arc;

use bench_load::{Failure, Plan, Side, WIDTH};
use smol::lock::Mutex;

use crate::whole::Whole;

/// What runs beside others.
pub type Task = std::pin::Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// What a runtime does.
pub trait Bytes: Send + Sized + 'static {
    fn open(plan: &Plan) -> impl Future<Output = Result<Self, Failure>> + Send;
    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = Result<(), Failure>> + Send;
    fn read(&mut self, into: &mut [u8]) -> impl Future<Output = Result<usize, Failure>> + Send;
    /// Closes the pipes, and waits for the end of the process.
    fn end(self) -> impl Future<Output = Result<(), Failure>> + Send;
    fn spawn(task: Task) -> Task;
}

pub struct Floor<B>(Arc<Mutex<Wire<B>>>, Arc<Plan>);

impl<B> Clone for Floor<B> {
    fn clone(&self) -> Self {
        Floor(Arc::clone(&self.0), Arc::clone(&self.1))
    }
}

struct Wire<B> {
    bytes: B,
    whole: Whole,
    chunk: Vec<u8>,
    requests: Requests,
}

impl<B: Bytes> Wire<B> {
    async fn open(plan: &Plan) -> Result<Self, Failure> {
        let bytes = B::open(plan).await?;
        let chunk = vec![0; 64 << 10];
        Ok(Wire { bytes, whole: Whole::default(), chunk, requests: Requests::new(plan) })
    }

    async fn exchange(&mut self, request: &[u8], answers: usize) -> Result<(), Failure> {
        self.whole.clear();
        self.bytes.write(request).await?;
        let mut wanted = answers;
        loop {
            let read = self.bytes.read(&mut self.chunk).await?;
            if read == 0 {
                return Err("the server is gone".into());
            }
            let bytes = &self.chunk[..read];
            let whole = match self.requests.http {
                Some(_) => self.whole.http(bytes),
                None => self.whole.lines(bytes, &mut wanted),
            };
            if whole {
                return Ok(());
            }
        }
    }

    async fn begin(&mut self, modern: bool) -> Result<(), Failure> {
        let params = if modern { "" } else { INITIALIZE };
        let method = if modern { "server/discover" } else { "initialize" };
        let first = self.requests.make(Some(1), method, params);
        self.exchange(&first, 1).await?;
        if modern {
            return Ok(());
        }
        let second = self.requests.make(None, "notifications/initialized", "");
        if self.requests.http.is_some() {
            return self.exchange(&second, 1).await;
        }
        self.bytes.write(&second).await
    }
}

const INITIALIZE: &str = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcp-proto","version":"0.1.0"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-proto","version":"0.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The requests, as the client writes them.
struct Requests {
    /// The host, over HTTP.
    http: Option<String>,
    modern: bool,
}

impl Requests {
    fn new(plan: &Plan) -> Self {
        let http = plan.url().map(|url| {
            let rest = url.trim_start_matches("http://");
            String::from(rest.split('/').next().unwrap_or_default())
        });
        Requests { http, modern: plan.modern }
    }

    fn make(&self, id: Option<u32>, method: &str, params: &str) -> Vec<u8> {
        let id = id.map_or_else(String::new, |id| format!(r#""id":{id},"#));
        let meta = if self.modern { META } else { "" };
        let comma = if params.is_empty() || meta.is_empty() { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{{params}{comma}{meta}}}}}"#
        );
        let Some(host) = &self.http else { return format!("{body}\n").into_bytes() };
        let version = if self.modern { "2026-07-28" } else { "2025-11-25" };
        let headers = if self.modern { format!("mcp-method: {method}\r\n") } else { String::new() };
        let length = body.len();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\naccept-encoding: gzip\r\n\
             mcp-protocol-version: {version}\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    fn call(&self, tool: &str) -> Vec<u8> {
        let params = format!(r#""name":"{tool}","arguments":{{"message":"hi"}}"#);
        self.make(Some(1234), "tools/call", &params)
    }
}

impl<B: Bytes> Side for Floor<B> {
    const RAW: bool = true;

    async fn connect(plan: &Plan) -> Result<Self, Failure> {
        let mut wire = Wire::open(plan).await?;
        wire.begin(plan.modern).await?;
        Ok(Floor(Arc::new(Mutex::new(wire)), Arc::new(plan.clone())))
    }

    async fn call(&self, tool: &'static str) -> Result<usize, Failure> {
        let mut wire = self.0.lock().await;
        let request = wire.requests.call(tool);
        wire.exchange(&request, 1).await?;
        Ok(0)
    }

    async fn tools(&self) -> Result<usize, Failure> {
        let mut wire = self.0.lock().await;
        let request = wire.requests.make(Some(1234), "tools/list", "");
        wire.exchange(&request, 1).await?;
        Ok(0)
    }

    async fn close(self) -> Result<(), Failure> {
        let wire = Arc::into_inner(self.0).ok_or("it is still used")?.into_inner();
        wire.bytes.end().await
    }

    async fn flight(&self, calls: usize) -> Result<(), Failure> {
        let mut wire = self.0.lock().await;
        let request = wire.requests.call("echo");
        if wire.requests.http.is_none() {
            let all = request.repeat(WIDTH);
            for _ in 0..calls / WIDTH {
                wire.exchange(&all, WIDTH).await?;
            }
            return Ok(());
        }
        let mut tasks = Vec::with_capacity(WIDTH);
        for _ in 0..WIDTH {
            let (request, plan) = (request.clone(), Arc::clone(&self.1));
            tasks.push(B::spawn(Box::pin(async move {
                let mut wire = Wire::<B>::open(&plan).await?;
                for _ in 0..calls / WIDTH {
                    wire.exchange(&request, 1).await?;
                }
                wire.bytes.end().await
            })));
        }
        for task in tasks {
            task.await?;
        }
        Ok(())
    }
}
