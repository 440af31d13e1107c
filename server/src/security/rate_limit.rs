//! Requests a second of one peer: a bucket that fills by time and that each request takes one from.

use std::net::IpAddr;

use dashmap::DashMap;

/// Buckets that are kept; full ones are dropped beyond that.
const KEPT: usize = 10_000;

/// Thousandths of a request.
const ONE: u64 = 1000;

/// The limit of every peer.
#[derive(Debug)]
pub struct RateLimit {
    per_second: u64,
    buckets: DashMap<IpAddr, Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: u64,
    at_ms: u64,
}

impl RateLimit {
    /// So many requests a second on average, twice as many at once; 0: no limit.
    #[must_use]
    pub fn of(per_second: u32) -> Self {
        Self {
            per_second: u64::from(per_second),
            buckets: DashMap::new(),
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
    pub fn take(&self, peer: IpAddr, now_ms: u64) -> bool {
        if self.per_second == 0 {
            return true;
        }
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
    use super::*;

    #[test]
    fn a_peer_has_twice_its_rate_at_once_and_its_rate_from_then_on() {
        let limit = RateLimit::of(5);
        let (peer, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let taken = (0..20).filter(|_| limit.take(peer, 1000)).count();
        assert_eq!(taken, 10);
        assert!(limit.take(other, 1000));
        assert!(!limit.take(peer, 1199));
        assert!(limit.take(peer, 1200));
        let taken = (0..20).filter(|_| limit.take(peer, 2200)).count();
        assert_eq!(taken, 5);
        // A clock that goes back gives nothing.
        assert!(!limit.take(peer, 0));
    }

    #[test]
    fn zero_is_no_limit_and_full_buckets_are_dropped() {
        let none = RateLimit::of(0);
        assert!((0..1000).all(|_| none.take([10, 0, 0, 1].into(), 0)));
        let limit = RateLimit::of(1);
        for number in 0..20_000_u32 {
            let peer = std::net::Ipv4Addr::from(number).into();
            assert!(limit.take(peer, u64::from(number) * 10));
        }
        assert!(limit.buckets.len() <= KEPT);
    }
}
