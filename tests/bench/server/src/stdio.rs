//! Lines on stdin and stdout.

use std::io::{self, Read, Write};

use crate::answers::{Answers, frame};

/// What is longer is written from where it is.
const COPIED: usize = 64 << 10;

pub fn serve(answers: Answers) -> io::Result<()> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), unbuffered()?);
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; COPIED];
    loop {
        let read = stdin.read(&mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        input.extend_from_slice(&chunk[..read]);
        let mut done = 0;
        while let Some(length) = memchr::memchr(b'\n', &input[done..]) {
            let line = &input[done..done + length];
            done += length + 1;
            let Some((id, body)) = answers.answer(line) else { continue };
            let (head, tail) = frame(id);
            output.extend_from_slice(&head);
            if body.len() > COPIED {
                stdout.write_all(&output)?;
                stdout.write_all(&body)?;
                output.clear();
            } else {
                output.extend_from_slice(&body);
            }
            output.extend_from_slice(tail);
            output.push(b'\n');
        }
        input.drain(..done);
        stdout.write_all(&output)?;
        output.clear();
    }
}

/// Rust's own stdout looks for line ends in what it is given.
fn unbuffered() -> io::Result<std::fs::File> {
    use std::os::fd::AsFd as _;
    Ok(std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?))
}
