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
    keys.sort_by_cached_key(|key| {
        let hash = hash(key).cast_unsigned();
        (hash ^ (hash >> 16)) & mask
    });
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

    #[test]
    fn strings_hash_as_in_java() {
        assert_eq!(string_hash(""), 0);
        assert_eq!(string_hash("root.a"), -925_313_451);
        assert_eq!(string_hash("hello"), 99_162_322);
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
