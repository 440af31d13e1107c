//! Tests of changes over a store that fails at the end.

use super::*;
use crate::conf::{PreparedConf, StoredConf};

/// A store that fails at the end.
#[derive(Debug)]
struct Failing(MemoryConfStore, ConfStoreError);

struct FailingPrepared(ConfStoreError);

impl PreparedConf for FailingPrepared {
    fn commit(self: Box<Self>) -> Result<u64, ConfStoreError> {
        Err(self.0)
    }
}

impl ConfStore for Failing {
    fn latest(&self) -> Result<Option<StoredConf>, ConfStoreError> {
        Ok(Some(StoredConf {
            version: 7,
            properties: seed(),
        }))
    }

    fn versions(&self) -> Result<Vec<ConfVersion>, ConfStoreError> {
        self.0.versions()
    }

    fn read(&self, version: u64) -> Result<Option<ConfProperties>, ConfStoreError> {
        self.0.read(version)
    }

    fn prepare<'a>(
        &'a mut self,
        _: &ConfProperties,
        _: AuditEntry,
    ) -> Result<Box<dyn PreparedConf + 'a>, ConfStoreError> {
        Ok(Box::new(FailingPrepared(self.1.clone())))
    }

    fn log(&mut self, entry: AuditEntry) -> Result<(), ConfStoreError> {
        self.0.log(entry)
    }

    fn logged(&self, most: usize) -> Result<Vec<AuditEntry>, ConfStoreError> {
        self.0.logged(most)
    }
}

#[test]
fn what_cannot_be_stored_does_not_hold() {
    let full = ConfStoreError::Failed("no space left".to_owned());
    let conf = open(Box::new(Failing(MemoryConfStore::new(3, 10), full)));
    let target = Target::of(&conf);
    for _ in 0..2 {
        let error = conf.change(&target, &YARN, &capacities(10, 90), None, 1);
        assert!(matches!(
            error,
            Err(ConfError::Store(ConfStoreError::Failed(_)))
        ));
    }
    assert!(
        (target.capacity("root.a") - 0.6).abs() < 1e-6,
        "the scheduler has the old one"
    );
    assert_eq!(conf.state().version, 7);
    assert_eq!(conf.counts().store_failures, 2);
}

#[test]
fn a_store_in_doubt_takes_no_more_changes() {
    let doubt = ConfStoreError::InDoubt("sync failed".to_owned());
    let conf = open(Box::new(Failing(MemoryConfStore::new(3, 10), doubt)));
    let target = Target::of(&conf);
    assert!(
        conf.change(&target, &YARN, &capacities(10, 90), None, 1)
            .is_err()
    );
    let refreshes = target.refreshes.get();
    let error = conf.change(&target, &YARN, &capacities(10, 90), None, 1);
    assert!(matches!(
        error,
        Err(ConfError::Store(ConfStoreError::InDoubt(_)))
    ));
    assert_eq!(
        target.refreshes.get(),
        refreshes,
        "the scheduler was not asked"
    );
    assert!(conf.in_doubt().is_some());
}
