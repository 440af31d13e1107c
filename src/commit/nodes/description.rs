//! What a node says of itself when it registers or connects again.
//!
//! Tests: `tests/commit/operations.rs`.

use super::node_error::NodeError;
use crate::cluster::{AttributeMapping, Attributes, map_attributes};
use crate::queue::NodeSpec;

/// Checks the name of a rack.
pub(super) fn check_rack(rack: &str) -> Result<(), NodeError> {
    let bad = rack.is_empty() || rack.len() > 256 || rack.contains(char::is_control);
    if bad || rack == "*" {
        let clipped = rack.chars().take(64).flat_map(char::escape_debug);
        return Err(NodeError::Rack(clipped.collect()));
    }
    Ok(())
}

/// The attributes of a description, each with its full name.
pub(super) fn attributes_of(spec: &NodeSpec) -> Result<Attributes, NodeError> {
    let mut attributes = Attributes::new();
    let mapped = map_attributes(&mut attributes, &AttributeMapping::Add, &spec.attributes);
    mapped.map_err(NodeError::Attribute)?;
    Ok(attributes)
}
