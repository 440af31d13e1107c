//! The whole state of a running engine at one moment, while others are served.
//!
//! 1. The numbers of live containers are copied in parts, each between two commands of others.
//! 2. Rows that were written are copied ahead of the next snapshot.
//! 3. One look publishes that snapshot, and copies the numbers of what changed since once more.
//! 4. The view is made of both on the caller's thread.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use super::view::{NodeQueueView, StateView};
use super::viewer::Viewer;
use crate::cluster::NodeState;
use crate::commit::{Ledger, LiveNumbers};
use crate::id::{AppSlot, NodeSlot};
use crate::runtime::{CallError, Threaded};
use crate::snapshot::Snapshot;

/// Numbers that are copied between two commands of others.
const PART: usize = 4096;

impl Threaded {
    /// The whole state at one moment, as the committer sees it.
    ///
    /// Cost: on the caller's thread, proportional to everything there is. Others wait for few thousand numbers of
    /// containers and rows at a time, and once for a look at each application, and at each node where opportunistic
    /// containers are enabled.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn state(&self) -> Result<StateView, CallError> {
        let look = self.copy_in_passes::<LiveNumbers, _>(PART, node_queues)?;
        Ok(view(&look.snapshot, &look.copy, look.found))
    }
}

/// Figures of the queues of nodes, where there are any.
fn node_queues(ledger: &Ledger) -> Vec<(NodeSlot, NodeQueueView)> {
    let viewer = Viewer::of(ledger.state());
    let all = (0..ledger.state().nodes.len()).map(NodeSlot::at);
    all.filter_map(|node| Some((node, viewer.node_queue(ledger, node)?)))
        .collect()
}

fn view(
    snapshot: &Snapshot,
    live: &LiveNumbers,
    queues: Vec<(NodeSlot, NodeQueueView)>,
) -> StateView {
    let state = snapshot.to_state();
    let viewer = Viewer::of(&state);
    let mut queues = queues.into_iter().peekable();
    let mut nodes = Vec::new();
    for node in (0..state.nodes.len()).map(NodeSlot::at) {
        let queue = queues.next_if(|(of, _)| *of == node);
        if state.nodes[node].state != NodeState::Lost {
            nodes.push(viewer.node(node, queue.map(|(_, queue)| queue)));
        }
    }
    let apps = (0..state.apps.len()).map(AppSlot::at);
    let mut apps: Vec<_> = apps
        .filter(|&app| !state.apps[app].stage.is_over())
        .collect();
    apps.sort_unstable_by_key(|&app| state.apps[app].id);
    let apps = apps.into_iter();
    let apps = apps.map(|app| viewer.app(app, live.of(app).to_vec()));
    viewer.view(nodes, apps.collect())
}
