//! Macro workloads: throughput and latency of the engine.

fn main() {}
