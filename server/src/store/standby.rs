//! Waiting to lead: a standby follows the journal of the leader, and leads when the leader's lease has ended.
//!
//! A standby reads commands and carries none out. It opens no configuration either: when it leads, it takes the latest
//! version as a start does, and not as a change of what ran before. So a queue that the leader stopped and removed ends
//! no failover, as it does where a standby refreshes what it has in memory (YARN-11833). A latest version that is not
//! valid for this program ends the start; the lead is free at once, and the store stays as it is.

use std::sync::Arc;
use std::time::Duration;

use super::assembly::Lead;
use super::batch::{Revision, Store, StoreError};
use super::compaction::Recorded;

/// Between a write that was noticed and the next look.
const GATHERING: Duration = Duration::from_millis(20);

/// A process that waits to lead.
#[derive(Debug)]
pub struct Standby {
    store: Arc<dyn Store>,
    who: String,
    lease: Duration,
    recorded: Recorded,
    seen: Revision,
    leader: String,
}

impl Standby {
    /// Waits to lead a store as `who`, which others see as the name of the leader, with a lease of this length.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, who: &str, lease: Duration) -> Self {
        Self {
            store,
            who: who.to_owned(),
            lease,
            recorded: Recorded::default(),
            seen: Revision::default(),
            leader: String::new(),
        }
    }

    /// Who leads, as far as is known.
    #[must_use]
    pub fn leader(&self) -> &str {
        &self.leader
    }

    /// Position of the last command that was read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.recorded.last
    }

    /// Takes over what the leader wrote, and tries to lead. Without success it waits for a change, at most so long.
    ///
    /// # Errors
    ///
    /// When the store fails. The next step may succeed, unless the contents of the store are at fault
    /// ([`StoreError::is_of_contents`]).
    pub fn step(&mut self, patience: Duration) -> Result<Option<Lead>, StoreError> {
        self.recorded.catch_up(&*self.store)?;
        match Lead::begin(Arc::clone(&self.store), &self.who, self.lease) {
            Ok(mut lead) => {
                // What the leader before wrote last, now that it writes nothing any more.
                self.recorded.catch_up(&*self.store)?;
                lead.recorded = std::mem::take(&mut self.recorded);
                Ok(Some(lead))
            }
            Err(StoreError::Led(leader)) => {
                self.leader = leader;
                // No longer than the leader may lead: nothing is written when its lease ends.
                let left = self.store.led_for().unwrap_or(patience);
                let seen = self.store.watch(self.seen, patience.min(left))?;
                if seen > self.seen {
                    // Under load each look then reads what many writes brought.
                    std::thread::sleep(GATHERING.min(patience));
                }
                self.seen = seen;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use capsched::config::Caller;
    use capsched::time::SystemClock;

    use super::*;
    use crate::conf::{AuditEntry, AuditKind, BodyFormat, ConfChange, ConfStore};
    use crate::rm::{Answer, Command, Setup, Submission};
    use crate::store::{Durability, Durable, EmbeddedStore, KeepOptions, KeyConfStore};

    fn setup() -> Setup {
        let queues = [("root.queues", "a"), ("root.a.capacity", "100")];
        let own = |(key, value): (&str, &str)| {
            (format!("yarn.scheduler.capacity.{key}"), value.to_owned())
        };
        Setup::new(BTreeMap::new(), queues.into_iter().map(own).collect())
    }

    fn submit(durable: &Durable) -> String {
        let Ok(Answer::Application(id)) = durable.rm.execute("yarn", Command::NewApplication)
        else {
            panic!("an id was asked for");
        };
        let submission = Submission {
            application: id.clone(),
            queue: "root.a".to_owned(),
            unmanaged: true,
            ..Submission::default()
        };
        let command = Command::Submit(Box::new(submission));
        durable.rm.execute("yarn", command).unwrap();
        id
    }

    #[test]
    fn a_standby_follows_and_leads_when_the_leader_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let keeping = KeepOptions {
            lease: Duration::from_secs(2),
            ..KeepOptions::default()
        };
        let first = Durable::start(setup(), Some(Arc::clone(&store)), keeping, "first").unwrap();
        let mut standby = Standby::new(store, "second", keeping.lease);
        let mut step = || standby.step(Duration::from_millis(10)).unwrap();
        assert!(step().is_none());
        let ids = [submit(&first), submit(&first)];
        assert!(step().is_none());
        assert!(!first.has_lost_lead());
        drop(first);
        let lead = step().expect("nobody leads");
        assert_eq!(lead.recorded.last, 4);
        let second = Durable::start_leading(setup(), Some(lead), keeping).unwrap();
        assert_eq!(second.recovered.live, 2);
        second.rm.read(|books| {
            for id in &ids {
                assert!(books.app(id.parse().unwrap()).is_some(), "{id} is lost");
            }
        });
        assert!(!ids.contains(&submit(&second)), "ids go on");
    }

    const KEEPING: KeepOptions = KeepOptions {
        durability: Durability::Strict,
        compact_after: 1000,
        lease: Duration::from_secs(60),
    };

    fn change(durable: &Durable, body: &str) {
        let format = BodyFormat::Json {
            lists_are_empty: false,
        };
        let change = ConfChange::read(body.as_bytes(), format).unwrap();
        let caller = Caller {
            user: "yarn",
            groups: &[],
            real_user: None,
        };
        let conf = durable.conf.as_ref().unwrap();
        conf.change(&*durable.rm, &caller, &change, None, 1)
            .unwrap();
    }

    #[test]
    fn a_queue_that_the_leader_stopped_and_removed_ends_no_failover() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let first = Durable::start(setup(), Some(Arc::clone(&store)), KEEPING, "first").unwrap();
        let mut standby = Standby::new(store, "second", KEEPING.lease);
        let add = r#"{"add-queue": [{"queue-name": "root.b", "params": {"capacity": "0"}}]}"#;
        change(&first, add);
        assert!(standby.step(Duration::ZERO).unwrap().is_none());
        let stop =
            r#"{"update-queue": [{"queue-name": "root.b", "params": {"state": "STOPPED"}}]}"#;
        change(&first, stop);
        change(&first, r#"{"remove-queue": ["root.b"]}"#);
        drop(first);
        let lead = standby.step(Duration::ZERO).unwrap().unwrap();
        // The file of the standby has the queue, and it runs there.
        let mut own = setup();
        let pairs = [("root.queues", "a,b"), ("root.b.capacity", "0")];
        let pairs =
            pairs.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
        own.scheduler.extend(pairs);
        let second = Durable::start_leading(own, Some(lead), KEEPING).unwrap();
        let conf = second.conf.as_ref().unwrap();
        assert_eq!(conf.state().version, 4);
        let queue = |path: &str| second.rm.engine().queue(path).unwrap().is_some();
        assert_eq!([queue("root.a"), queue("root.b")], [true, false]);
    }

    #[test]
    fn a_version_that_is_not_valid_ends_the_start_and_leaves_lead_and_store() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        drop(Durable::start(setup(), Some(Arc::clone(&store)), KEEPING, "first").unwrap());
        // As a program whose rules are others left it.
        let token = store.lead("other", KEEPING.lease).unwrap();
        let half = (
            "yarn.scheduler.capacity.root.a.capacity".to_owned(),
            Some("50".to_owned()),
        );
        let mut kept = KeyConfStore::new(Arc::clone(&store), Some(token), 10, 10);
        let next = kept
            .latest()
            .unwrap()
            .unwrap()
            .properties
            .with(&[half].into());
        let entry = AuditEntry::accepted(1, "yarn", AuditKind::Seed, BTreeMap::new());
        kept.prepare(&next, entry).unwrap().commit().unwrap();
        store.resign(token).unwrap();
        let before = store.all("").unwrap();
        for who in ["second", "third"] {
            let mut standby = Standby::new(Arc::clone(&store), who, KEEPING.lease);
            let lead = standby.step(Duration::ZERO).unwrap();
            assert!(lead.is_some(), "{who} cannot lead");
            let refused = Durable::start_leading(setup(), lead, KEEPING).unwrap_err();
            let text = refused.to_string();
            assert!(
                text.contains("capacity_sum") || text.contains("root"),
                "{text}"
            );
        }
        assert_eq!(store.all("").unwrap(), before);
    }

    #[test]
    fn a_standby_names_the_leader() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let minute = Duration::from_secs(60);
        store.lead("http://10.0.0.1:8088", minute).unwrap();
        let mut standby = Standby::new(store, "second", minute);
        assert!(standby.step(Duration::ZERO).unwrap().is_none());
        assert_eq!(standby.leader(), "http://10.0.0.1:8088");
        assert_eq!(standby.position(), 0);
    }
}
