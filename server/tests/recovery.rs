//! A resource manager that starts again with the store of the one before.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use capsched::api::{
    ApplicationId, Ask, AskCall, ContainerChange, ContainerId, ContainerUpdate, GangAsk,
    NodeReport, ResourceVector, RunningContainer,
};
use capsched::config::Caller;
use capsched::time::SystemClock;
use capsched_server::conf::{BodyFormat, ConfChange};
use capsched_server::rm::{
    Answer, AppState, AttemptState, Command, FinalStatus, LabelSpec, NodeLife, NodeRegistration,
    Pairs, ResourceManager, Setup, Submission,
};
use capsched_server::store::{Durability, Durable, DurableFailure, EmbeddedStore, StoreError};

const USER: &str = "yarn";

fn setup(queues: &[(&str, &str)], site: &[(&str, &str)]) -> Setup {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let own = |(key, value): &(&str, &str)| {
        (
            format!("yarn.scheduler.capacity.{key}"),
            (*value).to_owned(),
        )
    };
    let mut site: Pairs = site.iter().map(pair).collect();
    site.insert("yarn.node-labels.enabled".to_owned(), "true".to_owned());
    Setup::new(site, queues.iter().map(own).collect())
}

const QUEUES: &[(&str, &str)] = &[
    ("root.queues", "a,b"),
    ("root.a.capacity", "50"),
    ("root.b.capacity", "50"),
    ("maximum-am-resource-percent", "1"),
];

fn start(dir: &Path, setup: Setup) -> Result<Durable, DurableFailure> {
    let store = EmbeddedStore::open(dir, Arc::new(SystemClock::new()))?;
    Durable::start(setup, Some(Arc::new(store)), Durability::Strict, "test")
}

fn again(dir: &Path) -> Durable {
    start(dir, setup(QUEUES, &[])).unwrap()
}

fn registration(node: &str) -> NodeRegistration {
    NodeRegistration {
        node: node.to_owned(),
        rack: "/default-rack".to_owned(),
        resource: vec![8192, 8],
        http_port: 8042,
        version: "1".to_owned(),
        labels: None,
    }
}

fn submit(rm: &ResourceManager, queue: &str) -> String {
    let Answer::Application(id) = rm.execute(USER, Command::NewApplication).unwrap() else {
        panic!("an id was asked for");
    };
    let submission = Submission {
        application: id.clone(),
        queue: queue.to_owned(),
        master: vec![1024, 1],
        ..Submission::default()
    };
    rm.execute(USER, Command::Submit(Box::new(submission)))
        .unwrap();
    id
}

fn state(rm: &ResourceManager, id: &str) -> AppState {
    rm.read(|books| books.app(id.parse().unwrap()).unwrap().state)
}

