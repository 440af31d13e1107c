//! Requests a second of one peer: a bucket that fills by time and that each request takes one from.
//!
//! The time is that of a counter: a step of the wall clock neither fills a bucket nor holds one up.

use std::net::IpAddr;

use dashmap::DashMap;

use crate::clock::SharedClock;

const NS_PER_MS: u64 = 1_000_000;

/// Buckets that are kept; full ones are dropped beyond that.
const KEPT: usize = 10_000;

/// Thousandths of a request.
const ONE: u64 = 1000;

/// The limit of every peer.
#[derive(Debug)]
pub struct RateLimit {
    per_second: u64,
    buckets: DashMap<IpAddr, Bucket>,
    clock: SharedClock,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: u64,
    /// By the counter of the clock.
    at_ms: u64,
}

impl RateLimit {
    /// So many requests a second on average, twice as many at once; 0: no limit.
    #[must_use]
    pub fn of(per_second: u32) -> Self {
        Self::by(SharedClock::system(), per_second)
    }

    /// As [`Self::of`], by a clock.
    fn by(clock: SharedClock, per_second: u32) -> Self {
        Self {
            per_second: u64::from(per_second),
            buckets: DashMap::new(),
            clock,
        }
    }

    const fn full(&self) -> u64 {
        2 * self.per_second * ONE
    }

    fn filled(&self, bucket: Bucket, now_ms: u64) -> Bucket {
        let passed = now_ms.saturating_sub(bucket.at_ms);
        // A request a second is a thousandth of a request a ms.
        let left = bucket
            .left
            .saturating_add(passed.saturating_mul(self.per_second));
        Bucket {
            left: left.min(self.full()),
            at_ms: now_ms.max(bucket.at_ms),
        }
    }

    /// Takes one request of a peer; whether it may be answered.
    pub fn take(&self, peer: IpAddr) -> bool {
        if self.per_second == 0 {
            return true;
        }
        let now_ms = self.clock.now_ns() / NS_PER_MS;
        if self.buckets.len() >= KEPT && !self.buckets.contains_key(&peer) {
            self.buckets
                .retain(|_, bucket| self.filled(*bucket, now_ms).left < self.full());
        }
        let fresh = Bucket {
            left: self.full(),
            at_ms: now_ms,
        };
        let mut entry = self.buckets.entry(peer).or_insert(fresh);
        let mut bucket = self.filled(*entry, now_ms);
        let may = bucket.left >= ONE;
        if may {
            bucket.left -= ONE;
        }
        *entry = bucket;
        may
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::testing::SteppedClock;

    const NOW_MS: u64 = 1_700_000_000_000;

    fn limit(per_second: u32) -> (Arc<SteppedClock>, RateLimit) {
        let clock = SteppedClock::at(NOW_MS);
        let limit = RateLimit::by(clock.shared(), per_second);
        (clock, limit)
    }

    #[test]
    fn a_peer_has_twice_its_rate_at_once_and_its_rate_from_then_on() {
        let (clock, limit) = limit(5);
        let (peer, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let taken = (0..20).filter(|_| limit.take(peer)).count();
        assert_eq!(taken, 10);
        assert!(limit.take(other));
        clock.advance(Duration::from_millis(199));
        assert!(!limit.take(peer));
        clock.advance(Duration::from_millis(1));
        assert!(limit.take(peer));
        clock.advance(Duration::from_secs(1));
        let taken = (0..20).filter(|_| limit.take(peer)).count();
        assert_eq!(taken, 5);
    }

    #[test]
    fn a_step_of_the_wall_clock_neither_gives_requests_nor_takes_them() {
        const YEAR_MS: u64 = 365 * 24 * 3_600_000;
        let (clock, limit) = limit(5);
        let peer = [10, 0, 0, 1].into();
        assert_eq!((0..20).filter(|_| limit.take(peer)).count(), 10);
        for wall_ms in [NOW_MS + YEAR_MS, NOW_MS - YEAR_MS, u64::MAX, 0, NOW_MS] {
            clock.set(wall_ms);
            assert!(!limit.take(peer), "given by a step to {wall_ms}");
            clock.advance(Duration::from_millis(200));
            assert!(limit.take(peer), "held up by a step to {wall_ms}");
        }
    }

    #[test]
    fn zero_is_no_limit_and_full_buckets_are_dropped() {
        let (_, none) = limit(0);
        assert!((0..1000).all(|_| none.take([10, 0, 0, 1].into())));
        let (clock, limit) = limit(1);
        for number in 0..20_000_u32 {
            let peer = std::net::Ipv4Addr::from(number).into();
            assert!(limit.take(peer));
            clock.advance(Duration::from_millis(10));
        }
        assert!(limit.buckets.len() <= KEPT);
    }
}
