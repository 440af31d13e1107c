//! A resource manager around the engine: what `capsched serve` runs.
//!
//! | module | what it owns |
//! |---|---|
