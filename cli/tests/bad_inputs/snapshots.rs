//! Broken snapshots: every way of the catalogue in which a file from outside can be wrong, and the
//! calls that no journal writes. Each is refused with its place, and nothing is decided.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::support::{folder, run};

const CONF: &str = "<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>dev</value></property>
<property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>100</value></property>
</configuration>
";

/// A folder with a sound snapshot, and the text that it inflates to.
fn saved(name: &str) -> (PathBuf, String) {
    let folder = folder(name);
    fs::write(folder.join("c.xml"), CONF).unwrap();
    let head = r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores"]}"#;
    let job = r#"{"job":{"at_ms":0,"name":"j","user":"ann","queue":"root.dev","master":[2048,1],"tasks":[{"size":[1024,1],"count":9,"priority":20,"run":{"same":90000}}]}}"#;
    fs::write(folder.join("t.jsonl"), format!("{head}\n{job}\n")).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (conf, trace, out, file) = (path("c.xml"), path("t.jsonl"), path("run"), path("m.snap"));
    let replay = ["replay", &trace, "--conf", &conf, "--nodes"];
    let more = ["1x4GiB,4vcores", "--allow-unfinished", "--out", &out];
    assert_eq!(run(&[&replay[..], &more[..]].concat()).0, 0);
    let save = ["snapshot", "save", &out, "--at", "10s", "-o", &file];
    assert_eq!(run(&save).0, 0);
    let text = zstd::decode_all(fs::File::open(&file).unwrap()).unwrap();
    (folder, String::from_utf8(text).unwrap())
}

fn packed(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).unwrap()
}

/// Replays these bytes: the exit code and the message, which is short and plain.
fn replayed(folder: &Path, bytes: &[u8]) -> (i32, String) {
    let file = folder.join("x.snap");
    fs::write(&file, bytes).unwrap();
    let (code, out, err) = run(&["snapshot", "replay", file.to_str().unwrap()]);
    let plain = |text: &str| !text.contains(|c: char| c.is_control() && c != '\n');
    assert!(plain(&out) && plain(&err), "{err:?}");
    assert!(err.len() < 3_000, "{} bytes", err.len());
    assert!(code == 0 || out.is_empty(), "{out}");
    (code, err)
}

fn refused(folder: &Path, name: &str, bytes: &[u8], words: &[&str]) {
    let (code, err) = replayed(folder, bytes);
    assert_eq!(code, 1, "{name}: {err}");
    for word in words {
        assert!(err.contains(word), "{name}: no `{word}` in {err}");
    }
    assert!(!err.contains(" at line "), "{name}: a second place: {err}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row a file")]
