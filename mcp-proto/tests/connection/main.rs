//! Scenes of a connection: a virtual clock, a scripted server, and what must hold at every step.

mod support;

mod base;
mod deaths;
mod era;
mod held;
mod hostile;
mod lines;
mod progress;
mod stdio;
mod streams;
mod time;
mod versions;
