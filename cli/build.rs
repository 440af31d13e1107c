//! Gives the command the commit it was built from, for the files that a run writes.
//!
//! `CAPSCHED_COMMIT` names it where there is no repository, as in an image.

use std::io::Write as _;
use std::process::Command;

fn main() {
    let given = std::env::var("CAPSCHED_COMMIT").ok();
    let given = given.filter(|commit| !commit.is_empty());
    // Built from an archive or without git.
    let head = || git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let commit = given.unwrap_or_else(head);
    let mut text = format!(
        "cargo::rustc-env=CAPSCHED_COMMIT={commit}\ncargo::rerun-if-changed=build.rs\n\
         cargo::rerun-if-env-changed=CAPSCHED_COMMIT\n"
    );
    // A file that is not there would make every build a new one.
    let log = git(&[
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "logs/HEAD",
    ]);
    if let Some(log) = log.filter(|log| std::path::Path::new(log).is_file()) {
        text.push_str(&format!("cargo::rerun-if-changed={log}\n"));
    }
    std::io::stdout()
        .write_all(text.as_bytes())
        .expect("cargo reads what is written");
}

/// What git answers; nothing without git or outside of a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}
