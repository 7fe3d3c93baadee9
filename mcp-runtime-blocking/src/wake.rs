//! How threads wake each other: the bell of the seat, and places to park.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use crate::sync::{self, AtomicU8};

/// A function of the host's that is called when there is something for it to do.
pub(crate) type OnWake = Arc<dyn Fn() + Send + Sync>;

/// Takes a lock. What these locks guard is valid after every statement, so poison means nothing.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody sits in the seat.
const EMPTY: u8 = 0;
/// Somebody sits there, and has looked at all that happened before.
const QUIET: u8 = 1;
/// It rang since.
const RUNG: u8 = 2;
/// Whoever sits there sleeps; a byte in the pipe wakes them.
const ASLEEP: u8 = 3;

/// What ends the sleep of whoever sits in the seat.
pub(crate) trait Chime: Send + Sync + 'static {
    /// Ends the sleep, the next one if nobody sleeps.
    fn ring(&self);
    /// Whoever slept has heard it.
    fn silence(&self);
}

/// A chime that can be waited for together with other pipes.
pub(crate) struct Pipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Pipe {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        mcp_runtime_common::set_nonblocking(&reader)?;
        mcp_runtime_common::set_nonblocking(&writer)?;
        Ok(Pipe { reader, writer })
    }

    /// Readable once it has rung.
    pub(crate) fn reader(&self) -> &PipeReader {
        &self.reader
    }
}

impl Chime for Pipe {
    fn ring(&self) {
        // When the pipe is full there is something to wake them already.
        let _ = (&self.writer).write(b"!");
    }

    fn silence(&self) {
        // More than a few bytes are never in there.
        let _ = (&self.reader).read(&mut [0; 64]);
    }
}

/// Wakes whoever sits in the seat. Their chime, which costs a system call, rings only when they sleep.
pub(crate) struct Bell<C> {
    state: AtomicU8,
    chime: C,
    /// Told when it rings and nobody sits there.
    host: Option<OnWake>,
}

impl<C: Chime> Bell<C> {
    pub(crate) fn new(chime: C, host: Option<OnWake>) -> Self {
        Bell { state: AtomicU8::new(EMPTY), chime, host }
    }

    /// Somebody sits, and is about to look at everything.
    pub(crate) fn look(&self) {
        self.state.swap(QUIET, Ordering::SeqCst);
    }

    /// Somebody sits, and is about to sleep. `false`: something has happened that they have not
    /// looked at yet.
    pub(crate) fn fall_asleep(&self) -> bool {
        let quiet = self.state.compare_exchange(QUIET, ASLEEP, Ordering::SeqCst, Ordering::SeqCst);
        quiet.is_ok()
    }

    /// Whoever sits has woken, because of the chime or not.
    pub(crate) fn awake(&self, rang: bool) {
        let _ = self.state.compare_exchange(ASLEEP, QUIET, Ordering::SeqCst, Ordering::SeqCst);
        if rang {
            self.chime.silence();
        }
    }

    /// Whoever sits is about to leave. `true`: something has happened that they have not looked
    /// at.
    pub(crate) fn leave(&self) -> bool {
        self.state.swap(EMPTY, Ordering::SeqCst) == RUNG
    }

    /// It rings when the bell does while somebody sleeps.
    pub(crate) fn chime(&self) -> &C {
        &self.chime
    }

    pub(crate) fn ring(&self) {
        match self.state.swap(RUNG, Ordering::SeqCst) {
            ASLEEP => self.chime.ring(),
            EMPTY => self.tell_host(),
            _ => {}
        }
    }

    /// There is something to do, and nobody sits who would do it.
    pub(crate) fn tell_host(&self) {
        if let Some(host) = &self.host {
            host();
        }
    }
}

impl<C: Chime> Wake for Bell<C> {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// A thread that waits while somebody else sits in the seat. (`std::thread::park` would take
/// wake-ups that are meant for the host's own use of it.)
#[derive(Default)]
pub(crate) struct Parker {
    woken: sync::Mutex<bool>,
    changed: sync::Condvar,
}

impl Parker {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let parker = Arc::new(Parker::default());
        let waker = Waker::from(Arc::clone(&parker));
        (parker, waker)
    }

    /// Forgets earlier wake-ups: what they told of is about to be looked at.
    pub(crate) fn clear(&self) {
        *sync::lock(&self.woken) = false;
    }

    /// Sleeps until it is woken, or this time is over.
    pub(crate) fn park(&self, time: Option<Duration>) {
        // A time beyond what the clock can say is no limit.
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let mut woken = sync::lock(&self.woken);
        while !*woken {
            let Some(end) = end else {
                woken = self.changed.wait(woken).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(woken, left);
            woken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let before = std::mem::replace(&mut *sync::lock(&self.woken), true);
        if !before {
            self.changed.notify_one();
        }
    }
}
