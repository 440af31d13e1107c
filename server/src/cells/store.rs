//! What a router keeps: the policy with its version, homes of applications, and the number of its start.
//!
//! One router leads the store. Changes that wait together are one write.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use capsched::api::ApplicationId;
use capsched::sync::{AtomicU32, Mutex, MutexGuard, Ordering};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::homes::{Claim, Home, Homes};
use super::names::CellName;
use super::policy::Policy;
use crate::clock::SharedClock;
use crate::store::{Batch, LeaseKeeper, Store, StoreError, Token};

const POLICY: &str = "policy";
const START: &str = "start";
const HOMES: &str = "homes/";

/// Changes that one write takes at most.
const TOGETHER: usize = 256;

/// Keys that one change sets or deletes at most.
const KEYS: usize = 3;

/// A policy with the number of its change, which ascends by one from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedPolicy {
    /// The number.
    pub version: u64,
    /// The policy.
    pub policy: Arc<Policy>,
}

/// The same as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPolicy {
    version: u64,
    policy: serde_json::Value,
}

/// What became of a change of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum PolicyChange {
    /// It holds from now on.
    Made {
        /// Its version.
        version: u64,
        /// Applications whose cell is not one of the policy.
        without_cell: usize,
    },
    /// Another version holds than the one that was to change; nothing: there is no policy.
    OtherVersion(Option<u64>),
    /// It was not stored.
    Failed(StoreError),
}

/// Keys to set, and to delete where there is no value.
type Keys = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Debug)]
struct Change {
    keys: Keys,
    done: oneshot::Sender<Result<(), StoreError>>,
}

/// What a router keeps, led by this process. It resigns when it is dropped.
#[derive(Debug)]
pub struct RouterStore {
    store: Arc<dyn Store>,
    changes: mpsc::Sender<Change>,
    homes: Mutex<Homes>,
    policy: Mutex<Option<VersionedPolicy>>,
    /// Held while a policy is changed.
    changing: tokio::sync::Mutex<()>,
    keeper: LeaseKeeper,
    /// Why nothing is kept any more.
    failure: Arc<Mutex<Option<String>>>,
    start_ms: u64,
    given_out: AtomicU32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key_of(app: ApplicationId) -> String {
    format!("{HOMES}{app}")
}

fn corrupt(key: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{key}: {why}"))
}

fn bytes(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Failed(error.to_string()))
}

impl RouterStore {
    /// Leads a store as `who`, reads what it has, and keeps at most so many homes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Led`] while another process leads, or that the store failed or holds what cannot be read.
    pub fn lead(
        store: Arc<dyn Store>,
        who: &str,
        lease: Duration,
        most_homes: usize,
    ) -> Result<Self, StoreError> {
        let clock = SharedClock::system();
        Self::lead_by(clock, store, (who, lease), most_homes)
    }

    /// As [`Self::lead`], by a clock.
    fn lead_by(
        clock: SharedClock,
        store: Arc<dyn Store>,
        (who, lease): (&str, Duration),
        most_homes: usize,
    ) -> Result<Self, StoreError> {
        let of_keeper = clock.clone();
        let (token, keeper) = LeaseKeeper::lead(Arc::clone(&store), who, lease, of_keeper)?;
        let start_ms = next_start(&*store, token, clock.now_ms())?;
        let homes = read_homes(&*store, most_homes)?;
        let policy = read_policy(&*store)?;
        let failure = Arc::new(Mutex::new(None));
        let changes = start_writer(Arc::clone(&store), token, Arc::clone(&failure))?;
        Ok(Self {
            store,
            changes,
            homes: Mutex::new(homes),
            policy: Mutex::new(policy),
            changing: tokio::sync::Mutex::new(()),
            keeper,
            failure,
            start_ms,
            given_out: AtomicU32::new(0),
        })
    }

    /// The policy that holds.
    #[must_use]
    pub fn policy(&self) -> Option<VersionedPolicy> {
        lock(&self.policy).clone()
    }

    /// Whether another process may lead by now; this one has to end then.
    #[must_use]
    pub fn has_lost_lead(&self) -> bool {
        self.keeper.may_have_ended()
    }

    /// Why nothing is kept any more.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// When this process began to lead, in ms since the Unix epoch. It is later than that of every earlier leader.
    #[must_use]
    pub const fn start_ms(&self) -> u64 {
        self.start_ms
    }

