//! One short example for each thing that a client does. The async clients have the same names, with
//! `.await`.
//!
//! Each example talks to the demo server of this project over HTTP; a command line in the place of
//! the URL would launch a server instead.
//!
//! # Prompts
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use mcp_runtime_blocking::Client;
//! use serde_json::json;
//!
//! let client = Client::connect(demo.url())?;
//! for prompt in &client.list_prompts()? {
//!     println!("{}: {} arguments", prompt.display_name(), prompt.arguments.len());
//! }
//! let review = client.get_prompt("review", json!({ "code": "x = 1", "language": "python" }))?;
//! assert_eq!(review.messages.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Resources
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use mcp_runtime_blocking::{Client, ErrorKind};
//!
//! let client = Client::connect(demo.url())?;
//! for resource in &client.list_resources()? {
//!     let read = client.read_resource(&resource.uri)?;
//!     println!("{}: {} bytes", resource.uri, read.contents[0].bytes()?.len());
//! }
//! let error = client.read_resource("demo://nowhere").unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::ResourceNotFound { .. }));
//! # Ok(())
//! # }
//! ```
//!
//! # Elicitation: a server asks the user
//!
//! The same handlers answer legacy servers, which ask by a request, and modern ones, which ask
//! before they answer a call.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use mcp_runtime_blocking::{Client, model::ElicitResult};
//! use serde_json::{Map, json};
//!
//! let client = Client::builder()
//!     .on_elicitation(|request| {
//!         println!("{} asks: {}", request.server, request.message);
//!         // What is left out gets the form's own defaults.
//!         Ok(ElicitResult::accept(Map::from_iter([("name".into(), json!("Ada"))])))
//!     })
//!     .on_url_elicitation(|request| {
//!         println!("open {}?", request.domain().unwrap_or_default());
//!         Ok(ElicitResult::decline())
//!     })
//!     .connect(demo.url())?;
//! # client.ping()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Sampling: a server asks the host's model
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use mcp_runtime_blocking::{Client, model::SamplingResult};
//!
//! let models = ["small-1", "large-1"];
//! let client = Client::builder()
//!     .on_sampling(move |request| {
//!         let model = request.preferences.choose(&models).unwrap_or(models[0]);
//!         Ok(SamplingResult::text("what the model says", model))
//!     })
//!     .connect(demo.url())?;
//! # client.ping()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Progress, and a timeout of one call's own
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use std::time::Duration;
//!
//! use mcp_runtime_blocking::{CallOptions, Client};
//! use serde_json::json;
//!
//! let client = Client::connect(demo.url())?;
//! let options = CallOptions::new()
//!     .timeout(Duration::from_secs(60))
//!     .on_progress(|progress| println!("{} of {:?}", progress.progress, progress.total));
//! client.call_tool_with("slow", json!({ "steps": 3, "millis": 1 }), options)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Timeouts for all calls
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use std::time::Duration;
//!
//! use mcp_runtime_blocking::{Client, Outcome};
//! use serde_json::json;
//!
//! let client =
//!     Client::builder().call_timeout(Duration::from_millis(50)).connect(demo.url())?;
//! let error = client.call_tool("slow", json!({ "until_cancelled": true })).unwrap_err();
//! assert!(error.is_timeout());
//! // The tool may have run: nothing is sent a second time.
//! assert_eq!(error.outcome(), Outcome::Unknown);
//! # Ok(())
//! # }
//! ```
//!
//! # Cancellation
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use mcp_runtime_blocking::{Client, ErrorKind, op::CallTool};
//! use serde_json::{Map, json};
//!
//! let client = Client::connect(demo.url())?;
//! let arguments = Map::from_iter([("until_cancelled".into(), json!(true))]);
//! let call = client.begin(CallTool::new("slow", arguments))?;
//! call.cancel_handle().cancel();
//! let error = call.wait().unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::Cancelled));
//! # Ok(())
//! # }
//! ```
//!
//! # A forced era
//!
//! Without it the client finds out what a server speaks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let demo = mcp_tests::demo::HttpDemo::start(Default::default())?;
//! use mcp_runtime_blocking::Client;
//! use mcp_runtime_blocking::proto::{Era, EraChoice};
//!
//! let client = Client::builder().era(EraChoice::Legacy).connect(demo.url())?;
//! let server = client.server().ok_or("the server has gone")?;
//! assert_eq!(server.era, Era::Legacy);
//! # Ok(())
//! # }
//! ```
//!
//! # A call that stopped while its server waited
//!
//! A call of a modern server ends with an error when nobody can give the input that the server
//! wants. The error knows where it stopped: what was answered before is not asked again.
//!
//! ```
//! # use mcp_runtime_blocking::{Client, Error, model::CallToolResult};
//! fn call(client: &Client) -> Result<CallToolResult, Error> {
//!     match client.call_tool("book_flight", ()) {
//!         Err(error) if error.continuation().is_some_and(|from| from.is_resumable()) => {
//!             // Once the user is back:
//!             let result = client.resume(&error)?.tool();
//!             result.ok_or(error)
//!         }
//!         done => done,
//!     }
//! }
//! ```
