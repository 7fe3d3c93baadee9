//! Uses of the interface that can never work.

/// A use of the interface that can never work. It is returned before anything happens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// A setting has a value that cannot work.
    #[error("the setting `{setting}` must {must}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// Parameters of a request that cannot be written.
    #[error("the parameters of `{method}` cannot be sent: {why}")]
    Params {
        /// The method.
        method: String,
        /// What is wrong with them.
        why: String,
    },
    /// A key for `_meta` that the specification does not allow.
    #[error("`_meta` key {key:?}: {why}")]
    MetaKey {
        /// The key.
        key: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A header that cannot be sent.
    #[error("header {name:?}: {why}")]
    Header {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A root that must not be told to servers.
    #[error("root {uri:?}: {why}")]
    Root {
        /// The address.
        uri: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A target that names no server.
    #[error("{0}")]
    Target(String),
}
