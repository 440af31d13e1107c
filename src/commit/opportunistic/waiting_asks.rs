//! Asks for opportunistic containers that are not served yet.
//!
//! Tests: `tests/commit/opportunistic/asks.rs`.

use std::collections::BTreeMap;

use crate::commit::leaves::demand::Checked;
use crate::id::{NameId, PartitionId, SchedulerKey};
use crate::resource::ResourceVector;

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
    /// Takes asks of an application of this generation from now on; those of an earlier one are forgotten.
    pub(super) fn belong_to(&mut self, generation: u32) {
        if self.generation != generation {
            *self = Self {
                generation,
                ..Self::default()
            };
        }
    }

    /// Whether the asks are of an application of this generation.
    pub(super) fn is_of(&self, generation: u32) -> bool {
        self.generation == generation
    }

    /// Keys with asks that are not served.
    pub(super) fn key_count(&self) -> usize {
        self.keys.len()
    }

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
    pub(super) fn put(&mut self, checked: Checked, is_rack: bool) {
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
    pub(super) fn forget_empty(&mut self) {
        self.keys.retain(|_, ask| ask.count > 0);
    }

    pub(super) fn containers(&self) -> u64 {
        let counts = self
            .keys
            .values()
            .map(|ask| u64::from(ask.count.unsigned_abs()));
        counts.sum()
    }
}
