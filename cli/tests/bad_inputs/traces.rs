//! Broken traces and broken command lines: the rows H and I of the catalogue of bad inputs, each
//! run through the command itself. Every row ends with its exit code and names place and value.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A header of openb's list of pods.
const HEADER: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,\
                      creation_time,deletion_time,scheduled_time\n";

/// A good row.
const ROW: &str = "a,1000,2048,0,0,,LS,Running,5,60,6\n";

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _absent = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let nodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,8,V100M32\n";
        fs::write(path.join("nodes.csv"), nodes).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Plays a trace of these bytes on one node: the exit code, standard output and error.
    fn replay(&self, bytes: &[u8], more: &[&str]) -> (i32, String, String) {
        let trace = self.write("trace", bytes);
        let nodes = self.0.join("nodes.csv");
        let mut args: Vec<&OsStr> = vec!["replay".as_ref(), trace.as_ref()];
        args.extend([OsStr::new("--nodes"), nodes.as_ref()]);
        args.push("--sequential".as_ref());
        args.extend(more.iter().map(OsStr::new));
        captured(&capsched(&args))
    }
}

fn capsched<S: AsRef<OsStr>>(args: &[S]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

fn captured(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code().unwrap(), out, err)
}

fn pods(rows: &[&str]) -> Vec<u8> {
    let mut text = HEADER.to_owned();
    for row in rows {
        text.push_str(row);
        text.push('\n');
    }
    text.into_bytes()
}

/// Each trace with its exit code and what standard error has to name.
fn expect_each(folder: &str, cases: &[(&str, Vec<u8>, i32, &[&str])]) {
    let folder = Folder::new(folder);
    for (name, bytes, code, words) in cases {
        let (got, out, err) = folder.replay(bytes, &[]);
        assert_eq!(got, *code, "{name}: {out}{err}");
        for word in *words {
            assert!(err.contains(word), "{name}: no `{word}` in {err}");
        }
    }
}

#[test]
fn h01_a_trace_without_a_job_is_a_warning() {
    expect_each(
        "h01",
        &[
            ("empty", Vec::new(), 0, &["warning", "no job"]),
            ("blank", b"\n\n".to_vec(), 0, &["warning", "no job"]),
            ("header only", pods(&[]), 0, &["warning", "no job"]),
        ],
    );
    let (code, out, _) = Folder::new("h01-json").replay(&pods(&[]), &["--json"]);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &object["jobs"]), (0, &0.into()));
    assert_eq!(object["mapping"]["format"], "openb");
    assert!(object["runs"].as_array().unwrap().is_empty());
}