fn kill(rm: &ResourceManager, id: &str) {
    let kill = Command::Kill {
        application: id.to_owned(),
        diagnostics: "enough".to_owned(),
    };
    rm.execute(USER, kill).unwrap();
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "the life of one server, step by step"
)]
fn applications_come_back_as_they_were_and_masters_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (running, waiting, killed, finished, master);
    {
        let first = again(dir.path());
        let rm = &*first.rm;
        rm.execute(USER, Command::RegisterNode(registration("n1:1")))
            .unwrap();
        (running, killed, finished) = (
            submit(rm, "root.a"),
            submit(rm, "root.a"),
            submit(rm, "root.b"),
        );
        for _ in 0..3 {
            rm.heartbeat(&"n1:1".parse().unwrap(), NodeReport::AsExpected)
                .unwrap();
        }
        waiting = submit(rm, "root.b");
        for id in [&running, &finished] {
            let register = Command::RegisterMaster {
                application: id.clone(),
                host: "n1".to_owned(),
                rpc_port: 7,
                tracking_url: "http://n1/".to_owned(),
            };
            rm.execute(USER, register).unwrap();
        }
        kill(rm, &killed);
        let finish = Command::FinishMaster {
            application: finished.clone(),
            status: FinalStatus::Succeeded,
            diagnostics: "done".to_owned(),
            tracking_url: String::new(),
        };
        rm.execute(USER, finish).unwrap();
        let move_it = Command::Move {
            application: running.clone(),
            queue: "root.b".to_owned(),
        };
        rm.execute(USER, move_it).unwrap();
        master = rm.read(|books| {
            let app = books.app(running.parse().unwrap()).unwrap();
            app.attempt().unwrap().master.clone().unwrap().0
        });
    }
    let second = again(dir.path());
    let rm = &*second.rm;
    assert_eq!((second.recovered.live, second.recovered.ended), (2, 2));
    assert_eq!(state(rm, &running), AppState::Running);
    assert_eq!(state(rm, &waiting), AppState::Accepted);
    assert_eq!(state(rm, &killed), AppState::Killed);
    assert_eq!(state(rm, &finished), AppState::Finished);
    rm.read(|books| {
        let app = books.app(killed.parse().unwrap()).unwrap();
        assert_eq!(app.diagnostics, "enough");
        let app = books.app(running.parse().unwrap()).unwrap();
        assert_eq!(app.path, "root.b");
        let attempt = app.attempt().unwrap();
        assert_eq!((attempt.number, attempt.state), (1, AttemptState::Running));
        let node = books.nodes().get(&"n1:1".parse().unwrap()).unwrap();
        assert_eq!(node.life, NodeLife::Lost, "until it registers again");
    });
    // The node still runs the master, and one of the application that was killed.
    let runs = |id| RunningContainer::new(id, ResourceVector::of(&[1024, 1]));
    let gone = capsched::api::ContainerId::new(killed.parse().unwrap(), 1);
    let found = rm.register_running(USER, registration("n1:1"), vec![runs(master), runs(gone)]);
    let found = found.unwrap();
    assert_eq!((found.taken, found.to_stop), (vec![master], vec![gone]));
    let view = rm.engine().node(&"n1:1".parse().unwrap()).unwrap().unwrap();
    assert_eq!(view.containers, 1);
    // The one that waited gets its master from the new scheduler.
    for _ in 0..3 {
        rm.heartbeat(&"n1:1".parse().unwrap(), NodeReport::AsExpected)
            .unwrap();
    }
    rm.read(|books| {
        let app = books.app(waiting.parse().unwrap()).unwrap();
        assert!(app.attempt().unwrap().master.is_some());
    });
}

#[test]
fn labels_and_configuration_come_back() {
    let dir = tempfile::tempdir().unwrap();
    {
        let first = again(dir.path());
        let labels = vec![LabelSpec {
            name: "gpu".to_owned(),
            exclusive: true,
        }];
        first
            .rm
            .execute(USER, Command::AddLabels { labels })
            .unwrap();
        first
            .rm
            .execute(USER, Command::RegisterNode(registration("n1:1")))
            .unwrap();
        let nodes = BTreeMap::from([("n1:1".to_owned(), vec!["gpu".to_owned()])]);
        first
            .rm
            .execute(USER, Command::ReplaceLabels { nodes })
            .unwrap();
        let conf = first.conf.as_ref().unwrap();
        let format = BodyFormat::Json {
            lists_are_empty: false,
        };
        let body = br#"{"update-queue": [{"queue-name": "root.a", "params": {"capacity": 30}},
            {"queue-name": "root.b", "params": {"capacity": 70}}]}"#;
        let change = ConfChange::read(body, format).unwrap();
        let caller = Caller {
            user: USER,
            groups: &[],
            real_user: None,
        };
        conf.change(&*first.rm, &caller, &change, None, 1).unwrap();
    }
    let second = again(dir.path());
    second
        .rm
        .execute(USER, Command::RegisterNode(registration("n1:1")))
        .unwrap();
    let node = second
        .rm
        .engine()
        .node(&"n1:1".parse().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(node.partition.as_deref(), Some("gpu"));
    assert_eq!(second.conf.as_ref().unwrap().state().version, 2);
    let queue = second.rm.engine().queue("root.a").unwrap().unwrap();
    assert!((queue.labels[""].cap.0 - 0.3).abs() < 1e-6);
}

