//! `capsched parity --hunt` with a driver that fails: its traces go to a log, and the account counts.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

#[expect(dead_code, reason = "this test makes its own folder")]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use support::{captured, command, folder};

/// Answers every scenario with a fault, with its stack on standard error.
const DRIVER: &str = r#"#!/bin/sh
while read -r line; do
  printf 'java.lang.NullPointerException: seen\n\tat Some.method(Some.java:1)\n' >&2
  printf '{"steps":[],"fault":"java.lang.NullPointerException: seen"}\n'
done
"#;

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_fails_in_hadoop_is_one_line_and_its_stack_goes_to_the_log() {
    let folder = folder("hunt-log");
    script(&folder.join("perf/peers/hadoop/run.sh"), DRIVER);
    for tool in ["java", "javac", "mvn"] {
        script(&folder.join("bin").join(tool), "#!/bin/sh\nexit 0\n");
    }
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    let hunt = |found: &str, more: &[&str]| {
        let args = ["parity", "--against", "hadoop:3.4.2", "--hunt"];
        let own = ["--seeds", "5..8", "--found", found];
        let mut hunt = command(&[&args, &own[..], more].concat());
        let hunt = hunt.current_dir(&folder).env("PATH", &path);
        captured(&hunt.output().unwrap())
    };
    let (code, out, err) = hunt("found", &[]);
    assert_eq!(code, 1, "{err}");
    assert_eq!(err.lines().count(), 3, "{err}");
    assert!(!err.contains("at Some.method"), "{err}");
    assert!(
        err.lines()
            .all(|line| line.ends_with("seen; see found/driver.log")),
        "{err}"
    );
    assert!(out.contains("3 could not be played"), "{out}");
    assert!(out.contains("(traces: found/driver.log)"), "{out}");
    let log = fs::read_to_string(folder.join("found/driver.log")).unwrap();
    assert_eq!(log.matches("at Some.method").count(), 3, "{log}");
    // A further hunt starts a new log.
    let (_, out, _) = hunt("found", &["--json", "--minutes", "9"]);
    let account: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(account["log"], "found/driver.log");
    assert_eq!(
        (&account["scenarios"], &account["broken"]),
        (&3.into(), &3.into())
    );
    let log = fs::read_to_string(folder.join("found/driver.log")).unwrap();
    assert_eq!(log.matches("at Some.method").count(), 3, "{log}");
}