    /// A new id. No router gives one out twice.
    pub(super) fn new_application(&self) -> ApplicationId {
        let sequence = self.given_out.fetch_add(1, Ordering::Relaxed);
        ApplicationId {
            cluster: self.start_ms,
            sequence: sequence.wrapping_add(1),
        }
    }

    /// The cell that an application was submitted to.
    #[must_use]
    pub fn home(&self, app: ApplicationId) -> Option<CellName> {
        lock(&self.homes).of(app).cloned()
    }

    /// How many homes are known.
    #[must_use]
    pub fn home_count(&self) -> usize {
        lock(&self.homes).len()
    }

    /// Makes a cell the home of an application that has none, and stores it; or finds the home it has.
    pub(super) async fn claim(
        &self,
        app: ApplicationId,
        cell: &CellName,
    ) -> Result<Option<CellName>, StoreError> {
        let claim = lock(&self.homes).claim(app, cell);
        let (home, forgotten) = match claim {
            Claim::Known(cell) => return Ok(Some(cell)),
            Claim::First { home, forgotten } => (home, forgotten),
        };
        let gone = forgotten.into_iter().map(|app| (key_of(app), None));
        let mut keys: Keys = gone.collect();
        keys.insert(key_of(app), Some(bytes(&home)?));
        let stored = self.write(keys).await;
        if stored.is_err() {
            lock(&self.homes).forget(app);
        }
        stored.map(|()| None)
    }

    /// Makes another cell the home of an application whose submission the cell before did not get.
    pub(super) async fn move_home(
        &self,
        app: ApplicationId,
        cell: &CellName,
    ) -> Result<(), StoreError> {
        let home = lock(&self.homes).change(app, cell);
        match home {
            Some(home) => {
                let value = bytes(&home)?;
                self.write(Keys::from([(key_of(app), Some(value))])).await
            }
            // Many further applications came meanwhile; requests for this one ask all cells.
            None => Ok(()),
        }
    }

    /// Forgets the home of an application that no cell got.
    pub(super) async fn forget_home(&self, app: ApplicationId) -> Result<(), StoreError> {
        lock(&self.homes).forget(app);
        self.write(Keys::from([(key_of(app), None)])).await
    }