#[test]
fn an_application_whose_queue_is_gone_ends() {
    let dir = tempfile::tempdir().unwrap();
    // With plain files the next start takes what the file says.
    let plain = [("yarn.scheduler.configuration.store.class", "file")];
    let id = {
        let first = start(dir.path(), setup(QUEUES, &plain)).unwrap();
        assert!(first.conf.is_none());
        submit(&first.rm, "root.b")
    };
    let one = [("root.queues", "a"), ("root.a.capacity", "100")];
    let second = start(dir.path(), setup(&one, &plain)).unwrap();
    assert_eq!(second.recovered.refused, 1);
    assert_eq!(state(&second.rm, &id), AppState::Killed);
    second.rm.read(|books| {
        let app = books.app(id.parse().unwrap()).unwrap();
        assert!(app.diagnostics.contains("root.b"), "{}", app.diagnostics);
    });
}

#[test]
fn a_second_resource_manager_does_not_start_on_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let _first = again(dir.path());
    let second = start(dir.path(), setup(QUEUES, &[]));
    let error = second.expect_err("the store is in use");
    assert!(
        matches!(error, DurableFailure::Store(StoreError::InUse(_))),
        "{error}"
    );
}

#[test]
fn stores_of_the_configuration_are_those_that_the_site_names() {
    let dir = tempfile::tempdir().unwrap();
    let class = "yarn.scheduler.configuration.store.class";
    let path = "yarn.scheduler.configuration.fs.path";
    let versions = dir.path().join("versions");
    let uri = format!("file://{}", versions.display());
    let none = |site: &[(&str, &str)]| {
        Durable::start(setup(QUEUES, site), None, Durability::Strict, "test")
    };
    assert!(none(&[]).unwrap().conf.is_none());
    assert!(none(&[(class, "memory")]).unwrap().conf.is_some());
    assert!(none(&[(class, "fs"), (path, &uri)]).unwrap().conf.is_some());
    assert!(std::fs::read_dir(&versions).unwrap().count() > 0);
    for (site, want) in [
        (vec![(class, "zk")], "--data"),
        (vec![(class, "fs")], "must be set"),
        (
            vec![(class, "fs"), (path, "hdfs://x/y")],
            "no directory of this machine",
        ),
        (
            vec![
                (class, "memory"),
                ("yarn.scheduler.configuration.max.version", "x"),
            ],
            "is no number",
        ),
    ] {
        let error = none(&site).expect_err("the site is wrong").to_string();
        assert!(error.contains(want), "{error}");
    }
}

/// Size in MiB, version and kind of an application's container; nothing where it does not run.
fn form(rm: &ResourceManager, id: ContainerId) -> Option<(i64, u32, bool)> {
    let looked = rm.engine().inspect(move |ledger| {
        let slot = ledger.live_container(id)?;
        Some((
            ledger.running_size(slot)[0],
            ledger.container_version(slot),
            ledger.is_opportunistic(slot),
        ))
    });
    looked.unwrap()
}

fn large_node() -> NodeRegistration {
    NodeRegistration {
        resource: vec![32_768, 32],
        ..registration("n1:1")
    }
}

/// An application with its master and tasks on the only node, all of them launched.
fn with_tasks(rm: &ResourceManager, tasks: i32) -> ApplicationId {
    rm.execute(USER, Command::RegisterNode(large_node()))
        .unwrap();
    let id: ApplicationId = submit(rm, "root.a").parse().unwrap();
    let beat = || rm.heartbeat(&"n1:1".parse().unwrap(), NodeReport::AsExpected);
    beat().unwrap();
    let call = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[2048, 1]), tasks)]);
    rm.ask(id, call, 0.0).unwrap();
    for _ in 0..tasks {
        beat().unwrap();
    }
    let fetched = rm.ask(id, AskCall::default(), 0.0).unwrap();
    assert_eq!(fetched.allocated.len(), usize::try_from(tasks).unwrap());
    beat().unwrap();
    id
}

