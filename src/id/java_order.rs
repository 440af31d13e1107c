//! Iteration orders of Java hash maps, where the reference scheduler takes a decision in one.
//!
//! A `HashMap` has a power of two of buckets, starts with 16 and doubles while its size exceeds
//! three quarters of them; it is walked bucket by bucket, and inside a bucket in order of
//! insertion. It never shrinks. Buckets of eight and more colliding keys, which the original
//! turns into trees, keep that order here.

use super::{ApplicationId, ContainerId};

/// Number of buckets of a map that once held `most` keys.
fn buckets(most: usize) -> u32 {
    let mut buckets = 16;
    while most > buckets / 4 * 3 {
        buckets *= 2;
    }
    u32::try_from(buckets).expect("maps are bounded")
}

/// Sorts keys, given in order of insertion, into the order in which a map that once held `most`
/// keys (at least as many as now) is walked.
///
/// Cost: one hash for each key, and a sort.
pub fn sort<T>(keys: &mut [T], most: usize, hash: impl Fn(&T) -> i32) {
    let mask = buckets(most.max(keys.len())) - 1;
    keys.sort_by_cached_key(|key| bucket_of(hash(key), mask));
}

/// The first of some keys in the order in which a map with `count` keys is walked. `order`: the hash of a key, and its place
/// in the order of insertion.
///
/// Cost: a look at each key.
pub fn first<T>(
    count: usize,
    keys: impl Iterator<Item = T>,
    order: impl Fn(&T) -> (i32, u32),
) -> Option<T> {
    let mask = buckets(count) - 1;
    keys.min_by_key(|key| {
        let (hash, inserted) = order(key);
        (bucket_of(hash, mask), inserted)
    })
}

fn bucket_of(hash: i32, mask: u32) -> u32 {
    let hash = hash.cast_unsigned();
    (hash ^ (hash >> 16)) & mask
}

/// The order of [`sort`] in parts: all keys are added, then taken out a range of buckets after the other.
#[derive(Debug)]
pub struct PartedOrder<T> {
    mask: u32,
    /// With their buckets; each list has those of [`RANGE`] of them.
    ranges: Vec<Vec<(u32, T)>>,
    /// How many lists were taken out.
    taken: usize,
}

/// Buckets of which the keys are taken out together, as a power of two.
const RANGE: u32 = 8;

impl<T> PartedOrder<T> {
    /// The order of a map that held so many keys at most, as many as are added.
    #[must_use]
    pub fn of(most: usize) -> Self {
        let buckets = buckets(most);
        let ranges = (0..=(buckets - 1) >> RANGE).map(|_| Vec::new());
        Self {
            mask: buckets - 1,
            ranges: ranges.collect(),
            taken: 0,
        }
    }

    /// Adds the next key in order of insertion.
    pub fn add(&mut self, hash: i32, key: T) {
        let bucket = bucket_of(hash, self.mask);
        self.ranges[(bucket >> RANGE) as usize].push((bucket, key));
    }

    /// The keys of the next range, in order; nothing once all were taken.
    ///
    /// Cost: a sort of them, which are some hundred where hashes are spread.
    pub fn take(&mut self) -> Option<impl Iterator<Item = T> + use<T>> {
        let mut range = std::mem::take(self.ranges.get_mut(self.taken)?);
        self.taken += 1;
        range.sort_by_key(|&(bucket, _)| bucket);
        Some(range.into_iter().map(|(_, key)| key))
    }
}

/// `String.hashCode`: over UTF-16 units.
#[must_use]
pub fn string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| {
        hash.wrapping_mul(31)
            .wrapping_add(i32::from(unit.cast_signed()) & 0xffff)
    })
}

/// `NodeId.hashCode`.
#[must_use]
pub fn node_hash(host: &str, port: u16) -> i32 {
    let hash = 493_217i32
        .wrapping_mul(8501)
        .wrapping_add(string_hash(host));
    493_217i32.wrapping_mul(hash).wrapping_add(i32::from(port))
}

/// `ContainerId.hashCode`.
#[must_use]
pub fn container_hash(id: ContainerId) -> i32 {
    let ApplicationId { cluster, sequence } = id.app;
    let fold = |start: i32, by: i32, values: [i32; 2]| {
        values
            .into_iter()
            .fold(start, |hash, v| by.wrapping_mul(hash).wrapping_add(v))
    };
    let bits = cluster ^ (cluster >> 32);
    let low = u32::try_from(bits & u64::from(u32::MAX)).expect("masked to 32 bits");
    let application = fold(6521, 371_237, [low.cast_signed(), sequence.cast_signed()]);
    let attempt = fold(5501, 347_671, [application, id.attempt.cast_signed()]);
    31i32
        .wrapping_mul(id.number.cast_signed())
        .wrapping_add(attempt)
}

/// `SchedulerRequestKey.hashCode` of a key without a container to update.
#[must_use]
pub fn scheduler_key_hash(priority: i32, request_id: i64) -> i32 {
    let id = request_id.cast_unsigned();
    let folded = u32::try_from((id ^ (id >> 32)) & u64::from(u32::MAX)).expect("masked to 32 bits");
    let hash = 517_861i32.wrapping_mul(9511).wrapping_add(priority);
    let hash = 31i32.wrapping_mul(hash).wrapping_add(folded.cast_signed());
    31i32.wrapping_mul(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strings_hash_as_in_java() {
        assert_eq!(string_hash(""), 0);
        assert_eq!(string_hash("root.a"), -925_313_451);
        assert_eq!(string_hash("hello"), 99_162_322);
    }

    proptest! {
        #[test]
        fn the_first_one_is_that_of_the_sorted_order(
            hashes in prop::collection::vec(prop_oneof![any::<i32>(), 0..40_i32], 0..60),
            divisor in 1..5_i32,
        ) {
            let keys: Vec<(i32, u32)> = hashes.into_iter().zip(0..).collect();
            let wanted = |key: &&(i32, u32)| key.0 % divisor == 0;
            let mut sorted = keys.clone();
            sort(&mut sorted, 0, |key| key.0);
            // Given in another order than that of insertion.
            let found = first(keys.len(), keys.iter().rev().filter(wanted), |key| **key);
            prop_assert_eq!(found, sorted.iter().find(wanted));
        }

        #[test]
        fn parts_come_to_the_same_order(numbers in prop::collection::vec(any::<u32>(), 0..2000), step in 1..70_000u32) {
            let mut numbers: Vec<u32> = numbers.into_iter().map(|n| (n % 3000).wrapping_mul(step)).collect();
            let hash = |number: &u32| container_hash(ContainerId::new(ApplicationId::new(7), *number));
            let mut parts = PartedOrder::of(numbers.len());
            for number in &numbers {
                parts.add(hash(number), *number);
            }
            let mut taken = Vec::new();
            while let Some(range) = parts.take() {
                taken.extend(range);
            }
            sort(&mut numbers, 0, hash);
            prop_assert_eq!(taken, numbers);
        }
    }

    #[test]
    fn a_map_that_was_large_keeps_its_buckets() {
        let mut small: Vec<i32> = vec![40, 17, 3];
        sort(&mut small, 0, |&k| k);
        assert_eq!(small, [17, 3, 40], "16 buckets: 1, 3, 8");
        sort(&mut small, 100, |&k| k);
        assert_eq!(small, [3, 17, 40], "256 buckets");
    }
}