    /// Replaces the policy of a version; nothing: the first one.
    pub async fn change_policy(&self, of: Option<u64>, policy: Policy) -> PolicyChange {
        let _one_at_a_time = self.changing.lock().await;
        let version = self.policy().map(|now| now.version);
        if version != of {
            return PolicyChange::OtherVersion(version);
        }
        let version = version.unwrap_or_default() + 1;
        let stored = StoredPolicy {
            version,
            policy: policy.to_json(),
        };
        let written = match bytes(&stored) {
            Ok(value) => {
                self.write(Keys::from([(POLICY.to_owned(), Some(value))]))
                    .await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            self.read_policy_again().await;
            return PolicyChange::Failed(error);
        }
        let without_cell = lock(&self.homes).count(|cell| !policy.has(cell));
        *lock(&self.policy) = Some(VersionedPolicy {
            version,
            policy: Arc::new(policy),
        });
        PolicyChange::Made {
            version,
            without_cell,
        }
    }

    /// After a write that may have been made: what the store has, holds.
    async fn read_policy_again(&self) {
        let store = Arc::clone(&self.store);
        let read = tokio::task::spawn_blocking(move || read_policy(&*store)).await;
        if let Ok(Ok(policy)) = read {
            *lock(&self.policy) = policy;
        }
    }

    async fn write(&self, keys: Keys) -> Result<(), StoreError> {
        let (done, written) = oneshot::channel();
        let ended = || StoreError::Failed("the router ends".to_owned());
        let change = Change { keys, done };
        self.changes.send(change).await.map_err(|_| ended())?;
        written.await.map_err(|_| ended())?
    }
}

/// The time of this start, stored so that the next one is later even where a clock was set back.
fn next_start(store: &dyn Store, token: Token, now_ms: u64) -> Result<u64, StoreError> {
    let before = store.get(START)?.map(|entry| {
        let text = String::from_utf8_lossy(&entry.value).into_owned();
        text.parse::<u64>()
            .map_err(|error| StoreError::unread(START, &entry.value, error))
    });
    let before = before.transpose()?.unwrap_or_default();
    let later = before.checked_add(1);
    let later =
        later.ok_or_else(|| corrupt(START, format_args!("no start is later than {before}")))?;
    let start = now_ms.max(later);
    store.write(token, &Batch::new().put(START, start.to_string()))?;
    Ok(start)
}

fn read_homes(store: &dyn Store, most: usize) -> Result<Homes, StoreError> {
    let mut homes = Homes::new(most);
    for entry in store.all(HOMES)? {
        let id = entry.key.trim_start_matches(HOMES);
        let app = id.parse().map_err(|error| corrupt(&entry.key, error))?;
        let home: Home = serde_json::from_slice(&entry.value)
            .map_err(|error| StoreError::unread(&entry.key, &entry.value, error))?;
        homes.restore(app, home);
    }
    Ok(homes)
}

fn read_policy(store: &dyn Store) -> Result<Option<VersionedPolicy>, StoreError> {
    let Some(entry) = store.get(POLICY)? else {
        return Ok(None);
    };
    let stored: StoredPolicy = serde_json::from_slice(&entry.value)
        .map_err(|error| StoreError::unread(POLICY, &entry.value, error))?;
    let text = stored.policy.to_string();
    let policy = Policy::read(text.as_bytes()).map_err(|error| corrupt(POLICY, error))?;
    Ok(Some(VersionedPolicy {
        version: stored.version,
        policy: Arc::new(policy),
    }))
}

/// Starts the thread that writes. It ends when the sender is gone.
fn start_writer(
    store: Arc<dyn Store>,
    token: Token,
    failure: Arc<Mutex<Option<String>>>,
) -> Result<mpsc::Sender<Change>, StoreError> {
    let together = TOGETHER.min(store.most_operations() / KEYS).max(1);
    let (sender, mut receiver) = mpsc::channel(together);
    let builder = thread::Builder::new().name("router-store".to_owned());
    let run = move || {
        let mut changes = Vec::new();
        while receiver.blocking_recv_many(&mut changes, together) > 0 {
            let written = write_all(&*store, token, &changes);
            if let Err(error) = &written {
                tracing::error!(%error, "a change of the router is not kept");
            }
            *lock(&failure) = written.as_ref().err().map(ToString::to_string);
            for change in changes.drain(..) {
                // Who asked may be gone.
                let _ = change.done.send(written.clone());
            }
        }
    };
    let thread = builder.spawn(run);
    thread.map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(sender)
}

/// Carries out changes as one write; of changes of the same key the last one counts.
fn write_all(store: &dyn Store, token: Token, changes: &[Change]) -> Result<(), StoreError> {
    let mut keys = BTreeMap::new();
    for change in changes {
        keys.extend(change.keys.iter());
    }
    let batch = keys
        .into_iter()
        .fold(Batch::new(), |batch, (key, value)| match value {
            Some(value) => batch.put(key.clone(), value.clone()),
            None => batch.delete(key.clone()),
        });
    store.write(token, &batch).map(|_| ())
}

#[cfg(test)]
mod tests {
    use capsched::time::SystemClock;

    use super::*;
    use crate::clock::testing::SteppedClock;
    use crate::store::EmbeddedStore;

    const LEASE: Duration = Duration::from_secs(60);

    fn opened(dir: &tempfile::TempDir) -> Arc<dyn Store> {
        Arc::new(EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap())
    }

    fn cell(text: &str) -> CellName {
        CellName::try_from(text.to_owned()).unwrap()
    }

    fn policy(home: &str) -> Policy {
        let text = serde_json::json!({
            "cells": [
                {"name": "east", "addresses": ["http://127.0.0.1:1"]},
                {"name": home, "addresses": ["http://127.0.0.1:2"]},
            ],
            "queues": [{"queue": "root", "home": home}],
        });
        Policy::read(text.to_string().as_bytes()).unwrap()
    }

