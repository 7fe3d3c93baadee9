//! HTTP, on ureq, with connections of our own beneath it.
//!
//! Each exchange blocks a thread. That of a call is performed by the thread that waits for the
//! call; all others have threads of their own for as long as they last. A thread that is blocked
//! keeps the connection's time as well, and a helper does while nobody waits.

mod dial;
mod exchange;
mod helper;
mod line;
mod link;
mod pool;
mod socket;
mod waiting;
mod workers;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use mcp_proto::driver::{Hub, Ticket, Work};
use mcp_runtime_common::HttpSettings;

pub(crate) use self::exchange::Exchange;
use self::pool::Parked;
use self::waiting::Waiting;
use self::workers::Workers;
use crate::Background;
use crate::wake::{OnWake, Parker, lock};

/// How long a thread of an exchange stays for another one.
const LINGER: Duration = Duration::from_millis(100);

/// What performs the exchanges of one connection.
pub(crate) struct Http {
    hub: Arc<Hub>,
    /// The HTTP library, until the end.
    agent: Mutex<Option<ureq::Agent>>,
    /// Rests of answers, whose connections can be used again if they end soon.
    parked: Mutex<VecDeque<Parked>>,
    /// The rest that was read last did not end: this server leaves its streams open, and whoever
    /// waits for such a connection waits in vain.
    leaves_open: AtomicBool,
    buffers: Mutex<Vec<Vec<u8>>>,
    workers: Workers,
    linger: Duration,
    /// There is no helper.
    alone: bool,
    waiting: Waiting,
    /// The helper, and when it wakes by itself, in nanoseconds on the hub's clock.
    helper: Arc<Parker>,
    helper_wakes: AtomicU64,
    ended: AtomicBool,
    /// Woken when the connection wants something.
    dispatcher: Waker,
}

impl Http {
    pub(crate) fn new(
        hub: Arc<Hub>,
        settings: HttpSettings,
        background: Background,
        host: Option<OnWake>,
    ) -> std::io::Result<Arc<Self>> {
        let alone = background == Background::Never;
        let http = Arc::new_cyclic(|http| Http {
            hub,
            agent: Mutex::new(Some(pool::agent(settings))),
            parked: Mutex::default(),
            leaves_open: AtomicBool::new(false),
            buffers: Mutex::default(),
            workers: Workers::default(),
            linger: if alone { Duration::ZERO } else { LINGER },
            alone,
            waiting: Waiting::new(host.filter(|_| alone)),
            helper: Arc::default(),
            helper_wakes: AtomicU64::new(u64::MAX),
            ended: AtomicBool::new(false),
            dispatcher: Waker::from(Arc::new(Dispatcher(Weak::clone(http)))),
        });
        http.hub.use_tickets();
        http.dispatch();
        if !alone {
            http.start_helper()?;
        }
        Ok(http)
    }

    /// An exchange to perform on this thread.
    pub(crate) fn exchange(&self, ticket: Ticket) -> Exchange {
        Exchange::new(&self.hub, ticket)
    }

    /// Gives the exchanges that wait to threads, and a time that has come nearer to the helper, or
    /// else to those who wait.
    fn dispatch(self: &Arc<Self>) {
        // The waker first: what is filed after that wakes again.
        let turn = self.hub.turn(Some(&self.dispatcher), &mut Work::new());
        let mut tickets = VecDeque::new();
        self.hub.take_tickets(&mut tickets);
        for ticket in tickets {
            self.workers.perform(self, ticket);
        }
        if turn.finished {
            self.helper.wake_by_ref();
        } else if let Some(at) = turn.deadline {
            if self.alone {
                self.waiting.tell_of_time();
            } else {
                self.wake_helper_by(at);
            }
        }
    }

    /// Ends everything, when nobody waits any more.
    pub(crate) fn end(&self) {
        self.ended.store(true, std::sync::atomic::Ordering::SeqCst);
        self.helper.wake_by_ref();
        self.workers.end();
        self.let_go();
    }

    /// Closes all connections, for good.
    pub(crate) fn let_go(&self) {
        let agent = lock(&self.agent).take();
        if let Some(agent) = agent {
            agent.shutdown();
        }
        let parked = std::mem::take(&mut *lock(&self.parked));
        drop(parked);
    }
}

/// Sees to it that what the connection wants is done.
struct Dispatcher(Weak<Http>);

impl Wake for Dispatcher {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(http) = self.0.upgrade() {
            http.dispatch();
        }
    }
}
