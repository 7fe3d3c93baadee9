//! The methods by which a host calls a server, once for all adapters.

use mcp_proto::Error;
use serde_json::{Map, Value};

/// The arguments of a tool: a JSON object, or `()` for none.
pub trait IntoArguments {
    /// The members of the object.
    ///
    /// # Errors
    /// When the value is no object.
    fn into_arguments(self) -> Result<Map<String, Value>, Error>;
}

impl IntoArguments for () {
    fn into_arguments(self) -> Result<Map<String, Value>, Error> {
        Ok(Map::new())
    }
}

impl IntoArguments for Map<String, Value> {
    fn into_arguments(self) -> Result<Map<String, Value>, Error> {
        Ok(self)
    }
}

impl IntoArguments for Value {
    fn into_arguments(self) -> Result<Map<String, Value>, Error> {
        let found = match self {
            Value::Object(members) => return Ok(members),
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
        };
        Err(Error::validation(format!(
            "the arguments of a tool are a JSON object, not {found}; use `()` for none"
        )))
    }
}

/// The methods by which a host calls a server.
///
/// Inside `impl Handle { .. }`, write `mcp_client_methods!(blocking, CallOptions, PendingCall);` or
/// `mcp_client_methods!(async, CallOptions, PendingCall);`. All methods go through two that the
/// adapter writes itself, with its own types for the options (which have a default) and the call:
///
/// ```text
/// pub fn run<O: Operation>(&self, operation: O, options: CallOptions) -> Result<O::Output, Error>
/// pub fn begin_with<O: Operation>(&self, operation: O, options: CallOptions)
///     -> Result<PendingCall<O>, Error>
/// ```
///
/// In the async form `run` is an `async fn` with the same signature, or returns such a future.
/// Bounds beyond `Operation`, such as `Send + 'static`, are a fourth argument:
/// `mcp_client_methods!(async, CallOptions, PendingCall, Send + 'static);`.
#[macro_export]
macro_rules! mcp_client_methods {
    (blocking, $($rest:tt)+) => { $crate::mcp_client_methods! { @all [] [] $($rest)+ } };
    (async, $($rest:tt)+) => { $crate::mcp_client_methods! { @all [async] [.await] $($rest)+ } };
    (@all $async:tt $await:tt $options:ty, $pending:ident $(, $($bound:tt)+)?) => {
        // One entry for each method: the operation that it runs, and what it is decoded to.
        // Entries that end in `options` take them from the caller.
        $crate::mcp_client_methods! { @each $async $await $options;
            /// Lists the tools of the server, page after page, in its order (specification:
            /// server/tools). Malformed definitions are left out, and named in
            /// [`malformed`](mcp_runtime_common::proto::op::ToolList::malformed).
            ///
            /// # Errors
            /// When the server does not answer with a list, or with one that has no end.
            fn list_tools() -> $crate::proto::op::ToolList {
                $crate::proto::op::ListTools
            }

            /// Calls a tool (specification: server/tools). The arguments are a JSON object, or `()`.
            ///
            /// A tool that fails says so in the result. A call whose answer is lost is never
            /// repeated.
            ///
            /// # Errors
            /// When there is no result. After an error of the transport, look at
            /// [`outcome`](mcp_runtime_common::proto::Error::outcome): the tool may have run.
            fn call_tool(name: impl Into<String>, arguments: impl $crate::IntoArguments)
                -> $crate::proto::model::CallToolResult
            {
                $crate::proto::op::CallTool::new(name, arguments.into_arguments()?)
            }

            /// Calls a tool with a timeout, metadata or callbacks of this call's own. See
            /// [`call_tool`](Self::call_tool).
            ///
            /// # Errors
            /// As for [`call_tool`](Self::call_tool).
            fn call_tool_with(
                name: impl Into<String>,
                arguments: impl $crate::IntoArguments,
                options: $options
            ) -> $crate::proto::model::CallToolResult {
                $crate::proto::op::CallTool::new(name, arguments.into_arguments()?), options
            }

            /// Lists the prompts of the server, page after page (specification: server/prompts).
            ///
            /// # Errors
            /// As for [`list_tools`](Self::list_tools).
            fn list_prompts() -> $crate::proto::op::List<$crate::proto::model::Prompt> {
                $crate::proto::op::ListPrompts
            }

            /// Gets a prompt with its arguments filled in (specification: server/prompts). They are
            /// a JSON object of texts, or `()`.
            ///
            /// # Errors
            /// When there is no such prompt, or an argument is missing or no text.
            fn get_prompt(name: impl Into<String>, arguments: impl $crate::IntoArguments)
                -> $crate::proto::model::GetPromptResult
            {
                $crate::proto::op::GetPrompt::new(name, arguments.into_arguments()?)
            }

            /// Lists the resources of the server, page after page (specification:
            /// server/resources).
            ///
            /// # Errors
            /// As for [`list_tools`](Self::list_tools).
            fn list_resources() -> $crate::proto::op::List<$crate::proto::model::Resource> {
                $crate::proto::op::ListResources
            }

            /// Reads one page of the resources: the first, or the one to which the cursor of the
            /// page before leads.
            ///
            /// # Errors
            /// When the server does not answer with a list, or does not know the cursor.
            fn list_resources_page(cursor: Option<&str>)
                -> $crate::proto::op::Page<$crate::proto::model::Resource>
            {
                $crate::proto::op::ListResourcesPage::new(cursor.map(String::from))
            }

            /// Lists the resource templates of the server, page after page (specification:
            /// server/resources, "Resource Templates").
            ///
            /// # Errors
            /// As for [`list_tools`](Self::list_tools).
            fn list_resource_templates()
                -> $crate::proto::op::List<$crate::proto::model::ResourceTemplate>
            {
                $crate::proto::op::ListResourceTemplates
            }

            /// Reads one page of the resource templates. See
            /// [`list_resources_page`](Self::list_resources_page).
            ///
            /// # Errors
            /// As for [`list_resources_page`](Self::list_resources_page).
            fn list_resource_templates_page(cursor: Option<&str>)
                -> $crate::proto::op::Page<$crate::proto::model::ResourceTemplate>
            {
                $crate::proto::op::ListResourceTemplatesPage::new(cursor.map(String::from))
            }

            /// Reads what is at an address (specification: server/resources).
            ///
            /// # Errors
            /// [`ResourceNotFound`](mcp_runtime_common::proto::ErrorKind::ResourceNotFound) when the
            /// server has no such resource, and any other error of the server's as it is.
            fn read_resource(uri: impl Into<String>) -> $crate::proto::model::ReadResourceResult {
                $crate::proto::op::ReadResource::new(uri)
            }

            /// Asks what an argument of a prompt or of a URI template could be, of which the value
            /// is the beginning (specification: server/utilities/completion). With arguments that
            /// are settled already, [`run`](Self::run) a
            /// [`Complete`](mcp_runtime_common::proto::op::Complete).
            ///
            /// # Errors
            /// When the server does not offer `completions`; then it is not asked.
            fn complete(
                reference: $crate::proto::model::CompletionReference,
                argument: impl Into<String>,
                value: impl Into<String>
            ) -> $crate::proto::model::Completion {
                $crate::proto::op::Complete::new(reference, argument, value)
            }

            /// Sets how bad a log message has to be for the server to send it (specification:
            /// server/utilities/logging). A modern server is told with each later request.
            ///
            /// # Errors
            /// When the server does not offer `logging`; then it is not asked.
            fn set_logging_level(level: $crate::proto::model::LoggingLevel) -> () {
                $crate::proto::op::SetLoggingLevel(level)
            }

            /// Asks the server whether it is there (2025-11-25: basic/utilities/ping). Modern
            /// servers are asked `server/discover`.
            ///
            /// # Errors
            /// When it does not answer, or with an error.
            fn ping() -> () {
                $crate::proto::op::Ping
            }

            /// Goes on with a call that stopped while its server waited for input (specification:
            /// basic/patterns/mrtr), by the error with which it ended. Only what was not answered
            /// before is asked again.
            ///
            /// # Errors
            /// When going on is not safe, and those of the call.
            fn resume(error: &$crate::proto::Error) -> $crate::proto::op::Resumed {
                $crate::proto::op::Resume::new(error)?
            }

            /// Sends a request of any method, such as that of an extension, and gives back its
            /// result as it was sent. The protocol's metadata is added.
            ///
            /// # Errors
            /// When there is no result, and for methods that are the connection's own.
            fn request(
                method: impl Into<String>,
                params: $crate::serde_json::Map<String, $crate::serde_json::Value>
            ) -> $crate::proto::Raw {
                $crate::proto::op::CustomRequest::new(method, params)
            }
        }

        $crate::mcp_client_methods! { @batch $async $await }

        /// Begins a call without waiting for it.
        ///
        /// # Errors
        /// When it cannot be sent as it is.
        pub fn begin<O: $crate::proto::Operation $(+ $($bound)+)?>(
            &self,
            operation: O,
        ) -> ::std::result::Result<$pending<O>, $crate::proto::Error> {
            self.begin_with(operation, <$options as ::std::default::Default>::default())
        }
    };
    (@each $async:tt $await:tt $options:ty; $(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty {
            $operation:expr $(, $given:ident)?
        }
    )*) => {$(
        $crate::mcp_client_methods! { @method $async $await
            $(#[$doc])*
            fn $name($($arg: $type),*) -> $output {
                $operation,
                $crate::mcp_client_methods!(@options $options $(, $given)?)
            }
        }
    )*};
    // Blocking clients wait in `wait`; a pending call of an async client is a future.
    (@batch [$($async:tt)?] [$($await:tt)*]) => {
        /// Calls several tools side by side, each given by its name and its arguments. The results
        /// are in the order of the calls, and one that fails does not touch the others.
        ///
        /// The timeout of each counts from the beginning.
        pub $($async)? fn call_tools<N, A>(
            &self,
            calls: impl IntoIterator<Item = (N, A)>,
        ) -> Vec<::std::result::Result<
            $crate::proto::model::CallToolResult,
            $crate::proto::Error,
        >>
        where
            N: Into<String>,
            A: $crate::IntoArguments,
        {
            let begun: Vec<_> = calls.into_iter().map(|(name, arguments)| {
                let operation = $crate::proto::op::CallTool::new(name, arguments.into_arguments()?);
                self.begin(operation)
            }).collect();
            let mut results = Vec::with_capacity(begun.len());
            for call in begun {
                results.push(match call {
                    Ok(call) => $crate::mcp_client_methods!(@end call $($await)*),
                    Err(error) => Err(error),
                });
            }
            results
        }
    };
    (@end $call:ident) => { $call.wait() };
    (@end $call:ident .await) => { $call.await };
    (@options $options:ty) => { <$options as ::std::default::Default>::default() };
    (@options $options:ty, $given:ident) => { $given };
    (@method [$($async:tt)?] [$($await:tt)*] $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty { $operation:expr, $options:expr }
    ) => {
        $(#[$doc])*
        pub $($async)? fn $name(&self, $($arg: $type),*)
            -> ::std::result::Result<$output, $crate::proto::Error>
        {
            self.run($operation, $options)$($await)*
        }
    };
}
