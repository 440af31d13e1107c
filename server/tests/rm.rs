//! The resource manager's core: applications, nodes and labels through commands.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use capsched::api::{ApplicationId, Ask, AskCall, NodeReport, ResourceVector};
use capsched::sync::{AtomicBool, Mutex, Ordering};
use capsched_server::rm::{
    Answer, AppState, Command, CommandError, FinalStatus, Journal, JournalEntry, JournalError,
    LabelSpec, LookResult, NodeRegistration, Obstacle, Operation, Pairs, ResourceManager, Setup,
    Shortage, Submission,
};

fn queues() -> Pairs {
    let own = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.b.state", "STOPPED"),
        ("maximum-am-resource-percent", "0.5"),
    ];
    own.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()))
        .into()
}

fn setup() -> Setup {
    let site = BTreeMap::from([("yarn.admin.acl".to_owned(), "yarn".to_owned())]);
    let mut setup = Setup::new(site, queues());
    setup.cluster = Some(1_700_000_000_000);
    setup
}

fn manager() -> ResourceManager {
    ResourceManager::start(setup()).unwrap()
}

fn register(rm: &ResourceManager, node: &str) {
    let of = NodeRegistration {
        node: node.to_owned(),
        rack: "/default-rack".to_owned(),
        resource: vec![8192, 8],
        http_port: 8042,
        version: "3.4.2".to_owned(),
        labels: None,
    };
    rm.execute("yarn", Command::RegisterNode(of)).unwrap();
}

fn submit(rm: &ResourceManager, queue: &str) -> String {
    submit_keeping(rm, queue, false)
}

/// Submits an application of which containers outlive attempts, or not.
fn submit_keeping(rm: &ResourceManager, queue: &str, keep_containers: bool) -> String {
    let Ok(Answer::Application(application)) = rm.execute("ann", Command::NewApplication) else {
        panic!("an id is given out");
    };
    let submission = Submission {
        application: application.clone(),
        queue: queue.to_owned(),
        master: vec![1024, 1],
        keep_containers,
        ..Submission::default()
    };
    let command = Command::Submit(Box::new(submission));
    assert_eq!(rm.execute("ann", command), Ok(Answer::Done));
    application
}

fn state(rm: &ResourceManager, application: &str) -> AppState {
    let id = application.parse().unwrap();
    rm.read(|books| books.app(id).unwrap().state)
}

fn start(rm: &ResourceManager, application: &str) {
    let command = Command::RegisterMaster {
        application: application.to_owned(),
        host: "n1".to_owned(),
        rpc_port: 1,
        tracking_url: String::new(),
    };
    rm.execute("ann", command).unwrap();
}

fn kill(rm: &ResourceManager, application: &str) -> Result<Answer, CommandError> {
    let kill = Command::Kill {
        application: application.to_owned(),
        diagnostics: String::new(),
    };
    rm.execute("ann", kill)
}

#[test]
fn an_application_lives_from_its_submission_to_its_end() {
    let rm = manager();
    register(&rm, "n1:1");
    let application = submit(&rm, "a");
    assert_eq!(application, "application_1700000000000_0001");
    assert_eq!(state(&rm, &application), AppState::Accepted);
    let node = "n1:1".parse().unwrap();
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    start(&rm, &application);
    assert_eq!(state(&rm, &application), AppState::Running);
    let id = application.parse().unwrap();
    let call = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 2)]);
    rm.ask(id, call, 10.0).unwrap();
    for _ in 0..3 {
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    let fetched = rm.ask(id, AskCall::default(), 50.0).unwrap();
    assert_eq!(fetched.allocated.len(), 2);
    let finish = Command::FinishMaster {
        application: application.clone(),
        status: FinalStatus::Succeeded,
        diagnostics: String::new(),
        tracking_url: String::new(),
    };
    rm.execute("ann", finish).unwrap();
    assert_eq!(state(&rm, &application), AppState::Finished);
    let live = rm.read(|books| books.app(id).unwrap().placed_ms.len());
    assert_eq!(live, 0, "every container ended with the application");
}

