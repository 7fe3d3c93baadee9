//! Testing without a network, a process or a clock: a host, a performer, or this crate itself.
//!
//! * [`Clock`] is the time, and goes where a test tells it to.
//! * [`Invariants`] looks on while a connection works, and tells the first rule that is broken. It
//!   works with any connection and any performer.
//! * [`Step`] and [`Setup`] are what may happen, drawn from a seed ([`Dice`]) or by a fuzzer (both
//!   are `Arbitrary`).
//! * [`World`] is where they happen: a connection with a host, a performer and a scripted server.
//!
//! Nothing here reads a clock or draws randomness either: the same seed gives the same test.

mod arbitrary;
mod clock;
mod dice;
mod invariants;
mod peer;
mod setup;
mod step;
mod trace;
mod world;

pub use clock::Clock;
pub use dice::{Dice, mix};
pub use invariants::{CALL_KEY, ECHO_KEY, Invariants, NUMBER_KEY, Rule, Violation};
pub use peer::{Message, Via};
pub use setup::{Choice, Probed, Setup, Split, URL, Wire};
pub use step::{Answering, CallKind, Fault, Manner, Step};
pub use trace::line;
pub use world::{End, World};

pub use crate::connection::Census;
