//! Looks at single applications, nodes and queues, at some of them in order, and at the counters: each costs
//! what it shows, where [`Threaded::state`] costs everything.

use super::view::{AppView, NodeView, QueueView};
use super::viewer::{Viewer, live_of};
use crate::commit::{EventCounts, Ledger};
use crate::id::{ApplicationId, NodeName, NodeSlot};
use crate::runtime::{CallError, Threaded};

/// Rows that one call of a cursor shows at most.
const PAGE: usize = 1024;

/// Rows of a page that the committer makes at a stretch: others are served between two of these looks.
const OF_A_LOOK: usize = 128;

fn node_of(ledger: &Ledger, node: NodeSlot) -> NodeView {
    let viewer = Viewer::of(ledger.state());
    viewer.node(node, viewer.node_queue(ledger, node))
}

/// A page of rows, made of some looks at those behind one of them. A look comes with the names of its rows.
fn page_behind<K, V>(
    mut behind: Option<K>,
    most: usize,
    look: impl Fn(Option<K>, usize) -> Result<Vec<(K, V)>, CallError>,
) -> Result<Vec<V>, CallError> {
    let most = most.min(PAGE);
    let mut page = Vec::new();
    loop {
        let asked = OF_A_LOOK.min(most - page.len());
        let rows = look(behind.take(), asked)?;
        let ends = rows.len() < asked;
        for (name, row) in rows {
            page.push(row);
            behind = Some(name);
        }
        if ends || page.len() == most {
            return Ok(page);
        }
    }
}

impl Threaded {
    /// One live application; nothing when there is none of that number.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// let app = ApplicationId::new(1);
    /// assert_eq!(engine.app(app)?, None);
    /// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
    /// assert_eq!(engine.app(app)?.map(|view| view.queue).as_deref(), Some("root.a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn app(&self, id: ApplicationId) -> Result<Option<AppView>, CallError> {
        self.inspect(move |ledger| {
            let slot = ledger.app(id)?;
            Some(Viewer::of(ledger.state()).app(slot, live_of(ledger, slot)))
        })
    }

    /// One registered node; nothing when there is none of that name.
    ///
    /// # Errors
    ///
    /// As [`Self::app`].
    pub fn node(&self, name: &NodeName) -> Result<Option<NodeView>, CallError> {
        let name = name.clone();
        self.inspect(move |ledger| Some(node_of(ledger, ledger.node(&name)?)))
    }

    /// One queue by its full path, or by a name that no other queue has.
    ///
    /// # Errors
    ///
    /// As [`Self::app`].
    pub fn queue(&self, name: &str) -> Result<Option<QueueView>, CallError> {
        let name = name.to_owned();
        self.inspect(move |ledger| Some(Viewer::of(ledger.state()).queue(ledger.queue(&name)?)))
    }

    /// Live applications in order of their ids behind one of them, 1,024 at most and no more than `most`. With
    /// nothing to be behind, the first ones. Applications that come and go meanwhile are seen or not.
    ///
    /// Cost: what is shown, 128 rows at a time in the committer's time.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// for number in 1..=5 {
    ///     engine.submit(AppSpec::new(ApplicationId::new(number), "root.a", "ann"))?;
    /// }
    /// let (mut seen, mut behind) = (0, None);
    /// loop {
    ///     let page = engine.apps_behind(behind, 2)?;
    ///     let Some(last) = page.last() else { break };
    ///     behind = Some(ApplicationId::new(last.app));
    ///     seen += page.len();
    /// }
    /// assert_eq!(seen, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::app`].
    pub fn apps_behind(
        &self,
        behind: Option<ApplicationId>,
        most: usize,
    ) -> Result<Vec<AppView>, CallError> {
        page_behind(behind, most, |behind, most| {
            self.inspect(move |ledger| {
                let viewer = Viewer::of(ledger.state());
                let apps = ledger.names().apps_behind(behind, most);
                let rows = apps.into_iter();
                rows.map(|(id, slot)| (id, viewer.app(slot, live_of(ledger, slot))))
                    .collect()
            })
        })
    }

    /// Registered nodes in order of their names behind one of them, as [`Self::apps_behind`].
    ///
    /// # Errors
    ///
    /// As [`Self::app`].
    pub fn nodes_behind(
        &self,
        behind: Option<&NodeName>,
        most: usize,
    ) -> Result<Vec<NodeView>, CallError> {
        page_behind(behind.cloned(), most, |behind, most| {
            self.inspect(move |ledger| {
                let nodes = ledger.names().nodes_behind(behind.as_ref(), most);
                let rows = nodes.into_iter();
                rows.map(|(name, slot)| (name.clone(), node_of(ledger, slot)))
                    .collect()
            })
        })
    }

    /// How many events of each kind there were since the engine was built.
    ///
    /// # Errors
    ///
    /// As [`Self::app`].
    pub fn event_counts(&self) -> Result<EventCounts, CallError> {
        self.inspect(|ledger| *ledger.event_counts())
    }
}
