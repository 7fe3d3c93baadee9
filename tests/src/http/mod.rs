//! The server side of HTTP/1.1, as much of it as the servers here need: connections that another
//! thread can end, requests, and answers in the three framings.

mod answer;
mod conn;
mod listener;
mod request;
mod tls;

pub use answer::{Chunked, Head};
pub use conn::{Conn, Handle};
pub use listener::Listener;
pub use request::Request;
pub use tls::Identity;

#[cfg(test)]
pub(crate) mod visitor;