#[test]
fn periods_of_any_length_end() {
    let args = ["--heartbeat", &u64::MAX.to_string()];
    let (code, _, err) = Folder::new("periods").replay(&pods(&[ROW.trim()]), &args);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn h02_the_header_decides_columns() {
    let no_name = b"cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,0,0\n".to_vec();
    let separated = String::from_utf8(pods(&[ROW.trim()])).unwrap();
    let reordered = b"qos,memory_mib,name,gpu_milli,num_gpu,cpu_milli,more\nLS,64,a,0,0,1000,x\n";
    expect_each(
        "h02",
        &[
            ("missing column", no_name, 1, &[":1"]),
            (
                "wrong separator",
                separated.replace(',', ";").into_bytes(),
                1,
                &[":1"],
            ),
            ("reordered, extra", reordered.to_vec(), 0, &[]),
            ("too few fields", pods(&["a,1,2"]), 1, &[":2", "fields"]),
        ],
    );
}

#[test]
fn h03_rows_out_of_order_are_sorted_within_a_window() {
    let later = "b,1000,2048,0,0,,LS,Running,900,960,901";
    expect_each(
        "h03",
        &[("two in the wrong order", pods(&[later, ROW.trim()]), 0, &[])],
    );
}

#[test]
fn h04_times_that_are_none_are_refused_with_their_value() {
    let row = |created: &str, deleted: &str| {
        pods(&[
            ROW.trim(),
            &format!("b,1000,1,0,0,,LS,Running,{created},{deleted},"),
        ])
    };
    expect_each(
        "h04",
        &[
            ("negative", row("-5", "60"), 1, &[":3", "negative", "-5"]),
            (
                "ends before it starts",
                row("60", "5"),
                1,
                &[":3", "before the start"],
            ),
            ("an instant", row("60", "60"), 0, &[]),
            (
                "2^64 - 1",
                row("18446744073709551615", "1"),
                1,
                &[":3", "beyond every calendar"],
            ),
            ("NaN", row("NaN", "1"), 1, &[":3", "NaN"]),
            ("1e400", row("1e400", "1"), 1, &[":3", "1e400"]),
        ],
    );
}

#[test]
fn h05_equal_names_are_refused_or_renamed() {
    let folder = Folder::new("h05");
    let twice = pods(&[ROW.trim(), ROW.trim()]);
    let (code, _, err) = folder.replay(&twice, &[]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(":3") && err.contains("`a`"), "{err}");
    let (code, out, err) = folder.replay(&twice, &["--rename-duplicates", "--json"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"placed\":2"), "{out}");
}

#[test]
fn h06_jobs_that_never_started_are_counted() {
    let folder = Folder::new("h06");
    let log = b"; Version: 2\n1 0 -1 -1 1 -1 -1 -1 9 -1 0 1 1 -1 -1 1 -1 -1\n\
                2 5 -1 9 1 -1 -1 -1 9 -1 1 1 1 -1 -1 1 -1 -1\n";
    let (code, out, err) = folder.replay(log, &["--json"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"dropped\":{\""), "{out}");
}

#[test]
fn h07_sizes_are_refused_dropped_or_left_waiting() {
    let row = |cpu: &str| pods(&[&format!("a,{cpu},1,0,0,,LS,Running,5,60,6")]);
    let folder = Folder::new("h07");
    for (cpu, code, word) in [
        ("-1", 1, "-1"),
        ("0.5", 1, "0.5"),
        ("99999999999999999999", 1, "999"),
    ] {
        let (got, _, err) = folder.replay(&row(cpu), &[]);
        assert_eq!(got, code, "{cpu}: {err}");
        assert!(err.contains(":2") && err.contains(word), "{cpu}: {err}");
    }
    let (code, out, err) = folder.replay(
        &pods(&[
            "a,,1,0,0,,LS,Running,5,60,6",
            "b,1000,1,0,0,,LS,Running,5,60,6",
        ]),
        &["--json"],
    );
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"blank size\":1"), "{out}");
    let (code, out, err) = folder.replay(&row("9000000"), &["--json"]);
    assert_eq!(code, 1, "larger than the cluster: {err}");
    assert!(out.contains("\"placed\":0"), "{out}");
    let allowed = ["--json", "--allow-unfinished"];
    assert_eq!(folder.replay(&row("9000000"), &allowed).0, 0);
}

#[test]
fn h08_bytes_that_are_no_text_have_a_place() {
    let good = pods(&[ROW.trim()]);
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend(&good);
    let crlf = String::from_utf8(good.clone())
        .unwrap()
        .replace('\n', "\r\n");
    let mut long = good.clone();
    long.extend(vec![b'x'; 1 << 21]);
    let latin = [good.as_slice(), b"caf\xe9,1,1,0,0,,LS,Running,5,60,6\n"].concat();
    let nul = [good.as_slice(), b"b\0,1,1,0,0,,LS,Running,5,60,6\n"].concat();
    expect_each(
        "h08",
        &[
            ("mark", marked, 0, &[]),
            ("CRLF", crlf.into_bytes(), 0, &[]),
            ("no final line end", good[..good.len() - 1].to_vec(), 0, &[]),
            ("a line without end", long, 1, &[":3", "longer than"]),
            ("latin-1", latin, 1, &[":3:4", "0xe9"]),
            ("NUL", nul, 1, &[":3:2", "NUL"]),
            (
                "noise",
                (0..2000_u32).map(|i| (i * 7919 % 251) as u8).collect(),
                1,
                &[":1"],
            ),
        ],
    );
}

#[test]
fn h09_packed_files_are_seen_by_their_content() {
    let folder = Folder::new("h09");
    let plain = pods(&[ROW.trim()]);
    let packed = zstd::encode_all(plain.as_slice(), 3).unwrap();
    assert_eq!(folder.replay(&packed, &[]).0, 0, "zstd without the name");
    let (code, _, err) = folder.replay(&packed[..packed.len() - 5], &[]);
    assert_eq!(code, 1, "{err}");
    let gzipped = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, bytes).unwrap();
        packer.finish().unwrap()
    };
    let (head, row) = plain.split_at(HEADER.len());
    let members = [gzipped(head), gzipped(row)].concat();
    let (code, out, err) = folder.replay(&members, &["--json"]);
    assert!(
        code == 0 && out.contains("\"placed\":1"),
        "two members: {err}"
    );
    let whole = gzipped(&plain);
    let (code, _, err) = folder.replay(&whole[..whole.len() - 3], &[]);
    assert!(code == 1 && err.contains("trace"), "a cut gzip file: {err}");
    let (code, _, err) = folder.replay(b"\x1f\x8b\x08\0\0\0", &[]);
    assert_eq!(code, 1, "a cut gzip header: {err}");
    assert!(err.contains("trace"), "the file is named: {err}");
}

