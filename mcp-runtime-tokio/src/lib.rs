//! A Model Context Protocol client for tokio.
