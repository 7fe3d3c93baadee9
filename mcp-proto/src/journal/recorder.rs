//! Writing down what a connection hears and says.

use alloc::sync::Arc;

use base64::Engine as _;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::held::{Held, Lines, Stream};
use super::secrets::Secrets;
use super::{At, Entry, FORMAT, Header, MAX_PENDING_BYTES, inputs, outputs};
use crate::interface::{ConnectionState, HttpInput, Input, Output, StdioInput};
use crate::{ConnectionConfig, ExchangeId, Now, Transport};

const WARNING: &str = "tool arguments and results are readable in this file";

/// Writes down what a connection hears and says.
#[derive(Debug)]
pub(crate) struct Recorder {
    lines: Lines,
    secrets: Secrets,
    stopped: bool,
    /// The connection is closed: nothing of a secret is still to come.
    closed: bool,
}

impl Recorder {
    pub(crate) fn new(
        config: &Arc<ConnectionConfig>,
        transport: &Transport,
        seed: [u8; 32],
        now: Now,
    ) -> Self {
        let mut secrets = Secrets::of(transport);
        let header = Header {
            format: FORMAT,
            made_by: concat!("mcp-proto ", env!("CARGO_PKG_VERSION")).into(),
            warning: WARNING.into(),
            masked: vec![
                "values of environment variables".into(),
                "values of configured headers, session ids, and cookies".into(),
                "credentials and queries of URLs".into(),
            ],
            id_key: base64::prelude::BASE64_STANDARD.encode(derive(seed, "ids")),
            at: now.into(),
            config: ConnectionConfig::clone(config),
            transport: transport.masked(),
        };
        // The host may repeat a secret in its settings, in an argument for example.
        let mut header = serde_json::to_value(&header).unwrap_or_default();
        for member in ["config", "transport"] {
            header.get_mut(member).into_iter().for_each(|value| secrets.mask_value(value));
        }
        secrets.tell(header.to_string());
        let mut lines = Lines::default();
        lines.line(&header);
        Recorder { lines, secrets, stopped: false, closed: false }
    }

    pub(crate) fn input(&mut self, input: &Input<'_>, now: Now) {
        if self.stopped {
            return;
        }
        let at = now.into();
        self.lines.not_after(at);
        match input {
            Input::Stdio(id, StdioInput::Stdout(bytes)) => {
                return self.bytes(Stream::Stdout(*id), bytes, at);
            }
            Input::Stdio(id, StdioInput::Stderr(bytes)) => {
                return self.bytes(Stream::Stderr(*id), bytes, at);
            }
            Input::Http(id, HttpInput::Body(bytes)) => {
                return self.bytes(Stream::Body(*id), bytes, at);
            }
            Input::Stdio(id, StdioInput::StdoutClosed) => self.lines.end(Stream::Stdout(*id)),
            Input::Stdio(id, StdioInput::StderrClosed) => self.lines.end(Stream::Stderr(*id)),
            Input::Http(id, HttpInput::End | HttpInput::Failed(_)) => {
                self.lines.end(Stream::Body(*id));
            }
            Input::Http(_, HttpInput::Head { headers, .. }) => self.secrets.learn(headers),
            _ => {}
        }
        let input = Some(inputs::InputRecord::of(input, &self.secrets));
        self.write(&Entry { at: Some(at), input, ..Entry::default() });
    }

    pub(crate) fn output(&mut self, output: &Output, now: Now) {
        if self.stopped {
            return;
        }
        let recorded = Some(outputs::record(output, &self.secrets));
        self.write(&Entry { at: Some(now.into()), output: recorded, ..Entry::default() });
        if let Output::Connection(ConnectionState::Closed(_)) = output {
            self.closed = true;
            self.lines.end_all();
        }
    }

    /// Bytes of the stream on which the server names the address for messages, which is known by
    /// now or awaited. Until then its lines wait, since the address may come in pieces.
    pub(crate) fn endpoint(
        &mut self,
        id: ExchangeId,
        bytes: &[u8],
        named: Option<&str>,
        awaited: bool,
        now: Now,
    ) {
        if self.stopped {
            return;
        }
        let at = now.into();
        self.lines.not_after(at);
        if let Some(url) = named {
            self.secrets.learn_endpoint(url);
        }
        let held = Held { at, stream: Stream::Body(id), bytes: bytes.to_vec() };
        self.lines.bytes(held, &self.secrets, named.is_none() && awaited);
        self.check_room();
    }

    /// Bytes of a server's: where they end within what may be a secret, their line waits for more.
    fn bytes(&mut self, stream: Stream, bytes: &[u8], at: At) {
        let line = Held { at, stream, bytes: bytes.to_vec() };
        self.lines.bytes(line, &self.secrets, false);
        if self.closed {
            self.lines.end_all();
        }
        self.check_room();
    }

    fn write(&mut self, line: &impl Serialize) {
        self.lines.line(line);
        self.check_room();
    }

    fn check_room(&mut self) {
        if self.lines.len() > MAX_PENDING_BYTES {
            self.stopped = true;
            self.lines.end_all();
            let truncated = Some(String::from("nobody took the journal in time"));
            self.lines.line(&Entry { truncated, ..Entry::default() });
        }
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }
}

/// A key of its own for each purpose, so that one that is written down tells nothing of another.
fn derive(seed: [u8; 32], purpose: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"mcp-proto ");
    hash.update(purpose.as_bytes());
    hash.update(seed);
    hash.finalize().into()
}