fn files_of_another_kind_and_broken_bytes_are_refused() {
    let (folder, text) = saved("snapshot-bytes");
    let whole = packed(text.as_bytes());
    assert_eq!(replayed(&folder, &whole), (0, String::new()));
    let (head, rest) = text.split_at(40);
    let frames = [packed(head.as_bytes()), packed(rest.as_bytes())].concat();
    assert_eq!(replayed(&folder, &frames).0, 0, "two frames are one text");
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(replayed(&folder, &packed(crlf.as_bytes())).0, 0, "CRLF");
    let latin = text.replace("ann", "@").into_bytes();
    let latin: Vec<u8> = latin
        .iter()
        .map(|b| if *b == b'@' { 0xe9 } else { *b })
        .collect();
    let line = vec![b'x'; 65 << 20];
    let first = text.lines().next().unwrap();
    let second = [first.as_bytes(), b"\n", &line].concat();
    let rows: [(&str, Vec<u8>, &[&str]); 17] = [
        ("empty", Vec::new(), &["cut off after 0 calls"]),
        ("space", b" \n".to_vec(), &["not compressed with zstd"]),
        (
            "gzip",
            b"\x1f\x8b\x08\0\0".to_vec(),
            &["not compressed with zstd"],
        ),
        ("zip", b"PK\x03\x04".to_vec(), &["not compressed with zstd"]),
        (
            "its own text",
            text.clone().into_bytes(),
            &["not compressed with zstd"],
        ),
        (
            "a configuration",
            CONF.into(),
            &["not compressed with zstd"],
        ),
        (
            "another text",
            packed(b"hello\n"),
            &["its first line is no JSON"],
        ),
        (
            "a mark in front",
            packed(&[b"\xef\xbb\xbf", text.as_bytes()].concat()),
            &["no JSON"],
        ),
        (
            "a list",
            packed(b"[\"snapshot\",1]\n"),
            &["its first line does not say so"],
        ),
        (
            "behind the frame",
            [&whole[..], b"xyz"].concat(),
            &["bytes are broken after"],
        ),
        (
            "twice",
            [&whole[..], &whole].concat(),
            &["something follows the end"],
        ),
        (
            "no last end of line",
            packed(text.trim_end().as_bytes()),
            &["cut off after"],
        ),
        (
            "blank lines",
            packed(text.replace('\n', "\n\n").as_bytes()),
            &["x.snap:2: "],
        ),
        (
            "NUL",
            packed(text.replace("ann", "a\0n").as_bytes()),
            &["x.snap:3:", "control"],
        ),
        ("latin-1", packed(&latin), &["x.snap:3:", "UTF-8"]),
        (
            "a line without end",
            packed(&line),
            &["x.snap:1: ", "longer than"],
        ),
        (
            "a second one",
            packed(&second),
            &["x.snap:2: ", "longer than"],
        ),
    ];
    for (name, bytes, words) in rows {
        refused(&folder, name, &bytes, words);
    }
    for end in (0..whole.len()).step_by(5) {
        refused(&folder, "cut", &whole[..end], &["x.snap: it is"]);
    }
}

#[test]
fn a_flipped_bit_is_never_another_snapshot() {
    let (folder, _) = saved("snapshot-bits");
    let whole = fs::read(folder.join("m.snap")).unwrap();
    let file = folder.join("x.snap");
    // Each byte once, by the library that the command reads with.
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let read = zstd::decode_all(&bytes[..]);
            let same = read.is_ok_and(|read| read == zstd::decode_all(&whole[..]).unwrap());
            if !same && at % 16 == 0 && bit == 3 {
                fs::write(&file, &bytes).unwrap();
                let (code, _, err) = run(&["snapshot", "replay", file.to_str().unwrap()]);
                assert_eq!(code, 1, "byte {at}: {err}");
            }
            let other = zstd::decode_all(&bytes[..]).is_ok() && !same;
            assert!(!other, "byte {at}, bit {bit}: another text");
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row a head")]
fn heads_that_no_run_has_are_refused() {
    let (folder, text) = saved("snapshot-heads");
    let with = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        packed(text.replacen(old, new, 1).as_bytes())
    };
    let (version, types) = ("\"version\":1", "\"types\":[\"memory-mb\",\"vcores\"]");
    let queues = "\"yarn.scheduler.capacity.root.queues\":\"dev\"";
    let hostile = "\"mode\":\"\\u001b[31m\\u202e\"";
    let long = format!("\"mode\":\"{}\"", "m".repeat(3_000_000));
    let rows: [(&str, &str, &[&str]); 20] = [
        (version, "\"version\":0", &["x.snap:1: ", "no version 0"]),
        (version, "\"version\":3", &["version 3", "up to 2"]),
        (version, "\"version\":-1", &["x.snap:1:", "-1"]),
        (version, "\"version\":1.0", &["x.snap:1:", "1.0"]),
        (version, "\"version\":null", &["x.snap:1:", "null"]),
        (
            version,
            "\"version\":1,\"version\":1",
            &["x.snap:1:", "duplicate field"],
        ),
        (
            version,
            "\"version\":1,\"colour\":1",
            &["x.snap:1:", "unknown field `colour`"],
        ),
        (
            "\"head\":{",
            "\"head\":[],\"tail\":{",
            &["x.snap:1: ", "head"],
        ),
        (types, "\"types\":[]", &["0 resource types"]),
        (types, "\"types\":[\"memory-mb\"]", &["1 resource types"]),
        (
            queues,
            "\"yarn.scheduler.capacity.root.queues\":\"\"",
            &["root"],
        ),
        (
            queues,
            "\"yarn.scheduler.capacity.root.queues\":5",
            &["x.snap:1:", "`5`"],
        ),
        (
            queues,
            "\"yarn.scheduler.capacity.root.queues\":\"dev\",\"yarn.scheduler.capacity.root.queues\":\"b\"",
            &["stands there twice"],
        ),
        (
            "\"labels\":[]",
            "\"labels\":[[\"x\",true],[\"x\",false]]",
            &["`x` stands there twice"],
        ),
        (
            "\"labels\":[]",
            "\"labels\":[[\"\",true]]",
            &["labels", "default partition"],
        ),
        (
            "\"mode\":\"heartbeat\"",
            hostile,
            &["mode: there is no `\\u{1b}[31m"],
        ),
        ("\"mode\":\"heartbeat\"", &long, &["mode: there is no `mmm"]),
        (
            "\"reference\":\"3.5\"",
            "\"reference\":\"2.10\"",
            &["no `2.10`"],
        ),
        ("\"at_ms\":10000", "\"at_ms\":-1", &["x.snap:1:", "-1"]),
        (
            "\"at_ms\":10000",
            "\"at_ms\":18446744073709551616",
            &["x.snap:1:"],
        ),
    ];
    for (old, new, words) in rows {
        let shown: String = new.chars().take(80).collect();
        refused(&folder, &shown, &with(old, new), words);
    }
}

