//! A disk that is full, and a directory that cannot be written: nothing that was answered is lost, and callers get the
//! reason.
//!
//! The process under test is this program once more, with a limit on the size of its files.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something is missing"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command as Process;
use std::sync::Arc;

use capsched::time::SystemClock;
use capsched_server::rm::{Answer, Command, CommandError, Pairs, Setup, Submission};
use capsched_server::store::{
    Durability, Durable, EmbeddedStore, Recorded, StoreError, check_directory,
};

const DIRECTORY: &str = "CAPSCHED_FULL_DISK_DIRECTORY";

/// Where `.ci/read-only` has mounted a file system.
const MOUNT: &str = "CAPSCHED_MOUNT";

fn durable(dir: &Path) -> Durable {
    let queues = [("root.queues", "a"), ("root.a.capacity", "100")];
    let own =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let store = EmbeddedStore::open(dir, Arc::new(SystemClock::new())).unwrap();
    let setup = Setup::new(Pairs::new(), queues.into_iter().map(own).collect());
    Durable::start(setup, Some(Arc::new(store)), Durability::Strict, "test").unwrap()
}

/// Submits applications until the disk is full; prints what was answered.
fn fill(dir: &Path) {
    let durable = durable(dir);
    let rm = &durable.rm;
    let mut answered = 0;
    let refused = loop {
        let id = match rm.execute("yarn", Command::NewApplication) {
            Ok(Answer::Application(id)) => id,
            Ok(other) => panic!("an id was asked for, not {other:?}"),
            Err(error) => break error,
        };
        let submission = Submission {
            application: id.clone(),
            // Large, so that the disk is full soon.
            name: "n".repeat(20_000),
            queue: "root.a".to_owned(),
            unmanaged: true,
            ..Submission::default()
        };
        match rm.execute("yarn", Command::Submit(Box::new(submission))) {
            Ok(_) => println_line(&format!("answered {id}")),
            Err(error) => break error,
        }
        answered += 1;
        assert!(answered < 10_000, "the disk is never full");
    };
    assert!(matches!(refused, CommandError::Unavailable(_)), "{refused}");
    // It is not ready any more, says why, changes nothing, and still shows what there is.
    assert!(durable.failure().is_some());
    let again = rm.execute("yarn", Command::NewApplication).unwrap_err();
    assert!(matches!(again, CommandError::Unavailable(_)), "{again}");
    assert!(rm.read(|books| books.apps().count()) >= answered);
    println_line(&format!("refused {refused}"));
}

fn println_line(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "@ {line}")
        .and_then(|()| out.flush())
        .unwrap();
}

#[test]
fn a_full_disk_refuses_changes_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    // A write beyond the limit fails as on a full disk; the signal that goes with it is ignored.
    let limited = r#"trap "" XFSZ; ulimit -f 16384; exec "$0" "$@""#;
    let output = Process::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .args(["the_process_under_test", "--exact", "--nocapture"])
        .env(DIRECTORY, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{shown}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("@ "));
    let (mut answered, mut refused) = (BTreeSet::new(), None);
    for line in lines {
        match line.split_once(' ') {
            Some(("answered", id)) => drop(answered.insert(id.to_owned())),
            Some(("refused", why)) => refused = Some(why.to_owned()),
            _ => {}
        }
    }
    let refused = refused.expect("the disk was full");
    assert!(refused.contains("journal cannot be written"), "{refused}");
    assert!(answered.len() > 10, "{} were answered", answered.len());
    let report = check_directory(dir.path()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    // With space again, a start finds all that was answered.
    let durable = durable(dir.path());
    durable.rm.read(|books| {
        for id in &answered {
            assert!(books.app(id.parse().unwrap()).is_some(), "{id} is lost");
        }
    });
    durable.rm.execute("yarn", Command::NewApplication).unwrap();
}

/// The process under test: this program with a directory in its environment.
#[test]
fn the_process_under_test() {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        fill(Path::new(&dir));
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_refused_with_its_name() {
    // Nobody writes there, not even an administrator.
    let error = EmbeddedStore::open(
        Path::new("/proc/capsched-data"),
        Arc::new(SystemClock::new()),
    );
    let error = error.unwrap_err();
    assert!(
        matches!(&error, StoreError::Failed(text) if text.contains("/proc/capsched-data")),
        "{error}"
    );
}

#[test]
fn a_file_that_must_not_be_written_is_refused_and_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let id = {
        let durable = durable(dir.path());
        let Answer::Application(id) = durable.rm.execute("yarn", Command::NewApplication).unwrap()
        else {
            panic!("an id was asked for");
        };
        id
    };
    let file = dir.path().join("state.redb");
    let before = std::fs::read(&file).unwrap();
    let readable =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    readable(0o444);
    if std::fs::OpenOptions::new().write(true).open(&file).is_err() {
        let error = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap_err();
        assert!(error.to_string().contains("state.redb"), "{error}");
    }
    // The check reads alone, so that it works on what cannot be written.
    let report = check_directory(dir.path()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    readable(0o644);
    let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
    let recorded = Recorded::read(&store).unwrap();
    assert_eq!(recorded.last, 1, "{id} was given out");
}

/// Mounts the file system of a directory anew, to be read alone or to be written.
fn remount(dir: &Path, how: &str) {
    let mut mount = Process::new("mount");
    let mounted = mount.args(["-o", &format!("remount,{how}")]).arg(dir);
    assert!(mounted.status().unwrap().success(), "remount,{how}");
}

#[test]
fn a_read_only_mount_refuses_a_start_and_loses_nothing() {
    let Some(mounted) = std::env::var_os(MOUNT) else {
        println_line("skipped: .ci/read-only mounts a file system for this");
        return;
    };
    let (mounted, data) = (Path::new(&mounted), Path::new(&mounted).join("data"));
    let id = {
        let durable = durable(&data);
        let Answer::Application(id) = durable.rm.execute("yarn", Command::NewApplication).unwrap()
        else {
            panic!("an id was asked for");
        };
        id
    };
    let file = data.join("state.redb");
    let before = std::fs::read(&file).unwrap();
    remount(mounted, "ro");
    let written = std::fs::write(mounted.join("probe"), "x").unwrap_err();
    assert_eq!(written.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    for (dir, name) in [
        (data.clone(), "state.redb"),
        (mounted.join("other"), "other"),
    ] {
        let error = EmbeddedStore::open(&dir, Arc::new(SystemClock::new())).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("Read-only file system"),
            "{text}"
        );
    }
    let report = check_directory(&data).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    remount(mounted, "rw");
    let store = EmbeddedStore::open(&data, Arc::new(SystemClock::new())).unwrap();
    assert_eq!(
        Recorded::read(&store).unwrap().last,
        1,
        "{id} was given out"
    );
}
