//! The client on smol, and on executors of one's own.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use mcp_runtime_smol::Client;

mod both;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    smol::block_on(future)
}

fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    smol::spawn(future).detach();
}

async fn unblock<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    smol::unblock(act).await
}

#[test]
fn an_executor_of_ones_own_runs_the_driver() {
    let executor = Arc::new(smol::Executor::new());
    let theirs = Arc::clone(&executor);
    let builder = Client::builder().spawn_with(move |driver| theirs.spawn(driver).detach());
    let pids = Arc::new(both::Pids::new());
    let connecting = futures_lite::future::zip(builder.connect(pids.of(both::demo())), pids.wait());
    let (client, launched) = block_on(executor.run(connecting));
    let client = client.unwrap();
    assert_eq!(block_on(executor.run(both::add(&client, 1, 2))), "3");
    // From here on nobody runs it, and its driver with it.
    drop(executor);
    both::assert_gone(&launched);
    assert!(block_on(client.ping()).is_err());
}

#[test]
fn a_drop_needs_no_executor() {
    both::within_a_drop(|| {
        let executor = Arc::new(smol::Executor::new());
        let theirs = Arc::clone(&executor);
        let builder = Client::builder().spawn_with(move |driver| theirs.spawn(driver).detach());
        let pids = Arc::new(both::Pids::new());
        let connecting =
            futures_lite::future::zip(builder.connect(pids.of_wrapped(both::demo())), pids.wait());
        let (client, launched) = block_on(executor.run(connecting));
        let took = both::timed(|| drop(client.unwrap()));
        both::assert_gone(&launched);
        took
    });
}
