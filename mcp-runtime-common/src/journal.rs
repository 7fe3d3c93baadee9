//! A journal on its way to a file: a thread writes, nobody waits for it.

use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

/// How many bytes may wait to be written, unless [`JournalWriter::with_limit`] says otherwise.
pub const JOURNAL_LIMIT: usize = 64 * 1024 * 1024;

/// How long dropping the writer waits for what is queued.
const DROP_WAIT: Duration = Duration::from_secs(1);

/// The last line of a journal of which something is missing.
const TRUNCATED: &[u8] =
    b"{\"truncated\":\"the journal was written too slowly; the rest is missing\"}\n";

/// Changes a line of a journal before it is written, in the thread that writes. It is given the line
/// without its end, as JSON, and returns what is written in its place, which has to be one JSON
/// object as well; line breaks in it are left out.
pub type Redactor = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Writes the journal of a connection, in a thread of its own.
///
/// What waits is bounded: when a slow disk makes it too much, the journal ends with a line
/// `{"truncated": ..}`, and the connection goes on. An error of the writer ends it too, with a
/// warning, and so does a panic of the writer or of a redactor. Dropping it writes what is queued,
/// for at most one second.
pub struct JournalWriter {
    /// `None` while it is dropped.
    queue: Option<Sender<Message>>,
    waiting: Arc<AtomicUsize>,
    limit: usize,
    truncated: AtomicBool,
    /// Nothing is ever sent; it disconnects when the thread ends, also when the writer panics.
    /// The mutex only makes it shareable.
    ended: std::sync::Mutex<Receiver<()>>,
}

enum Message {
    Lines(Vec<u8>, Option<Redactor>),
    Truncated,
}

impl JournalWriter {
    /// A writer with the default limit.
    #[must_use]
    pub fn new(to: Box<dyn Write + Send>) -> Self {
        JournalWriter::with_limit(to, JOURNAL_LIMIT)
    }

    /// A writer of which at most `limit` bytes wait at any time.
    #[must_use]
    pub fn with_limit(to: Box<dyn Write + Send>, limit: usize) -> Self {
        let (queue, messages) = channel();
        let (alive, ended) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name(String::from("mcp-journal"));
        let started = thread.spawn(move || {
            let _alive = alive;
            if let Err(error) = write(to, &messages, &counter) {
                tracing::warn!(target: "mcp", %error, "the journal could not be written");
            }
        });
        if let Err(error) = started {
            tracing::warn!(target: "mcp", %error, "the journal has no thread to write it");
        }
        JournalWriter {
            queue: Some(queue),
            waiting,
            limit,
            truncated: AtomicBool::new(false),
            ended: std::sync::Mutex::new(ended),
        }
    }

    /// Queues bytes of the journal: whole lines. Never waits.
    pub fn send(&self, bytes: Vec<u8>) {
        self.send_redacted(bytes, None);
    }

    /// The same, with something that changes each line before it is written.
    pub fn send_redacted(&self, bytes: Vec<u8>, redactor: Option<&Redactor>) {
        let Some(queue) = &self.queue else { return };
        if bytes.is_empty() || self.truncated.load(Ordering::Relaxed) {
            return;
        }
        // A writer that has ended takes nothing; what is sent to it is dropped at once.
        let size = bytes.len();
        let waiting = self.waiting.fetch_add(size, Ordering::Relaxed);
        if waiting.saturating_add(size) <= self.limit {
            let _ = queue.send(Message::Lines(bytes, redactor.cloned()));
        } else if !self.truncated.swap(true, Ordering::Relaxed) {
            let _ = queue.send(Message::Truncated);
        }
    }
}

/// Writes until the queue is closed and empty. Flushes whenever it has nothing else to do, so that
/// the file is complete while the connection rests.
fn write(
    mut to: Box<dyn Write + Send>,
    messages: &Receiver<Message>,
    waiting: &AtomicUsize,
) -> std::io::Result<()> {
    loop {
        let message = match messages.try_recv() {
            Err(TryRecvError::Empty) => {
                to.flush()?;
                messages.recv().ok()
            }
            received => received.ok(),
        };
        match message {
            Some(Message::Lines(bytes, redactor)) => {
                match redactor {
                    None => to.write_all(&bytes)?,
                    Some(redactor) => to.write_all(redacted(&bytes, &redactor).as_bytes())?,
                }
                waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
            Some(Message::Truncated) => {
                to.write_all(TRUNCATED)?;
                return to.flush();
            }
            None => return to.flush(),
        }
    }
}

fn redacted(lines: &[u8], redactor: &Redactor) -> String {
    let mut out = String::with_capacity(lines.len());
    for line in String::from_utf8_lossy(lines).lines() {
        out.extend(redactor(line).chars().filter(|c| !matches!(c, '\n' | '\r')));
        out.push('\n');
    }
    out
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        self.queue = None;
        if let Ok(ended) = self.ended.get_mut() {
            let _ = ended.recv_timeout(DROP_WAIT);
        }
    }
}

impl fmt::Debug for JournalWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalWriter").field("limit", &self.limit).finish_non_exhaustive()
    }
}
