//! HTTP/1.1 over bytes, client side (RFC 9110, RFC 9112). It knows nothing of MCP, performs no I/O
//! and reads no clock.
//!
//! A [`Request`] becomes an [`Exchange`]: bytes to send, and a decoder for the answer. A [`Pool`]
//! says which socket an exchange goes out on. Whoever performs them does this:
//!
//! 1. [`Pool::acquire`], and then what [`Pool::poll_output`] says: use this socket, or open it. A
//!    socket that turns out to be closed or readable before anything was sent goes back with
//!    [`Pool::refuse`].
//! 2. Write [`Exchange::unsent`] and report with [`Exchange::sent`], while reading: an answer may
//!    come before the request is out.
//! 3. Hand what was read to [`Exchange::decode`] until it returns `None`, and the end of the stream
//!    to [`Exchange::finish`].
//! 4. At [`Part::End`], [`Pool::release`]; on any error [`Pool::gone`], and [`Exchange::facts`] for
//!    whoever decides what an unanswered request means. Nothing here sends a request twice.
//!
//! The answer is read more strictly than the standard demands: framing that two readers could
//! understand in two ways is refused, since a wrong end of one answer is the beginning of the next.

mod chunks;
mod error;
mod exchange;
mod head;
mod pool;
mod request;

pub use chunks::{MAX_CHUNK_LINE_BYTES, MAX_TRAILER_BYTES};
pub use error::{Fault, Phase, RequestError, ResponseError};
pub use exchange::{Exchange, Facts, MAX_INTERIM_HEADS, Part, Sent};
pub use head::{Head, Headers, MAX_HEAD_BYTES, MAX_HEADERS};
pub use pool::{Pool, PoolLimits, PoolOutput, SocketId, Ticket};
pub use request::{Request, authority};
