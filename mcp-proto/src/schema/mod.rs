//! What a tool's input schema says to its client before the call: which arguments stand in headers
//! as well (specification: basic/transports/streamable-http, "Custom Headers from Tool
//! Parameters"), and which must be there.

mod annotations;
mod parameters;

pub use annotations::{
    HeaderParameter, HeaderParameters, HeaderType, InvalidAnnotation, MAX_HEADER_NAME_BYTES,
    MAX_HEADER_PARAMETERS,
};
pub(crate) use parameters::ToolParameters;
