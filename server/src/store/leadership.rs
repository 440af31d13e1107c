//! The lead of a shared store as one process knows it: the record of who leads, what this process holds while it leads,
//! and since when another leader is silent.
//!
//! How a record gets into a store, and on which condition, is that store's own.

use std::sync::PoisonError;
use std::time::Duration;

use capsched::sync::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::batch::{StoreError, Token};

/// Who leads, as a store keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct LeaderRecord {
    who: String,
    lease_ms: u64,
    renewals: u64,
}

impl LeaderRecord {
    fn bytes(who: &str, lease: Duration, renewals: u64) -> Result<Vec<u8>, StoreError> {
        let record = Self {
            who: who.to_owned(),
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            renewals,
        };
        let bytes = serde_json::to_vec(&record);
        bytes.map_err(|error| StoreError::Failed(error.to_string()))
    }
}

/// What a process holds while it leads. `T` is what it holds of its store.
#[derive(Clone, Debug)]
pub(super) struct HeldLead<T> {
    token: Token,
    lease: Duration,
    of_store: T,
    who: String,
    renewals: u64,
}

impl<T> HeldLead<T> {
    /// The token of the lead.
    pub(super) const fn token(&self) -> Token {
        self.token
    }

    /// How long the lead lasts after a renewal.
    pub(super) const fn lease(&self) -> Duration {
        self.lease
    }

    /// What the process holds of its store.
    pub(super) const fn of_store(&self) -> &T {
        &self.of_store
    }
}

/// The last renewal of another leader, and when it was first seen.
#[derive(Clone, Copy, Debug)]
struct SeenRenewal {
    /// The number that the store gave it; another renewal has another one.
    number: i64,
    /// By the clock's ns.
    at_ns: u64,
    lease: Duration,
}

impl SeenRenewal {
    /// What is left of the lease.
    fn left(self, now_ns: u64) -> Duration {
        let silent = Duration::from_nanos(now_ns.saturating_sub(self.at_ns));
        self.lease.saturating_sub(silent)
    }
}

/// The lead as one process knows it.
#[derive(Debug)]
pub(super) struct Leadership<T> {
    held: Mutex<Option<HeldLead<T>>>,
    seen: Mutex<Option<SeenRenewal>>,
}

