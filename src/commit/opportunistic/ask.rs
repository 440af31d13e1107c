//! Asks for opportunistic containers: their checks, and those that are not served yet.
//!
//! Tests: `tests/commit/opportunistic/asks.rs`.

use std::collections::BTreeMap;

use crate::commit::apps::ask_error::AskError;
use crate::commit::leaves::demand::Checked;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, ApplicationId, NameId, PartitionId, SchedulerKey};
use crate::queue::Ask;
use crate::resource::ResourceVector;

/// Most asks of one call.
const MOST_ASKS: usize = 512;

/// Most keys of one application with asks that are not served.
const MOST_KEYS: usize = 10_000;

/// Containers that an application wants on a host or a rack, if they can be there.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedPlace {
    /// Racks come after hosts.
    pub(super) is_rack: bool,
    pub(super) place: NameId,
    pub(super) count: i32,
}

/// What an application still wants under one key.
#[derive(Clone, Debug)]
pub(super) struct WaitingAsk {
    pub(super) size: ResourceVector,
    /// Containers, wherever they are.
    pub(super) count: i32,
    /// Whether nodes that the ask does not name will do.
    pub(super) relax: bool,
    pub(super) partition: PartitionId,
    /// Hosts, then racks, each in the order of the asks.
    pub(super) places: Vec<WantedPlace>,
}

/// What one application still wants, and how far it was tried in the present round.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingAsks {
    generation: u32,
    keys: BTreeMap<SchedulerKey, WaitingAsk>,
    /// The key that was tried last in the present round.
    tried: Option<SchedulerKey>,
}

impl WaitingAsks {
    /// The next key of the round; a new round begins where none is left.
    pub(super) fn next_key(&mut self) -> Option<SchedulerKey> {
        let behind = match self.tried {
            None => self.keys.keys().next(),
            Some(tried) => {
                let mut keys = self.keys.range(tried..).map(|(key, _)| key);
                keys.find(|&&key| key != tried)
            }
        };
        let next = behind.copied();
        if next.is_none() {
            self.tried = None;
        }
        next
    }

    /// What is wanted, by key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SchedulerKey, &WaitingAsk)> {
        self.keys.iter()
    }

    /// What is wanted under a key.
    pub(super) fn get(&self, key: SchedulerKey) -> Option<&WaitingAsk> {
        self.keys.get(&key)
    }

    /// Nothing more comes of a key in the present round.
    pub(super) fn pass(&mut self, key: SchedulerKey) {
        self.tried = Some(key);
    }

    /// A container was placed under a key, at the place of this position where the ask names it.
    // As OpportunisticContainerContext.matchAllocationToOutstandingRequest.
    pub(super) fn note_placed(&mut self, key: SchedulerKey, at: Option<usize>) {
        let Some(ask) = self.keys.get_mut(&key) else {
            return;
        };
        ask.count -= 1;
        if let Some(at) = at {
            ask.places[at].count -= 1;
            ask.places.retain(|wanted| wanted.count > 0);
        }
        if ask.count <= 0 {
            self.keys.remove(&key);
        }
    }

    /// Takes an ask over. It replaces the earlier one with its key and place.
    fn put(&mut self, checked: Checked, is_rack: bool) {
        let Checked { key, ask } = checked;
        let waiting = self.keys.entry(key).or_insert_with(|| WaitingAsk {
            size: ask.size.get(),
            count: 0,
            relax: true,
            partition: PartitionId::DEFAULT,
            places: Vec::new(),
        });
        if ask.place == NameId::ANY {
            waiting.size = ask.size.get();
            waiting.count = ask.count;
            waiting.relax = ask.relax;
            waiting.partition = ask.partition.unwrap_or(PartitionId::DEFAULT);
            return;
        }
        let places = &mut waiting.places;
        places.retain(|wanted| wanted.place != ask.place);
        if ask.count > 0 {
            let racks = places.partition_point(|wanted| wanted.is_rack <= is_rack);
            let wanted = WantedPlace {
                is_rack,
                place: ask.place,
                count: ask.count,
            };
            places.insert(racks, wanted);
        }
    }

    /// Forgets keys without an ask for `*`.
    fn forget_empty(&mut self) {
        self.keys.retain(|_, ask| ask.count > 0);
    }

    fn containers(&self) -> u64 {
        let counts = self
            .keys
            .values()
            .map(|ask| u64::from(ask.count.unsigned_abs()));
        counts.sum()
    }
}