/// A line before the end, with the end that counts it.
fn with_call(text: &str, call: &str) -> Vec<u8> {
    let (calls, end) = text.trim_end().rsplit_once('\n').unwrap();
    let count = calls.lines().count() - 1;
    let end = end.replacen(&count.to_string(), &(count + 1).to_string(), 1);
    packed(format!("{calls}\n{call}\n{end}\n").as_bytes())
}

#[test]
fn calls_that_no_journal_writes_are_refused_with_their_line() {
    let (folder, text) = saved("snapshot-calls");
    let place = format!("x.snap:{}", text.lines().count());
    let ask = |part: &str| format!("{{\"do\":\"ask\",\"app\":1,{part}}}");
    let one = |count: &str| {
        ask(&format!(
            "\"asks\":[{{\"priority\":1,\"id\":0,\"place\":\"*\",\"size\":[1],\"count\":{count},\"relax\":true}}]"
        ))
    };
    let long = format!("{{\"do\":\"{}\"}}", "x".repeat(3_000_000));
    let rows: [(&str, &str); 22] = [
        ("{}", "missing field `do`"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ("[\"schedule\"]", "no JSON object"),
        ("{\"do\":\"fly\"}", "unknown variant `fly`"),
        ("{\"do\":\"beat\"}", "missing field `node`"),
        ("{\"do\":\"beat\",\"node\":\"a b:1\"}", "not a node name"),
        ("{\"do\":\"beat\",\"node\":\"a:65536\"}", "not a node name"),
        (
            "{\"do\":\"beat\",\"node\":\"n:0\",\"x\":1}",
            "unknown field `x`",
        ),
        (
            "{\"do\":\"beat\",\"do\":\"schedule\",\"node\":\"n:0\"}",
            "duplicate field",
        ),
        ("{\"do\":\"advance\",\"to_ms\":-1}", "-1"),
        (
            "{\"do\":\"advance\",\"to_ms\":18446744073709551616}",
            "not the number `1.8446744073709552e+19`",
        ),
        (
            "{\"do\":\"add_node\",\"node\":\"n9:1\",\"rack\":\"/r\",\"size\":[1,1,1,1,1,1,1,1,1]}",
            "9 amounts",
        ),
        (
            "{\"do\":\"finished\",\"container\":[1]}",
            "1 numbers are not a container",
        ),
        ("{\"do\":\"finish_app\",\"app\":4294967296}", "4294967296"),
        (&one("2147483648"), "2147483648"),
        (&one("1e400"), "number out of range"),
        (&one("1.0"), "not the number `1.0`"),
        (&one("\"1\""), "not the text \"1\""),
        ("{\"do\":\"\\u001b[31m\\u202e\"}", "unknown variant"),
        (&long, "unknown variant `xxx"),
        (&"[".repeat(100_000), "no JSON object"),
    ];
    for (call, what) in rows {
        let shown: String = call.chars().take(80).collect();
        refused(&folder, &shown, &with_call(&text, call), &[&place, what]);
    }
    // What the scheduler refuses is refused again, and changes nothing.
    for call in [
        "{\"do\":\"beat\",\"node\":\"unknown:1\"}",
        "{\"do\":\"add_node\",\"node\":\"n9:1\",\"rack\":\"/r\",\"size\":[-1,1]}",
        "{\"do\":\"add_node\",\"node\":\"n9:1\",\"rack\":\"/r\",\"size\":[9223372036854775807,1]}",
        "{\"do\":\"submit\",\"app\":9,\"user\":\"\\u0000\",\"queue\":\"root.dev\"}",
    ] {
        assert_eq!(replayed(&folder, &with_call(&text, call)).0, 0, "{call}");
    }
    // The largest numbers of repetitions end, in the state that was saved or not.
    for call in [
        "{\"do\":\"pass_beats\",\"first\":\"node0:0\",\"most\":18446744073709551615}",
        "{\"do\":\"pass_rounds\",\"most\":18446744073709551615}",
        "{\"do\":\"schedule_part\",\"steps\":18446744073709551615}",
        "{\"do\":\"advance\",\"to_ms\":18446744073709551615}",
    ] {
        assert!(replayed(&folder, &with_call(&text, call)).0 < 2, "{call}");
    }
}

#[test]
fn calls_that_take_over_what_no_server_has_are_refused_with_their_line() {
    let (folder, text) = saved("snapshot-recovery-calls");
    let place = format!("x.snap:{}", text.lines().count());
    let running = |parts: &[&str]| {
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("{{{part},\"priority\":1,\"id\":0,\"created_ms\":0}}"))
            .collect();
        format!(
            "{{\"do\":\"register_node\",\"node\":\"n9:1\",\"rack\":\"/r\",\"size\":[1024],\"running\":[{}]}}",
            parts.join(",")
        )
    };
    let recover = |part: &str| {
        format!(
            "{{\"do\":\"recover_app\",\"submission\":{{\"app\":9,\"user\":\"ann\",\"queue\":\"root.dev\"}},{part}}}"
        )
    };
    let small = "\"container\":[1,7],\"size\":[1]";
    let rows: [(&str, &str); 9] = [
        (
            &running(&["\"container\":[1,7,0],\"size\":[1]"]),
            "container_1_0001_00_000007 has 0",
        ),
        (
            &running(&["\"container\":[1,7],\"size\":[1,-5]"]),
            "has the amount -5",
        ),
        (&running(&[small, small]), "stands there twice"),
        (
            &running(&["\"container\":[1,7],\"size\":[1,1,1,1,1,1,1,1,1]"]),
            "9 amounts",
        ),
        (&running(&["\"container\":[1,7]"]), "missing field `size`"),
        (&running(&[]).replace("n9:1", "a b:1"), "not a node name"),
        (&recover("\"attempt\":0"), "attempts count from 1"),
        (&recover("\"attempt\":-1"), "-1"),
        (&recover("\"attempt\":1,\"x\":1"), "unknown field `x`"),
    ];
    for (call, what) in rows {
        refused(&folder, call, &with_call(&text, call), &[&place, what]);
    }
    // A queue that is gone refuses the application again, and nothing changes.
    let gone = recover("\"attempt\":1").replace("root.dev", "root.gone");
    assert_eq!(replayed(&folder, &with_call(&text, &gone)).0, 0);
}

