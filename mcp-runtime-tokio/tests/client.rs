//! The client on tokio, on both flavours of its runtime.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use futures_lite::future::zip;
use mcp_runtime_tokio::{Client, ErrorKind};
use tokio::runtime::{Builder, Runtime};

#[path = "../../mcp-runtime-smol/tests/both/mod.rs"]
mod both;

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    current_thread().block_on(future)
}

fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(future);
}

async fn unblock<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(act).await.unwrap()
}

fn connected(runtime: &Runtime) -> (Client, Vec<u32>) {
    let pids = Arc::new(both::Pids::new());
    runtime.block_on(both::connect(&pids, pids.of_wrapped(both::demo())))
}

#[test]
fn a_drop_of_the_runtime_ends_everything() {
    for runtime in [current_thread, multi_thread] {
        both::within_a_drop(|| {
            let runtime = runtime();
            let (client, launched) = connected(&runtime);
            let took = both::timed(|| drop(runtime));
            both::assert_gone(&launched);
            let ended = futures_lite::future::block_on(client.ping()).unwrap_err();
            assert!(matches!(ended.kind(), ErrorKind::DriverGone), "{ended}");
            took
        });
    }
}

#[test]
fn a_drop_needs_no_runtime_to_be_polled() {
    for runtime in [current_thread, multi_thread] {
        both::within_a_drop(|| {
            let runtime = runtime();
            let (client, launched) = connected(&runtime);
            let took = both::timed(|| drop(client));
            both::assert_gone(&launched);
            took
        });
    }
}

#[test]
fn a_drop_on_another_thread_after_the_runtime_is_gone_does_no_harm() {
    let runtime = current_thread();
    let (client, launched) = connected(&runtime);
    drop(runtime);
    std::thread::spawn(move || drop(client)).join().unwrap();
    both::assert_gone(&launched);
}

#[test]
fn a_panic_of_a_task_leaves_nothing() {
    let runtime = multi_thread();
    let (client, launched) = connected(&runtime);
    let panicked = runtime.block_on(async {
        tokio::spawn(async move {
            let _client = client;
            panic!("as tasks do");
        })
        .await
    });
    assert!(panicked.unwrap_err().is_panic());
    both::assert_gone(&launched);
}

#[test]
fn the_multi_thread_runtime_serves_calls_from_all_its_threads() {
    multi_thread().block_on(async {
        let client = Client::connect(both::demo()).await.unwrap();
        let tasks: Vec<_> = (0..64)
            .map(|n| {
                let client = client.clone();
                tokio::spawn(async move { both::add(&client, n, 1).await })
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), (n + 1).to_string());
        }
        let (first, second) = zip(both::add(&client, 1, 1), both::add(&client, 2, 2)).await;
        assert_eq!((&*first, &*second), ("2", "4"));
        client.close().await;
    });
}

#[test]
fn without_a_runtime_connecting_is_an_error() {
    let error = futures_lite::future::block_on(Client::connect(both::demo())).unwrap_err();
    assert!(error.to_string().contains("runtime"), "{error}");
}
