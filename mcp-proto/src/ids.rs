//! The names that the core gives to things. They are never sent to a server.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number. Ids are counted from 1 within one connection.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                $name(number)
            }

            /// The number behind the id.
            #[must_use]
            pub const fn number(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, "#{}"), self.0)
            }
        }
    )*};
}

ids! {
    /// One call of the host's. A call may send several requests, each with its own JSON-RPC id.
    CallId = "call";
    /// One server process, or one byte stream that stands for it. A restart gets a new id.
    ProcessId = "process";
    /// One HTTP exchange: a request and its answer. A redirect or a re-send gets a new id.
    ExchangeId = "exchange";
    /// One question to the host.
    QuestionId = "question";
}
