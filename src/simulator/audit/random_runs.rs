//! Random configurations and workloads on the real engine: no false alarm, and every container is
//! accounted for.

use std::collections::BTreeMap;

use super::AuditBooks;
use crate::api::{
    AppError, AppSpec, ApplicationId, AskCall, AskError, AskReply, ContainerError, ContainerId,
    Event, HeartbeatReply, ModeKind, NodeError, NodeName, NodeReport, NodeSpec, PartitionSpec,
    ResourceVector, Scheduler, Sequential, Stepped, SubmitError, Submitted, waiting,
};
use crate::config;
use crate::simulator::{
    Driver, DriverSettings, Job, NodeLine, Random, Ready, Run, RunReport, TaskGroup,
};

/// An engine whose events may be falsified: every placement from this one on is reported 64 times as
/// large as it is.
struct Falsified {
    engine: Stepped,
    falsified_from: Option<usize>,
    placed: usize,
}

impl Scheduler for Falsified {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.engine.add_node(node)
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.engine.remove_node(node)
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.engine.submit(app)
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        self.engine.ask(app, call)
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        self.engine.heartbeat(node, report)
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        self.engine.container_finished(container)
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.engine.finish_app(app)
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        let before = into.len();
        self.engine.events(into);
        for event in &mut into[before..] {
            if let Event::Allocated { size, .. } = event {
                self.placed += 1;
                if self.falsified_from.is_some_and(|from| self.placed >= from) {
                    size.set(0, size.memory() * 64);
                }
            }
        }
    }

    fn schedule(&mut self) -> usize {
        self.engine.schedule()
    }

    fn advance(&mut self, to_ms: u64) {
        self.engine.advance(to_ms);
    }
}

/// One of the calculators; whether it compares memory alone.
fn put_calculator(random: &mut Random, put: &mut impl FnMut(&str, String)) -> bool {
    let memory_only = random.below(2) == 0;
    if !memory_only {
        let class = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        put("resource-calculator", class.to_owned());
    }
    memory_only
}

/// A random tree of two levels under one of the calculators.
fn configuration(random: &mut Random, labelled: bool) -> (BTreeMap<String, String>, bool) {
    let mut pairs = BTreeMap::new();
    let mut put = |key: &str, value: String| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value);
    };
    put("root.queues", "a,b".to_owned());
    put("root.a.queues", "x,y".to_owned());
    let share = 10 + random.below(80);
    for (path, part) in [
        ("root.a", share),
        ("root.b", 100 - share),
        ("root.a.x", 30),
        ("root.a.y", 70),
    ] {
        put(&format!("{path}.capacity"), part.to_string());
        let most = part + random.below(101 - part);
        put(&format!("{path}.maximum-capacity"), most.to_string());
        put(
            &format!("{path}.user-limit-factor"),
            (1 + random.below(4)).to_string(),
        );
        if labelled {
            put(&format!("{path}.accessible-node-labels"), "x".to_owned());
            put(
                &format!("{path}.accessible-node-labels.x.capacity"),
                part.to_string(),
            );
        }
    }
    if labelled {
        put("root.accessible-node-labels.x.capacity", "100".to_owned());
    }
    let memory_only = put_calculator(random, &mut put);
    let am = ["0.1", "0.5", "1"][usize::try_from(random.below(3)).unwrap()];
    put("maximum-am-resource-percent", am.to_owned());
    (pairs, memory_only)
}

fn job(random: &mut Random, index: u64, labelled: bool) -> Job {
    let queues = ["root.a.x", "root.a.y", "root.b", "root.nosuch"];
    let mut tasks = Vec::new();
    for stage in 0..1 + u32::try_from(random.below(2)).unwrap() {
        let memory = 512 << random.below(5);
        let vcores = 1 + random.below(6);
        let size = [memory, vcores].map(|value| i64::try_from(value).unwrap());
        let run = match random.below(8) {
            0 => Run::Forever,
            _ => Run::Same(1000 * random.below(90)),
        };
        let count = 1 + u32::try_from(random.below(8)).unwrap();
        let mut group = TaskGroup::new(ResourceVector::of(&size), count, run);
        group.stage = stage;
        group.delay_ms = 1000 * random.below(3);
        if random.below(3) == 0 {
            group.hosts.push(format!("n{}", random.below(5)));
            group.racks.push("/r0".to_owned());
        }
        tasks.push(group);
    }
    let queue = queues[usize::try_from(random.below(13).min(30) / 4).unwrap()];
    Job {
        at_ms: index * random.below(9000),
        user: format!("u{}", random.below(3)),
        queue: queue.to_owned(),
        name: format!("j{index}"),
        priority: None,
        master: (random.below(3) > 0).then(|| ResourceVector::of(&[1024, 1])),
        partition: (labelled && random.below(3) == 0).then(|| "x".to_owned()),
        tags: Vec::new(),
        tasks,
        line: 0,
    }
}

