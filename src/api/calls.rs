//! Calls of a started engine that are made of others: a node described anew, the usual figures.

use crate::commit::NodeError;
use crate::metrics::{Latency, Phase};
use crate::queue::NodeSpec;
use crate::runtime::Threaded;

impl Threaded {
    /// Describes a registered node anew: its total and its partition. Nothing is killed; a total
    /// below what is in use takes no new containers. Rack and attributes stay; the latter change by
    /// [`Threaded::map_attributes`].
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// let node: NodeName = "n0:8041".parse()?;
    /// engine.add_node(NodeSpec::new(node.clone(), ResourceVector::of(&[8192, 8])))?;
    /// engine.update_node(NodeSpec::new(node, ResourceVector::of(&[4096, 8])))?;
    /// let state = engine.state().expect("the engine runs");
    /// assert_eq!(state.nodes[0].total, [4096, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the node is not registered, its total is out of range or its label unknown; in the
    /// last case the total was taken over already.
    pub fn update_node(&self, node: NodeSpec) -> Result<(), NodeError> {
        self.resize_node(node.name.clone(), node.total)?;
        self.relabel_node(node.name, node.partition)
    }

    /// The figures of the decisions so far, in ns: how long a proposer took for one that proposed
    /// something. Which ones are measured says [`Latencies`](crate::api::Latencies); in heartbeat
    /// mode, where a call of the caller decides, there are none.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).mode(Mode::Global { threads: 1 }).start()?;
    /// let latency = engine.latency();
    /// println!("{} decisions, p99 {} ns", latency.n, latency.p99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn latency(&self) -> Latency {
        let all = self.latencies();
        let decisions = all.get(Phase::Propose);
        decisions.map(|found| found.latency()).unwrap_or_default()
    }
}
