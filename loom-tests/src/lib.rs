//! Helpers that the loom models share.