#[test]
fn h11_formulas_are_data_and_open_quotes_are_errors() {
    expect_each(
        "h11",
        &[
            (
                "formula",
                pods(&["=cmd(),1000,1,0,0,,LS,Running,5,60,6"]),
                0,
                &[],
            ),
            (
                "line break in quotes",
                pods(&["\"a\nb\",1000,1,0,0,,LS,Running,5,60,6"]),
                0,
                &[],
            ),
            (
                "open quote",
                pods(&["\"a,1000,1,0,0,,LS,Running,5,60,6", ROW.trim()]),
                1,
                &[":2", "quote"],
            ),
        ],
    );
}

#[test]
fn h12_one_bad_line_is_named_or_skipped() {
    let folder = Folder::new("h12");
    let bad = pods(&[ROW.trim(), "b,x,1,0,0,,LS,Running,5,60,6"]);
    let (code, _, err) = folder.replay(&bad, &[]);
    assert_eq!(code, 1);
    assert!(
        err.contains(":3") && err.contains("`x`") && err.contains("--skip-bad"),
        "{err}"
    );
    assert_eq!(folder.replay(&bad, &["--skip-bad", "1"]).0, 0);
}

#[test]
fn h13_paths_that_are_no_files_are_named() {
    let folder = Folder::new("h13");
    for path in [folder.0.clone(), folder.0.join("missing")] {
        let (code, _, err) = captured(&capsched(&[OsStr::new("replay"), path.as_ref()]));
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("h13"), "{err}");
    }
}

#[test]
fn h14_files_are_merged_by_time() {
    let folder = Folder::new("h14");
    let first = folder.write("first", &pods(&[ROW.trim()]));
    let second = folder.write("second", &pods(&[ROW.trim()]));
    let nodes = folder.0.join("nodes.csv");
    let args: [&OsStr; 6] = [
        "replay".as_ref(),
        first.as_ref(),
        second.as_ref(),
        "--json".as_ref(),
        "--nodes".as_ref(),
        nodes.as_ref(),
    ];
    let (code, out, err) = captured(&capsched(&args));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"placed\":2"), "{out}");
}

#[test]
fn h15_equal_seeds_give_equal_decisions() {
    let folder = Folder::new("h15");
    let decisions = |seed: &str| {
        let (code, out, err) = folder.replay(&pods(&[ROW.trim()]), &["--json", "--seed", seed]);
        assert_eq!(code, 0, "{err}");
        let at = out.find("\"decisions\":").unwrap();
        out[at..at + 32].to_owned()
    };
    assert_eq!(decisions("3"), decisions("0x3"));
    let shown = |flags: &[&str]| {
        let (_, out, _) = folder.replay(&pods(&[ROW.trim()]), flags);
        out
    };
    // Without a seed nothing is drawn: nodes register in the order of their file.
    assert!(shown(&["--json"]).contains("\"seed\":null"));
    assert!(shown(&["--json", "--seed", "3"]).contains("\"seed\":3"));
}

#[test]
fn h16_changes_of_machines_are_no_rows_of_a_trace() {
    let header = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    let line = "{\"remove\":{\"host\":\"n0\"}}\n";
    let bytes = format!("{header}{line}").into_bytes();
    expect_each("h16", &[("a machine goes", bytes, 1, &[":2", "remove"])]);
}

#[test]
fn queues_that_cannot_be_are_refused_with_their_line() {
    let header = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    let long = "q".repeat(300);
    for queue in ["root..x", "root.", " root.a", ".", &long] {
        let line = format!(
            "{{\"job\":{{\"at_ms\":0,\"name\":\"a\",\"user\":\"u\",\"queue\":\"{queue}\",\"tasks\":[]}}}}\n"
        );
        let bytes = format!("{header}{line}").into_bytes();
        expect_each("queues", &[(queue, bytes, 1, &[":2", "no path"])]);
    }
}

