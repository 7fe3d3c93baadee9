//! Servers, scenarios and programs that test the client.

pub mod demo;
pub mod pipe;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod quickstart;
pub mod requirements;
pub mod script;
