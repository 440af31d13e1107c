//! Recovery calls of a journal, as statements of a Rust test.

use std::fmt::Write as _;

use capsched::simulator::journal::{RecoverCall, RegisterCall, RunningLine};

use super::{container_id, owned_pairs, spec, vector};

/// An application that is taken over.
pub(super) fn application(out: &mut String, call: &RecoverCall) -> std::fmt::Result {
    let (spec, attempt, master) = (spec(&call.submission), call.attempt, call.master);
    write!(
        out,
        "let _ = engine.recover_app({spec}, {attempt}, {master:?});"
    )
}

/// A node that registers with what it runs.
pub(super) fn node(out: &mut String, call: &RegisterCall) -> std::fmt::Result {
    let running: Vec<String> = call.running.iter().map(running).collect();
    write!(
        out,
        "let _ = engine.register_node(NodeSpec {{ rack: {:?}.to_owned(), partition: {:?}.to_owned(), \
         attributes: {}, ..NodeSpec::new({:?}.parse().unwrap(), {}) }}, vec![{}]);",
        call.rack,
        call.label,
        owned_pairs(&call.attributes),
        call.node,
        vector(&call.size),
        running.join(", ")
    )
}

fn running(line: &RunningLine) -> String {
    format!(
        "RunningContainer {{ priority: {}, request_id: {}, created_ms: {}, version: {}, opportunistic: {}, \
         ..RunningContainer::new({}, {}) }}",
        line.priority,
        line.id,
        line.created_ms,
        line.version,
        line.opportunistic,
        container_id(line.container),
        vector(&line.size)
    )
}
