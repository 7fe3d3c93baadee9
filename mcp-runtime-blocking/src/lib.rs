//! A Model Context Protocol client for programs without an async runtime.
