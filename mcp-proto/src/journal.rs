//! Journals: every input and output of a connection, as JSON lines.