#[test]
fn a_recorded_pass_names_the_key_that_the_headroom_of_a_queue_refuses() {
    let mut setup = setup();
    let key = "yarn.scheduler.capacity.root.a.maximum-capacity";
    setup.scheduler.insert(key.to_owned(), "75".to_owned());
    let rm = ResourceManager::start(setup).unwrap();
    register(&rm, "n1:1");
    let node = "n1:1".parse().unwrap();
    let application = submit(&rm, "a");
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    start(&rm, &application);
    let id = application.parse().unwrap();
    // The queue may use 6144: beside the master and the first container, 2048 are left.
    let call = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[3072, 1]), 2)]);
    rm.ask(id, call, 10.0).unwrap();
    let last_look = || {
        rm.record_node(Some(node.clone()));
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
        let activity = rm.node_activity(Some(&node)).unwrap();
        let last = activity.looks.last().unwrap();
        assert_eq!(last.app, id);
        (last.result, last.obstacle.clone())
    };
    assert_eq!(last_look(), (LookResult::Allocated, None));
    let refused = (LookResult::Rejected, Some(Obstacle::Headroom));
    assert_eq!(last_look(), refused);
}

/// A started application on one of two nodes, which asks for one container that is larger than what is free on each.
fn with_a_reservation(rm: &ResourceManager) -> ApplicationId {
    register(rm, "n1:1");
    let application = submit(rm, "a");
    let first = "n1:1".parse().unwrap();
    rm.heartbeat(&first, NodeReport::AsExpected).unwrap();
    start(rm, &application);
    register(rm, "n2:1");
    let id = application.parse().unwrap();
    let ask = |size: i64, priority, place: &str| Ask {
        priority,
        place: place.to_owned(),
        ..Ask::anywhere(ResourceVector::of(&[size, 1]), 1)
    };
    let call = AskCall::asking(vec![ask(1024, 1, "*"), ask(8192, 7, "*")]);
    rm.ask(id, call, 10.0).unwrap();
    for node in ["n2:1", "n2:1", "n1:1"] {
        let node = node.parse().unwrap();
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    id
}

#[test]
fn a_recorded_pass_says_what_a_key_lacks_on_each_node() {
    let rm = manager();
    let id = with_a_reservation(&rm);
    rm.record_app(id, u64::MAX);
    for node in ["n2:1", "n1:1"] {
        let node = node.parse().unwrap();
        rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    }
    let passes = rm.app_activities(id);
    let looks: Vec<_> = passes.iter().rev().map(|pass| pass.looks.clone()).collect();
    let short = |available: &str| {
        Some(Obstacle::NodeTooFull(Shortage {
            missing: vec!["memory-mb".to_owned()],
            required: "<memory:8192, vCores:1>".to_owned(),
            available: available.to_owned(),
        }))
    };
    let found: Vec<_> = looks
        .iter()
        .flatten()
        .map(|look| (look.result, look.obstacle.clone()))
        .collect();
    assert_eq!(
        found,
        [
            (LookResult::ReservedAgain, short("<memory:7168, vCores:7>")),
            (LookResult::Skipped, short("<memory:7168, vCores:7>")),
        ]
    );
}

#[test]
fn the_reservation_of_a_killed_application_is_released_last() {
    let rm = manager();
    let id = with_a_reservation(&rm);
    let reserved = rm.read(|books| books.last(Operation::Reservation).unwrap().node.clone());
    kill(&rm, &id.to_string()).unwrap();
    let last = rm.read(|books| books.last(Operation::Release).unwrap().clone());
    assert_eq!(last.container.unwrap().number, 3);
    assert_eq!(last.node, reserved);
}

#[test]
fn what_the_scheduler_refuses_is_kept_as_failed() {
    let rm = manager();
    for queue in ["b", "nowhere"] {
        let application = submit(&rm, queue);
        assert_eq!(state(&rm, &application), AppState::Failed, "{queue}");
        assert_eq!(kill(&rm, &application), Ok(Answer::Done));
    }
}

#[test]
fn a_second_attempt_follows_a_lost_master() {
    let rm = manager();
    register(&rm, "n1:1");
    let application = submit(&rm, "a");
    let node = "n1:1".parse().unwrap();
    for attempt in 1..=2 {
        for _ in 0..2 {
            rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
        }
        start(&rm, &application);
        let id = application.parse().unwrap();
        let master = rm.read(|books| {
            let attempt = books.app(id).unwrap().attempt().unwrap();
            attempt.master.clone().unwrap().0
        });
        assert_eq!(master.attempt, attempt);
        assert!(rm.container_finished(master));
    }
    assert_eq!(state(&rm, &application), AppState::Failed);
}

#[test]
fn containers_outlive_an_attempt_and_not_the_last_one() {
    let rm = manager();
    register(&rm, "n1:1");
    let application = submit_keeping(&rm, "a", true);
    let (id, node) = (application.parse().unwrap(), "n1:1".parse().unwrap());
    let live = || {
        let app = rm.engine().app(id).unwrap();
        app.map(|app| app.live)
    };
    let fail = || {
        let master = rm.read(|books| {
            let attempt = books.app(id).unwrap().attempt().unwrap();
            attempt.master.clone().unwrap().0
        });
        assert!(rm.container_exited(master, 1));
    };
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    start(&rm, &application);
    let call = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)]);
    rm.ask(id, call, 10.0).unwrap();
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    let fetched = rm.ask(id, AskCall::default(), 50.0).unwrap();
    assert_eq!(fetched.allocated.len(), 1);
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    fail();
    assert_eq!(live(), Some(vec![2]));
    rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    assert_eq!(live(), Some(vec![2, 3]));
    start(&rm, &application);
    assert_eq!(state(&rm, &application), AppState::Running);
    fail();
    assert_eq!(state(&rm, &application), AppState::Failed);
    assert_eq!(live(), None);
}

