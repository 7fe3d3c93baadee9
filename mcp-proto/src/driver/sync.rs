//! The lock of hub and seat. In the tests of interleavings it is loom's, which tries them all.

#[cfg(all(test, interleaved))]
pub(super) use loom::sync::{Mutex, MutexGuard};
pub(super) use std::sync::PoisonError;
#[cfg(not(all(test, interleaved)))]
pub(super) use std::sync::{Mutex, MutexGuard};
