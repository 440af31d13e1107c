//! What every store has to do, run over each of them.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod raw;
mod schema;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod shared;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
#[path = "../store_server/mod.rs"]
mod store_server;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use capsched::time::SystemClock;
use capsched_server::conf::{AuditEntry, AuditKind, ConfProperties, ConfStore};
use capsched_server::store::{
    Batch, EmbeddedStore, KeyConfStore, Revision, Store, StoreError, Token, check,
};

/// Long enough that no lease ends by itself.
const LONG: Duration = Duration::from_secs(60);

/// A store that is empty, and what opens it once more as another process would.
struct Subject {
    store: Arc<dyn Store>,
    other: Arc<dyn Store>,
    _dir: Option<tempfile::TempDir>,
}

impl Subject {
    fn embedded() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        Self {
            other: Arc::clone(&store),
            store,
            _dir: Some(dir),
        }
    }
}

/// Runs a case over every store that can be had here.
fn each(case: impl Fn(&Subject)) {
    case(&Subject::embedded());
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    shared::over_all(&case);
}

fn put(store: &dyn Store, token: Token, key: &str, value: &str) -> Revision {
    store.write(token, &Batch::new().put(key, value)).unwrap()
}

fn text(store: &dyn Store, key: &str) -> Option<String> {
    let entry = store.get(key).unwrap()?;
    Some(String::from_utf8(entry.value).unwrap())
}

#[test]
fn one_leads_at_a_time_and_tokens_ascend() {
    each(|subject| {
        let first = subject.store.lead("a", LONG).unwrap();
        let second = subject.other.lead("b", LONG);
        assert!(
            matches!(&second, Err(StoreError::Led(who)) if who == "a"),
            "{second:?}"
        );
        let left = subject.other.led_for().unwrap();
        assert!(left <= LONG && !left.is_zero(), "{left:?}");
        subject.store.renew(first).unwrap();
        subject.store.resign(first).unwrap();
        let second = subject.other.lead("b", LONG).unwrap();
        assert!(second > first);
        assert_eq!(subject.store.renew(first), Err(StoreError::Fenced));
        subject.store.resign(first).unwrap();
        put(&*subject.other, second, "k", "1");
    });
}

#[test]
fn an_old_leader_writes_nothing() {
    each(|subject| {
        let old = subject.store.lead("a", LONG).unwrap();
        put(&*subject.store, old, "k", "of a");
        subject.store.resign(old).unwrap();
        let new = subject.other.lead("b", LONG).unwrap();
        let late = subject.store.write(old, &Batch::new().put("k", "late"));
        assert_eq!(late, Err(StoreError::Fenced));
        assert_eq!(text(&*subject.store, "k").as_deref(), Some("of a"));
        put(&*subject.other, new, "k", "of b");
        assert_eq!(text(&*subject.store, "k").as_deref(), Some("of b"));
    });
}

#[test]
fn a_lease_that_is_not_renewed_ends() {
    each(|subject| {
        let short = Duration::from_secs(1);
        let old = subject.store.lead("a", short).unwrap();
        let mut tries = 0;
        let new = loop {
            match subject.other.lead("b", LONG) {
                Ok(token) => break token,
                Err(StoreError::Led(_)) if tries < 200 => tries += 1,
                Err(error) => panic!("{error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(new > old);
        assert_eq!(
            subject.store.write(old, &Batch::new().put("k", "late")),
            Err(StoreError::Fenced)
        );
    });
}

#[test]
fn a_batch_is_whole_or_nothing() {
    each(|subject| {
        let token = subject.store.lead("a", LONG).unwrap();
        let first = put(&*subject.store, token, "x/1", "1");
        let both = Batch::new().put("x/2", "2").delete("x/1").delete("never");
        let second = subject.store.write(token, &both).unwrap();
        assert!(second > first);
        assert_eq!(text(&*subject.store, "x/1"), None);
        let wrong = Batch::new()
            .expect("x/2", Some(first))
            .put("x/2", "3")
            .put("x/3", "3");
        assert!(matches!(
            subject.store.write(token, &wrong),
            Err(StoreError::Conflict(_))
        ));
        let exists = Batch::new().expect("x/2", None).put("x/3", "3");
        assert!(matches!(
            subject.store.write(token, &exists),
            Err(StoreError::Conflict(_))
        ));
        assert_eq!(text(&*subject.store, "x/3"), None);
        let entry = subject.store.get("x/2").unwrap().unwrap();
        let right = Batch::new()
            .expect("x/2", Some(entry.revision))
            .expect("x/3", None)
            .put("x/2", "4");
        subject.store.write(token, &right).unwrap();
        assert_eq!(text(&*subject.other, "x/2").as_deref(), Some("4"));
    });
}

#[test]
fn ranges_are_in_order_and_go_on_behind_a_key() {
    each(|subject| {
        let token = subject.store.lead("a", LONG).unwrap();
        let mut batch = Batch::new().put("b", "other").put("aa", "other");
        for number in [3, 1, 2, 10] {
            batch = batch.put(format!("a/{number:03}"), number.to_string());
        }
        subject.store.write(token, &batch).unwrap();
        let keys = |behind: Option<&str>, most: usize| -> Vec<String> {
            let entries = subject.store.range("a/", behind, most).unwrap();
            entries.into_iter().map(|entry| entry.key).collect()
        };
        assert_eq!(keys(None, 9), ["a/001", "a/002", "a/003", "a/010"]);
        assert_eq!(keys(None, 2), ["a/001", "a/002"]);
        assert_eq!(keys(Some("a/002"), 9), ["a/003", "a/010"]);
        assert_eq!(keys(Some("a/0025"), 9), ["a/003", "a/010"]);
        assert!(keys(Some("a/010"), 9).is_empty());
        assert_eq!(subject.store.all("a/").unwrap().len(), 4);
    });
}

#[test]
fn a_watcher_sees_the_write_that_it_waits_for() {
    each(|subject| {
        let token = subject.store.lead("a", LONG).unwrap();
        let before = put(&*subject.store, token, "k", "1");
        let same = subject
            .other
            .watch(before, Duration::from_millis(10))
            .unwrap();
        assert_eq!(same, before);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| subject.other.watch(before, LONG).unwrap());
            let after = put(&*subject.store, token, "k", "2");
            assert_eq!(watcher.join().unwrap(), after);
        });
    });
}