#[test]
fn a_master_that_is_placed_while_its_application_is_submitted_is_known() {
    let rm = manager();
    register(&rm, "n1:1");
    let node = "n1:1".parse().unwrap();
    let beat = || rm.heartbeat(&node, NodeReport::AsExpected).unwrap();
    let ends = AtomicBool::new(false);
    let mut lost = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                beat();
            }
        });
        for _ in 0..200 {
            let application = submit(&rm, "a");
            beat();
            let id = application.parse().unwrap();
            let known = rm.read(|books| {
                let attempt = books.app(id).and_then(|app| app.attempt());
                attempt.is_some_and(|attempt| attempt.master.is_some())
            });
            if !known {
                lost.push(application.clone());
            }
            kill(&rm, &application).unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
    assert_eq!(lost, Vec::<String>::new());
}

#[test]
fn labels_are_added_given_to_nodes_and_removed() {
    let rm = manager();
    register(&rm, "n1:1");
    let add = |exclusive| Command::AddLabels {
        labels: vec![LabelSpec {
            name: "gpu".to_owned(),
            exclusive,
        }],
    };
    let refused = rm.execute("ann", add(true));
    assert!(matches!(refused, Err(CommandError::Forbidden(_))));
    rm.execute("yarn", add(true)).unwrap();
    let refused = rm.execute("yarn", add(false));
    assert!(matches!(refused, Err(CommandError::Invalid(_))));
    let replace = Command::ReplaceLabels {
        nodes: BTreeMap::from([("n1".to_owned(), vec!["gpu".to_owned()])]),
    };
    rm.execute("yarn", replace).unwrap();
    let partition = || {
        let view = rm.engine().node(&"n1:1".parse().unwrap()).unwrap();
        view.unwrap().partition
    };
    assert_eq!(partition().as_deref(), Some("gpu"));
    let labels = vec!["gpu".to_owned()];
    let removed = rm.execute("yarn", Command::RemoveLabels { labels });
    assert_eq!(removed, Ok(Answer::Done));
    assert_eq!(partition(), None);
}

