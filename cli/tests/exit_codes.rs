//! Exit codes of every command, and what its messages hold of hostile input: 1 for what is wrong
//! in a file, 2 for what cannot be carried out; one place, and nothing that a terminal acts on.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a terminal acts on or what turns text around.
const HOSTILE: &str = "\u{1b}[31m\u{202e}\u{7}";

/// The header of a trace of our own.
const HEADER: &str =
    "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";

/// A configuration of one queue.
const GOOD: &str = "<configuration><property><name>yarn.scheduler.capacity.root.queues</name>\
    <value>default</value></property><property>\
    <name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>\
    </configuration>";

/// A folder with the files that all rows of a table share.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _absent = fs::remove_dir_all(&path);
    fs::create_dir_all(path.join("folder")).unwrap();
    let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
    write("bad.xml", "<configuration><property>");
    write("good.xml", GOOD);
    write("bad.json", "{\"a\"");
    write("bad.csv", "name,x\n1,2\n");
    write("bad.toml", "a = [\n");
    let job = "{\"job\":{\"at_ms\":0,\"name\":\"a\",\"user\":\"u\",\"queue\":\"root.default\",\"tasks\":[]}}\n";
    write("trace.jsonl", &format!("{HEADER}{job}"));
    write(
        "cut.jsonl",
        &format!("{HEADER}{{\"job\":{{\"at_ms\" 0}}}}\n"),
    );
    write("nodes", &format!("{HEADER}{{\"node\":{{\"host\":5}}}}\n"));
    let host = "{\"node\":{\"host\":\"a b\",\"rack\":\"/r\",\"size\":[8192,8]}}\n";
    write("host.jsonl", &format!("{HEADER}{host}{job}"));
    write("file", "");
    fs::write(path.join("bytes"), b"{}\n \xff").unwrap();
    fs::write(path.join("bytes.jsonl"), b"{}\n\xff\n{\"steps\": 5}\n").unwrap();
    path
}

fn run<S: AsRef<OsStr>>(at: &Path, args: &[S]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
    let command = command.args(args).current_dir(at).stdin(Stdio::null());
    command.output().unwrap()
}

