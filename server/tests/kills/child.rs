//! What the process under test does: it leads, serves, and prints what was answered.

use super::*;

pub(crate) fn run(dir: &Path) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let started = clock.now_ns();
    let scheduler = pairs(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("maximum-am-resource-percent", "0.5"),
    ]);
    let mut setup = Setup::new(Pairs::new(), scheduler);
    setup.mode = Mode::Heartbeat;
    // Every application that ended is known, so that the parent can compare all.
    let most = "yarn.resourcemanager.max-completed-applications";
    setup.site.insert(most.to_owned(), "1000000".to_owned());
    // Few, so that many kills meet a compaction.
    let keeping = KeepOptions {
        durability: Durability::Strict,
        compact_after: 100,
        ..KeepOptions::default()
    };
    let (durable, begun) = match std::env::var(STORE) {
        Ok(address) => (lead(&address, setup, keeping), clock.now_ns()),
        Err(_) => {
            let store = EmbeddedStore::open(&dir.join("data"), Arc::clone(&clock)).unwrap();
            let started_now = Durable::start(setup, Some(Arc::new(store)), keeping, "test");
            (started_now.unwrap(), started)
        }
    };
    let rm = &*durable.rm;
    show(&durable);
    register(&durable, dir);
    let elapsed = |clock: &dyn Clock| (clock.now_ns() - begun) / 1_000;
    say(&format!("ready {}", elapsed(&*clock)));
    let allocated = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| applications(rm, &allocated));
        }
        if std::env::var_os(STORE).is_some() {
            scope.spawn(|| end_with_the_lead(&durable));
        }
        scope.spawn(|| {
            loop {
                beat(rm, &allocated, &|| elapsed(&*clock));
            }
        });
        scope.spawn(|| configurations(&durable));
    });
}

/// Follows the leader of a store, and leads when it is gone. Then it waits until the parent knows what nodes run.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
fn lead(address: &str, setup: Setup, keeping: KeepOptions) -> Durable {
    use capsched_server::store::{Standby, open_shared};
    let keeping = KeepOptions {
        lease: Duration::from_millis(number("LEASE_MS", 1_500)),
        ..keeping
    };
    let rest = || thread::sleep(Duration::from_millis(50));
    let store = loop {
        match open_shared(address) {
            Ok(store) => break store,
            Err(_) => rest(),
        }
    };
    let who = format!("process {}", std::process::id());
    let mut standby = Standby::new(store, &who, keeping.lease);
    let mut follows = false;
    let lead = loop {
        match standby.step(Duration::from_millis(50)) {
            Ok(Some(lead)) => break lead,
            Ok(None) if follows => {}
            Ok(None) => {
                say("follows");
                follows = true;
            }
            Err(_) => rest(),
        }
    };
    say("leads");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    match Durable::start_leading(setup, Some(lead), keeping) {
        Ok(durable) => durable,
        Err(error) => lost(&error.to_string()),
    }
}

/// Ends the process: another one may lead.
fn lost(why: &str) -> ! {
    say(&format!("lost {why}"));
    std::process::exit(0);
}