/// Five nodes on two racks, two of them with a label if there is one.
fn nodes(labelled: bool) -> Vec<NodeLine> {
    let node = |index: u64| NodeLine {
        host: format!("n{index}"),
        rack: format!("/r{}", index % 2),
        size: ResourceVector::of(&[8192, 6]),
        partition: if labelled && index > 2 { "x" } else { "" }.to_owned(),
        attributes: Vec::new(),
    };
    (0..5).map(node).collect()
}

/// A run of a seed; the driver is as it was at its end.
fn run(seed: u64, falsified_from: Option<usize>) -> (Driver<Falsified>, RunReport) {
    let mut random = Random::new(seed);
    let labelled = random.below(3) == 0;
    let (pairs, memory_only) = configuration(&mut random, labelled);
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    let modes = [
        ModeKind::Heartbeat,
        ModeKind::Asynchronous,
        ModeKind::Global,
    ];
    let mode = modes[usize::try_from(random.below(3)).unwrap()];
    let mut settings = loaded.settings;
    settings.scheduler.multi_node.enabled = mode == ModeKind::Global;
    let label = PartitionSpec {
        name: "x".to_owned(),
        exclusive: random.below(2) == 0,
    };
    let labels = if labelled { vec![label] } else { Vec::new() };
    let engine = Stepped::new(Sequential::new(settings, &labels).unwrap(), mode);
    let falsified = Falsified {
        engine,
        falsified_from,
        placed: 0,
    };
    let settings = DriverSettings {
        memory_only,
        round_ms: (mode != ModeKind::Heartbeat).then_some(500),
        until_ms: (random.below(4) == 0).then_some(60_000),
        ..DriverSettings::default()
    };
    let mut driver = Driver::new(falsified, settings);
    driver.add_nodes(&nodes(labelled)).unwrap();
    if random.below(3) == 0 {
        driver.node_leaves(20_000, NodeName::new("n1", 0).unwrap());
    }
    let mut jobs: Vec<Job> = (0..12).map(|i| job(&mut random, i, labelled)).collect();
    jobs.sort_by_key(|job| job.at_ms);
    let report = driver.run(&mut Ready::new(jobs), &mut ()).unwrap();
    (driver, report)
}

#[test]
fn random_configurations_raise_no_alarm_and_account_for_every_container() {
    let (mut refused, mut waited, mut overcommitted) = (0, 0, 0);
    for seed in 0..120 {
        let (mut driver, report) = run(seed, None);
        let counts = &report.counts;
        assert!(report.violations.is_empty(), "seed {seed}: {report}");
        let sum = counts.placed + counts.waiting + counts.not_asked + counts.refused_containers;
        assert_eq!(counts.offered, sum, "seed {seed}: {report}");
        let left = driver.left();
        let of_jobs: u64 = left.iter().map(|job| job.waiting).sum();
        assert_eq!(of_jobs, counts.waiting, "seed {seed}");
        let refusals: u64 = report
            .refusals
            .iter()
            .map(|refusal| refusal.containers)
            .sum();
        assert_eq!(refusals, counts.refused_containers, "seed {seed}");
        let why = waiting(driver.scheduler().engine.engine().ledger());
        for (app, waits) in &why {
            let known = left.iter().find(|job| job.app == *app);
            let asked: u64 = waits.iter().map(|wait| wait.containers).sum();
            assert!(
                known.is_some_and(|job| asked <= job.waiting),
                "seed {seed}: {app}"
            );
        }
        refused += counts.refused_containers;
        waited += u64::from(!why.is_empty());
        overcommitted += u64::from(report.most_used_permille[1] > 1000);
    }
    assert!(
        refused > 0 && waited > 0 && overcommitted > 0,
        "the runs differ"
    );
}

#[test]
fn a_placement_that_does_not_fit_is_found_under_every_configuration() {
    for seed in 0..40 {
        let (_, honest) = run(seed, None);
        if honest.counts.allocations == 0 {
            continue;
        }
        let (_, report) = run(seed, Some(1));
        assert!(
            report.violations.contains_key("N1"),
            "seed {seed}: {report}"
        );
    }
}

#[test]
fn with_the_memory_only_calculator_vcores_may_be_over_committed_and_memory_may_not() {
    let place = |size: [i64; 2]| {
        let mut ledger = AuditBooks::new(2, true);
        let name = NodeName::new("n", 0).unwrap();
        ledger.node_added(&NodeSpec::new(name.clone(), ResourceVector::of(&[10, 2])));
        ledger.limit_on("root.a", "", ResourceVector::of(&[8, 1]));
        let app = ApplicationId::new(1);
        ledger.submitted(app, "u", true);
        let (container, place) = (ContainerId::new(app, 1), (name, "root.a".into()));
        let size = ResourceVector::of(&size);
        ledger.event(&Event::placed(container, place, size, (0, -1)));
        ledger.check();
        ledger.violations().keys().copied().collect::<Vec<_>>()
    };
    assert_eq!(place([8, 9]), [""; 0]);
    assert_eq!(place([9, 1]), ["Q4"]);
    assert_eq!(place([11, 1]), ["N1", "Q4"]);
}
