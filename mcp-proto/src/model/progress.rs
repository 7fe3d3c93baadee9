//! Progress of a call (specification: basic/patterns/progress).

use serde::{Deserialize, Serialize};

/// How far a call is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// What has been done so far. It grows with each notification.
    pub progress: f64,
    /// What there is to do in all, if the server knows.
    #[serde(default)]
    pub total: Option<f64>,
    /// The server's words on it.
    #[serde(default)]
    pub message: Option<String>,
}
