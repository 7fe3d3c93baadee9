//! What can be wrong with a request of ours, and with an answer of a server's.

use super::{
    MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, MAX_INTERIM_HEADS, MAX_TRAILER_BYTES,
};

/// A request that is not sent because it would not arrive as it was meant. No value is quoted: it
/// may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The method is no token.
    #[error("the method {0:?} is not a token")]
    Method(String),
    /// The target has a shape that its method does not allow, or characters beyond visible ASCII.
    #[error("the request target is neither a path nor an absolute URL, or not visible ASCII")]
    Target,
    /// The authority is not `host` or `host:port`.
    #[error("the authority is not a host with an optional port")]
    Authority,
    /// A header's name is no token.
    #[error("the header name {0:?} is not a token")]
    HeaderName(String),
    /// A header's value holds something else than visible ASCII, spaces and tabs.
    #[error(
        "the value of the header {0:?} holds a line end, a control character or non-ASCII text"
    )]
    HeaderValue(String),
    /// A header that decides where a message ends or who is spoken to.
    #[error("the header {0:?} is written by the client itself and cannot be set")]
    Reserved(String),
}

/// What is wrong with an answer, and where. The answer's own text is not quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}, at byte {at} of the answer")]
pub struct ResponseError {
    /// What is wrong.
    pub fault: Fault,
    /// Where it was noticed, counted from the first byte after the request.
    pub at: u64,
}

/// What can be wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes came before the first byte of the request was sent.
    #[error("the server spoke before it was asked")]
    Unsolicited,
    /// The stream ended too early.
    #[error("the connection ended {0}")]
    Truncated(Phase),
    /// It is not HTTP/1.0 or HTTP/1.1.
    #[error("the answer does not begin with HTTP/1.0 or HTTP/1.1")]
    NotHttp,
    /// No status code between 100 and 999, or a malformed reason.
    #[error("the status line is malformed")]
    StatusLine,
    /// More than [`MAX_HEAD_BYTES`].
    #[error("the head is longer than {MAX_HEAD_BYTES} bytes")]
    HeadTooLong,
    /// More than [`MAX_HEADERS`].
    #[error("the head has more than {MAX_HEADERS} headers")]
    TooManyHeaders,
    /// A line of the head that does not begin with a token and a colon.
    #[error("a header name is malformed")]
    HeaderName,
    /// A header's value holds a control character.
    #[error("a header value holds a control character")]
    HeaderValue,
    /// A NUL in the head.
    #[error("the head holds a NUL")]
    Nul,
    /// A CR in the head without its LF.
    #[error("the head holds a CR without LF")]
    BareCr,
    /// A header that goes on in the next line (RFC 9112, section 5.2).
    #[error("a header is folded over two lines (obs-fold)")]
    ObsFold,
    /// More than [`MAX_INTERIM_HEADS`].
    #[error("more than {MAX_INTERIM_HEADS} interim (1xx) heads came before the answer")]
    TooManyInterimHeads,
    /// Status 101 without a request for it.
    #[error("the server switches to a protocol that was not asked for (101)")]
    SwitchingProtocols,
    /// The length is told twice, in two ways.
    #[error("ambiguous framing: Content-Length beside Transfer-Encoding")]
    LengthBesideCoding,
    /// Two lengths that differ.
    #[error("ambiguous framing: two values of Content-Length that differ")]
    LengthsDiffer,
    /// A length that is not a plain number.
    #[error("Content-Length is not a decimal number")]
    Length,
    /// A length of 2⁶⁴ or more.
    #[error("Content-Length is too large")]
    LengthTooLarge,
    /// Any transfer coding but a single `chunked`.
    #[error("Transfer-Encoding is not exactly one `chunked`")]
    TransferCoding,
    /// HTTP/1.0 has no transfer codings.
    #[error("ambiguous framing: Transfer-Encoding on HTTP/1.0")]
    TransferCodingOn10,
    /// The line before a chunk does not begin with a hexadecimal number.
    #[error("the size of a chunk is not a hexadecimal number")]
    ChunkSize,
    /// A size of 2⁶⁴ or more.
    #[error("the size of a chunk is too large")]
    ChunkSizeTooLarge,
    /// The line before a chunk has a control character, or an LF without CR.
    #[error("the line before a chunk is malformed or does not end with CRLF")]
    ChunkLine,
    /// More than [`MAX_CHUNK_LINE_BYTES`].
    #[error("the line before a chunk is longer than {MAX_CHUNK_LINE_BYTES} bytes")]
    ChunkLineTooLong,
    /// The data of a chunk is not followed by CRLF.
    #[error("the data of a chunk is not followed by CRLF")]
    ChunkEnd,
    /// A line after the last chunk is no header.
    #[error("a trailer is malformed or does not end with CRLF")]
    Trailer,
    /// More than [`MAX_TRAILER_BYTES`].
    #[error("the trailers are longer than {MAX_TRAILER_BYTES} bytes")]
    TrailersTooLong,
}

/// Where an answer broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Phase {
    /// Before its first byte.
    #[error("before the first byte of an answer")]
    Start,
    /// In the head, or after an interim one.
    #[error("inside the head")]
    Head,
    /// In a body whose length was told.
    #[error("inside the body, {missing} bytes before its end")]
    Body {
        /// How much is missing.
        missing: u64,
    },
    /// In the line before a chunk.
    #[error("before the last chunk of the body")]
    ChunkLine,
    /// In the data of a chunk, or in the CRLF after it.
    #[error("inside a chunk of the body, {missing} bytes before its end")]
    Chunk {
        /// How much of its data is missing.
        missing: u64,
    },
    /// After the last chunk, before the empty line at the very end.
    #[error("inside the trailers, after the last chunk of the body")]
    Trailers,
}
