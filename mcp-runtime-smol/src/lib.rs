//! A Model Context Protocol client for smol and any other async executor.
