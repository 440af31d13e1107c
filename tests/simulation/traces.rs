//! Every importer on the traces that ship with the project, and on larger ones where they are.
//!
//! Larger traces are looked for in the folder that `CAPSCHED_TRACE_DATA` names, else in
//! `../shared/data`. Without them those tests say so and end.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says when it has nothing to do"
)]

use std::io::Cursor;
use std::path::{Path, PathBuf};

use capsched::api::ResourceVector;
use capsched::simulator::import::{Format, ImportOptions, Source, nodes, open, read};
use capsched::simulator::{
    Duplicates, InOrder, Job, MapRules, MappingReport, OrderSettings, Random, ResourceTypes, Run,
    Sorting, TraceStat, Workload,
};

fn options() -> ImportOptions {
    ImportOptions {
        types: ResourceTypes::with_extra(&["gpu-milli"]).unwrap(),
        ..ImportOptions::default()
    }
}

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("configs/traces")
        .join(path)
}

fn larger(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CAPSCHED_TRACE_DATA")
        .map_or_else(|| "../shared/data".into(), PathBuf::from);
    let path = folder.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is absent", path.display());
    None
}

fn full() -> OrderSettings {
    OrderSettings {
        sorting: Sorting::Full,
        ..OrderSettings::default()
    }
}

/// All jobs of a file whose format is recognised, with the report.
fn import(path: &Path, order: &OrderSettings) -> (Vec<Job>, MappingReport) {
    let mut workload = open(&[path.to_owned()], None, &options(), order).unwrap();
    let jobs: Vec<Job> = workload.by_ref().map(Result::unwrap).collect();
    assert!(jobs.is_sorted_by_key(|job| job.at_ms));
    let report = workload.report();
    assert_eq!(report.used, u64::try_from(jobs.len()).unwrap());
    (jobs, report)
}

fn format_of(path: &Path) -> Format {
    Format::detect(&mut Source::open(path).unwrap()).unwrap()
}

#[test]
fn openb_pods_and_nodes_are_all_used() {
    let (jobs, report) = import(
        &shipped("openb/openb_pod_list_default.csv"),
        &OrderSettings::default(),
    );
    assert_eq!(
        (jobs.len(), report.rows, report.n_dropped()),
        (8152, 8152, 0)
    );
    let gpus: i64 = jobs.iter().map(|job| job.tasks[0].size[2]).sum();
    assert_eq!(gpus, 6_086_800, "{report}");
    assert_eq!(report.clamped["memory of 0 raised to 1 MiB"], 1);
    assert_eq!(
        report.guessed["run time since creation, never scheduled"],
        897
    );
    let in_queue = |queue: &str| jobs.iter().filter(|job| job.queue == queue).count();
    assert_eq!((in_queue("root.LS"), in_queue("root.BE")), (4647, 3398));

    let source = Source::open(&shipped("openb/openb_node_list_all_node.csv")).unwrap();
    let nodes = nodes(source, &options()).unwrap();
    let total = nodes
        .iter()
        .fold(ResourceVector::NONE, |sum, node| sum + node.size);
    assert_eq!(nodes.len(), 1523);
    assert_eq!((total.vcores(), total[2]), (125_514, 6_212_000));
    assert_eq!(total.memory() / 1024, 597_684);
}

#[test]
fn the_rules_of_the_demonstration_place_every_pod() {
    let mut options = options();
    options.map = MapRules::parse(
        "qos=LS:root.prod.serving,qos=Guaranteed:root.prod.critical,\
         qos=BE:root.batch.besteffort,qos=Burstable:root.batch.burst",
    )
    .unwrap();
    let path = shipped("openb/openb_pod_list_default.csv");
    let order = OrderSettings {
        compress: 1000,
        hold: true,
        ..OrderSettings::default()
    };
    let jobs: Vec<Job> = open(&[path], Some(Format::Openb), &options, &order)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(jobs.iter().all(|job| job.queue.matches('.').count() == 2));
    assert!(jobs.iter().all(|job| job.tasks[0].run == Run::Forever));
    assert!(jobs.last().unwrap().at_ms < 12_902_000);
}

