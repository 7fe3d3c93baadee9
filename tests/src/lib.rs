//! Servers, scenarios and programs that test the client.

pub mod pipe;
