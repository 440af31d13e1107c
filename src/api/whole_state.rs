//! The whole state of a running engine at one moment, while others are served.
//!
//! 1. The numbers of live containers and the figures of nodes' queues are copied in parts, each between two commands of
//!    others.
//! 2. Rows that were written are copied ahead of the next snapshot.
//! 3. One look publishes that snapshot, and copies the numbers of what changed since once more.
//! 4. The view is made of both on the caller's thread.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use super::view::StateView;
use super::viewer::Viewer;
use crate::cluster::NodeState;
use crate::commit::{AllNodeQueues, BothCopies, LiveNumbers};
use crate::id::{AppSlot, NodeSlot};
use crate::runtime::{CallError, Threaded};
use crate::snapshot::Snapshot;

/// Numbers that are copied between two commands of others.
const PART: usize = 1024;

impl Threaded {
    /// The whole state at one moment, as the committer sees it.
    ///
    /// Cost: on the caller's thread, proportional to everything there is. Others wait for about a thousand numbers of
    /// containers and rows at a time. Once they wait for a look at a number for each application, and for each node where
    /// opportunistic containers are enabled.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn state(&self) -> Result<StateView, CallError> {
        let look =
            self.copy_in_passes::<BothCopies<LiveNumbers, AllNodeQueues>, _>(PART, |_| ())?;
        let (live, queues) = look.copy.into_parts();
        Ok(view(&look.snapshot, &live, &queues))
    }
}

fn view(snapshot: &Snapshot, live: &LiveNumbers, queues: &AllNodeQueues) -> StateView {
    let state = snapshot.to_state();
    let viewer = Viewer::of(&state);
    let queue_of = |node| queues.of(node).map(|queue| viewer.queue_of(&queue));
    let nodes = (0..state.nodes.len()).map(NodeSlot::at);
    let nodes = nodes.filter(|&node| state.nodes[node].state != NodeState::Lost);
    let nodes = nodes.map(|node| viewer.node(node, queue_of(node)));
    let nodes = nodes.collect();
    let apps = (0..state.apps.len()).map(AppSlot::at);
    let mut apps: Vec<_> = apps
        .filter(|&app| !state.apps[app].stage.is_over())
        .collect();
    apps.sort_unstable_by_key(|&app| state.apps[app].id);
    let apps = apps.into_iter();
    let apps = apps.map(|app| viewer.app(app, live.of(app).to_vec()));
    viewer.view(nodes, apps.collect())
}
