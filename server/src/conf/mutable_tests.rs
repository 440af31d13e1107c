//! Tests of changes on an engine, over every store that needs no service.

use std::cell::Cell;
use std::path::Path;

use capsched::api::{AppSpec, ApplicationId, Engine};
use capsched::config::Layer;

use super::*;
use crate::conf::{BodyFormat, FileConfStore, MemoryConfStore};
use crate::rm::{ResourceManager, Setup};

const SEED: &[(&str, &str)] = &[
    ("root.queues", "default,a"),
    ("root.default.capacity", "40"),
    ("root.a.capacity", "60"),
];

fn seed() -> ConfProperties {
    let pair = |(key, value): &(&str, &str)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, (*value).to_owned())
    };
    SEED.iter().map(pair).collect()
}

fn surroundings(site: &[(&str, &str)]) -> MutableConfOptions {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let site: ConfProperties = site.iter().map(pair).collect();
    let site = ConfigSource {
        layer: Layer::Site,
        ..site.to_source("yarn-site.xml")
    };
    MutableConfOptions {
        site: vec![site],
        options: Options::default(),
        daemon: "yarn".to_owned(),
    }
}

/// A resource manager that may be made to refuse what its configuration allows.
struct Target {
    rm: ResourceManager,
    refusing: Cell<bool>,
    refreshes: Cell<u32>,
}

impl Target {
    fn of(conf: &MutableConf) -> Self {
        let site = ConfProperties::read(&conf.surroundings.site[0].bytes).unwrap();
        let scheduler = conf.state().properties.as_map().clone();
        let setup = Setup::new(site.as_map().clone(), scheduler);
        Self {
            rm: ResourceManager::start(setup).unwrap(),
            refusing: Cell::new(false),
            refreshes: Cell::new(0),
        }
    }

    fn engine(&self) -> &Engine {
        self.rm.engine()
    }

    fn capacity(&self, queue: &str) -> f32 {
        let view = self.engine().queue(queue).unwrap().unwrap();
        view.labels[""].cap.0
    }
}

impl ConfTarget for Target {
    fn refresh(&self, user: &str, next: &ConfProperties) -> Result<(), ConfRefusal> {
        self.refreshes.set(self.refreshes.get() + 1);
        if self.refusing.get() {
            return Err(ConfRefusal::of_scheduler("refused for a test"));
        }
        // The rights of the caller are judged before.
        let _ = user;
        self.rm.refresh("yarn", next)
    }

    fn judge(&self, next: &ConfProperties) -> Result<(), ConfRefusal> {
        self.rm.judge(next)
    }
}

fn change(body: &str) -> ConfChange {
    let format = BodyFormat::Json {
        lists_are_empty: false,
    };
    ConfChange::read(body.as_bytes(), format).unwrap()
}

fn capacities(default: u32, a: u32) -> ConfChange {
    change(&format!(
        r#"{{"update-queue": [
            {{"queue-name": "root.default", "params": {{"capacity": {default}}}}},
            {{"queue-name": "root.a", "params": {{"capacity": {a}}}}}]}}"#
    ))
}

const YARN: Caller<'_> = Caller {
    user: "yarn",
    groups: &[],
    real_user: None,
};

fn open(store: Box<dyn ConfStore>) -> MutableConf {
    MutableConf::open(store, seed(), surroundings(&[]), 1000).unwrap()
}

fn files(dir: &Path) -> Box<dyn ConfStore> {
    Box::new(FileConfStore::open(dir, 3, 10).unwrap())
}

/// The same run over the stores.
fn each_store(run: impl Fn(Box<dyn ConfStore>)) {
    run(Box::new(MemoryConfStore::new(3, 10)));
    let dir = tempfile::tempdir().unwrap();
    run(files(dir.path()));
}

