//! What the seat is made of. In the tests of interleavings these are loom's, which tries all orders.

#[cfg(not(all(test, interleaved)))]
pub(crate) use self::plain::*;
#[cfg(all(test, interleaved))]
pub(crate) use self::tried::*;

#[cfg(not(all(test, interleaved)))]
mod plain {
    use std::sync::TryLockError;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, fence};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard as Taken};

    pub(crate) use crate::wake::lock;

    /// A place for one, which others try to take.
    pub(crate) struct Place<T>(Mutex<T>);

    impl<T> Place<T> {
        pub(crate) fn new(value: T) -> Self {
            Place(Mutex::new(value))
        }

        /// The place, if it is free.
        pub(crate) fn try_take(&self) -> Option<Taken<'_, T>> {
            match self.0.try_lock() {
                Ok(taken) => Some(taken),
                Err(TryLockError::Poisoned(taken)) => Some(taken.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }

        /// The place, as soon as it is free.
        pub(crate) fn take(&self) -> Taken<'_, T> {
            lock(&self.0)
        }
    }
}

#[cfg(all(test, interleaved))]
mod tried {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;
    use std::sync::atomic::Ordering;

    use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, fence};
    pub(crate) use loom::sync::{Condvar, Mutex};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one. (Loom's own `try_lock` waits for a lock that is taken just before it.)
    pub(crate) struct Place<T> {
        taken: AtomicBool,
        /// Nobody ever waits for it.
        value: std::sync::Mutex<T>,
    }

    pub(crate) struct Taken<'a, T> {
        taken: &'a AtomicBool,
        value: Option<std::sync::MutexGuard<'a, T>>,
    }

    impl<T> Place<T> {
        pub(crate) fn new(value: T) -> Self {
            Place { taken: AtomicBool::new(false), value: std::sync::Mutex::new(value) }
        }

        pub(crate) fn try_take(&self) -> Option<Taken<'_, T>> {
            let (taken, order) = (&self.taken, (Ordering::Acquire, Ordering::Relaxed));
            taken.compare_exchange(false, true, order.0, order.1).ok()?;
            Some(Taken { taken, value: self.value.try_lock().ok() })
        }

        pub(crate) fn take(&self) -> Taken<'_, T> {
            loop {
                if let Some(taken) = self.try_take() {
                    return taken;
                }
                loom::thread::yield_now();
            }
        }
    }

    impl<T> Deref for Taken<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.value.as_ref().expect("one at a time")
        }
    }

    impl<T> DerefMut for Taken<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.value.as_mut().expect("one at a time")
        }
    }

    impl<T> Drop for Taken<'_, T> {
        fn drop(&mut self) {
            self.value = None;
            self.taken.store(false, Ordering::Release);
        }
    }
}
