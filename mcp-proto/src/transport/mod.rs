//! Messages to and from the bytes of pipes.

pub(crate) mod stderr;
pub(crate) mod stdio;
