//! The nodes of the demonstration: what they offer, and registering them.

use crate::rm::{Command, CommandError, NodeRegistration, ResourceManager};

use super::settings::{ADMINISTRATOR, GPU};

/// Nodes of a rack.
const RACK: u32 = 20;

/// One in so many nodes has GPUs.
const EVERY: u32 = 10;

/// What a node offers: MiB and cores.
const SMALL: [i64; 2] = [131_072, 32];
const LARGE: [i64; 2] = [262_144, 64];

/// Memory of all nodes without a label, in GiB.
pub(super) fn memory_gib(nodes: u32) -> u64 {
    let plain = nodes - nodes.div_ceil(EVERY);
    u64::from(plain.max(1)) * 128
}

pub(super) fn name(index: u32) -> String {
    format!("r{:02}n{:03}:8041", index / RACK, index)
}

/// Registers a node, at first or again.
pub(super) fn register(rm: &ResourceManager, index: u32) -> Result<(), CommandError> {
    let gpu = index.is_multiple_of(EVERY);
    let registration = NodeRegistration {
        node: name(index),
        rack: format!("/rack-{:02}", index / RACK),
        resource: if gpu { LARGE.to_vec() } else { SMALL.to_vec() },
        http_port: 8042,
        version: "demo".to_owned(),
        labels: gpu.then(|| vec![GPU.to_owned()]),
    };
    rm.execute(ADMINISTRATOR, Command::RegisterNode(registration))?;
    Ok(())
}