#[test]
fn values_of_all_bytes_and_sizes_come_back() {
    each(|subject| {
        let token = subject.store.lead("a", LONG).unwrap();
        let bytes: Vec<u8> = (0..=255_u8).cycle().take(200_000).collect();
        let batch = Batch::new().put("large", bytes.clone()).put("empty", "");
        subject.store.write(token, &batch).unwrap();
        assert_eq!(subject.store.get("large").unwrap().unwrap().value, bytes);
        assert_eq!(subject.store.get("empty").unwrap().unwrap().value, b"");
    });
}

fn properties(value: &str) -> ConfProperties {
    [("yarn.x".to_owned(), value.to_owned())]
        .into_iter()
        .collect()
}

fn entry(at_ms: u64, kind: AuditKind) -> AuditEntry {
    AuditEntry::accepted(at_ms, "ann", kind, std::collections::BTreeMap::new())
}

#[test]
fn configurations_have_versions_in_every_store() {
    each(|subject| {
        let token = subject.store.lead("a", LONG).unwrap();
        let mut conf = KeyConfStore::new(Arc::clone(&subject.store), Some(token), 2, 3);
        assert_eq!(conf.latest().unwrap(), None);
        for (at, value) in ["1", "2", "3"].iter().enumerate() {
            let next = entry(at as u64, AuditKind::Update);
            let prepared = conf.prepare(&properties(value), next).unwrap();
            assert_eq!(prepared.commit().unwrap(), at as u64 + 1);
        }
        drop(
            conf.prepare(&properties("4"), entry(9, AuditKind::Update))
                .unwrap(),
        );
        conf.log(entry(9, AuditKind::Update).refused("no")).unwrap();
        // As a standby reads it.
        let mut seen = KeyConfStore::new(Arc::clone(&subject.other), None, 2, 3);
        let latest = seen.latest().unwrap().unwrap();
        assert_eq!((latest.version, latest.properties), (3, properties("3")));
        let versions = seen.versions().unwrap();
        assert_eq!(
            versions.iter().map(|one| one.version).collect::<Vec<_>>(),
            [3, 2]
        );
        assert_eq!(seen.read(1).unwrap(), None);
        let log = seen.logged(9).unwrap();
        assert_eq!(log.len(), 3);
        assert_eq!(log[0].refused.as_deref(), Some("no"));
        assert!(
            seen.prepare(&properties("5"), entry(9, AuditKind::Update))
                .is_err()
        );
        let prepared = conf
            .prepare(&properties("0"), entry(10, AuditKind::Format))
            .unwrap();
        assert_eq!(prepared.commit().unwrap(), 4);
        assert_eq!(seen.versions().unwrap().len(), 1);
        let report = check(&subject.other).unwrap();
        assert_eq!((report.configurations, report.log_entries), (1, 3));
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    });
}

#[test]
fn a_check_names_what_is_broken() {
    each(|subject| {
        let token = subject.store.lead("a", LONG).unwrap();
        let at = |number: u64| format!("journal/{number:020}");
        let fine = r#"{"at_ms":1,"user":"a","command":{"command":"new_application"}}"#;
        let batch = Batch::new()
            .put(at(1), fine)
            .put(at(3), "{")
            .put("else", "1");
        subject.store.write(token, &batch).unwrap();
        let report = check(&subject.store).unwrap();
        assert_eq!((report.commands, report.other_keys), (2, 1));
        assert_eq!(report.problems.len(), 2, "{:?}", report.problems);
        assert!(
            report
                .problems
                .iter()
                .all(|problem| problem.key.as_ref() == Some(&at(3)))
        );
    });
}

