//! The `capsched` command.

fn main() {}
