//! Gives the driver the compiler that built it, and the profile.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let version = output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    // What is built lies in `<profile>/build/<package>/out`; cargo says the profile itself only for those
    // that it comes with.
    let out_dir = env::var("OUT_DIR").expect("cargo names a folder for what is built");
    let profile = Path::new(&out_dir).ancestors().nth(3);
    let profile = profile.and_then(Path::file_name).and_then(OsStr::to_str);
    let profile = match profile.expect("the folder of a profile") {
        "debug" => "dev",
        profile => profile,
    };
    let mut out = std::io::stdout().lock();
    let line = format!(
        "cargo::rustc-env=PERF_RUSTC={version}\ncargo::rustc-env=PERF_PROFILE={profile}\n\
         cargo::rerun-if-changed=build.rs\n"
    );
    std::io::Write::write_all(&mut out, line.as_bytes()).expect("cargo reads what is written");
}
