//! Every scenario on every runtime and over each transport it is about, through the public `Client` of its crate.

#![cfg(target_os = "linux")]

use mcp_tests::scenarios::Programs;

const PROGRAMS: Programs =
    Programs { demo: env!("CARGO_BIN_EXE_demo"), scripted: env!("CARGO_BIN_EXE_scripted") };

macro_rules! on {
    ($($module:ident: $runtime:ident),*) => {$(
        mod $module {
            mod stdio {
                use super::super::PROGRAMS;

                mcp_tests::scenario_tests!(mcp_tests::client::Runtime::$runtime, Stdio);
            }

            mod http {
                use super::super::PROGRAMS;

                mcp_tests::scenario_tests!(mcp_tests::client::Runtime::$runtime, Http);
            }
        }
    )*};
}

on!(blocking: Blocking, blocking_pumped: Pumped, smol: Smol);
#[cfg(feature = "tokio")]
on!(tokio_current_thread: TokioCurrentThread, tokio_multi_thread: TokioMultiThread);