/// The exit code, and all that was written.
fn outcome(output: &Output) -> (i32, String) {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8(both).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    (output.status.code().unwrap(), text)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row a call")]
fn every_command_distinguishes_bad_input_from_what_it_cannot_do() {
    let at = folder("exit-codes");
    let rows: &[(&str, i32, &str)] = &[
        // Missing.
        ("check nope", 2, "nope"),
        ("check --site nope good.xml", 2, "nope"),
        ("replay nope", 2, "nope"),
        ("replay trace.jsonl --nodes nope", 2, "nope"),
        ("replay trace.jsonl --conf nope", 2, "nope"),
        ("replay trace.jsonl --costs nope", 2, "nope"),
        ("compare nope", 2, "nope"),
        ("trace stat nope", 2, "nope"),
        ("trace convert nope", 2, "nope"),
        ("hist nope", 2, "nope"),
        ("parity nope", 2, "nope"),
        ("simulate --replay nope", 2, "nope"),
        ("fsck nope", 2, "nope"),
        // No file, or nothing in it.
        ("check folder", 2, "folder"),
        ("replay folder", 2, "folder"),
        ("replay trace.jsonl --nodes folder", 2, "folder"),
        ("compare folder", 2, "folder"),
        ("trace stat folder", 2, "folder"),
        ("trace convert folder", 2, "folder"),
        ("hist folder", 2, "folder"),
        ("parity folder", 2, "no recording"),
        ("simulate --replay folder", 2, "folder"),
        // Malformed.
        ("check bad.xml", 1, "bad.xml:1:16"),
        ("check --site bad.xml good.xml", 1, "bad.xml:1:16"),
        ("replay bad.csv", 1, "bad.csv:1"),
        (
            "replay cut.jsonl --nodes 4x64GiB,8vcores",
            1,
            "cut.jsonl:2:17: expected",
        ),
        (
            "replay trace.jsonl --nodes nodes",
            1,
            "nodes:2:17: `node.host`: a text in quotes is expected, not the number `5`",
        ),
        (
            "replay trace.jsonl --nodes 4x64GiB,8vcores --conf bad.xml",
            1,
            "bad.xml",
        ),
        (
            "replay trace.jsonl --nodes 4x64GiB,8vcores --costs bad.toml",
            1,
            "bad.toml:1",
        ),
        ("replay host.jsonl", 1, "not a node name"),
        (
            "replay trace.jsonl --nodes host.jsonl",
            1,
            "not a node name",
        ),
        ("compare host.jsonl", 1, "not a node name"),
        ("compare bad.csv", 1, "bad.csv:1"),
        (
            "compare trace.jsonl --nodes 4x64GiB,8vcores --conf bad.xml",
            1,
            "bad.xml",
        ),
        ("trace stat cut.jsonl", 1, "cut.jsonl:2:17: expected"),
        (
            "trace stat --format dynoyarn cut.jsonl",
            1,
            "cut.jsonl:1:63: missing field",
        ),
        ("trace convert bad.csv", 1, "bad.csv:1"),
        ("parity bad.json", 1, "bad.json:1:4: "),
        ("simulate --replay bad.json", 1, "bad.json:1:4: "),
        // No text.
        ("check bytes", 1, "bytes:2:2"),
        ("hist bytes", 1, "bytes:2:2: the byte 0xff is not UTF-8"),
        (
            "replay trace.jsonl --nodes 4x64GiB,8vcores --costs bytes",
            1,
            "bytes:2:2: the byte 0xff is not UTF-8",
        ),
        (
            "simulate --replay bytes",
            1,
            "bytes:2:2: the byte 0xff is not UTF-8",
        ),
        (
            "parity bytes.jsonl",
            1,
            "bytes.jsonl:2: stream did not contain",
        ),
        ("parity bytes.jsonl", 1, "bytes.jsonl:3: not a scenario"),
        // Not to be written.
        ("trace generate --jobs 1 -o file/x", 2, "file"),
        ("trace convert trace.jsonl -o file/x", 2, "file"),
        ("trace convert trace.jsonl -o file", 2, "--force"),
        (
            "replay trace.jsonl --nodes 4x64GiB,8vcores --out file/x",
            2,
            "file",
        ),
        ("parity --pack -o file/x bad.json", 2, "file"),
        // Not understood.
        ("demo --nope", 2, "--nope"),
        ("check --nope", 2, "--nope"),
        ("replay --nope", 2, "--nope"),
        ("compare --nope", 2, "--nope"),
        ("trace stat --nope", 2, "--nope"),
        ("trace convert --nope", 2, "--nope"),
        ("trace generate --nope", 2, "--nope"),
        ("traces --nope", 2, "--nope"),
        ("hist --nope", 2, "--nope"),
        ("parity --nope", 2, "--nope"),
        ("simulate --nope", 2, "--nope"),
        ("pages --nope", 2, "--nope"),
        ("nope", 2, "nope"),
        // Fine.
        ("check good.xml", 0, ""),
        ("--help", 0, "Usage"),
        ("check --help", 0, "Usage"),
        ("--version", 0, "capsched"),
    ];
    for (line, code, word) in rows {
        let args: Vec<&str> = line.split(' ').collect();
        let (got, text) = outcome(&run(&at, &args));
        assert_eq!(got, *code, "{line}: {text}");
        assert!(text.contains(word), "{line}: no `{word}` in {text}");
        assert!(
            !text.contains(" at line "),
            "{line}: a second place in {text}"
        );
    }
}

#[test]
#[cfg(unix)]
fn what_may_not_be_read_cannot_be_carried_out() {
    use std::os::unix::fs::PermissionsExt;
    let at = folder("unreadable");
    let secret = at.join("secret");
    fs::write(&secret, GOOD).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o0)).unwrap();
    // The superuser reads everything.
    if fs::read(&secret).is_ok() {
        return;
    }
    for line in [
        "check secret",
        "replay secret",
        "trace stat secret",
        "parity secret",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        assert_eq!(outcome(&run(&at, &args)).0, 2, "{line}");
    }
}

