//! Scenes of a connection: a virtual clock, a scripted server, and what must hold at every step.

mod support;

mod base;
mod closing;
mod deaths;
mod deprecated;
mod era;
mod errors;
mod fresh;
mod held;
mod hostile;
mod lines;
mod meta;
mod notifications;
mod pages;
mod progress;
mod prompts;
mod questions;
mod resources;
mod rounds;
mod scenes;
mod splits;
mod stdio;
mod streams;
mod time;
mod tokens;
mod tools;
mod untrusted;
mod utilities;
mod versions;
