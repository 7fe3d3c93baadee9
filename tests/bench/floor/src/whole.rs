//! When an answer is there, told from as few of its bytes as will do.

/// What has come of an answer.
#[derive(Default)]
pub struct Whole {
    bytes: Vec<u8>,
    /// How long an answer over HTTP is; 0 when its chunks tell.
    length: Option<usize>,
}

impl Whole {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.length = None;
    }

    /// Takes some bytes, and says whether as many lines have come as are waited for.
    pub fn lines(&mut self, bytes: &[u8], wanted: &mut usize) -> bool {
        if *wanted > 1 {
            *wanted -= memchr::memchr_iter(b'\n', bytes).count();
            return *wanted == 0;
        }
        self.bytes.extend_from_slice(bytes);
        self.bytes.ends_with(b"\n")
    }

    /// Takes some bytes, and says whether the answer over HTTP has come.
    pub fn http(&mut self, bytes: &[u8]) -> bool {
        self.bytes.extend_from_slice(bytes);
        if self.length.is_none() {
            let Some(head) = memchr::memmem::find(&self.bytes, b"\r\n\r\n") else { return false };
            let name = b"\r\nContent-Length: ";
            let body = memchr::memmem::find(&self.bytes[..head], name).map(|at| {
                let digits = &self.bytes[at + name.len()..head];
                let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
                digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
            });
            self.length = Some(body.map_or(0, |body| head + 4 + body));
            self.bytes.reserve(body.unwrap_or(0));
        }
        match self.length {
            Some(0) => self.bytes.ends_with(b"0\r\n\r\n"),
            length => length == Some(self.bytes.len()),
        }
    }
}
