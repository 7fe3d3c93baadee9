//! Servers, scenarios and programs that test the client.

pub mod client;
pub mod conformance;
pub mod demo;
pub mod features;
pub mod http;
pub mod journal;
#[cfg(target_os = "linux")]
pub mod logs;
#[cfg(target_os = "linux")]
pub mod peak;
pub mod pipe;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod quickstart;
pub mod requirements;
#[cfg(target_os = "linux")]
pub mod scenarios;
pub mod script;
pub mod simulate;

/// The programs of README.md compile.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../README.md")]
pub struct Readme;
