//! The method macro, used as an adapter uses it.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use mcp_runtime_common::proto::model::CallToolResult;
use mcp_runtime_common::proto::op::Ping;
use mcp_runtime_common::proto::{Error, ErrorKind, Operation, Outcome};
use mcp_runtime_common::serde_json::{Map, Value, json};
use mcp_runtime_common::{IntoArguments, mcp_client_methods};

/// An adapter's own options.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Options(u8);

#[derive(Debug)]
struct Pending<O>(O);

impl<O: Operation> Pending<O> {
    fn wait(self) -> Result<O::Output, Error> {
        Err(Error::validation(self.0.params().unwrap().object.as_str()))
    }
}

impl<O: Operation + Unpin> Future for Pending<O> {
    type Output = Result<O::Output, Error>;

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Err(Error::validation(self.0.params().unwrap().object.as_str())))
    }
}

/// What was sent: the operation, its parameters, the options.
#[derive(Debug, Default)]
struct Sent(Mutex<Vec<(String, String, u8)>>);

impl Sent {
    fn send<O: Operation>(&self, operation: &O, options: Options) -> Result<O::Output, Error> {
        let params = operation.params().unwrap();
        let name = params.method.unwrap_or(operation.spec().name.into());
        let sent = (name, params.object.as_str().into(), options.0);
        self.0.lock().unwrap().push(sent);
        Err(Error::validation("there is no server"))
    }

    fn take(&self) -> Vec<(String, String, u8)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[derive(Debug, Default)]
struct Blocking(Sent);

impl Blocking {
    fn run<O: Operation>(&self, operation: O, options: Options) -> Result<O::Output, Error> {
        self.0.send(&operation, options)
    }

    fn begin_with<O: Operation>(&self, operation: O, _: Options) -> Result<Pending<O>, Error> {
        Ok(Pending(operation))
    }

    mcp_client_methods!(blocking, Options, Pending);
}

#[derive(Debug, Default)]
struct Async(Sent);

impl Async {
    async fn run<O: Operation + Send + 'static>(
        &self,
        operation: O,
        options: Options,
    ) -> Result<O::Output, Error> {
        std::future::ready(()).await;
        self.0.send(&operation, options)
    }

    fn begin_with<O: Operation + Send + 'static>(
        &self,
        operation: O,
        _: Options,
    ) -> Result<Pending<O>, Error> {
        Ok(Pending(operation))
    }

    mcp_client_methods!(async, Options, Pending, Send + 'static);
}

fn ready<T>(future: impl Future<Output = T> + Send) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn expected() -> Vec<(String, String, u8)> {
    [
        ("tools/list", "{}", 0),
        ("tools/call", r#"{"name":"t","arguments":{"a":1}}"#, 0),
        ("tools/call", r#"{"name":"t","arguments":{}}"#, 7),
        ("ping", "{}", 0),
        ("x/y", r#"{"k":1}"#, 0),
    ]
    .map(|(name, params, options)| (name.into(), params.into(), options))
    .to_vec()
}

fn params() -> Map<String, Value> {
    Map::from_iter([(String::from("k"), json!(1))])
}

fn calls() -> [(&'static str, Value); 3] {
    [("a", json!({"a": 1})), ("b", json!(2)), ("c", json!({}))]
}

/// Each result stands where its call does.
fn ended(results: Vec<Result<CallToolResult, Error>>) {
    let texts: Vec<_> = results.iter().map(|it| it.as_ref().unwrap_err().to_string()).collect();
    assert_eq!(texts[0], r#"{"name":"a","arguments":{"a":1}}"#);
    assert!(texts[1].contains("not a number"), "{texts:?}");
    assert_eq!(texts[2], r#"{"name":"c","arguments":{}}"#);
}

#[test]
fn blocking_methods_run_their_operations() {
    let client = Blocking::default();
    assert!(client.list_tools().is_err());
    assert!(client.call_tool("t", json!({"a": 1})).is_err());
    assert!(client.call_tool_with("t", (), Options(7)).is_err());
    assert!(client.ping().is_err());
    assert!(client.request("x/y", params()).is_err());
    assert_eq!(client.0.take(), expected());
    let Pending(Ping) = client.begin(Ping).unwrap();
    ended(client.call_tools(calls()));
}

#[test]
fn async_methods_run_the_same_ones() {
    let client = Async::default();
    assert!(ready(client.list_tools()).is_err());
    assert!(ready(client.call_tool("t", json!({"a": 1}))).is_err());
    assert!(ready(client.call_tool_with("t", (), Options(7))).is_err());
    assert!(ready(client.ping()).is_err());
    assert!(ready(client.request("x/y", params())).is_err());
    assert_eq!(client.0.take(), expected());
    let Pending(Ping) = client.begin(Ping).unwrap();
    ended(ready(client.call_tools(calls())));
}

#[test]
fn arguments_are_an_object_or_nothing_is_sent() {
    let client = Blocking::default();
    for value in [json!(null), json!([1]), json!("x"), json!(1), json!(true)] {
        let error = client.call_tool("t", value).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(_)));
        assert_eq!(error.outcome(), Outcome::NotSent);
    }
    assert!(client.0.take().is_empty());
    assert_eq!(params().into_arguments().unwrap(), params());
}
