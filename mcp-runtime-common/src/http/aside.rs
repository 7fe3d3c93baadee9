//! Blocking work beside an async runtime, on a thread that nobody waits for: an executor whose pool
//! of threads is waited for when it ends would be held up by a slow lookup.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use mcp_proto::driver::BoxFuture;

struct Outcome<T>(Mutex<State<T>>);

struct State<T> {
    done: Option<io::Result<T>>,
    waker: Option<Waker>,
}

impl<T> Outcome<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs this on a thread of its own. Dropping the future forgets it.
pub(super) fn aside<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> BoxFuture<io::Result<T>> {
    let outcome = Arc::new(Outcome(Mutex::new(State { done: None, waker: None })));
    let theirs = Arc::clone(&outcome);
    let begun = thread::Builder::new().name(String::from(name)).spawn(move || {
        // The host's own code may be in it.
        let done = catch_unwind(AssertUnwindSafe(work));
        let done = done.unwrap_or_else(|_| Err(io::Error::other("it panicked")));
        let mut state = theirs.lock();
        state.done = Some(done);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    });
    match begun {
        Ok(_) => Box::pin(Aside(outcome)),
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

struct Aside<T>(Arc<Outcome<T>>);

impl<T> Future for Aside<T> {
    type Output = io::Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match state.done.take() {
            Some(done) => Poll::Ready(done),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
