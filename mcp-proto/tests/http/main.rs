//! Scenes of a connection over HTTP: a virtual clock, a scripted performer, and what must hold at
//! every step.

mod support;

mod answers;
mod attempts;
mod broken;
mod closing;
mod detect;
mod era;
mod foreign;
mod fresh;
mod gzip;
mod handshake;
mod headers;
mod hostile;
mod journals;
mod limits;
mod linear;
mod memory;
mod notifications;
mod parameters;
mod progress;
mod redirects;
mod requests;
mod resume;
mod scenes;
mod sessions;
mod splits;
mod sse;
mod stream;
mod time;
