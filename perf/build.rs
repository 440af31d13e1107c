//! Tells the driver which compiler built it.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let version = output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    let mut out = std::io::stdout().lock();
    let line = format!("cargo::rustc-env=PERF_RUSTC={version}\ncargo::rerun-if-changed=build.rs\n");
    std::io::Write::write_all(&mut out, line.as_bytes()).expect("cargo reads what is written");
}
