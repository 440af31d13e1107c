//! Whole runs against the toy scheduler.

use super::toy::{Flaw, Toy};
use super::*;
use crate::api::{NodeName, NodeSpec, Reason, ResourceVector, Scheduler};
use crate::simulator::{Job, Ready, Run, Synthetic, SyntheticSettings, TaskGroup, equal_nodes};

fn node(host: &str) -> NodeSpec {
    NodeSpec::new(
        NodeName::new(host, 0).unwrap(),
        ResourceVector::of(&[4096, 4]),
    )
}

fn job(name: &str, at_ms: u64, master: bool, tasks: Vec<TaskGroup>) -> Job {
    Job {
        at_ms,
        user: "u".to_owned(),
        queue: "root.a".to_owned(),
        name: name.to_owned(),
        priority: None,
        master: master.then(|| ResourceVector::of(&[512, 1])),
        partition: None,
        tags: Vec::new(),
        tasks,
        line: 0,
    }
}

fn group(count: u32, stage: u32, ms: u64) -> TaskGroup {
    let mut group = TaskGroup::new(ResourceVector::of(&[1024, 1]), count, Run::Same(ms));
    group.stage = stage;
    group
}

fn driver(flaw: Flaw, hosts: &[&str], settings: DriverSettings) -> Driver<Toy> {
    let mut driver = Driver::new(Toy::new(flaw), settings);
    for host in hosts {
        driver.node_arrives(0, node(host));
    }
    driver
}

fn run(driver: &mut Driver<Toy>, jobs: Vec<Job>) -> RunReport {
    driver.run(&mut Ready::new(jobs), &mut ()).unwrap()
}

#[test]
fn a_job_with_a_master_and_two_stages_runs_to_its_end() {
    let mut driver = driver(Flaw::None, &["n1", "n2"], DriverSettings::default());
    let tasks = vec![group(3, 0, 5000), group(1, 1, 7000)];
    let report = run(&mut driver, vec![job("j", 0, true, tasks)]);
    let counts = &report.counts;
    assert_eq!(
        (counts.submitted, counts.finished, counts.unfinished),
        (1, 1, 0)
    );
    assert_eq!((counts.offered, counts.placed, counts.masters), (5, 5, 1));
    assert_eq!((counts.completed, counts.waiting, counts.lost), (4, 0, 0));
    assert!(report.turnaround.max_ms >= 12_000, "{report}");
    assert!(report.violations.is_empty(), "{report}");
    assert_eq!(driver.scheduler().schedule(), 0);
}

#[test]
fn the_same_run_gives_the_same_hash_and_another_job_another() {
    let once = |ms| {
        let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
        let jobs = (0..20)
            .map(|n| {
                job(
                    &format!("j{n}"),
                    n * 700,
                    n % 10 == 0,
                    vec![group(2, 0, ms)],
                )
            })
            .collect();
        run(&mut driver, jobs)
    };
    let report = once(3000);
    assert_eq!(report.decisions, once(3000).decisions);
    assert_ne!(report.decisions, once(3001).decisions);
    assert_eq!(report.counts.finished, 20);
    assert!(report.used_permille[0] > 300, "{report}");
}

#[test]
fn rounds_place_without_waiting_for_heartbeats() {
    let settings = DriverSettings {
        round_ms: Some(10),
        heartbeat_ms: 100_000,
        call_ms: 0,
        ..DriverSettings::default()
    };
    let mut driver = driver(Flaw::None, &["n0", "n1"], settings);
    let report = run(
        &mut driver,
        vec![job("j", 5, false, vec![group(8, 0, 100)])],
    );
    assert_eq!(report.counts.finished, 1);
    assert_eq!(report.first_container.max_ms, 5);
    assert!(report.ended_ms < 200, "{report}");
}

#[test]
fn what_never_fits_ends_the_run_and_is_counted() {
    let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
    let mut huge = group(1, 0, 10);
    huge.size = ResourceVector::of(&[99_999, 1]);
    let report = run(&mut driver, vec![job("j", 0, false, vec![huge])]);
    assert_eq!((report.counts.unfinished, report.counts.unserved), (1, 1));
    assert_eq!(report.counts.waiting, 1);
    assert!(report.counts.heartbeats < 100, "{report}");
}

