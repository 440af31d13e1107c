//! Who holds most of what a limit counts. Each list is made once for a state.
//!
//! Tests: `tests/explain/limits.rs` has the holders of each limit, `tests/explain/sums.rs` compares shared lists with
//! lists of one application.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::id::{AppSlot, ApplicationId, Map, PartitionId, QueuePath, QueueSlot, UserSlot};
use crate::queue::{App, AppStage};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Largest holders that an explanation names.
pub(super) const HOLDERS: usize = 3;

/// An application that holds what another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The application.
    pub app: ApplicationId,
    /// Its user.
    pub user: Arc<str>,
    /// Full path of its leaf.
    pub queue: QueuePath,
    /// What it holds of the dimension, reservations included.
    pub amount: i64,
}

/// Whose containers a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HolderScope {
    /// All applications.
    All,
    /// Applications with a reservation on the partition.
    Reserving,
    /// Applications in a queue or below it.
    Queue(QueueSlot),
    /// Applications of a user in a leaf.
    User(UserSlot),
    /// Masters of the active applications of a leaf.
    Masters(QueueSlot),
    /// Masters of the active applications of a user in a leaf.
    MastersOf(UserSlot),
}

/// A list of holders: whose, on which partition, and the index of the resource type.
type ListKey = (HolderScope, PartitionId, usize);

/// The applications of a state, grouped, and the lists of holders that explanations share.
#[derive(Debug)]
pub(super) struct Holders<'a> {
    state: &'a State,
    groups: Option<AppGroups<'a>>,
    lists: Map<ListKey, Vec<(i64, AppSlot)>>,
}

/// The applications of a state by what limits count.
#[derive(Debug, Default)]
struct AppGroups<'a> {
    live: Vec<AppSlot>,
    by_leaf: Map<QueueSlot, Vec<AppSlot>>,
    by_user: Map<UserSlot, Vec<AppSlot>>,
    by_id: Map<ApplicationId, AppSlot>,
    /// Applications of a user that the limits of parallel ones count, in all leaves.
    runnable: Map<&'a str, usize>,
}

impl<'a> AppGroups<'a> {
    /// Cost: proportional to the applications.
    fn of(state: &'a State) -> Self {
        let mut groups = Self::default();
        for slot in (0..state.apps.len()).map(AppSlot::at) {
            let app = &state.apps[slot];
            groups.by_id.entry(app.id).or_insert(slot);
            if app.stage.is_over() {
                continue;
            }
            groups.live.push(slot);
            groups.by_leaf.entry(app.leaf).or_default().push(slot);
            groups.by_user.entry(app.user).or_default().push(slot);
            if app.runnable {
                let name: &str = &app.submission.user_name;
                *groups.runnable.entry(name).or_default() += 1;
            }
        }
        groups
    }
}

impl<'a> Holders<'a> {
    pub(super) fn new(state: &'a State) -> Self {
        Self {
            state,
            groups: None,
            lists: Map::default(),
        }
    }

    /// The state.
    pub(super) const fn state(&self) -> &'a State {
        self.state
    }

    fn groups(&mut self) -> &AppGroups<'a> {
        self.groups.get_or_insert_with(|| AppGroups::of(self.state))
    }

    /// Applications of a user, in all leaves, that the limits of parallel ones count.
    pub(super) fn runnable(&mut self, user: &str) -> usize {
        self.groups().runnable.get(user).copied().unwrap_or(0)
    }

    /// The slot of an application.
    pub(super) fn slot(&mut self, app: ApplicationId) -> Option<AppSlot> {
        self.groups().by_id.get(&app).copied()
    }

    /// The largest holders of a resource type on a partition, without one application.
    ///
    /// Cost: a look at the applications of the scope the first time, then nothing.
    pub(super) fn largest(&mut self, key: ListKey, without: Option<AppSlot>) -> Vec<Holder> {
        if !self.lists.contains_key(&key) {
            let list = self.list(key);
            self.lists.insert(key, list);
        }
        let state = self.state;
        let holder = |&(amount, app): &(i64, AppSlot)| {
            let row = &state.apps[app];
            Holder {
                app: row.id,
                user: Arc::clone(&row.submission.user_name),
                queue: state.queues[row.leaf].settings.path.clone(),
                amount,
            }
        };
        let others = self.lists[&key].iter();
        let others = others.filter(|(_, app)| Some(*app) != without);
        others.take(HOLDERS).map(holder).collect()
    }

    /// The largest holders of a scope, one more than an explanation names.
    fn list(&mut self, (scope, partition, index): ListKey) -> Vec<(i64, AppSlot)> {
        let state = self.state;
        let mut held: Vec<(i64, AppSlot)> = Vec::new();
        for app in self.among(scope) {
            let amount = counted(&state.apps[app], scope, partition)[index];
            if amount > 0 {
                held.push((amount, app));
            }
        }
        held.sort_by_key(|(amount, app)| (Reverse(*amount), state.apps[*app].id));
        held.truncate(HOLDERS + 1);
        held
    }

    /// The live applications of a scope.
    fn among(&mut self, scope: HolderScope) -> Vec<AppSlot> {
        let state = self.state;
        let groups = self.groups();
        let of_leaf = |leaf: &QueueSlot| groups.by_leaf.get(leaf).cloned().unwrap_or_default();
        match scope {
            HolderScope::All | HolderScope::Reserving => groups.live.clone(),
            HolderScope::Queue(queue) => state.subtree(queue).iter().flat_map(of_leaf).collect(),
            HolderScope::Masters(leaf) => of_leaf(&leaf),
            HolderScope::User(user) | HolderScope::MastersOf(user) => {
                groups.by_user.get(&user).cloned().unwrap_or_default()
            }
        }
    }
}

/// What of an application counts in a scope.
fn counted(app: &App, scope: HolderScope, partition: PartitionId) -> ResourceVector {
    let part = app.part(partition);
    let held = part.used.get() + part.reserved.get();
    match scope {
        HolderScope::Masters(_) | HolderScope::MastersOf(_) => {
            let counts = app.stage == AppStage::Active && app.master_partition == partition;
            if counts {
                app.master_use()
            } else {
                ResourceVector::NONE
            }
        }
        HolderScope::Reserving if part.reserved.get().is_none() => ResourceVector::NONE,
        _ => held,
    }
}
