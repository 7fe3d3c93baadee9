//! Threads, tasks and closing, on pipes smaller than what goes through them.

use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use futures_io::{AsyncRead, AsyncWrite};
use futures_lite::future::{block_on, zip};

use super::{PipeReader, PipeWriter, duplex, pipe};

/// A waker that counts how often it was called.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Count {
    fn pair() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (count.clone(), count.into())
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn poll_read(reader: &mut PipeReader, waker: &Waker, into: &mut [u8]) -> Poll<usize> {
    AsyncRead::poll_read(Pin::new(reader), &mut Context::from_waker(waker), into)
        .map(|outcome| outcome.expect("reading a pipe never fails"))
}

fn poll_write(writer: &mut PipeWriter, waker: &Waker, bytes: &[u8]) -> Poll<Option<usize>> {
    AsyncWrite::poll_write(Pin::new(writer), &mut Context::from_waker(waker), bytes)
        .map(|outcome| outcome.ok())
}

fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn a_thread_reads_what_another_writes_through_a_pipe_of_any_size() {
    for capacity in [0, 1, 7, 64, 1 << 20] {
        let (mut writer, mut reader) = pipe(capacity);
        let sent = sample(10_000);
        let expected = sent.clone();
        let writing = thread::spawn(move || writer.write_all(&sent));
        let mut received = Vec::new();
        reader.read_to_end(&mut received).unwrap();
        writing.join().unwrap().unwrap();
        assert!(received == expected, "capacity {capacity}");
    }
}

#[test]
fn a_write_takes_no_more_than_fits_and_then_blocks_until_a_read() {
    let (mut writer, mut reader) = pipe(4);
    assert_eq!(writer.write(b"abcdef").unwrap(), 4);
    assert_eq!(reader.buffered(), 4);
    let writing = thread::spawn(move || writer.write(b"ef"));
    let mut two = [0; 2];
    reader.read_exact(&mut two).unwrap();
    assert_eq!(&two, b"ab");
    assert_eq!(writing.join().unwrap().unwrap(), 2);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "cdef");
}

#[test]
fn one_read_takes_everything_although_the_ring_has_wrapped() {
    let (mut writer, mut reader) = pipe(8);
    let mut into = [0; 8];
    writer.write_all(b"abcdef").unwrap();
    reader.read_exact(&mut into[..5]).unwrap();
    writer.write_all(b"ghijklm").unwrap();
    assert_eq!(reader.read(&mut into).unwrap(), 8);
    assert_eq!(&into, b"fghijklm");
}

#[test]
fn an_empty_read_or_write_returns_at_once() {
    let (mut writer, mut reader) = pipe(1);
    assert_eq!(reader.read(&mut []).unwrap(), 0);
    writer.write_all(b"x").unwrap();
    assert_eq!(writer.write(b"").unwrap(), 0);
}

#[test]
fn a_writer_that_blocks_learns_that_the_reader_is_gone() {
    let (mut writer, reader) = pipe(1);
    writer.write_all(b"x").unwrap();
    let writing = thread::spawn(move || writer.write(b"y").map_err(|error| error.kind()));
    drop(reader);
    assert_eq!(writing.join().unwrap(), Err(ErrorKind::BrokenPipe));
}

#[test]
fn a_reader_that_blocks_learns_that_the_writer_is_gone() {
    let (writer, mut reader) = pipe(1);
    let reading = thread::spawn(move || reader.read(&mut [0; 1]).unwrap());
    drop(writer);
    assert_eq!(reading.join().unwrap(), 0);
}

