//! Traces replayed on the sequential engine: no invariant is violated, and runs repeat.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use capsched::api::{ModeKind, ResourceVector, Sequential, Stepped};
use capsched::config::{DocumentLimits, Layer, Options, load, read_source};
use capsched::simulator::import::{Format, ImportOptions, Source, nodes, open};
use capsched::simulator::{
    Archetype, Driver, DriverSettings, Job, MapRules, OrderSettings, Ready, ResourceTypes,
    RunReport, Synthetic, SyntheticSettings, equal_nodes,
};

const RULES: &str = "qos=LS:root.prod.serving,qos=Guaranteed:root.prod.critical,\
                     qos=BE:root.batch.besteffort,qos=Burstable:root.batch.burst";

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("configs")
        .join(path)
}

/// The engine with the queues of the demonstration.
fn demo(mode: ModeKind) -> Stepped {
    let file = |path: &str, layer| {
        let path = shipped(&format!("capacity-scheduler/{path}"));
        read_source(&path, layer, &DocumentLimits::default()).unwrap()
    };
    let mut sources = vec![
        file("demo-yarn-site.xml", Layer::Site),
        file("demo.xml", Layer::Scheduler),
    ];
    if mode == ModeKind::Global {
        sources.push(file("demo-global.xml", Layer::Scheduler));
    }
    let loaded = load(&sources, &Options::default()).unwrap();
    assert!(!loaded.report.refuses(true), "{:?}", loaded.report);
    assert_eq!(
        loaded.settings.scheduler.multi_node.enabled,
        mode == ModeKind::Global
    );
    Stepped::new(Sequential::new(loaded.settings, &[]).unwrap(), mode)
}

fn settings(mode: ModeKind) -> DriverSettings {
    DriverSettings {
        types: 3,
        round_ms: (mode != ModeKind::Heartbeat).then_some(100),
        quiet_ms: Some(5000),
        ..DriverSettings::default()
    }
}

/// Every `part`-th node and pod of openb.
fn openb(mode: ModeKind, part: usize, order: &OrderSettings) -> RunReport {
    let options = ImportOptions {
        types: ResourceTypes::with_extra(&["gpu-milli"]).unwrap(),
        map: MapRules::parse(RULES).unwrap(),
        ..ImportOptions::default()
    };
    let list = shipped("traces/openb/openb_node_list_all_node.csv");
    let nodes = nodes(Source::open(&list).unwrap(), &options).unwrap();
    let nodes: Vec<_> = nodes.into_iter().step_by(part).collect();
    let pods = shipped("traces/openb/openb_pod_list_default.csv");
    let pods = open(&[pods], Some(Format::Openb), &options, order).unwrap();
    let pods: Vec<Job> = pods.step_by(part).map(Result::unwrap).collect();
    let mut driver = Driver::new(demo(mode), settings(mode));
    driver.add_nodes(&nodes).unwrap();
    driver.run(&mut Ready::new(pods), &mut ()).unwrap()
}

const MODES: [ModeKind; 3] = [
    ModeKind::Heartbeat,
    ModeKind::Asynchronous,
    ModeKind::Global,
];

#[test]
fn a_part_of_openb_fills_the_cluster_without_a_violation_and_repeats() {
    let order = OrderSettings {
        compress: 300_000,
        hold: true,
        ..OrderSettings::default()
    };
    for mode in MODES {
        let report = openb(mode, 80, &order);
        assert!(report.violations.is_empty(), "{mode:?} {report}");
        assert_eq!((report.counts.submitted, report.counts.refused), (102, 0));
        assert!(report.counts.placed > 40, "{mode:?} {report}");
        assert_eq!(report.decisions, openb(mode, 80, &order).decisions);
    }
}

#[test]
fn a_part_of_openb_comes_and_goes_and_leaves_nothing_behind() {
    let order = OrderSettings {
        compress: 20_000,
        ..OrderSettings::default()
    };
    for mode in MODES {
        let report = openb(mode, 80, &order);
        assert!(report.violations.is_empty(), "{mode:?} {report}");
        let counts = &report.counts;
        assert_eq!(
            counts.finished + counts.unserved,
            counts.submitted,
            "{report}"
        );
        assert!(counts.finished > 90, "{mode:?} {report}");
        let last = report.series.last().unwrap();
        let left = last
            .used
            .values()
            .fold(ResourceVector::NONE, |sum, used| sum + *used);
        assert_eq!(left, ResourceVector::NONE, "{mode:?} {report}");
    }
}

/// Part of a synthetic day whose kinds of work share the demonstration's queues.
fn synthetic() -> Synthetic {
    let mut settings = SyntheticSettings {
        jobs: 60,
        span_ms: 2 * 3_600_000,
        services: 2,
        scale_permille: 60,
        ..SyntheticSettings::default()
    };
    for share in &mut settings.mix {
        share.queue = match share.archetype {
            Archetype::Service | Archetype::Dashboard => "root.prod.serving",
            Archetype::Preferred => "root.prod.critical",
            Archetype::AdHoc | Archetype::Exploration => "root.batch.burst",
            Archetype::MachineLearning | Archetype::Batch => "root.batch.besteffort",
        }
        .to_owned();
    }
    Synthetic::new(settings)
}

#[test]
fn a_synthetic_day_with_masters_and_stages_runs_to_its_end() {
    for mode in MODES {
        let mut driver = Driver::new(demo(mode), settings(mode));
        let size = ResourceVector::of(&[131_072, 64, 0]);
        driver.add_nodes(&equal_nodes(12, 4, size)).unwrap();
        let report = driver.run(&mut synthetic(), &mut ()).unwrap();
        let counts = &report.counts;
        assert!(report.violations.is_empty(), "{mode:?} {report}");
        assert_eq!(
            (counts.submitted, counts.finished),
            (62, 60),
            "{mode:?} {report}"
        );
        assert_eq!(
            (counts.unfinished, counts.waiting),
            (2, 0),
            "{mode:?} {report}"
        );
        assert_eq!(counts.offered, counts.placed, "{mode:?} {report}");
    }
}