#[test]
fn an_accepted_change_is_in_scheduler_store_and_log() {
    each_store(|store| {
        let conf = open(store);
        let target = Target::of(&conf);
        assert_eq!(conf.state().version, 1);
        let outcome = conf
            .change(&target, &YARN, &capacities(30, 70), None, 1001)
            .unwrap();
        assert_eq!(outcome.state.version, 2);
        assert_eq!(outcome.updates.len(), 2);
        assert!((target.capacity("root.a") - 0.7).abs() < 1e-6);
        let stored = conf.version(2).unwrap();
        assert_eq!(stored, conf.state().properties);
        let log = conf.logged(10).unwrap();
        assert_eq!(log.len(), 2);
        assert_eq!(
            (log[0].user.as_str(), log[0].kind),
            ("yarn", AuditKind::Update)
        );
        assert_eq!(log[0].refused, None);
        assert_eq!(log[1].kind, AuditKind::Seed);
        assert_eq!(conf.counts().accepted, 1);
    });
}

#[test]
fn a_refused_change_leaves_everything_as_it_was_and_is_logged() {
    each_store(|store| {
        let conf = open(store);
        let target = Target::of(&conf);
        for body in [
            r#"{"update-queue": {"queue-name": "root.a", "params": {"capacity": "70"}}}"#,
            r#"{"update-queue": {"queue-name": "root.a", "params": {"capacity": "abc"}}}"#,
            r#"{"remove-queue": "root.a"}"#,
            r#"{"global-updates": {"yarn.scheduler.minimum-allocation-mb": "0"}}"#,
        ] {
            let error = conf
                .change(&target, &YARN, &change(body), None, 1001)
                .unwrap_err();
            let ConfError::Refused(refusal) = error else {
                panic!("{body}: {error}");
            };
            assert!(!refusal.issues.is_empty(), "{body}");
        }
        assert!((target.capacity("root.a") - 0.6).abs() < 1e-6);
        assert_eq!(
            (conf.state().version, conf.versions().unwrap().len()),
            (1, 1)
        );
        assert_eq!(conf.state().properties, seed());
        assert_eq!(conf.counts().refused, 4);
        assert!(conf.logged(1).unwrap()[0].refused.is_some());
        // The next one is accepted: nothing of the refused ones is left.
        let outcome = conf.change(&target, &YARN, &capacities(50, 50), None, 1002);
        assert_eq!(outcome.unwrap().state.version, 2);
    });
}

#[test]
fn a_queue_with_applications_is_not_removed_without_being_stopped() {
    let conf = open(Box::new(MemoryConfStore::new(3, 10)));
    let target = Target::of(&conf);
    let zero = change(
        r#"{"update-queue": [{"queue-name": "root.default", "params": {"capacity": 100}},
            {"queue-name": "root.a", "params": {"capacity": 0}}]}"#,
    );
    let app = AppSpec::new(ApplicationId::new(1), "root.a", "ann");
    target.engine().submit(app).unwrap();
    conf.change(&target, &YARN, &zero, None, 1).unwrap();
    let remove = change(r#"{"remove-queue": "root.a"}"#);
    let error = conf.change(&target, &YARN, &remove, None, 2).unwrap_err();
    assert!(error.to_string().contains("root.a"), "{error}");
    assert_eq!(conf.state().version, 2);
    target.engine().finish_app(ApplicationId::new(1)).unwrap();
    let stop = change(
        r#"{"remove-queue": "root.a",
            "update-queue": {"queue-name": "root.a", "params": {"state": "STOPPED"}}}"#,
    );
    conf.change(&target, &YARN, &stop, None, 3).unwrap();
    assert_eq!(target.engine().queue("root.a").unwrap(), None);
}

#[test]
fn the_oldest_versions_go_and_kept_ones_can_be_taken_again() {
    each_store(|store| {
        let conf = open(store);
        let target = Target::of(&conf);
        for (at, a) in [(1001, 10), (1002, 20), (1003, 30), (1004, 35)] {
            conf.change(&target, &YARN, &capacities(100 - a, a), None, at)
                .unwrap();
        }
        let versions = conf.versions().unwrap();
        let numbers: Vec<u64> = versions.iter().map(|one| one.version).collect();
        assert_eq!(numbers, [5, 4, 3]);
        assert!(
            versions
                .windows(2)
                .all(|two| two[0].stored_ms > two[1].stored_ms)
        );
        assert!(matches!(
            conf.roll_back(&target, &YARN, 2, None, 1005),
            Err(ConfError::UnknownVersion(2))
        ));
        let outcome = conf.roll_back(&target, &YARN, 3, Some(5), 1005).unwrap();
        assert_eq!(outcome.state.version, 6);
        assert!((target.capacity("root.a") - 0.2).abs() < 1e-6);
        assert_eq!(conf.logged(1).unwrap()[0].kind, AuditKind::Rollback);
    });
}

