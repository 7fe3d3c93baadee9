//! The simulator: whole worlds, each drawn from one number.
//!
//! A seed decides the settings, the server, what the host asks and what goes wrong. In the end
//! everything heals, and every call must finish. What always holds is checked after each input, a
//! share of the seeds is played again with its bytes split otherwise, and a share is recorded and
//! replayed. The worlds are those of [`mcp_proto::testing`].

mod case;
mod cli;
mod cover;
mod crowd;
mod draw;
mod shrink;
#[cfg(test)]
mod tests;

/// How many bugs can be planted (feature `doctored` of `mcp-proto`); they are counted from 1.
pub const BUGS: u8 = 29;

pub use case::{Failure, Played, play};
pub use cli::main;
pub use cover::{Cover, Impossible, impossible};
pub use crowd::{Run, Totals, run};
pub use shrink::shrink;