#[test]
fn a_job_whose_master_never_fits_waits_to_the_end_of_the_run() {
    let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
    let mut held_up = job("j", 500, true, vec![group(1, 0, 10)]);
    held_up.master = Some(ResourceVector::of(&[99_999, 1]));
    let report = run(&mut driver, vec![held_up]);
    assert_eq!(report.counts.unserved, 1);
    assert_eq!(report.longest_wait_ms, report.ended_ms - 500, "{report}");
    assert!(report.longest_wait_ms > 0, "{report}");
}

#[test]
fn services_hold_their_containers_to_the_end_of_the_run() {
    let settings = DriverSettings {
        until_ms: Some(60_000),
        ..DriverSettings::default()
    };
    let mut driver = driver(Flaw::None, &["n1"], settings);
    let mut service = group(2, 0, 0);
    service.run = Run::Forever;
    let report = run(&mut driver, vec![job("s", 0, true, vec![service])]);
    assert_eq!((report.counts.completed, report.counts.unfinished), (0, 1));
    assert_eq!(report.counts.lost, 0);
}

#[test]
fn a_lost_node_costs_containers_that_are_asked_for_again() {
    let mut driver = driver(Flaw::None, &["n1", "n2"], DriverSettings::default());
    driver.node_leaves(10_000, NodeName::new("n1", 0).unwrap());
    let report = run(
        &mut driver,
        vec![job("j", 0, false, vec![group(6, 0, 30_000)])],
    );
    assert_eq!((report.counts.finished, report.counts.completed), (1, 6));
    assert_eq!((report.counts.lost, report.counts.allocations), (4, 10));
    assert_eq!((report.counts.offered, report.counts.placed), (6, 6));
    assert!(report.violations.is_empty(), "{report}");
}

#[test]
fn all_nodes_may_go_and_the_run_still_ends() {
    let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
    driver.node_leaves(2000, NodeName::new("n1", 0).unwrap());
    driver.node_leaves(3000, NodeName::new("n9", 0).unwrap());
    let report = run(
        &mut driver,
        vec![job("j", 0, true, vec![group(2, 0, 9000)])],
    );
    assert_eq!((report.counts.finished, report.counts.failed), (0, 1));
    assert_eq!(report.counts.refused_calls, 1);
    assert!(report.messages[0].contains("n9"), "{report}");
}

#[test]
fn refused_jobs_are_counted_with_their_reason() {
    let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
    let mut closed = job("j", 0, false, vec![group(1, 0, 1)]);
    closed.queue = "root.closed".to_owned();
    let report = run(
        &mut driver,
        vec![closed, job("k", 1, false, vec![group(1, 0, 1)])],
    );
    assert_eq!((report.counts.refused, report.counts.finished), (1, 1));
    let counts = &report.counts;
    assert_eq!((counts.offered, counts.placed), (2, 1));
    assert_eq!((counts.refused_containers, counts.waiting), (1, 0));
    let refusal = &report.refusals[0];
    assert_eq!((refusal.jobs, refusal.containers), (1, 1));
    assert_eq!((report.refusals.len(), refusal.example.as_str()), (1, "j"));
    assert_eq!(refusal.finding.reason, Reason::QueueStopped);
    let property = "yarn.scheduler.capacity.root.closed.state";
    assert_eq!(refusal.finding.property.as_deref(), Some(property));
}

/// Keeps the lines of all jobs.
#[derive(Default)]
struct Lines(Vec<JobLine>);

impl RunWatch for Lines {
    fn job(&mut self, job: &JobLine) {
        self.0.push(job.clone());
    }
}