#[test]
fn the_waiting_helpers_return_when_the_pipe_is_full_or_closed() {
    let (mut writer, reader) = pipe(3);
    let waiting = thread::spawn(move || {
        writer.write_all(b"abc").unwrap();
        writer.wait_full();
        writer
    });
    let mut writer = waiting.join().unwrap();
    assert_eq!(reader.buffered(), 3);
    let closing = thread::spawn(move || reader.wait_closed());
    block_on(poll_fn(|cx| Pin::new(&mut writer).poll_close(cx))).unwrap();
    closing.join().unwrap();
    writer.wait_full();
    assert_eq!(writer.write(b"d").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn duplex_crosses_two_pipes() {
    let ((mut left_reader, mut left_writer), (mut right_reader, mut right_writer)) = duplex(8);
    let mut three = [0; 3];
    left_writer.write_all(b"one").unwrap();
    right_reader.read_exact(&mut three).unwrap();
    assert_eq!(&three, b"one");
    right_writer.write_all(b"two").unwrap();
    left_reader.read_exact(&mut three).unwrap();
    assert_eq!(&three, b"two");
    drop((left_reader, left_writer));
    assert_eq!(right_reader.read(&mut three).unwrap(), 0);
    assert!(right_writer.write(b"x").is_err());
}

#[test]
fn a_pending_reader_is_woken_once_by_a_write_and_by_the_close() {
    let (mut writer, mut reader) = pipe(4);
    let (count, waker) = Count::pair();
    let mut into = [0; 4];
    assert_eq!(poll_read(&mut reader, &waker, &mut into), Poll::Pending);
    assert_eq!(count.get(), 0);
    writer.write_all(b"a").unwrap();
    writer.write_all(b"b").unwrap();
    assert_eq!(count.get(), 1, "the waker is used up by the first write");
    assert_eq!(poll_read(&mut reader, &waker, &mut into), Poll::Ready(2));
    assert_eq!(poll_read(&mut reader, &waker, &mut into), Poll::Pending);
    drop(writer);
    assert_eq!(count.get(), 2);
    assert_eq!(poll_read(&mut reader, &waker, &mut into), Poll::Ready(0));
}

#[test]
fn a_pending_writer_is_woken_by_a_read_and_by_the_close() {
    let (mut writer, mut reader) = pipe(2);
    let (count, waker) = Count::pair();
    assert_eq!(poll_write(&mut writer, &waker, b"abc"), Poll::Ready(Some(2)));
    assert_eq!(poll_write(&mut writer, &waker, b"c"), Poll::Pending);
    assert_eq!(reader.read(&mut [0; 1]).unwrap(), 1);
    assert_eq!(count.get(), 1);
    assert_eq!(poll_write(&mut writer, &waker, b"cd"), Poll::Ready(Some(1)));
    assert_eq!(poll_write(&mut writer, &waker, b"d"), Poll::Pending);
    drop(reader);
    assert_eq!(count.get(), 2);
    assert_eq!(poll_write(&mut writer, &waker, b"d"), Poll::Ready(None));
}

#[test]
fn the_last_task_that_polled_is_the_one_woken() {
    let (mut writer, mut reader) = pipe(2);
    let (old, old_waker) = Count::pair();
    let (new, new_waker) = Count::pair();
    assert!(poll_read(&mut reader, &old_waker, &mut [0; 1]).is_pending());
    assert!(poll_read(&mut reader, &new_waker, &mut [0; 1]).is_pending());
    writer.write_all(b"x").unwrap();
    assert_eq!((old.get(), new.get()), (0, 1));
}

#[test]
fn a_task_and_a_thread_share_one_pipe() {
    let (mut writer, mut reader) = pipe(16);
    let writing = thread::spawn(move || writer.write_all(&sample(5_000)));
    let mut received = Vec::new();
    block_on(async {
        let mut into = [0; 100];
        loop {
            let taken = poll_fn(|cx| AsyncRead::poll_read(Pin::new(&mut reader), cx, &mut into));
            match taken.await.unwrap() {
                0 => break,
                taken => received.extend_from_slice(&into[..taken]),
            }
        }
    });
    writing.join().unwrap().unwrap();
    assert!(received == sample(5_000));
}

#[test]
fn two_tasks_on_one_thread_wake_each_other() {
    use futures_lite::io::{AsyncReadExt, AsyncWriteExt};

    let (mut writer, mut reader) = pipe(64);
    let writing = async move {
        AsyncWriteExt::write_all(&mut writer, &sample(5_000)).await?;
        AsyncWriteExt::close(&mut writer).await?;
        // Handed out, so that the end of the stream comes from the close and not from the drop.
        std::io::Result::Ok(writer)
    };
    let reading = async move {
        let mut received = Vec::new();
        AsyncReadExt::read_to_end(&mut reader, &mut received).await?;
        std::io::Result::Ok(received)
    };
    let (writer, received) = block_on(zip(writing, reading));
    writer.unwrap();
    assert!(received.unwrap() == sample(5_000));
}

#[cfg(feature = "tokio")]
#[test]
fn tokio_reads_and_writes_it_too() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let (mut writer, mut reader) = pipe(64);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let received = runtime.block_on(async move {
        let writing = tokio::spawn(async move {
            AsyncWriteExt::write_all(&mut writer, &sample(5_000)).await.unwrap();
            writer.shutdown().await.unwrap();
            // Held open on purpose: the reader's end of stream comes from the shutdown.
            writer
        });
        let mut received = Vec::new();
        AsyncReadExt::read_to_end(&mut reader, &mut received).await.unwrap();
        writing.await.unwrap();
        received
    });
    assert!(received == sample(5_000));
}
