//! Waiting to lead: a standby follows the journal of the leader, and leads when the leader's lease has ended.
//!
//! A standby reads commands and carries none out. It opens no configuration either: when it leads, it takes the latest
//! version as a start does, and not as a change of what ran before.
// As YARN-11833: a valid configuration is no invalid change.

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

    use capsched::time::SystemClock;

    use super::*;
    use crate::rm::{Answer, Command, Setup, Submission};
    use crate::store::{Durable, EmbeddedStore, KeepOptions};

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