    #[tokio::test]
    async fn policies_and_homes_survive_and_starts_ascend() {
        let dir = tempfile::tempdir().unwrap();
        let store = opened(&dir);
        let first = RouterStore::lead(Arc::clone(&store), "a", LEASE, 10).unwrap();
        let app = first.new_application();
        assert_ne!(app, first.new_application());
        assert_eq!(first.policy(), None);
        let made = first.change_policy(None, policy("west")).await;
        let expected = PolicyChange::Made {
            version: 1,
            without_cell: 0,
        };
        assert_eq!(made, expected);
        assert_eq!(first.claim(app, &cell("west")).await, Ok(None));
        assert_eq!(
            first.claim(app, &cell("east")).await,
            Ok(Some(cell("west")))
        );
        first.move_home(app, &cell("east")).await.unwrap();
        let led = RouterStore::lead(Arc::clone(&store), "b", LEASE, 10);
        assert!(matches!(led, Err(StoreError::Led(who)) if who == "a"));
        let start = first.start_ms();
        drop(first);
        let second = RouterStore::lead(store, "b", LEASE, 10).unwrap();
        assert!(second.start_ms() > start);
        assert_eq!(second.home(app), Some(cell("east")));
        let kept = second.policy().unwrap();
        assert_eq!((kept.version, &*kept.policy), (1, &policy("west")));
        second.forget_home(app).await.unwrap();
        assert_eq!((second.home(app), second.home_count()), (None, 0));
    }

    #[test]
    fn starts_ascend_whatever_the_wall_clock_is_set_to() {
        const NOW_MS: u64 = 1_700_000_000_000;
        const YEAR_MS: u64 = 365 * 24 * 3_600_000;
        let dir = tempfile::tempdir().unwrap();
        let store = opened(&dir);
        let clock = SteppedClock::at(0);
        let start = |wall_ms| {
            clock.set(wall_ms);
            let store = Arc::clone(&store);
            let led = RouterStore::lead_by(clock.shared(), store, ("a", LEASE), 10).unwrap();
            // The clock is set back while the router gives out ids, too.
            let first = led.new_application();
            clock.set(0);
            assert_eq!(led.new_application().cluster, first.cluster);
            assert!(!led.has_lost_lead());
            first.cluster
        };
        let later = NOW_MS + YEAR_MS;
        let wall = [NOW_MS, later, NOW_MS, 0, later + 1, later + 3];
        let expected = [NOW_MS, later, later + 1, later + 2, later + 3, later + 4];
        assert_eq!(wall.map(start), expected);
    }

    #[test]
    fn a_start_after_which_there_is_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = opened(&dir);
        let token = store.lead("a", LEASE).unwrap();
        let last = Batch::new().put(START, u64::MAX.to_string());
        store.write(token, &last).unwrap();
        store.resign(token).unwrap();
        let refused = RouterStore::lead(Arc::clone(&store), "a", LEASE, 10);
        let Err(StoreError::Corrupt(text)) = refused else {
            panic!("{refused:?}");
        };
        assert!(text.contains(&u64::MAX.to_string()), "{text}");
    }

    #[tokio::test]
    async fn a_change_of_another_version_is_refused_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = RouterStore::lead(opened(&dir), "a", LEASE, 10).unwrap();
        let refused = store.change_policy(Some(3), policy("west")).await;
        assert_eq!(refused, PolicyChange::OtherVersion(None));
        let made = store.change_policy(None, policy("west")).await;
        assert!(matches!(made, PolicyChange::Made { version: 1, .. }));
        for of in [None, Some(0), Some(2)] {
            let refused = store.change_policy(of, policy("north")).await;
            assert_eq!(refused, PolicyChange::OtherVersion(Some(1)));
        }
        assert_eq!(*store.policy().unwrap().policy, policy("west"));
        let app = store.new_application();
        assert_eq!(store.claim(app, &cell("west")).await, Ok(None));
        let made = store.change_policy(Some(1), policy("north")).await;
        let expected = PolicyChange::Made {
            version: 2,
            without_cell: 1,
        };
        assert_eq!(made, expected);
    }

    #[tokio::test]
    async fn what_a_router_that_lost_the_lead_changes_is_refused_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let store = opened(&dir);
        let brief = Duration::from_millis(200);
        let first = RouterStore::lead(Arc::clone(&store), "a", brief, 10).unwrap();
        let app = first.new_application();
        // The lease is ended under the router, as a router that was paused finds it.
        let Ok(token) = store.write(Token(1), &Batch::new()).map(|_| Token(1)) else {
            panic!("the first leader has token 1");
        };
        store.resign(token).unwrap();
        store.lead("b", LEASE).unwrap();
        assert_eq!(
            first.claim(app, &cell("west")).await,
            Err(StoreError::Fenced)
        );
        assert_eq!(first.home(app), None);
        assert!(first.failure().is_some());
        let refused = first.change_policy(None, policy("west")).await;
        assert_eq!(refused, PolicyChange::Failed(StoreError::Fenced));
        assert_eq!(first.policy(), None);
    }
}
