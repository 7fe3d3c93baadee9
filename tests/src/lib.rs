//! Servers, scenarios and programs that test the client.

pub mod demo;
pub mod pipe;
pub mod quickstart;
pub mod script;