/// Ends the process when another one may lead, or when changes are not kept any more.
fn end_with_the_lead(durable: &Durable) {
    loop {
        if durable.has_lost_lead() {
            lost("the lease");
        }
        if let Some(why) = durable.failure() {
            lost(&why);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(not(any(feature = "etcd", feature = "zookeeper")))]
fn lead(address: &str, _: Setup, _: KeepOptions) -> Durable {
    panic!("{address}: this test was built without a shared store");
}

/// Everything that came back.
fn show(durable: &Durable) {
    durable.rm.read(|books| {
        for app in books.apps() {
            say(&format!("app {} {}", app.id, app.state.name()));
        }
        for (name, _) in books.nodes().iter() {
            say(&format!("node {name}"));
        }
    });
    let state = durable.conf.as_ref().unwrap().state();
    let key = "yarn.scheduler.capacity.maximum-applications";
    let value = state.properties.get(key).unwrap_or("none");
    say(&format!("conf {} {value}", state.version));
}

/// Registers all nodes with what they run by the account of the parent.
fn register(durable: &Durable, dir: &Path) {
    let text = std::fs::read_to_string(dir.join("running")).unwrap_or_default();
    let mut running: BTreeMap<String, Vec<RunningContainer>> = BTreeMap::new();
    for line in text.lines() {
        let (name, id) = line.split_once(' ').unwrap();
        let id: ContainerId = id.parse().unwrap();
        let container = RunningContainer::new(id, ResourceVector::of(&[1024, 1]));
        running.entry(name.to_owned()).or_default().push(container);
    }
    // At once, as nodes do: one write serves many of them.
    thread::scope(|scope| {
        for number in 0..NODES {
            let name = node(number);
            let runs = running.remove(&name).unwrap_or_default();
            scope.spawn(move || register_one(durable, name, runs));
        }
    });
}

fn register_one(durable: &Durable, name: String, runs: Vec<RunningContainer>) {
    let registration = NodeRegistration {
        node: name.clone(),
        rack: "/default-rack".to_owned(),
        resource: vec![65_536, 64],
        http_port: 8042,
        version: "1".to_owned(),
        labels: None,
    };
    let found = match durable.rm.register_running(USER, registration, runs) {
        Ok(found) => found,
        Err(error) if durable.failure().is_some() => lost(&error.to_string()),
        Err(error) => panic!("{error}"),
    };
    for container in found.taken {
        say(&format!("taken {container}"));
    }
    for container in found.to_stop.iter().chain(&found.waiting) {
        say(&format!("stop {container}"));
    }
    say(&format!("registered {name}"));
}

/// Submits applications, lets them run, kills some.
fn applications(rm: &ResourceManager, allocated: &AtomicU64) {
    for turn in 0_u32.. {
        let Ok(Answer::Application(id)) = rm.execute(USER, Command::NewApplication) else {
            continue;
        };
        say(&format!("asks {id}"));
        let submission = Submission {
            application: id.clone(),
            queue: if turn % 2 == 0 { "root.a" } else { "root.b" }.to_owned(),
            master: vec![1024, 1],
            ..Submission::default()
        };
        let submitted = rm.execute(USER, Command::Submit(Box::new(submission)));
        if submitted.is_err() {
            continue;
        }
        say(&format!("submitted {id}"));
        let app: ApplicationId = id.parse().unwrap();
        if rm.read(|books| {
            books
                .app(app)
                .is_some_and(|app| app.state == AppState::Failed)
        }) {
            // Its queue is full.
            say(&format!("failed {id}"));
            continue;
        }
        serve(rm, &id, allocated);
        if turn % 3 != 0 {
            let kill = Command::Kill {
                application: id.clone(),
                diagnostics: String::new(),
            };
            match rm.execute(USER, kill) {
                Ok(_) => say(&format!("killed {id}")),
                Err(error) => say(&format!("refused {error}")),
            }
        }
    }
}

/// Runs two containers of an application, if it gets them soon.
fn serve(rm: &ResourceManager, id: &str, allocated: &AtomicU64) {
    let app: ApplicationId = id.parse().unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
    let mut call = AskCall::asking(vec![ask]);
    for _ in 0..40 {
        thread::sleep(Duration::from_millis(2));
        let runs = rm.read(|books| {
            let app = books.app(app)?;
            app.attempt()?.master.as_ref().map(|_| ())
        });
        if runs.is_none() {
            continue;
        }
        let Ok(reply) = rm.ask(app, std::mem::take(&mut call), 0.0) else {
            return;
        };
        for granted in &reply.allocated {
            allocated.fetch_add(1, Ordering::Relaxed);
            say(&format!("run {} {}", granted.node, granted.container));
        }
    }
}

/// One heartbeat of every node.
fn beat(rm: &ResourceManager, allocated: &AtomicU64, elapsed_us: &dyn Fn() -> u64) {
    let before = allocated.load(Ordering::Relaxed);
    for number in 0..NODES {
        let name = node(number).parse().unwrap();
        if rm.heartbeat(&name, NodeReport::AsExpected).is_err() {
            return;
        }
    }
    let masters = rm.read(|books| {
        let live = books.apps().filter(|app| !app.state.is_over());
        let masters = live.filter_map(|app| app.attempt()?.master.clone());
        masters.collect::<Vec<_>>()
    });
    if before == 0 && !masters.is_empty() && allocated.fetch_add(1, Ordering::Relaxed) == 0 {
        say(&format!("first {}", elapsed_us()));
    }
    for (container, node) in masters {
        say(&format!("master {node} {container}"));
    }
    thread::sleep(Duration::from_millis(2));
}

/// Changes the configuration again and again.
fn configurations(durable: &Durable) {
    let conf = durable.conf.as_ref().unwrap();
    let caller = Caller {
        user: USER,
        groups: &[],
        real_user: None,
    };
    loop {
        let next = conf.state().version + 1000;
        let key = "yarn.scheduler.capacity.maximum-applications";
        let body = format!(r#"{{"global-updates": {{"{key}": "{next}"}}}}"#);
        let format = BodyFormat::Json {
            lists_are_empty: false,
        };
        let change = ConfChange::read(body.as_bytes(), format).unwrap();
        let now_ms = durable.rm.now_ms();
        match conf.change(&*durable.rm, &caller, &change, None, now_ms) {
            Ok(made) => say(&format!("changed {} {next}", made.state.version)),
            Err(error) => say(&format!("refused {error}")),
        }
        thread::sleep(Duration::from_millis(5));
    }
}
