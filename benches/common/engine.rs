//! A sequential engine with the canonical cluster, for the benches of what drives engines.

#[path = "tree.rs"]
mod tree;

use capsched::api::{Ask, AskCall, Engine, Mode};
use capsched::id::{ApplicationId, NodeName};
use capsched::queue::{AppSpec, NodeSpec};
use capsched::resource::ResourceVector;
use capsched::runtime::Sequential;
use tree::{S1, settings};

pub(crate) use tree::container;

/// The cluster with its nodes' names; each application asked for this many containers.
///
/// # Panics
///
/// When the engine refuses something, which it does not.
#[must_use]
pub(crate) fn engine(asked: i32) -> (Sequential, Vec<NodeName>) {
    let builder = Engine::builder(settings(S1.levels)).mode(Mode::Heartbeat);
    let mut engine = builder.sequential().expect("a tree");
    let mut nodes = Vec::new();
    for i in 0..S1.nodes {
        let name = NodeName::new(&format!("host{i}"), 8041).expect("a node's name");
        let node = NodeSpec::new(name.clone(), ResourceVector::of(&[128 * 1024, 32]));
        engine.add_node(&node).expect("a new node");
        nodes.push(name);
    }
    for i in 0..S1.apps {
        let (leaf, user) = (S1.leaf(i), (i + i / S1.leaves()) % S1.users);
        let id = ApplicationId::new(i + 1);
        let spec = AppSpec::new(id, &leaf, &format!("user{user}"));
        engine.submit(&spec).expect("an open queue");
        let call = AskCall::asking(vec![Ask::anywhere(container(), asked)]);
        engine.ask(id, &call).expect("an ask in range");
    }
    drop(engine.take_events());
    (engine, nodes)
}
