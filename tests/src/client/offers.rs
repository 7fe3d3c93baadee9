//! What a server offers beside tools, calls side by side, and calls that go on: the methods of the
//! same names.

use mcp_proto::Error;
use mcp_proto::model::{
    CallToolResult, Completion, CompletionReference, GetPromptResult, LoggingLevel, Prompt,
    ReadResourceResult, Resource, ResourceTemplate,
};
use mcp_proto::op::{List, Page, Resumed};
use serde_json::Value;

use super::Client;
use super::core::Doing;

/// Names each method once: with what it takes, how that is handed on, and what it gives.
macro_rules! offers {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty => $given:expr),*) -> $output:ty;)*) => {
        /// Those of a client of one of the runtime crates.
        pub(super) trait Offers {
            $(fn $name(&self, $($arg: $type),*) -> Doing<$output>;)*
        }

        offers! { @on mcp_runtime_blocking [];
            $($name($($arg: $type => $given),*) -> $output;)* }
        offers! { @on mcp_runtime_smol [.await];
            $($name($($arg: $type => $given),*) -> $output;)* }
        #[cfg(feature = "tokio")]
        offers! { @on mcp_runtime_tokio [.await];
            $($name($($arg: $type => $given),*) -> $output;)* }

        impl Client {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// Those of the call.
            pub fn $name(&self, $($arg: $type),*) -> $output {
                self.engine.run(self.core.$name($($arg),*))
            }
        )*}
    };
    (@on $krate:ident $await:tt; $(
        $name:ident($($arg:ident: $type:ty => $given:expr),*) -> $output:ty;
    )*) => {
        impl Offers for $krate::Client {$(
            offers! { @method $await $name($($arg: $type => $given),*) -> $output }
        )*}
    };
    (@method [$($await:tt)*] $name:ident($($arg:ident: $type:ty => $given:expr),*)
        -> $output:ty) =>
    {
        fn $name(&self, $($arg: $type),*) -> Doing<$output> {
            let client = self.clone();
            Box::pin(async move { client.$name($($given),*)$($await)* })
        }
    };
}

offers! {
    /// Lists the prompts.
    list_prompts() -> Result<List<Prompt>, Error>;
    /// Gets a prompt.
    get_prompt(name: String => name, arguments: Value => arguments)
        -> Result<GetPromptResult, Error>;
    /// Lists the resources.
    list_resources() -> Result<List<Resource>, Error>;
    /// Reads a page of the resources.
    list_resources_page(cursor: Option<String> => cursor.as_deref())
        -> Result<Page<Resource>, Error>;
    /// Lists the resource templates.
    list_resource_templates() -> Result<List<ResourceTemplate>, Error>;
    /// Reads a page of the resource templates.
    list_resource_templates_page(cursor: Option<String> => cursor.as_deref())
        -> Result<Page<ResourceTemplate>, Error>;
    /// Reads a resource.
    read_resource(uri: String => uri) -> Result<ReadResourceResult, Error>;
    /// Completes an argument.
    complete(
        reference: CompletionReference => reference,
        argument: String => argument,
        value: String => value
    ) -> Result<Completion, Error>;
    /// Sets the logging level.
    set_logging_level(level: LoggingLevel => level) -> Result<(), Error>;
    /// Goes on with a call that stopped while its server waited for input.
    resume(error: Error => &error) -> Result<Resumed, Error>;
    /// Calls several tools.
    call_tools(calls: Vec<(String, Value)> => calls) -> Vec<Result<CallToolResult, Error>>;
}