#[test]
fn formatting_takes_the_file_again() {
    each_store(|store| {
        let conf = open(store);
        let target = Target::of(&conf);
        conf.change(&target, &YARN, &capacities(10, 90), None, 1001)
            .unwrap();
        let outcome = conf.format(&target, &YARN, 1002).unwrap();
        assert_eq!(outcome.state.properties, seed());
        assert_eq!(conf.versions().unwrap().len(), 1);
        assert!((target.capacity("root.a") - 0.6).abs() < 1e-6);
    });
}

#[test]
fn the_memory_store_counts_from_one_again_and_files_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let memory: Box<dyn ConfStore> = Box::new(MemoryConfStore::new(3, 10));
    for (store, want) in [(memory, 1), (files(dir.path()), 3)] {
        let conf = open(store);
        let target = Target::of(&conf);
        conf.change(&target, &YARN, &capacities(10, 90), None, 1001)
            .unwrap();
        conf.format(&target, &YARN, 1002).unwrap();
        assert_eq!(conf.state().version, want);
    }
}

#[test]
fn a_stale_expectation_is_refused() {
    let conf = open(Box::new(MemoryConfStore::new(3, 10)));
    let target = Target::of(&conf);
    conf.change(&target, &YARN, &capacities(10, 90), Some(1), 1)
        .unwrap();
    let error = conf.change(&target, &YARN, &capacities(20, 80), Some(1), 2);
    assert!(matches!(
        error,
        Err(ConfError::VersionMismatch { present: 2 })
    ));
    assert_eq!(target.refreshes.get(), 1);
}

#[test]
fn a_restart_finds_the_latest_version_and_not_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let conf = open(files(dir.path()));
    let target = Target::of(&conf);
    conf.change(&target, &YARN, &capacities(10, 90), None, 1001)
        .unwrap();
    drop(conf);
    // What a crash leaves of a change that was not committed is no version.
    std::fs::write(dir.path().join("capacity-scheduler.xml.9999.tmp"), "<conf").unwrap();
    let conf = open(files(dir.path()));
    assert_eq!(conf.state().version, 2);
    let state = conf.state();
    let capacity = state
        .properties
        .get("yarn.scheduler.capacity.root.a.capacity");
    assert_eq!(capacity, Some("90"));
    let names = std::fs::read_dir(dir.path()).unwrap();
    let names: Vec<String> = names
        .map(|one| one.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.contains(&"capacity-scheduler.xml.1001".to_owned()),
        "{names:?}"
    );
}

#[test]
fn a_clock_that_goes_back_does_not_bring_an_old_version_back() {
    let dir = tempfile::tempdir().unwrap();
    let conf = open(files(dir.path()));
    let target = Target::of(&conf);
    conf.change(&target, &YARN, &capacities(10, 90), None, 5)
        .unwrap();
    drop(conf);
    let conf = open(files(dir.path()));
    let state = conf.state();
    let capacity = state
        .properties
        .get("yarn.scheduler.capacity.root.a.capacity");
    assert_eq!((conf.state().version, capacity), (2, Some("90")));
}

#[test]
fn a_broken_version_stops_the_start_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(files(dir.path())));
    std::fs::write(
        dir.path().join("capacity-scheduler.xml.2000"),
        "<configuration>",
    )
    .unwrap();
    let error = MutableConf::open(files(dir.path()), seed(), surroundings(&[]), 1).unwrap_err();
    assert!(matches!(
        error,
        ConfError::Store(ConfStoreError::Corrupt(_))
    ));
    assert!(
        error.to_string().contains("capacity-scheduler.xml.2000"),
        "{error}"
    );
}

#[test]
fn an_invalid_file_seeds_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let bad = ConfProperties::default();
    let error = MutableConf::open(files(dir.path()), bad, surroundings(&[]), 1).unwrap_err();
    assert!(matches!(error, ConfError::Invalid(_)));
    assert!(files(dir.path()).latest().unwrap().is_none());
}