#[test]
fn ends_that_count_or_name_something_else_are_refused() {
    let (folder, text) = saved("snapshot-ends");
    let (calls, end) = text.trim_end().rsplit_once('\n').unwrap();
    let count = calls.lines().count() - 1;
    let state = end.split('"').nth(5).unwrap();
    let ends = |count: &str, state: &str| format!("{{\"end\":{count},\"state\":\"{state}\"}}");
    let own = count.to_string();
    for (end, what) in [
        (ends("0", state), "the number of calls is another one"),
        (ends(&own, "xyz"), "no hexadecimal number"),
        (ends(&own, ""), "no hexadecimal number"),
        (ends(&own, "+1"), "no hexadecimal number"),
        (ends(&own, "1"), "another state"),
        (ends("-1", state), "-1"),
        (format!("{{\"end\":{own}}}"), "missing field `state`"),
        (
            format!("{end}\n{{\"do\":\"schedule\"}}"),
            "something follows the end",
        ),
    ] {
        let bytes = packed(format!("{calls}\n{end}\n").as_bytes());
        refused(&folder, &end, &bytes, &[what]);
    }
}

#[test]
fn paths_that_are_no_files_are_named_and_nothing_waits() {
    let (folder, _) = saved("snapshot-paths");
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let sound = folder.join("m.snap");
    let below = sound.join("x");
    let missing = folder.join("missing.snap");
    for path in [&folder, &pipe, &below, &missing, Path::new("/dev/zero")] {
        let path = path.to_str().unwrap();
        for args in [
            &["snapshot", "replay", path][..],
            &["snapshot", "to-test", path],
        ] {
            let (code, out, err) = run(args);
            assert_eq!((code, &*out), (2, ""), "{path}: {err}");
            assert!(err.contains(path), "{path}: {err}");
        }
    }
    let replay = ["snapshot", "replay", sound.to_str().unwrap(), "--why"];
    for wrong in ["x", "", "4294967296", "application_1_1_1", "\u{1b}[31m"] {
        let (code, _, err) = run(&[&replay[..], &[wrong]].concat());
        assert_eq!(code, 1, "{wrong:?}: {err}");
        assert!(err.contains("is no application"), "{err}");
        assert!(!err.contains('\u{1b}'), "{err}");
    }
    let run_folder = folder.join("run");
    let save = [
        "snapshot",
        "save",
        run_folder.to_str().unwrap(),
        "--force",
        "-o",
    ];
    for out in [
        folder.join("nowhere/x"),
        below,
        folder.clone(),
        pipe.clone(),
    ] {
        let (code, _, err) = run(&[&save[..], &[out.to_str().unwrap()]].concat());
        assert_eq!(code, 2, "{}: {err}", out.display());
    }
    assert!(pipe.metadata().unwrap().file_type().is_fifo(), "it stays");
}

#[test]
fn a_server_that_cannot_be_saved_is_named_and_no_file_is_created() {
    let folder = folder("snapshot-of-a-server");
    let file = folder.join("live.snap");
    let file = file.to_str().unwrap();
    let rows: [(&[&str], &str); 4] = [
        (
            &["http://127.0.0.1:1"],
            "http://127.0.0.1:1: no server answers",
        ),
        (
            &["http://127.0.0.1:1", "--at", "10s"],
            "--at goes with a recorded run",
        ),
        (&["http://"], "no address"),
        (
            &["runs/last", "--user", "ann"],
            "go with the address of a server",
        ),
    ];
    for (words, part) in rows {
        let (code, out, err) = run(&[&["snapshot", "save", "-o", file][..], words].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.contains(part), "{words:?}: {err}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