fn change(container: u32, version: u32, change: ContainerChange) -> ContainerUpdate {
    ContainerUpdate {
        container,
        version,
        change,
    }
}

#[test]
fn changes_of_containers_survive_though_their_node_does_not_know_them() {
    let dir = tempfile::tempdir().unwrap();
    let small = ResourceVector::of(&[1024, 1]);
    let id;
    {
        let first = again(dir.path());
        let rm = &*first.rm;
        id = with_tasks(rm, 4);
        let changes = vec![
            change(2, 0, ContainerChange::Decrease(small)),
            change(3, 0, ContainerChange::Demote),
            change(4, 0, ContainerChange::Decrease(small)),
            change(5, 0, ContainerChange::Decrease(small)),
        ];
        let reply = rm.ask(id, AskCall::updating(changes), 0.0).unwrap();
        assert_eq!(reply.updated.len(), 4, "{reply:?}");
        assert!(rm.container_finished(ContainerId::new(id, 4)));
        let known = rm.read(|books| books.app(id).unwrap().changed.len());
        assert_eq!(known, 3, "the one that ended needs no note");
    }
    let second = again(dir.path());
    let rm = &*second.rm;
    let container = |number: u32| ContainerId::new(id, number);
    let ran =
        |number: u32| RunningContainer::new(container(number), ResourceVector::of(&[2048, 1]));
    // The node had carried out none of the changes, but for another one of container 5.
    let running = vec![
        RunningContainer::new(container(1), small),
        ran(2),
        ran(3),
        RunningContainer {
            size: ResourceVector::of(&[3072, 1]),
            version: 2,
            ..ran(5)
        },
    ];
    let found = rm.register_running(USER, large_node(), running);
    assert_eq!(found.unwrap().taken.len(), 4);
    let forms = [1, 2, 3, 4, 5].map(|number| form(rm, container(number)));
    let expected = [
        Some((1024, 0, false)),
        Some((1024, 1, false)),
        Some((2048, 1, true)),
        None,
        Some((3072, 2, false)),
    ];
    assert_eq!(forms, expected);
    let more = vec![change(2, 1, ContainerChange::Decrease(small))];
    let reply = rm.ask(id, AskCall::updating(more), 0.0).unwrap();
    assert_eq!((reply.updated.len(), reply.updated[0].version), (1, 2));
}

#[test]
fn changes_that_are_refused_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let first = again(dir.path());
    let rm = &*first.rm;
    let id = with_tasks(rm, 1);
    let wrong = vec![
        change(77, 0, ContainerChange::Demote),
        change(2, 3, ContainerChange::Demote),
        change(
            2,
            0,
            ContainerChange::Decrease(ResourceVector::of(&[4096, 1])),
        ),
    ];
    let reply = rm.ask(id, AskCall::updating(wrong), 0.0).unwrap();
    assert_eq!((reply.updated.len(), reply.update_errors.len()), (0, 3));
    assert!(rm.read(|books| books.app(id).unwrap().changed.is_empty()));
    assert_eq!(form(rm, ContainerId::new(id, 2)), Some((2048, 0, false)));
    let gang = GangAsk::of(0, ResourceVector::of(&[1024, 1]), 1000);
    rm.ask_gang(id, gang.clone()).unwrap();
    let large = GangAsk {
        minimum: GangAsk::MOST_MEMBERS + 1,
        ..gang
    };
    assert!(rm.ask_gang(id, large).is_err());
    assert!(rm.take_gangs(id).is_empty());
}
