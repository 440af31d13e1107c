//! Distributed shell on Hadoop's ResourceManager with this scheduler, where a JDK and Maven are. `.ci/hadoop` runs more.

use std::path::Path;
use std::process::{Command, Stdio};

/// The first tool that does not run.
fn missing_tool() -> Option<&'static str> {
    ["java", "javac", "mvn"].into_iter().find(|tool| {
        let probe = Command::new(tool)
            .arg("-version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        !probe.is_ok_and(|status| status.success())
    })
}

#[test]
#[ignore = "fetches Hadoop by Maven and takes minutes; .ci/hadoop runs it"]
fn distributed_shell_runs_on_the_real_resource_manager() {
    if let Some(tool) = missing_tool() {
        // Seen with `--nocapture`: a run without Hadoop says so.
        let text = format!("skipped: `{tool}` does not run; a JDK 17 and Maven are needed\n");
        std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hadoop/run.sh");
    let output = Command::new(script)
        .args(["demo", "shell"])
        .env("CAPSCHED_PROFILE", "dev")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains(r#""scene":"shell","succeeded":true"#),
        "{shown}"
    );
}