#[test]
fn a_directory_that_cannot_be_written_refuses_changes_and_answers_reads() {
    let dir = tempfile::tempdir().unwrap();
    let conf = open(files(dir.path()));
    let target = Target::of(&conf);
    // The next file's name is taken by a directory: as root nothing else stops a write.
    std::fs::create_dir(dir.path().join("capacity-scheduler.xml.1001.tmp")).unwrap();
    let error = conf
        .change(&target, &YARN, &capacities(10, 90), None, 1001)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("capacity-scheduler.xml.1001.tmp"),
        "{error}"
    );
    assert_eq!(target.refreshes.get(), 0, "written aside first");
    assert_eq!(conf.state().version, 1);
    assert_eq!(conf.versions().unwrap().len(), 1);
}

#[test]
fn a_reload_takes_what_was_stored_and_keeps_the_old_one_when_that_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (standby, active) = (open(files(dir.path())), open(files(dir.path())));
    let (of_standby, of_active) = (Target::of(&standby), Target::of(&active));
    assert!(!standby.reload(&of_standby).unwrap());
    active
        .change(&of_active, &YARN, &capacities(10, 90), None, 2000)
        .unwrap();
    of_standby.refusing.set(true);
    assert!(standby.reload(&of_standby).is_err());
    assert_eq!(
        (standby.counts().failed_reloads, standby.state().version),
        (1, 1)
    );
    of_standby.refusing.set(false);
    assert!(standby.reload(&of_standby).unwrap());
    assert_eq!(standby.state().version, 2);
    assert!((of_standby.capacity("root.a") - 0.9).abs() < 1e-6);
}

#[test]
fn validation_changes_nothing() {
    let conf = open(Box::new(MemoryConfStore::new(3, 10)));
    let target = Target::of(&conf);
    let next = conf.validate(&target, &capacities(10, 90)).unwrap();
    assert_eq!(
        next.get("yarn.scheduler.capacity.root.a.capacity"),
        Some("90")
    );
    assert!(conf.validate(&target, &capacities(10, 91)).is_err());
    assert_eq!((conf.state().version, target.refreshes.get()), (1, 0));
}

#[test]
fn administrators_of_the_cluster_or_of_the_queue_make_changes() {
    let policy = "yarn.scheduler.configuration.mutation.acl-policy.class";
    let by_queue = "a.b.QueueAdminConfigurationMutationACLPolicy";
    let closed = r#"{"global-updates": {
        "yarn.scheduler.capacity.root.acl_administer_queue": "boss",
        "yarn.scheduler.capacity.root.a.acl_administer_queue": "ann"}}"#;
    let of_queue = r#"{"update-queue": {"queue-name": "root.a", "params": {"priority": 1}}}"#;
    let of_other = r#"{"update-queue": {"queue-name": "root.default", "params": {"priority": 1}}}"#;
    let of_all = r#"{"global-updates": {"yarn.scheduler.capacity.maximum-applications": "9"}}"#;
    for (class, user, body, want) in [
        ("", "adm", of_queue, true),
        ("", "ann", of_queue, false),
        (by_queue, "ann", of_queue, true),
        (by_queue, "ann", of_other, false),
        (by_queue, "ann", of_all, false),
        (by_queue, "adm", of_queue, false),
        (by_queue, "adm", of_all, true),
        (by_queue, "boss", of_other, true),
    ] {
        let site = [
            ("yarn.acl.enable", "true"),
            ("yarn.admin.acl", "adm"),
            (policy, class),
        ];
        let store = Box::new(MemoryConfStore::new(3, 10));
        let conf = MutableConf::open(store, seed(), surroundings(&site), 1).unwrap();
        let target = Target::of(&conf);
        conf.change(&target, &YARN, &change(closed), None, 2)
            .unwrap();
        let caller = Caller { user, ..YARN };
        let result = conf.change(&target, &caller, &change(body), None, 3);
        assert_eq!(result.is_ok(), want, "{class} {user} {body}");
        if !want {
            assert!(matches!(result, Err(ConfError::Forbidden(_))));
        }
        assert_eq!(conf.admits(&caller), user == "adm", "{user}");
    }
}

#[path = "mutable_failing_tests.rs"]
mod failing;
