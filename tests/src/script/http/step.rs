//! What a script is made of.

use super::Reply;

/// A request that is expected, and what follows it.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) wants: Wants,
    pub(super) label: Option<String>,
    pub(super) steps: Vec<HttpStep>,
}

/// Which request fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// A POST of a message with this JSON-RPC method.
    Message(String),
    /// A POST of an answer.
    Response,
    /// A request of this HTTP method.
    Http(String),
}

/// One step. The methods of [`HttpScript`](super::HttpScript) that add them say what each is for.
#[derive(Clone, Debug)]
pub enum HttpStep {
    /// The demo server answers.
    Demo,
    /// A whole answer.
    Respond(Reply),
    /// The head of an answer whose body follows in chunks.
    Begin(Reply),
    /// A chunk, its names filled in.
    Chunk(String),
    /// The end of the chunks.
    EndChunks,
    /// Text with names, maybe in pieces.
    Text {
        /// The text.
        text: String,
        /// The size of the pieces.
        chunk: Option<usize>,
    },
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// The same byte, many times.
    Filler {
        /// The byte.
        byte: u8,
        /// How often.
        count: u64,
    },
    /// Wait for a gate.
    Gate(String),
    /// Open a gate.
    Open(String),
    /// Wait until the client closes the connection.
    Hold,
    /// Wait until the client sends something more.
    AwaitByte,
    /// Let time pass, in milliseconds.
    Pause(u64),
    /// Close the connection.
    Close,
    /// Reset the connection.
    Reset,
}

/// What becomes of a connection before anything is read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accept {
    /// It is served.
    Serve,
    /// It is closed at once.
    Close,
    /// It is reset at once.
    Reset,
    /// Nothing is read from it until the gate of this name opens.
    Gate(String),
}
