//! Gives the command the commit it was built from, for the files that a run writes.

use std::io::Write as _;
use std::process::Command;

fn main() {
    let head = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let commit = match head {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        // Built from an archive or without git.
        _ => "unknown".to_owned(),
    };
    let text = format!(
        "cargo::rustc-env=CAPSCHED_COMMIT={commit}\ncargo::rerun-if-changed=build.rs\n\
         cargo::rerun-if-changed=../.git/logs/HEAD\n"
    );
    std::io::stdout()
        .write_all(text.as_bytes())
        .expect("cargo reads what is written");
}
