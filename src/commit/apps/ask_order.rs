//! The order in which the asks of a call are taken over. It follows from the call alone, so that a
//! caller may work it out before the ledger is involved.
//!
//! Tests: `tests/inputs/requests.rs`.

use smallvec::SmallVec;

use crate::id::{Map, SchedulerKey, java_order};
use crate::queue::Ask;

/// Positions of the asks of a call, key by key in the order of a hash map; under a key the ask for
/// `*` comes last. Of two asks for one place under a key only the later one is among them.
#[derive(Debug, Default)]
pub struct AskOrder {
    pub(super) positions: SmallVec<[u32; 2]>,
}

/// The asks of one key among those of a call that are sorted by key.
struct KeyRange {
    /// Position of the first ask of the key in the call.
    first: u32,
    key: SchedulerKey,
    range: std::ops::Range<usize>,
}

pub(super) fn key_of(ask: &Ask) -> SchedulerKey {
    SchedulerKey::new(ask.priority, ask.request_id)
}

impl AskOrder {
    /// The order of the asks of a call.
    ///
    /// Cost: that of sorting the asks.
    #[must_use]
    pub fn of(asks: &[Ask]) -> Self {
        if asks.len() < 2 {
            return Self {
                positions: (0..).take(asks.len()).collect(),
            };
        }
        let sorted = sorted(asks);
        let mut ranges = ranges(&sorted);
        // A map keeps the order of insertion inside a bucket.
        ranges.sort_unstable_by_key(|range| range.first);
        java_order::sort(&mut ranges, 0, |range| {
            java_order::scheduler_key_hash(range.key.priority, range.key.request_id)
        });
        let mut positions = SmallVec::with_capacity(asks.len());
        for KeyRange { range, .. } in ranges {
            let under_key = &sorted[range];
            let later_ones = under_key
                .iter()
                .enumerate()
                .filter(|&(at, &(_, place, _))| {
                    let next = under_key.get(at + 1);
                    next.is_none_or(|&(_, other, _)| other != place)
                });
            positions.extend(later_ones.map(|(_, &(_, _, position))| position));
        }
        Self { positions }
    }
}

/// Key, place and position of each ask, ascending. Places are counted in order of appearance; `*` is
/// the last one.
fn sorted(asks: &[Ask]) -> Vec<(SchedulerKey, u32, u32)> {
    let mut places: Map<&str, u32> = Map::default();
    let mut sorted: Vec<_> = (0..)
        .zip(asks)
        .map(|(position, ask)| {
            let place = match ask.place.as_str() {
                "*" => u32::MAX,
                named => {
                    let next = u32::try_from(places.len()).unwrap_or(u32::MAX - 1);
                    *places.entry(named).or_insert(next)
                }
            };
            (key_of(ask), place, position)
        })
        .collect();
    sorted.sort_unstable();
    sorted
}

fn ranges(sorted: &[(SchedulerKey, u32, u32)]) -> Vec<KeyRange> {
    let mut ranges = Vec::new();
    let mut from = 0;
    for same in sorted.chunk_by(|one, other| one.0 == other.0) {
        let first = same.iter().map(|&(_, _, position)| position).min();
        ranges.push(KeyRange {
            first: first.unwrap_or(0),
            key: same[0].0,
            range: from..from + same.len(),
        });
        from += same.len();
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::ResourceVector;
    use proptest::prelude::*;

    fn ask((priority, request_id, place): (i32, i64, usize)) -> Ask {
        Ask {
            priority,
            request_id,
            place: ["*", "h1", "h2", "/r"][place].to_owned(),
            ..Ask::anywhere(ResourceVector::of(&[1, 1]), 1)
        }
    }

    /// The rule word by word: keys in the order of a hash map that holds them in order of insertion.
    fn plain(asks: &[Ask]) -> Vec<u32> {
        let mut by_key: Vec<(SchedulerKey, Vec<(&str, u32)>)> = Vec::new();
        for (position, ask) in (0..).zip(asks) {
            let key = key_of(ask);
            let at = by_key.iter().position(|(other, _)| *other == key);
            let at = at.unwrap_or_else(|| {
                by_key.push((key, Vec::new()));
                by_key.len() - 1
            });
            let places = &mut by_key[at].1;
            match places.iter_mut().find(|other| other.0 == ask.place) {
                Some(other) => other.1 = position,
                None => places.push((&ask.place, position)),
            }
        }
        java_order::sort(&mut by_key, 0, |(key, _)| {
            java_order::scheduler_key_hash(key.priority, key.request_id)
        });
        for (_, places) in &mut by_key {
            places.sort_by_key(|(place, _)| *place == "*");
        }
        let places = by_key.into_iter().flat_map(|(_, places)| places);
        places.map(|(_, position)| position).collect()
    }

    proptest! {
        #[test]
        fn it_is_the_order_of_a_hash_map_and_the_last_ask_for_a_place_counts(
            asks in prop::collection::vec((0..3i32, 0..40i64, 0..4usize), 0..60)
        ) {
            let asks: Vec<_> = asks.into_iter().map(ask).collect();
            let order = AskOrder::of(&asks);
            let (found, plain) = (order.positions.to_vec(), plain(&asks));
            let keys = |positions: &[u32]| -> Vec<_> {
                positions.iter().map(|&at| key_of(&asks[at as usize])).collect()
            };
            prop_assert_eq!(keys(&found), keys(&plain));
            // Under a key only the ask for `*` has a place in the order, which is the last.
            for pair in found.windows(2).map(|pair| [pair[0], pair[1]].map(|at| &asks[at as usize])) {
                prop_assert!(key_of(pair[0]) != key_of(pair[1]) || pair[0].place != "*");
            }
            let sorted = |mut positions: Vec<u32>| {
                positions.sort_unstable();
                positions
            };
            prop_assert_eq!(sorted(found), sorted(plain));
        }
    }
}
