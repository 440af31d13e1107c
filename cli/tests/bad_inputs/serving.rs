//! Files and options that a server is started with and cannot use: each ends the start before anything
//! is announced, with the file and the place.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::support::{command, folder};

const CONF: &str = "<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>
</configuration>
";

/// A folder with a sound configuration and a pipe that nobody writes into.
fn prepared(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::write(folder.join("c.xml"), CONF).unwrap();
    let mut pipe = std::process::Command::new("mkfifo");
    let made = pipe.arg(folder.join("pipe")).status();
    assert!(made.unwrap().success());
    folder
}

/// How a start ends: the exit code, and standard error. Nothing is announced on standard output.
fn ended(folder: &Path, args: &[&str]) -> (i32, String) {
    let mut command = command(&[&["serve"][..], args].concat());
    let command = command.current_dir(folder);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A server that starts would serve for ever.
    let mut looks = 0..12_000;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if looks.next().is_none() {
            child.kill().unwrap();
            panic!("{args:?}: it goes on");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (mut out, mut err) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    assert_eq!(out, "", "{args:?}: {err}");
    let hurts = |c: char| c.is_control() && c != '\n';
    assert!(!err.contains(hurts) && err.len() < 5_000, "{args:?}: {err}");
    (status.code().unwrap(), err)
}

/// Gives each content to an option: exit code 1, and the words.
fn refuse_each(folder: &Path, option: &str, cases: &[(&[u8], &str)]) {
    for (bytes, word) in cases {
        fs::write(folder.join("given"), bytes).unwrap();
        let base = ["--listen", "127.0.0.1:0"];
        let conf: &[&str] = if option == "--conf" {
            &[]
        } else {
            &["--conf", "c.xml"]
        };
        let (code, err) = ended(folder, &[&base, conf, &[option, "given"]].concat());
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert_eq!(code, 1, "{option} {shown:?}: {err}");
        assert!(
            err.contains("given") && err.contains(word),
            "{option} {shown:?}: {err}"
        );
    }
}

#[test]
fn configurations_that_are_none_end_the_start() {
    let folder = prepared("serve-conf");
    let latin = CONF.replace("<value>a<", "<value>@<").into_bytes();
    let latin: Vec<u8> = latin
        .iter()
        .map(|b| if *b == b'@' { 0xe9 } else { *b })
        .collect();
    let long = format!("<configuration><{}>", "t".repeat(3_000_000));
    let cut = &CONF.as_bytes()[..60];
    refuse_each(
        &folder,
        "--conf",
        &[
            (b"", "E_XML_NO_ROOT"),
            (cut, "E_XML_UNCLOSED"),
            (b"{}", "JSON"),
            (b"\x1f\x8b\x08\0", "gzip"),
            (&latin, "given:2:"),
            (long.as_bytes(), "E_XML_UNCLOSED"),
            (b"<configuration>\x1b[31m", "U+001B"),
            (CONF.replace("100", "50").as_bytes(), "capacity_sum"),
        ],
    );
    let site = |value: &str| {
        format!(
            "<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>{value}</value></property></configuration>"
        )
    };
    refuse_each(
        &folder,
        "--site",
        &[
            (b"", "E_XML_NO_ROOT"),
            (site("x").as_bytes(), "not_a_number"),
            (site("9999999").as_bytes(), "minimum-allocation-mb"),
        ],
    );
}

#[test]
fn a_server_over_a_shared_store_reads_its_files_before_it_waits() {
    let folder = prepared("serve-shared");
    fs::write(folder.join("half.xml"), CONF.replace("100", "50")).unwrap();
    let store = [
        "--store",
        "etcd://127.0.0.1:1/none",
        "--listen",
        "127.0.0.1:0",
    ];
    for (file, word, expected) in [
        ("half.xml", "capacity_sum", 1),
        ("missing.xml", "missing.xml", 2),
    ] {
        let (code, err) = ended(&folder, &[&store[..], &["--conf", file]].concat());
        assert_eq!(code, expected, "{file}: {err}");
        assert!(err.contains(word), "{file}: {err}");
    }
}

#[test]
fn token_files_with_a_wrong_line_end_the_start() {
    let folder = prepared("serve-tokens");
    let hash = "a".repeat(64);
    let line = |text: &str| text.replace("HASH", &hash).into_bytes();
    refuse_each(
        &folder,
        "--tokens",
        &[
            (b"", "no token"),
            (b"\n# ann\n\n", "no token"),
            (b"ann\n", "given:1: "),
            (b"# x\nann abc\n", "given:2: "),
            (&line("ann HASH -1\n"), "given:1: the end"),
            (&line("ann HASH NaN\n"), "given:1: the end"),
            (&line("ann HASH 18446744073709551616\n"), "given:1: the end"),
            (&line("ann HASH 1 2\n"), "given:1: more than"),
            (&line("ann HASH\nbob HASH\n"), "given:2: the hash"),
            (&line("\u{1b}[31m HASH\n"), "given:1: the user"),
            (&line("a\0nn HASH\n"), "given:1: the user"),
            (
                &[b"\n\xe9nn ", hash.as_bytes()].concat(),
                "given:2:1: the byte 0xe9",
            ),
            (&vec![b'a'; 3_000_000], "given:1: "),
            (&vec![b'#'; (16 << 20) + 1], "longer than"),
        ],
    );
}

#[test]
fn keys_and_certificates_that_are_none_end_the_start() {
    let folder = prepared("serve-keys");
    let pem = |what: &str| format!("-----BEGIN {what}-----\nAAAA\n-----END {what}-----\n");
    refuse_each(
        &folder,
        "--jwt-key",
        &[
            (b"", "32 bytes or more"),
            (b"secret", "32 bytes or more"),
            (pem("PUBLIC KEY").as_bytes(), "no public key"),
            (pem("PRIVATE KEY").as_bytes(), "no public key"),
        ],
    );
    for (certificates, key, named) in [
        (
            String::new(),
            String::new(),
            "k.pem: there is no private key",
        ),
        (
            "hello".to_owned(),
            "hello".to_owned(),
            "k.pem: there is no private key",
        ),
        (
            "hello".to_owned(),
            pem("PRIVATE KEY"),
            "there is no certificate",
        ),
        (pem("CERTIFICATE"), pem("PRIVATE KEY"), ".pem: "),
    ] {
        fs::write(folder.join("c.pem"), certificates).unwrap();
        fs::write(folder.join("k.pem"), key).unwrap();
        let base = ["--listen", "127.0.0.1:0", "--conf", "c.xml"];
        let (code, err) = ended(
            &folder,
            &[&base[..], &["--tls-cert", "c.pem", "--tls-key", "k.pem"]].concat(),
        );
        assert_eq!(code, 1, "{err}");
        assert!(err.contains(named), "no `{named}` in {err}");
    }
}

#[test]
fn paths_that_are_no_files_end_the_start_and_nothing_waits() {
    let folder = prepared("serve-paths");
    let base = ["--listen", "127.0.0.1:0", "--conf", "c.xml"];
    for path in ["missing", ".", "pipe", "/dev/zero", "c.xml/x"] {
        for option in ["--site", "--tokens", "--jwt-key"] {
            let (code, err) = ended(&folder, &[&base[..], &[option, path]].concat());
            assert_eq!(code, 2, "{option} {path}: {err}");
            assert!(err.contains(path), "{option}: {err}");
        }
        let (code, err) = ended(
            &folder,
            &[&base[..], &["--tls-cert", path, "--tls-key", path]].concat(),
        );
        assert_eq!(code, 2, "{path}: {err}");
        assert!(err.contains(path), "{err}");
        let (code, err) = ended(&folder, &["--listen", "127.0.0.1:0", "--conf", path]);
        assert_eq!(code, 2, "{path}: {err}");
    }
    for data in ["c.xml", "c.xml/x", "/proc/x"] {
        let (code, err) = ended(&folder, &[&base[..], &["--data", data]].concat());
        assert_eq!(code, 2, "{data}: {err}");
        assert!(err.contains(data), "{err}");
    }
}

#[test]
fn options_out_of_range_are_named() {
    let folder = prepared("serve-options");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let rows: [(&[&str], i32, &str); 17] = [
        (&["--listen", "127.0.0.1:65536"], 2, "65536"),
        (&["--listen", ""], 2, "--listen"),
        (&["--listen", "\u{1b}[31m:1"], 2, "--listen"),
        (&["--listen", ":::80"], 2, ":::80"),
        (&["--listen", "0.0.0.0:0"], 1, "0.0.0.0:0"),
        (&["--listen", &taken], 2, &taken),
        (&["--debug-address", "0.0.0.0:1"], 1, "0.0.0.0:1"),
        (&["--host-name", ""], 2, "--host-name"),
        (&["--host-name", "a b"], 2, "a b"),
        (&["--host-name", "\u{1b}[31m"], 2, "--host-name"),
        (&["--rate-limit", "4294967296"], 2, "4294967296"),
        (&["--threads", "0"], 2, "--threads"),
        (&["--durability", "lax", "--data", "d"], 2, "`lax`"),
        (
            &["--compact-after", "0", "--data", "d"],
            2,
            "--compact-after",
        ),
        (&["--store", "http://h"], 2, "`http://h`"),
        (&["--log", "loud"], 2, "--log"),
        (&["--nodes", "5"], 2, "--nodes"),
    ];
    for (args, code, word) in rows {
        let listen: &[&str] = if args[0] == "--listen" {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let (got, err) = ended(&folder, &[&["--conf", "c.xml"], listen, args].concat());
        assert_eq!(got, code, "{args:?}: {err}");
        assert!(err.contains(word), "{args:?}: {err}");
    }
    for speed in ["0", "NaN", "1e3", "1001", "0.0001"] {
        let (code, err) = ended(&folder, &["--demo", "--speed", speed]);
        assert_eq!(code, 2, "{speed}: {err}");
    }
}
