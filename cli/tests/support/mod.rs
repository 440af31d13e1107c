//! What tests of the commands share: the program as a stranger runs it, and small traces.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A fresh folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("commands-{name}"));
    let _absent = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The program with nothing to read.
pub(crate) fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
    command.args(args).stdin(Stdio::null());
    command
}

/// How a command ended and what it printed, without a panic.
pub(crate) fn captured(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code().unwrap(), out, err)
}

/// The same of a command that is run here.
pub(crate) fn run<S: AsRef<OsStr>>(args: &[S]) -> (i32, String, String) {
    captured(&command(args).output().unwrap())
}

/// What a command that succeeds prints.
pub(crate) fn printed<S: AsRef<OsStr>>(args: &[S]) -> String {
    let (code, out, err) = run(args);
    assert_eq!(code, 0, "{err}");
    out
}

/// A small trace of one kind of work, with its cluster.
pub(crate) fn generated(folder: &Path, kind: &str, seed: &str) -> PathBuf {
    let path = folder.join(format!("{kind}-{seed}.jsonl.zst"));
    let mut args = vec!["trace", "generate", "--jobs", "12", "--services", "3"];
    args.extend(["--hours", "1", "--nodes", "8", "--scale", "100"]);
    args.extend(["--only", kind, "--seed", seed, "--out"]);
    let mut command = command(&args);
    assert_eq!(captured(&command.arg(&path).output().unwrap()).0, 0);
    path
}
