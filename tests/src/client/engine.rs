//! What runs the futures of a client, for callers that block.

use std::future::Future;
use std::sync::Arc;

use super::Runtime;

/// A runtime of a scenario's own; clones share it.
#[derive(Clone)]
pub(super) struct Engine(Arc<Inner>);

enum Inner {
    /// Futures of the blocking client are ready at once.
    Blocking,
    Smol,
    #[cfg(feature = "tokio")]
    Tokio(tokio_engine::Tokio),
}

impl Engine {
    pub(super) fn new(runtime: Runtime) -> Self {
        Engine(Arc::new(match runtime {
            Runtime::Blocking | Runtime::Pumped => Inner::Blocking,
            Runtime::Smol => Inner::Smol,
            #[cfg(feature = "tokio")]
            Runtime::TokioCurrentThread => Inner::Tokio(tokio_engine::Tokio::current_thread()),
            #[cfg(feature = "tokio")]
            Runtime::TokioMultiThread => Inner::Tokio(tokio_engine::Tokio::multi_thread()),
        }))
    }

    /// Runs a future to its end where a program on this runtime would.
    pub(super) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match &*self.0 {
            #[cfg(feature = "tokio")]
            Inner::Tokio(tokio) => tokio.run(future),
            _ => self.run_here(future),
        }
    }

    /// Runs a future to its end on this thread.
    pub(super) fn run_here<T>(&self, future: impl Future<Output = T>) -> T {
        match &*self.0 {
            Inner::Blocking => futures_lite::future::block_on(future),
            Inner::Smol => smol::block_on(future),
            #[cfg(feature = "tokio")]
            Inner::Tokio(tokio) => tokio.handle().block_on(future),
        }
    }

    /// Does something within the runtime.
    pub(super) fn enter<T>(&self, act: impl FnOnce() -> T) -> T {
        match &*self.0 {
            #[cfg(feature = "tokio")]
            Inner::Tokio(tokio) => {
                let _entered = tokio.handle().enter();
                act()
            }
            _ => act(),
        }
    }
}

#[cfg(feature = "tokio")]
mod tokio_engine {
    use std::future::Future;
    use std::thread::JoinHandle;

    use tokio::runtime::{Builder, Handle, Runtime};
    use tokio::sync::oneshot;

    pub(super) struct Tokio {
        handle: Handle,
        life: Life,
    }

    enum Life {
        /// A thread is inside `block_on` until it is told to leave, and is the whole runtime.
        CurrentThread(Option<(oneshot::Sender<()>, JoinHandle<()>)>),
        MultiThread(Option<Runtime>),
    }

    impl Tokio {
        pub(super) fn current_thread() -> Self {
            let runtime = Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime of tokio's");
            let handle = runtime.handle().clone();
            let (stop, stopped) = oneshot::channel();
            let thread = std::thread::spawn(move || drop(runtime.block_on(stopped)));
            Tokio { handle, life: Life::CurrentThread(Some((stop, thread))) }
        }

        pub(super) fn multi_thread() -> Self {
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.expect("a runtime of tokio's");
            Tokio { handle: runtime.handle().clone(), life: Life::MultiThread(Some(runtime)) }
        }

        pub(super) fn handle(&self) -> &Handle {
            &self.handle
        }

        pub(super) fn run<T: Send + 'static>(
            &self,
            future: impl Future<Output = T> + Send + 'static,
        ) -> T {
            match &self.life {
                Life::MultiThread(_) => self.handle.block_on(future),
                Life::CurrentThread(_) => {
                    let task = self.handle.spawn(future);
                    match futures_lite::future::block_on(task) {
                        Ok(value) => value,
                        Err(error) => match error.try_into_panic() {
                            Ok(panic) => std::panic::resume_unwind(panic),
                            Err(error) => panic!("the runtime has gone: {error}"),
                        },
                    }
                }
            }
        }
    }

    impl Drop for Tokio {
        /// It may be dropped by one of its own tasks, so it never waits there.
        fn drop(&mut self) {
            match &mut self.life {
                Life::MultiThread(runtime) => {
                    if let Some(runtime) = runtime.take() {
                        runtime.shutdown_background();
                    }
                }
                Life::CurrentThread(thread) => {
                    let Some((stop, thread)) = thread.take() else { return };
                    let _ = stop.send(());
                    if Handle::try_current().is_err() {
                        let _ = thread.join();
                    }
                }
            }
        }
    }
}