/// Each hostile input by its parser: a file's name, its text, and the command that reads it.
#[expect(clippy::too_many_lines, reason = "one entry a parser")]
fn hostile() -> Vec<(&'static str, String, &'static str)> {
    let tag = "t".repeat(3_000_000);
    let json = "\\u001b[31m\\u202e\\u0007";
    let key = "k".repeat(900_000);
    let property = |name: &str, value: &str| {
        let name = format!("yarn.scheduler.capacity.{name}");
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let queues = property("root.queues", "a");
    let bidi = "\u{202e}\u{2066}";
    vec![
        (
            "tag.xml",
            format!("<configuration><{tag}>"),
            "check tag.xml",
        ),
        (
            "tag2.xml",
            format!("<configuration><{tag}>"),
            "check --json tag2.xml",
        ),
        (
            "value.xml",
            format!(
                "<configuration>{queues}{}</configuration>",
                property("root.a.capacity", &tag)
            ),
            "check value.xml",
        ),
        (
            "key.xml",
            format!(
                "<configuration>{queues}{}</configuration>",
                property(&format!("root.{bidi}a.capcity"), bidi)
            ),
            "check key.xml",
        ),
        (
            "esc.xml",
            format!("<configuration>{HOSTILE}"),
            "check esc.xml",
        ),
        (
            "site.xml",
            format!("<configuration><{tag}>"),
            "check --site site.xml good.xml",
        ),
        (
            "native",
            format!("{HEADER}{{\"job\":{{\"{key}\":1}}}}\n"),
            "trace stat native",
        ),
        (
            "native2",
            format!("{HEADER}{{\"job\":{{\"{json}\":1}}}}\n"),
            "trace stat native2",
        ),
        (
            "header",
            format!("{{\"capsched\":\"{json}\",\"version\":1,\"types\":[]}}\n"),
            "trace stat --format native header",
        ),
        (
            "dyno",
            format!("{{\"appId\":{{\"{json}{key}\":1}}}}\n"),
            "trace stat --format dynoyarn dyno",
        ),
        (
            "sls",
            format!("{{\"job.start.ms\":\"{json}{key}\"}}"),
            "trace stat --format sls sls",
        ),
        (
            "synth",
            format!("{{\"num_jobs\":\"{json}{key}\"}}"),
            "trace stat --format synth synth",
        ),
        (
            "rumen",
            format!("{{\"submitTime\":\"{json}{key}\"}}"),
            "trace stat --format rumen rumen",
        ),
        (
            "swf",
            format!("{HOSTILE} 1 2 3\n"),
            "trace stat --format swf swf",
        ),
        (
            "swim",
            format!("{HOSTILE}\t1\n"),
            "trace stat --format swim swim",
        ),
        (
            "openb",
            format!("{HOSTILE},cpu_milli\n1,2\n"),
            "trace stat --format openb openb",
        ),
        ("any", format!("{HOSTILE}\n"), "trace stat any"),
        (
            "nodes.csv",
            format!("sn,cpu_milli,memory_mib,gpu,model\n{HOSTILE},x,1,1,V\n"),
            "replay trace.jsonl --nodes nodes.csv",
        ),
        (
            "costs.toml",
            format!("\"{bidi}{key}\" = 1\n"),
            "replay trace.jsonl --nodes 1x1GiB,1vcores --costs costs.toml",
        ),
        (
            "p1.json",
            format!("{{\"name\":\"{json}{key}\",\"steps\":[]}}"),
            "parity p1.json",
        ),
        (
            "p2.json",
            format!("{{\"{json}{key}\":1}}"),
            "parity p2.json",
        ),
        (
            "p3.json",
            format!("{{\"name\":\"{json}\",\"steps\":[{{\"do\":\"{json}{key}\"}}]}}"),
            "parity p3.json",
        ),
        (
            "report.json",
            format!("{{\"{json}{key}\":1}}"),
            "simulate --replay report.json",
        ),
    ]
}

#[test]
fn what_a_newcomer_gets_wrong_comes_with_what_is_expected() {
    let at = folder("newcomer");
    for (args, code, expected) in [
        (&["why", "nosuch"][..], 2, "nothing has the name nosuch"),
        (&["why-not", "folder"], 2, "capsched why-not [RUN] APP NODE"),
        (&["open", "nosuch"], 1, "neither a run nor a report"),
        (&["open", "folder"], 1, "`capsched report folder` writes it"),
        (
            &["fsck", "folder"],
            2,
            "folder cannot be checked as a data directory",
        ),
        (
            &["conf", "convert", "bad.csv"],
            1,
            "bad.csv:1:1: the file is no XML",
        ),
        (
            &["conf", "rollback", "http://127.0.0.1:1", "x"],
            2,
            "it is no whole number from 0",
        ),
        (
            &["serve", "--listen", "x"],
            2,
            "it is no address such as 127.0.0.1:8088",
        ),
    ] {
        let (found, text) = outcome(&run(&at, args));
        assert_eq!(found, code, "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

#[test]
fn a_wrong_value_of_the_configuration_is_named_with_its_place() {
    let at = folder("wrong-value");
    let property = |key, value| {
        format!("<property><name>yarn.scheduler.{key}</name><value>{value}</value></property>")
    };
    let queues = property("capacity.root.queues", "default");
    for (option, before, key) in [
        ("--site", "", "maximum-allocation-mb"),
        ("--conf", queues.as_str(), "capacity.root.default.capacity"),
    ] {
        let wrong = property(key, "abc");
        let text = format!("<configuration>{before}\n{wrong}\n</configuration>\n");
        fs::write(at.join("wrong.xml"), text).unwrap();
        let args = ["replay", "trace.jsonl", "--nodes", "2x8GiB,8vcores"];
        let output = run(&at, &[&args[..], &[option, "wrong.xml"]].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{option}: {err}");
        let named = err.contains("wrong.xml:2:") && err.contains("`abc`");
        assert!(named, "{option}: {err}");
        // What the command made up is no file that could be checked.
        assert!(!err.contains("capsched check ("), "{option}: {err}");
    }
}

#[test]
fn no_message_hurts_a_terminal_or_floods_it() {
    let at = folder("hostile");
    for (name, text, line) in hostile() {
        fs::write(at.join(name), text).unwrap();
        let args: Vec<&str> = line.split(' ').collect();
        let (code, text) = outcome(&run(&at, &args));
        assert!(code == 1, "{line}: {code}: {text:.300}");
        harmless(line, &text);
    }
    for arguments in [
        vec![format!("--{HOSTILE}")],
        vec![HOSTILE.to_owned()],
        vec!["check".to_owned(), HOSTILE.to_owned()],
        vec![
            "check".to_owned(),
            "--explain".to_owned(),
            HOSTILE.to_owned(),
        ],
        vec!["parity".to_owned(), HOSTILE.to_owned()],
        vec!["replay".to_owned(), format!("--mode={HOSTILE}\nerror: x")],
        vec![
            "trace".to_owned(),
            "stat".to_owned(),
            format!("--map={HOSTILE}"),
        ],
    ] {
        let (code, text) = outcome(&run(&at, &arguments));
        assert_eq!(code, 2, "{arguments:?}: {text}");
        harmless("arguments", &text);
        assert!(!text.contains("\nerror: x"), "{text}");
    }
}

fn harmless(line: &str, text: &str) {
    let wrong = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(
        !text.contains(wrong),
        "{line}: {:.400}",
        text.escape_debug()
    );
    assert!(text.len() < 10_000, "{line}: {} bytes", text.len());
}