impl Ledger {
    /// Asks for opportunistic containers. Placing is up to [`Self::place_opportunistic`].
    ///
    /// An ask replaces the earlier one with its key and place; with a count of 0 it is withdrawn. Asks for a
    /// host or a rack say where some of the containers are preferred, and count only beside an ask for `*`.
    ///
    /// # Errors
    ///
    /// As [`AskError`], and while the settings do not enable them; nothing changed then.
    ///
    /// Cost: the asks, each once; 512 at most.
    pub fn ask_opportunistic(&mut self, app: AppSlot, asks: &[Ask]) -> Result<(), AskError> {
        let checked = self.checked_opportunistic(app, asks)?;
        let generation = self.state.apps[app].generation;
        let waiting = self.opportunistic.waiting.entry(app).or_default();
        if waiting.generation != generation {
            *waiting = WaitingAsks {
                generation,
                ..WaitingAsks::default()
            };
        }
        for (ask, mut checked) in asks.iter().zip(checked) {
            checked.ask.place = self.registry.intern(&ask.place);
            waiting.put(checked, ask.place.starts_with('/'));
        }
        waiting.forget_empty();
        if waiting.keys.is_empty() {
            self.opportunistic.forget_app(app);
        }
        Ok(())
    }

    fn checked_opportunistic(&self, app: AppSlot, asks: &[Ask]) -> Result<Vec<Checked>, AskError> {
        let refuse = |reason: String| Err(AskError::Opportunistic(reason));
        if self.opportunistic.is_off() {
            return refuse("the settings do not enable them".to_owned());
        }
        let row = &self.state.apps[app];
        if !row.may_ask() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        if asks.len() > MOST_ASKS {
            return refuse(format!("{} asks are more than {MOST_ASKS}", asks.len()));
        }
        let waiting = self.opportunistic.waiting.get(&app);
        let keys = waiting.map_or(0, |waiting| waiting.keys.len()) + asks.len();
        if keys > MOST_KEYS + MOST_ASKS {
            return refuse(format!("more than {MOST_KEYS} keys are not served yet"));
        }
        let queue = (!self.state.queues[row.leaf].removed).then_some(row.leaf);
        let default = row.submission.default_partition.as_deref();
        let largest = self.largest_allocation(queue);
        let checks = self.checks();
        let checked = asks
            .iter()
            .map(|ask| checks.checked(queue, ask, default, &largest));
        checked.collect()
    }

    /// How many opportunistic containers a live application asked for that are not placed.
    #[must_use]
    pub fn opportunistic_waiting(&self, app: ApplicationId) -> u64 {
        let waiting = self.app(app).and_then(|app| self.waiting_asks(app));
        waiting.map_or(0, WaitingAsks::containers)
    }

    /// What an application still wants, of its present attempt.
    pub(super) fn waiting_asks(&self, app: AppSlot) -> Option<&WaitingAsks> {
        let waiting = self.opportunistic.waiting.get(&app)?;
        (waiting.generation == self.state.apps[app].generation).then_some(waiting)
    }

    /// Takes what an application still wants out, to be put back.
    pub(super) fn take_waiting_asks(&mut self, app: AppSlot) -> Option<WaitingAsks> {
        let waiting = self.opportunistic.waiting.remove(&app)?;
        let row = &self.state.apps[app];
        (waiting.generation == row.generation && !row.stage.is_over()).then_some(waiting)
    }

    /// Puts back what an application still wants.
    pub(super) fn put_waiting_asks(&mut self, app: AppSlot, waiting: WaitingAsks) {
        if !waiting.keys.is_empty() {
            self.opportunistic.waiting.insert(app, waiting);
        }
    }
}