#[test]
fn inputs_of_the_load_simulator_are_read() {
    for (file, jobs, containers) in [("inputsls.json", 2, 5), ("sls_dag.json", 2, 5)] {
        let (got, report) = import(
            &shipped(&format!("hadoop-sls/{file}")),
            &OrderSettings::default(),
        );
        let all = got.iter().flat_map(|job| &job.tasks);
        let count: u32 = all.map(|group| group.count).sum();
        assert_eq!((got.len(), count), (jobs, containers), "{report}");
    }
    for file in ["syn.json", "syn_generic.json"] {
        let path = shipped(&format!("hadoop-sls/{file}"));
        let (jobs, _) = import(&path, &OrderSettings::default());
        assert_eq!(jobs.len(), 10);
        assert!(jobs.iter().all(|job| job.tasks.len() == 2));
        let nodes = nodes(Source::open(&path).unwrap(), &options()).unwrap();
        assert_eq!((nodes.len(), nodes[19].rack.as_str()), (20, "/rack4"));
    }
    for (file, count) in [("nodes.json", 20), ("nodes-with-resources.json", 4)] {
        let source = Source::open(&shipped(&format!("hadoop-sls/{file}"))).unwrap();
        assert_eq!(nodes(source, &options()).unwrap().len(), count);
    }
}

#[test]
fn the_rumen_history_gives_two_jobs_and_drops_the_one_without_attempts() {
    let path = shipped("hadoop-sls/2jobs2min-rumen-jh.json.gz");
    assert_eq!(format_of(&path), Format::Rumen);
    let (jobs, report) = import(&path, &OrderSettings::default());
    let maps = |job: &Job| job.tasks.iter().map(|group| group.count).sum::<u32>();
    assert_eq!((maps(&jobs[0]), maps(&jobs[1])), (96, 96));
    assert_eq!((jobs.len(), jobs[1].at_ms), (2, 105_204));
    assert_eq!(report.n_dropped(), 1);
    let nodes = nodes(Source::open(&path).unwrap(), &options()).unwrap();
    assert_eq!((nodes.len(), nodes[0].rack.as_str()), (4, "/default-rack"));
}

#[test]
fn dynoyarn_examples_are_read() {
    let (jobs, _) = import(
        &shipped("dynoyarn/simple-workload-spec.json"),
        &OrderSettings::default(),
    );
    assert_eq!((jobs.len(), jobs[0].tasks[0].count), (2, 400));
    assert_eq!(jobs[1].partition.as_deref(), Some("label"));
    let (jobs, report) = import(
        &shipped("dynoyarn/workload-example.json"),
        &OrderSettings::default(),
    );
    assert!(!jobs.is_empty() && !report.clamped.is_empty(), "{report}");
}

#[test]
fn the_facebook_day_has_the_published_numbers_of_containers() {
    let path = shipped("swim/FB-2009_samples_24_times_1hr_0.tsv.gz");
    assert_eq!(format_of(&path), Format::Swim);
    let (jobs, _) = import(&path, &OrderSettings::default());
    let maps: u64 = jobs.iter().map(|job| u64::from(job.tasks[0].count)).sum();
    let reduces = jobs.iter().filter_map(|job| job.tasks.get(1));
    let reduces: u64 = reduces.map(|group| u64::from(group.count)).sum();
    assert_eq!((jobs.len(), maps, reduces), (5894, 205_713, 21_895));
    let (first, _) = import(
        &shipped("swim/FB-2009_samples_24_times_1hr_0_first50jobs.tsv"),
        &OrderSettings::default(),
    );
    assert_eq!(first, jobs[..first.len()]);
}

#[test]
fn own_samples_are_read() {
    let (jobs, report) = import(&shipped("swf/sample.swf"), &OrderSettings::default());
    assert_eq!((jobs.len(), report.n_dropped()), (4, 1));
    assert_eq!(jobs[0].tasks[0].size.memory(), 2048);
    let path = shipped("native/sample.jsonl");
    let (jobs, _) = import(&path, &OrderSettings::default());
    assert_eq!(jobs.len(), 3);
    assert_eq!(
        nodes(Source::open(&path).unwrap(), &options())
            .unwrap()
            .len(),
        2
    );
}