#[test]
fn each_job_is_shown_once_with_what_became_of_it() {
    let mut driver = driver(Flaw::None, &["n1", "n2"], DriverSettings::default());
    driver.node_leaves(20_000, NodeName::new("n2", 0).unwrap());
    let mut closed = job("closed", 0, false, vec![group(1, 0, 1)]);
    closed.queue = "root.closed".to_owned();
    let mut service = job("service", 1000, false, vec![group(1, 0, 0)]);
    service.tasks[0].run = Run::Forever;
    let mut huge = job("huge", 15_000, false, vec![group(1, 0, 5)]);
    huge.tasks[0].size = ResourceVector::of(&[99_999, 1]);
    let short = job("short", 3000, true, vec![group(2, 0, 4000)]);
    let mut lines = Lines::default();
    let jobs = Ready::new(vec![closed, service, short, huge]);
    let report = driver.run(&mut { jobs }, &mut lines).unwrap();
    let lines = lines.0;
    let of = |name: &str| lines.iter().find(|line| line.name == name).unwrap();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let why = &of("closed").why;
    assert_eq!(of("closed").outcome, JobOutcome::Refused);
    assert!(why.contains("root.closed"), "{why}");
    assert_eq!((of("closed").asked, of("closed").placed), (1, 0));
    let short = of("short");
    assert_eq!(short.outcome, JobOutcome::Finished);
    assert_eq!(
        (short.asked, short.placed, short.submitted_ms),
        (3, 3, 3000)
    );
    assert_eq!(short.waited_ms(), Some(report.first_container.max_ms));
    assert_eq!(
        short.ended_ms,
        Some(short.submitted_ms + report.turnaround.max_ms)
    );
    for (name, placed) in [("service", 1), ("huge", 0)] {
        assert_eq!(of(name).outcome, JobOutcome::Unfinished);
        assert_eq!((of(name).placed, of(name).ended_ms), (placed, None));
    }
    assert_eq!(
        lines.iter().map(|line| line.placed).sum::<u64>(),
        report.counts.allocations
    );
}

#[test]
fn the_auditor_sees_a_flawed_scheduler() {
    let mut over = driver(Flaw::IgnoresRoom, &["n1"], DriverSettings::default());
    let report = run(&mut over, vec![job("j", 0, false, vec![group(6, 0, 1000)])]);
    assert_eq!(report.violations["N1"], 2, "{report}");
    let settings = DriverSettings {
        until_ms: Some(5000),
        ..DriverSettings::default()
    };
    let mut leaks = driver(Flaw::LeaksLostNodes, &["n1"], settings);
    leaks.node_leaves(3000, NodeName::new("n1", 0).unwrap());
    let report = run(
        &mut leaks,
        vec![job("j", 0, false, vec![group(1, 0, 90_000)])],
    );
    assert_eq!(report.violations["N4"], 1, "{report}");
}

#[test]
fn a_starved_queue_shows_as_a_gap() {
    let settings = DriverSettings {
        guarantees: vec![("root.a".to_owned(), 500), ("root.b".to_owned(), 500)],
        ..DriverSettings::default()
    };
    let mut driver = driver(Flaw::None, &["n1"], settings);
    let mut late = job("late", 2000, false, vec![group(2, 0, 1000)]);
    late.queue = "root.b".to_owned();
    let jobs = vec![job("early", 0, false, vec![group(4, 0, 60_000)]), late];
    let report = run(&mut driver, jobs);
    assert_eq!(report.gap_permille.1, 500, "{report}");
    assert_eq!(report.counts.finished, 2);
}

#[test]
fn weeks_without_work_cost_no_heartbeats() {
    let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
    let week = 7 * 24 * 3_600_000;
    let jobs = (0..4)
        .map(|n| job(&format!("j{n}"), n * week, true, vec![group(1, 0, 1000)]))
        .collect();
    let report = run(&mut driver, jobs);
    assert_eq!(report.counts.finished, 4);
    assert!(report.counts.heartbeats < 100, "{report}");
}