impl<T> Default for Leadership<T> {
    fn default() -> Self {
        Self {
            held: Mutex::new(None),
            seen: Mutex::new(None),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Clone> Leadership<T> {
    /// What is held under a token.
    pub(super) fn held(&self, token: Token) -> Option<HeldLead<T>> {
        let held = lock(&self.held);
        held.clone().filter(|held| held.token == token)
    }

    /// The record by which a process begins to lead.
    ///
    /// # Errors
    ///
    /// When the record cannot be written as text.
    pub(super) fn first_record(who: &str, lease: Duration) -> Result<Vec<u8>, StoreError> {
        LeaderRecord::bytes(who, lease, 0)
    }

    /// Holds the lead from now on. The store has the first record.
    pub(super) fn begin(&self, token: Token, who: &str, lease: Duration, of_store: T) {
        *lock(&self.held) = Some(HeldLead {
            token,
            lease,
            of_store,
            who: who.to_owned(),
            renewals: 0,
        });
    }

    /// Counts a renewal of the lead of a token; what is held, and the record that the store is to have.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] where the lead is not held.
    pub(super) fn renewal(&self, token: Token) -> Result<(HeldLead<T>, Vec<u8>), StoreError> {
        let mut held = lock(&self.held);
        let held = held.as_mut().filter(|held| held.token == token);
        let held = held.ok_or(StoreError::Fenced)?;
        held.renewals += 1;
        let record = LeaderRecord::bytes(&held.who, held.lease, held.renewals)?;
        Ok((held.clone(), record))
    }

    /// Gives up the lead of a token; what was held under it.
    pub(super) fn end(&self, token: Token) -> Option<HeldLead<T>> {
        lock(&self.held).take_if(|held| held.token == token)
    }

    /// The name of another leader that did not renew during its lease, by the record at `place`. The lease counts from
    /// the first call that saw the renewal of this number.
    ///
    /// # Errors
    ///
    /// [`StoreError::Led`] while the other process may lead, [`StoreError::Corrupt`] where the record cannot be read.
    pub(super) fn silent_leader(
        &self,
        place: &str,
        record: &[u8],
        renewal: i64,
        now_ns: u64,
    ) -> Result<String, StoreError> {
        let read = serde_json::from_slice(record);
        let leader: LeaderRecord =
            read.map_err(|error| StoreError::unread(place, record, error))?;
        let mut last = lock(&self.seen);
        let seen = SeenRenewal {
            number: renewal,
            at_ns: match *last {
                Some(last) if last.number == renewal => last.at_ns,
                _ => now_ns,
            },
            lease: Duration::from_millis(leader.lease_ms),
        };
        *last = Some(seen);
        match seen.left(now_ns).is_zero() {
            true => Ok(leader.who),
            false => Err(StoreError::Led(leader.who)),
        }
    }

    /// What is left of the lease of another leader, by the renewal that was seen last.
    pub(super) fn led_for(&self, now_ns: u64) -> Option<Duration> {
        lock(&self.seen).map(|seen| seen.left(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_millis(1500);
    const LEASE_NS: u64 = 1_500_000_000;

    fn led() -> Result<String, StoreError> {
        Err(StoreError::Led("other".to_owned()))
    }

    #[test]
    fn a_leader_is_silent_a_whole_lease_after_its_last_renewal_was_seen() {
        let own = Leadership::<()>::default();
        let record = Leadership::<()>::first_record("other", LEASE).unwrap();
        let at = |renewal, now_ns| own.silent_leader("leader", &record, renewal, now_ns);
        assert_eq!(own.led_for(100), None);
        assert_eq!(at(7, 100), led());
        assert_eq!(own.led_for(100), Some(LEASE));
        assert_eq!(at(7, 99 + LEASE_NS), led());
        let left = [99, 100, 200].map(|ns| own.led_for(ns + LEASE_NS).unwrap());
        assert_eq!(left, [1, 0, 0].map(Duration::from_nanos));
        // A renewal begins the time anew, as does a clock that went back.
        assert_eq!(at(8, 100 + LEASE_NS), led());
        assert_eq!(at(8, 50), led());
        assert_eq!(at(8, 100 + 2 * LEASE_NS), Ok("other".to_owned()));
        assert_eq!(at(9, 100 + 2 * LEASE_NS), led());
    }

    #[test]
    fn a_record_that_is_none_is_refused_with_its_place() {
        let own = Leadership::<()>::default();
        for wrong in [&b""[..], b"{}", b"\xff", b"{\"who\":1}"] {
            let refused = own.silent_leader("/root/leader", wrong, 1, 0);
            let Err(StoreError::Corrupt(text)) = refused else {
                panic!("{refused:?}");
            };
            assert!(text.starts_with("/root/leader: "), "{text}");
        }
    }

    #[test]
    fn a_lead_is_held_under_its_token_until_it_ends() {
        let own = Leadership::default();
        let (token, other) = (Token(3), Token(4));
        assert!(own.held(token).is_none());
        own.begin(token, "me", LEASE, "session");
        let held = own.held(token).unwrap();
        let shown = (held.token(), held.lease(), *held.of_store());
        assert_eq!(shown, (token, LEASE, "session"));
        assert_eq!(own.renewal(other).unwrap_err(), StoreError::Fenced);
        for renewals in 1..=2 {
            let (_, record) = own.renewal(token).unwrap();
            let record: LeaderRecord = serde_json::from_slice(&record).unwrap();
            let shown = (record.who.as_str(), record.lease_ms, record.renewals);
            assert_eq!(shown, ("me", 1500, renewals));
        }
        assert!(own.end(other).is_none() && own.held(other).is_none());
        assert!(own.end(token).is_some() && own.held(token).is_none());
        assert_eq!(own.renewal(token).unwrap_err(), StoreError::Fenced);
    }
}
