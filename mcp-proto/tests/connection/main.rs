//! Scenes of a connection: a virtual clock, a scripted server, and what must hold at every step.

mod support;

mod deaths;
mod era;
mod held;
mod hostile;
mod stdio;
mod streams;
mod versions;