#[test]
fn i01_help_examples_and_near_misses() {
    let none: [&str; 0] = [];
    let (code, out, _) = captured(&capsched(&none));
    assert_eq!(code, 0);
    assert_eq!(
        captured(&capsched(&["--help"])),
        (0, out.clone(), String::new())
    );
    let examples = out.lines().filter(|line| line.starts_with("  capsched "));
    assert_eq!(examples.count(), 6, "{out}");
    assert_eq!(captured(&capsched(&["--version"])).0, 0);
    let (code, _, err) = captured(&capsched(&["comprae"]));
    assert!(code == 2 && err.contains("'compare'"), "{err}");
    let (code, _, err) = captured(&capsched(&["demo", "--jsn"]));
    assert!(code == 2 && err.contains("--json"), "{err}");
}

#[test]
fn i02_i03_numbers_of_threads_and_seeds_have_a_range() {
    for (flag, value) in [
        ("--threads", "-1"),
        ("--threads", "abc"),
        ("--threads", "1000000000"),
        ("--seed", "18446744073709551616"),
        ("--seed", "-1"),
        ("--seed", ""),
    ] {
        let (code, _, err) = captured(&capsched(&["demo", &format!("{flag}={value}")]));
        assert_eq!(code, 2, "{flag} {value}: {err}");
        assert!(err.contains(flag) && err.contains(value), "{err}");
    }
}

#[test]
fn i04_configurations_that_cannot_be_read_are_named() {
    let folder = Folder::new("i04");
    for path in [folder.0.clone(), folder.0.join("missing.xml")] {
        let (code, out, err) = captured(&capsched(&[OsStr::new("check"), path.as_ref()]));
        assert_eq!(code, 2, "{out}{err}");
        assert!(format!("{out}{err}").contains("i04"), "{out}{err}");
    }
}

#[cfg(unix)]
#[test]
fn i05_arguments_may_be_other_bytes_than_text() {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(b"no-such-\xff".to_vec());
    for command in ["replay", "check"] {
        let (code, _, _) = captured(&capsched(&[OsStr::new(command), &odd]));
        assert_eq!(code, 2, "{command}");
    }
    let (code, _, _) = captured(&capsched(&[OsStr::new("demo"), OsStr::new("--seed"), &odd]));
    assert_eq!(code, 2);
}

#[test]
fn i06_results_never_replace_what_is_there_unasked() {
    let folder = Folder::new("i06");
    let taken = folder.0.display().to_string();
    let (code, _, err) = folder.replay(&pods(&[ROW.trim()]), &["--out", &taken]);
    assert!(code == 2 && err.contains("--force"), "{err}");
    let file = folder.write("file", b"");
    let below = file.join("x").display().to_string();
    let (code, _, err) = folder.replay(&pods(&[ROW.trim()]), &["--out", &below]);
    assert!(code == 2 && err.contains("--out"), "{err}");
    let fresh = folder.0.join("fresh").display().to_string();
    let (code, _, err) = folder.replay(&pods(&[ROW.trim()]), &["--out", &fresh]);
    assert_eq!(code, 0, "{err}");
    let run = fs::read_to_string(folder.0.join("fresh/run.json")).unwrap();
    for key in [
        "\"machine\"",
        "\"commit\"",
        "\"seed\"",
        "\"threads\"",
        "\"offered\"",
        "\"achieved\"",
    ] {
        assert!(run.contains(key), "{key} is missing in {run}");
    }
    for name in [
        "decisions.jsonl",
        "queues.csv",
        "latency.hlog",
        "decision.hgrm",
    ] {
        assert!(folder.0.join("fresh").join(name).is_file(), "{name}");
    }
}

#[test]
fn i09_i15_an_odd_environment_changes_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(["traces"])
        .env_clear()
        .envs([
            ("NO_COLOR", "1"),
            ("TERM", "dumb"),
            ("COLUMNS", "0"),
            ("LANG", "C"),
        ])
        .output()
        .unwrap();
    let (code, out, err) = captured(&output);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(!out.contains('\u{1b}'), "no colours: {out}");
}

#[test]
fn i11_flags_that_contradict_each_other_are_refused() {
    let threads = ["replay", "x", "--sequential", "--threads=2"];
    assert_eq!(captured(&capsched(&threads)).0, 2, "{threads:?}");
    let force = ["replay", "x", "--force", "--json"];
    assert_eq!(captured(&capsched(&force)).0, 2, "{force:?}");
}