/// What happens to the file of the embedded store.
mod embedded {
    use super::*;

    use capsched_server::store::check_directory;

    fn open(dir: &std::path::Path) -> Result<EmbeddedStore, StoreError> {
        EmbeddedStore::open(dir, Arc::new(SystemClock::new()))
    }

    fn written() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path()).unwrap();
        let token = store.lead("a", LONG).unwrap();
        for number in 0..50 {
            put(&store, token, &format!("k/{number:02}"), &"v".repeat(500));
        }
        let file = store.file().to_owned();
        (dir, file)
    }

    #[test]
    fn a_restart_finds_values_and_gives_a_larger_token() {
        let (dir, _) = written();
        let store = open(dir.path()).unwrap();
        assert_eq!(store.all("k/").unwrap().len(), 50);
        assert!(store.lead("b", LONG).unwrap() > Token(1));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_a_store() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let store = open(&data).unwrap();
        let mode = |path: &std::path::Path| {
            let found = std::fs::metadata(path).unwrap();
            found.permissions().mode() & 0o777
        };
        assert_eq!([mode(&data), mode(store.file())], [0o700, 0o600]);
    }

    #[test]
    fn a_second_process_is_refused() {
        let (dir, _) = written();
        let first = open(dir.path()).unwrap();
        assert!(matches!(open(dir.path()), Err(StoreError::InUse(_))));
        assert_eq!(first.all("k/").unwrap().len(), 50);
    }

    #[test]
    fn a_directory_that_is_a_file_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, "x").unwrap();
        let error = open(&path).unwrap_err();
        assert!(error.to_string().contains("data"), "{error}");
    }

    #[test]
    fn what_is_no_store_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.redb");
        std::fs::write(&file, "something else of somebody").unwrap();
        assert!(open(dir.path()).is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"something else of somebody");
    }

    #[test]
    fn a_directory_is_checked_as_it_is() {
        let (dir, file) = written();
        let before = std::fs::read(&file).unwrap();
        let report = check_directory(dir.path()).unwrap();
        assert_eq!((report.other_keys, report.problems), (50, Vec::new()));
        assert_eq!(std::fs::read(&file).unwrap(), before);
        let _store = open(dir.path()).unwrap();
        let in_use = check_directory(dir.path());
        assert!(matches!(in_use, Err(StoreError::InUse(_))), "{in_use:?}");
    }

    #[test]
    fn a_truncated_store_is_not_sound_at_any_length() {
        let (dir, file) = written();
        let whole = std::fs::read(&file).unwrap();
        for tenths in 0..10 {
            let cut = &whole[..whole.len() * tenths / 10];
            std::fs::write(&file, cut).unwrap();
            let report = check_directory(dir.path()).unwrap();
            assert!(!report.problems.is_empty(), "{tenths} tenths are sound");
            assert_eq!(std::fs::read(&file).unwrap(), cut);
        }
    }

    #[test]
    fn a_newer_schema_is_not_judged() {
        let (dir, file) = written();
        let numbers = redb::TableDefinition::<&str, u64>::new("numbers");
        let database = redb::Database::create(&file).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(numbers).unwrap();
        table.insert("schema", 99).unwrap();
        drop(table);
        transaction.commit().unwrap();
        drop(database);
        let newer = StoreError::Schema {
            place: file.display().to_string(),
            found: 99,
            known: 1,
        };
        assert_eq!(check_directory(dir.path()), Err(newer));
    }

    /// A page that is torn is noticed by the check or at the start, or nothing of it counts.
    #[test]
    fn a_flipped_byte_is_found_or_changes_nothing() {
        let (dir, file) = written();
        let whole = std::fs::read(&file).unwrap();
        let mut found = 0;
        for at in (0..whole.len()).step_by(whole.len() / 60) {
            let mut torn = whole.clone();
            torn[at] ^= 0xff;
            std::fs::write(&file, &torn).unwrap();
            let run = std::panic::catch_unwind(|| read_all(dir.path()));
            match run {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) | Ok(Err(_)) => found += 1,
                Err(_) => panic!("a byte at {at} stops the process"),
            }
        }
        assert!(found > 0, "no flipped byte was found");
    }

    /// Whether all values are there and as they were written, once the check has passed.
    fn read_all(dir: &std::path::Path) -> Result<bool, StoreError> {
        let mut store = open(dir)?;
        let whole = store.check_pages()?;
        let values = store.all("k/")?;
        let right = values.len() == 50
            && values
                .iter()
                .all(|entry| entry.value == "v".repeat(500).as_bytes());
        assert!(right || !whole, "a broken store passed its check");
        Ok(whole)
    }
}
