//! The threads that run the host's code where no caller does: one for jobs, and one for
//! notifications, so that a callback which takes its time keeps no question waiting. Each begins at
//! first need.

use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use mcp_proto::Answer;
use mcp_proto::driver::Job;
use mcp_proto::model::Notification;

use crate::Background;
use crate::shared::Shared;
use crate::wake::{Parker, lock};

/// What a desk is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Duty {
    Jobs,
    Notifications,
}

/// Something to run.
enum Task {
    Job(Job),
    Notification(Box<Notification>),
}

/// Where tasks of one kind are run.
pub(crate) struct Desk {
    duty: Duty,
    /// Its thread, once there was one.
    thread: Mutex<Option<Waker>>,
    /// Tells of tasks while there is no such thread.
    bell: Waker,
}

impl Desk {
    pub(crate) fn new(duty: Duty, shared: &Weak<Shared>) -> Self {
        let bell = Waker::from(Arc::new(Bell(Weak::clone(shared), duty)));
        Desk { duty, thread: Mutex::default(), bell }
    }

    fn poll(&self, shared: &Shared, cx: &mut Context<'_>) -> Poll<Option<Task>> {
        match self.duty {
            Duty::Jobs => shared.hub.poll_job(cx).map(|job| job.map(Task::Job)),
            Duty::Notifications => {
                shared.hub.poll_notification(cx).map(|told| told.map(Task::Notification))
            }
        }
    }

    /// Runs the tasks that wait, without a thread for it.
    pub(crate) fn run(&self, shared: &Shared) -> bool {
        let mut cx = Context::from_waker(&self.bell);
        let mut any = false;
        while let Poll::Ready(Some(task)) = self.poll(shared, &mut cx) {
            task.run(shared);
            any = true;
        }
        any
    }

    /// Sees to it that a task that waits is run.
    pub(crate) fn look(&self, shared: &Arc<Shared>) {
        if shared.background == Background::Never {
            return shared.send_on_errand();
        }
        let mut thread = lock(&self.thread);
        if let Some(thread) = &*thread {
            return thread.wake_by_ref();
        }
        let polled = self.poll(shared, &mut Context::from_waker(&self.bell));
        let Poll::Ready(Some(task)) = polled else { return };
        let (parker, waker) = Parker::new();
        *thread = Some(waker.clone());
        drop(thread);
        let undone = task.undone();
        let (owner, duty) = (Arc::clone(shared), self.duty);
        let name = match duty {
            Duty::Jobs => "mcp-handler",
            Duty::Notifications => "mcp-notify",
        };
        let desk = thread::Builder::new().name(String::from(name));
        let works = move || owner.desk(duty).work(&owner, task, &parker, &waker);
        if desk.spawn(works).is_err() {
            // When the system gives no thread, the task has failed.
            *lock(&self.thread) = None;
            undone(shared);
        }
    }

    /// The thread.
    fn work(&self, shared: &Shared, first: Task, parker: &Parker, waker: &Waker) {
        first.run(shared);
        loop {
            parker.clear();
            match self.poll(shared, &mut Context::from_waker(waker)) {
                Poll::Ready(Some(task)) => task.run(shared),
                Poll::Ready(None) => return,
                Poll::Pending => parker.park(None),
            }
        }
    }
}

impl Task {
    fn run(self, shared: &Shared) {
        match self {
            Task::Job(job) => shared.callbacks.run(&shared.hub, job),
            Task::Notification(notification) => {
                shared.callbacks.notify(&shared.hub, *notification);
            }
        }
    }

    /// What is to be done when the task is not.
    fn undone(&self) -> impl FnOnce(&Shared) + use<> {
        let (item, question) = match self {
            Task::Job(Job::Item(id, _)) => (Some(*id), None),
            Task::Job(Job::Ask(_, id, _)) => (None, Some(*id)),
            Task::Job(_) | Task::Notification(_) => (None, None),
        };
        let told = matches!(self, Task::Notification(_));
        move |shared| {
            item.into_iter().for_each(|id| shared.hub.item_done(id));
            question.into_iter().for_each(|id| shared.hub.answer(id, Answer::Failed));
            if told {
                shared.hub.notification_done();
            }
        }
    }
}

/// Tells that there are tasks.
struct Bell(Weak<Shared>, Duty);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.desk(self.1).look(&shared);
        }
    }
}