#[test]
fn half_a_synthetic_day_runs_without_a_violation_and_repeats() {
    let once = || {
        let settings = SyntheticSettings {
            jobs: 150,
            span_ms: 6 * 3_600_000,
            scale_permille: 100,
            services: 3,
            ..SyntheticSettings::default()
        };
        let driving = DriverSettings {
            quiet_ms: Some(5000),
            ..DriverSettings::default()
        };
        let mut driver = Driver::new(Toy::new(Flaw::None), driving);
        let size = ResourceVector::of(&[131_072, 64]);
        driver.add_nodes(&equal_nodes(20, 10, size)).unwrap();
        driver.run(&mut Synthetic::new(settings), &mut ()).unwrap()
    };
    let report = once();
    assert!(report.violations.is_empty(), "{report}");
    assert_eq!(
        (report.counts.submitted, report.counts.unfinished),
        (153, 3)
    );
    assert_eq!(report.counts.offered, report.counts.placed);
    assert_eq!(report.mapping.used, 153);
    assert_eq!(report.decisions, once().decisions);
}

#[test]
fn a_bad_row_ends_the_run_with_its_error() {
    use crate::simulator::import::{ImportOptions, Source, swim};
    let mut driver = driver(Flaw::None, &["n1"], DriverSettings::default());
    let mut workload = swim(
        Source::text("t", "j0\t0\t0\t1\t0\t1\nj1\tx\t0\t1\t0\t1\n"),
        &ImportOptions::default(),
    );
    let error = driver.run(&mut workload, &mut ()).unwrap_err();
    assert_eq!(error.line, 2);
}

/// A scheduler whose every decision takes so many ms.
fn slow(ms: u64) -> Option<Costs> {
    let point = CostPoint {
        nodes: 1,
        heartbeat_ns: 1_000_000,
        visit_ns: 0,
        decision_ns: ms * 1_000_000,
        commit_ns: 0,
        sort_ns: 0,
        in_turn_ns: 0,
    };
    let costs = Costs::new(vec![point], 1, CommitOverlap::Waits, None);
    Some(costs.unwrap())
}

#[test]
fn virtual_time_passes_while_the_scheduler_works() {
    let with = |costs| {
        let settings = DriverSettings {
            costs,
            call_ms: 0,
            sample_ms: 100,
            ..DriverSettings::default()
        };
        let mut driver = driver(Flaw::None, &["n1", "n2"], settings);
        let jobs = (0..40).map(|n| job(&format!("j{n}"), n * 100, false, vec![group(1, 0, 500)]));
        run(&mut driver, jobs.collect())
    };
    let (free, dear) = (with(None), with(slow(200)));
    assert!(free.scheduler.is_none());
    let load = dear.scheduler.unwrap();
    // A decision for each container and a heartbeat of 1 ms each.
    let beats = dear.counts.heartbeats * 1_000_000;
    assert_eq!(load.busy_ns, dear.counts.allocations * 200_000_000 + beats);
    assert_eq!(dear.counts.finished, 40);
    assert!(load.late.max_ms > 100, "{load:?}");
    assert!(
        dear.delays.p95_us > free.delays.p95_us + 1_000_000,
        "{dear}"
    );
    assert!(dear.series.iter().any(|sample| sample.late_ms > 0));
    assert!(dear.violations.is_empty(), "{dear}");
    assert_eq!(dear.decisions, with(slow(200)).decisions);
}

#[test]
fn rounds_of_a_slow_scheduler_come_late_and_lose_nothing() {
    let with = |costs| {
        let settings = DriverSettings {
            costs,
            round_ms: Some(5),
            heartbeat_ms: 100_000,
            call_ms: 0,
            ..DriverSettings::default()
        };
        let mut driver = driver(Flaw::None, &["n1", "n2"], settings);
        run(
            &mut driver,
            vec![job("j", 5, false, vec![group(8, 0, 10_000)])],
        )
    };
    let (free, dear) = (with(None), with(slow(50)));
    assert_eq!(free.delays.max_us, 5000, "the next round places all");
    assert_eq!((dear.counts.finished, dear.counts.completed), (1, 8));
    // Decisions are seen one after the other.
    assert!(
        dear.delays.p50_us >= 200_000 && dear.delays.max_us >= 400_000,
        "{dear}"
    );
    assert!(dear.first_container.max_ms < 60, "{dear}");
}