#[test]
fn a_refused_configuration_leaves_the_present_one() {
    let rm = manager();
    let mut changed = queues();
    let mut set = |queue: &str, value: &str| {
        let key = format!("yarn.scheduler.capacity.root.{queue}.capacity");
        changed.insert(key, value.to_owned());
        changed.clone()
    };
    let refresh = |scheduler: Pairs| Command::RefreshQueues { scheduler };
    let wrong = set("a", "70");
    assert!(rm.try_refresh(&wrong).is_err());
    assert!(rm.execute("yarn", refresh(wrong)).is_err());
    assert_eq!(rm.configuration().scheduler, queues());
    let right = set("b", "30");
    assert_eq!(rm.try_refresh(&right), Ok(()));
    assert_eq!(rm.execute("yarn", refresh(right.clone())), Ok(Answer::Done));
    assert_eq!(rm.configuration().scheduler, right);
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<JournalEntry>>);

impl Kept {
    fn entries(&self) -> Vec<JournalEntry> {
        let kept = self.0.lock();
        kept.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for Kept {
    fn append(&self, entry: JournalEntry) -> Result<u64, JournalError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(entry);
        Ok(kept.len() as u64)
    }

    fn wait(&self, _position: u64) -> Result<(), JournalError> {
        Ok(())
    }
}

#[test]
fn what_a_journal_kept_leads_to_the_same_applications() {
    let (first, kept) = (manager(), Arc::new(Kept::default()));
    first.attach_journal(kept.clone());
    register(&first, "n1:1");
    submit(&first, "a");
    submit(&first, "nowhere");
    let second = manager();
    for entry in kept.entries() {
        let text = serde_json::to_string(&entry).unwrap();
        let entry: JournalEntry = serde_json::from_str(&text).unwrap();
        second.replay(&entry).unwrap();
    }
    let apps = |rm: &ResourceManager| -> Vec<_> {
        rm.read(|books| {
            let apps = books.apps();
            apps.map(|app| (app.id, app.state, app.started_ms))
                .collect()
        })
    };
    assert_eq!(apps(&second), apps(&first));
}

#[test]
fn the_applications_that_ended_first_are_forgotten_and_counted() {
    let mut setup = setup();
    let most = "yarn.resourcemanager.max-completed-applications";
    setup.site.insert(most.to_owned(), "2".to_owned());
    let rm = ResourceManager::start(setup.clone()).unwrap();
    let live = submit(&rm, "a");
    let refused = submit(&rm, "nowhere");
    let killed: Vec<String> = (0..4).map(|_| submit(&rm, "a")).collect();
    for application in &killed {
        assert_eq!(kill(&rm, application), Ok(Answer::Done));
    }
    let known = |id: &str| rm.read(|books| books.app(id.parse().unwrap()).is_some());
    assert!(known(&live) && !known(&refused));
    assert_eq!(
        killed.iter().map(|id| known(id)).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    // The one that was refused was never with the scheduler, whose metrics count it nowhere.
    let forgotten = |state| rm.read(|books| books.forgotten_apps(state));
    assert_eq!(
        (forgotten(AppState::Killed), forgotten(AppState::Failed)),
        (2, 0)
    );
    assert!(matches!(
        kill(&rm, &killed[0]),
        Err(CommandError::NotFound(_))
    ));
    assert_eq!(kill(&rm, &live), Ok(Answer::Done));
    assert!(
        !known(&killed[2]),
        "the limit is one of memory and of no time"
    );

    setup.site.insert(most.to_owned(), "two".to_owned());
    let failure = ResourceManager::start(setup).unwrap_err().to_string();
    assert!(
        failure.contains(most) && failure.contains("two"),
        "{failure}"
    );
}
