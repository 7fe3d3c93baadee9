//! What every runtime adapter of the Model Context Protocol client would otherwise copy.