/// A sample with some of its bytes changed, removed or doubled.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    const BYTES: &[u8] = b"\0\n\r\t ,:;\"{}[]-+.eE0159x\xff\xc3";
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let length = u64::try_from(bytes.len()).unwrap();
        let at = usize::try_from(random.below(length)).unwrap();
        let other = BYTES[usize::try_from(random.below(BYTES.len() as u64)).unwrap()];
        match random.below(4) {
            0 => bytes.truncate(at + 1),
            1 => bytes.insert(at, other),
            2 => bytes[at] = other,
            _ => {
                let end = (at + 40).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

#[test]
fn damaged_traces_end_in_errors_and_never_in_a_panic() {
    let mut random = Random::new(20);
    let (mut used, mut refused) = (0_u64, 0_u64);
    for file in [
        "hadoop-sls/inputsls.json",
        "hadoop-sls/sls_dag.json",
        "hadoop-sls/syn.json",
        "hadoop-sls/syn_generic.json",
        "hadoop-sls/nodes-with-resources.json",
        "dynoyarn/simple-workload-spec.json",
        "swim/FB-2009_samples_24_times_1hr_0_first50jobs.tsv",
        "swf/sample.swf",
        "native/sample.jsonl",
    ] {
        let bytes = std::fs::read(shipped(file)).unwrap();
        for _ in 0..200 {
            let bad = damaged(&bytes, &mut random);
            let source = || Source::of("t", Box::new(Cursor::new(bad.clone())), 1 << 20);
            if let Ok(source) = source() {
                let _ = nodes(source, &options());
            }
            for format in Format::ALL {
                // An error of one row does not end a stream, one of the file does.
                match source().and_then(|source| read(source, format, &options())) {
                    Ok(workload) => {
                        for item in workload.take(1000) {
                            match item {
                                Ok(_) => used += 1,
                                Err(_) => refused += 1,
                            }
                        }
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(used > 5_000 && refused > 10_000, "{used} {refused}");
}

#[test]
fn a_truncated_zstd_file_gives_its_whole_lines_and_then_an_error() {
    let text = std::fs::read(shipped("native/sample.jsonl")).unwrap();
    let mut packed = zstd_store(&text);
    packed.truncate(packed.len() - 20);
    let source = Source::of("t", Box::new(Cursor::new(packed)), 1 << 20);
    let items: Vec<_> = read(source.unwrap(), Format::Native, &options())
        .map(Iterator::collect)
        .unwrap_or_default();
    let last = items
        .last()
        .and_then(|item: &Result<Job, _>| item.as_ref().err());
    assert!(last.is_some_and(|error| !error.is_one_row()), "{items:?}");
}

/// A zstd frame whose blocks are stored as they are, 256 bytes each.
fn zstd_store(text: &[u8]) -> Vec<u8> {
    // Magic number; no content size, no checksum; a window of 1 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
    let blocks: Vec<&[u8]> = text.chunks(256).collect();
    for (index, block) in blocks.iter().enumerate() {
        let last = u32::from(index + 1 == blocks.len());
        let header = u32::try_from(block.len()).unwrap() << 3 | last;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(*block);
    }
    frame
}

/// A log of the Standard Workload Format that is made while it is read, and counts its bytes.
struct Endless {
    row: u64,
    line: Vec<u8>,
    at: usize,
    given: std::sync::mpsc::Sender<usize>,
}

impl std::io::Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.line.len() {
            self.row += 1;
            let row = self.row;
            self.line =
                format!("{row} {row} -1 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n").into_bytes();
            self.at = 0;
        }
        let n = into.len().min(self.line.len() - self.at);
        into[..n].copy_from_slice(&self.line[self.at..self.at + n]);
        self.at += n;
        let _ = self.given.send(n);
        Ok(n)
    }
}

#[test]
fn h10_a_trace_without_end_is_read_only_as_far_as_it_is_used() {
    let (given, bytes) = std::sync::mpsc::channel();
    let endless = Endless {
        row: 0,
        line: Vec::new(),
        at: 0,
        given,
    };
    let source = Source::of("endless", Box::new(endless), u64::MAX).unwrap();
    let raw = read(source, Format::Swf, &options()).unwrap();
    let ordered = InOrder::new(raw, "endless", OrderSettings::default());
    let taken = ordered.take(50_000).map(Result::unwrap).count();
    assert_eq!(taken, 50_000);
    let read: usize = bytes.try_iter().sum();
    // The window of 4,096 rows and the buffers, of about 60 bytes a row, come on top.
    let used = 50_000 * 60;
    assert!(read < used + (1 << 20), "{read} bytes for 50,000 rows");
}

#[test]
fn several_files_are_merged_by_time() {
    let paths = [
        shipped("native/sample.jsonl"),
        shipped("native/sample.jsonl"),
    ];
    let merged = open(&paths, None, &options(), &OrderSettings::default()).unwrap();
    let names: Vec<String> = merged.map(|job| job.unwrap().name).collect();
    assert_eq!(names.len(), 6);
    assert_eq!(
        (names[0].as_str(), names[1].as_str()),
        ("0/etl-1", "1/etl-1")
    );
}

#[test]
fn larger_openb_lists_are_read_when_present() {
    let folder = "alibaba-openb-2023";
    if let Some(path) = larger(&format!("{folder}/openb_pod_list_cpu250.csv")) {
        let (jobs, _) = import(&path, &full());
        assert_eq!(jobs.len(), 9420);
        let window = OrderSettings {
            sorting: Sorting::Window(16),
            ..OrderSettings::default()
        };
        let mut strict = open(&[path], None, &options(), &window).unwrap();
        let error = strict.find_map(Result::err).unwrap();
        assert!(error.message.contains("sort the whole trace"), "{error}");
    }
    if let Some(path) = larger(&format!("{folder}/openb_pod_list_gpuspec33.csv")) {
        let (_, report) = import(&path, &OrderSettings::default());
        assert_eq!(report.ignored["gpu_spec (the GPU models allowed)"], 2388);
    }
    if let Some(path) = larger(&format!("{folder}/openb_pod_list_multigpu50.csv")) {
        let (jobs, _) = import(&path, &OrderSettings::default());
        assert_eq!(jobs.len(), 9061);
        assert!(jobs.iter().all(|job| job.tasks[0].run == Run::Forever));
    }
}

#[test]
fn the_larger_facebook_day_is_read_when_present() {
    if let Some(path) = larger("facebook-swim/FB-2010_samples_24_times_1hr_0.tsv") {
        let (jobs, _) = import(&path, &OrderSettings::default());
        let maps: u64 = jobs.iter().map(|job| u64::from(job.tasks[0].count)).sum();
        assert_eq!((jobs.len(), maps), (24_442, 8_084_865));
    }
}

#[test]
fn swf_logs_are_read_when_present() {
    if let Some(path) = larger("swf/LCG-2005-1.swf.gz") {
        assert_eq!(format_of(&path), Format::Swf);
        let (jobs, report) = import(&path, &OrderSettings::default());
        assert_eq!(
            u64::try_from(jobs.len()).unwrap() + report.n_dropped(),
            188_041
        );
        assert_eq!(report.rows, 188_041);
    }
    if let Some(path) = larger("swf/HPC2N-2002-first57d.swf") {
        let (_, report) = import(&path, &OrderSettings::default());
        assert_eq!(report.rows, 3170);
        assert_eq!(report.dropped["run time unknown"], 25);
        let nodes = nodes(Source::open(&path).unwrap(), &options()).unwrap();
        assert_eq!(nodes.len(), 240);
    }
    if let Some(path) = larger("swf/metacentrum-wagap-2013.swf") {
        let strict = open(
            std::slice::from_ref(&path),
            None,
            &options(),
            &OrderSettings::default(),
        );
        let error = strict.unwrap().find_map(Result::err).unwrap();
        assert!(error.message.contains("run time is negative"), "{error}");
        let tolerant = OrderSettings {
            skip_bad: 2,
            duplicates: Duplicates::Suffix,
            sorting: Sorting::Full,
            ..OrderSettings::default()
        };
        let mut workload = open(&[path], None, &options(), &tolerant).unwrap();
        let stat = TraceStat::of(&mut workload).unwrap();
        assert_eq!(stat.jobs, 17_898, "{stat}");
        assert_eq!(stat.mapping.dropped["bad row"], 2);
    }
}
