//! A connection over a virtual clock, with a scripted server at its other end.

mod bench;
mod peer;
mod split;
mod trace;
mod watch;

pub(crate) use bench::{Bench, config, options, quick, tool};
pub(crate) use peer::{
    INITIALIZED, Sent, discovered, in_both_eras, in_both_eras_offering, in_both_eras_offering_with,
    in_both_eras_with, initialized,
};
pub(crate) use split::{Split, same_however_split};
