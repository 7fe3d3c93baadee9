//! The journal's writer: order, bounds, failures.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_runtime_common::{JournalWriter, Redactor};

/// Keeps what was written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says when it is asked to write, and then waits for permission.
struct Slow {
    asked: Sender<()>,
    allowed: Receiver<()>,
    kept: Kept,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.asked.send(());
        let _ = self.allowed.recv();
        self.kept.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn slow() -> (Box<Slow>, Kept, Receiver<()>, Sender<()>) {
    let (asked, on_asked) = channel();
    let (allow, allowed) = channel();
    let kept = Kept::default();
    let writer = Slow { asked, allowed, kept: kept.clone() };
    (Box::new(writer), kept, on_asked, allow)
}

fn line(number: usize) -> Vec<u8> {
    format!("{number:03}\n").into_bytes()
}

#[test]
fn everything_is_written_in_order_before_the_drop_returns() {
    let kept = Kept::default();
    let journal = JournalWriter::new(Box::new(io::BufWriter::new(kept.clone())));
    (0..1000).for_each(|n| journal.send(line(n)));
    drop(journal);
    let expected: Vec<u8> = (0..1000).flat_map(line).collect();
    assert_eq!(kept.text().into_bytes(), expected);
}

#[test]
fn it_is_flushed_when_there_is_nothing_to_write() {
    struct Flushes(Sender<()>);
    impl Write for Flushes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            let _ = self.0.send(());
            Ok(())
        }
    }
    let (flushed, on_flush) = channel();
    let journal = JournalWriter::new(Box::new(Flushes(flushed)));
    on_flush.recv().unwrap();
    journal.send(line(1));
    on_flush.recv().unwrap();
}

#[test]
fn beyond_the_limit_the_journal_ends_with_a_line_that_says_so() {
    let (writer, kept, asked, allow) = slow();
    let journal = JournalWriter::with_limit(writer, 12);
    journal.send(line(0));
    asked.recv().unwrap();
    // One is being written, which counts; two more may wait. None of this blocks.
    (1..100).for_each(|n| journal.send(line(n)));
    drop(allow);
    drop(journal);
    let text = kept.text();
    let rest = text.strip_prefix("000\n001\n002\n").unwrap();
    assert!(rest.starts_with("{\"truncated\":\"") && rest.ends_with("\"}\n"));
    assert_eq!(rest.lines().count(), 1);
}

#[test]
fn what_was_written_makes_room() {
    let (writer, kept, asked, allow) = slow();
    let journal = JournalWriter::with_limit(writer, 8);
    for n in 0..20 {
        journal.send(line(n));
        asked.recv().unwrap();
        allow.send(()).unwrap();
    }
    drop(journal);
    assert_eq!(kept.text().lines().count(), 20);
}

#[test]
fn a_drop_does_not_wait_long_for_a_writer_that_hangs() {
    let (writer, _kept, asked, allow) = slow();
    let journal = JournalWriter::new(writer);
    journal.send(line(0));
    asked.recv().unwrap();
    let begin = Instant::now();
    drop(journal);
    assert!(begin.elapsed() < Duration::from_secs(10));
    drop(allow);
}

#[test]
fn a_writer_that_fails_or_panics_costs_the_journal_only() {
    struct Broken(bool, Arc<Mutex<usize>>);
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            *self.1.lock().unwrap() += 1;
            assert!(self.0, "a panic of the host's writer");
            Err(io::Error::other("disk full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for fails in [true, false] {
        let count = Arc::new(Mutex::new(0));
        let journal = JournalWriter::new(Box::new(Broken(fails, Arc::clone(&count))));
        (0..100).for_each(|n| journal.send(line(n)));
        drop(journal);
        assert_eq!(*count.lock().unwrap(), 1);
    }
}

#[test]
fn a_redactor_sees_each_line_and_what_it_returns_is_one() {
    let kept = Kept::default();
    let journal = JournalWriter::new(Box::new(kept.clone()));
    let redactor: Redactor = Arc::new(|line: &str| line.replace("secret", "\n***\r"));
    journal.send_redacted(b"a secret\nno more\n".to_vec(), Some(&redactor));
    journal.send(b"the secret of another\n".to_vec());
    journal.send_redacted(b"secret\n".to_vec(), Some(&redactor));
    drop(journal);
    assert_eq!(kept.text(), "a ***\nno more\nthe secret of another\n***\n");
}

#[test]
fn a_redactor_that_panics_ends_the_journal_before_its_line() {
    let kept = Kept::default();
    let journal = JournalWriter::new(Box::new(kept.clone()));
    journal.send(line(0));
    let redactor: Redactor = Arc::new(|_: &str| panic!("a panic of the host's redactor"));
    journal.send_redacted(line(1), Some(&redactor));
    journal.send(line(2));
    drop(journal);
    assert_eq!(kept.text(), "000\n");
}
