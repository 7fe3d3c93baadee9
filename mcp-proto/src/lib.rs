//! The Model Context Protocol, client side, as state machines without I/O.
