//! The header, the exported names and the example in C.
//!
//! `CAPSCHED_WRITE_HEADER=1 cargo test -p capsched-capi --test header` writes the header and the list of names anew.
#![expect(clippy::print_stdout, reason = "says what is skipped and why")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(package().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The sources with what is exported; the calls in the order of the folder's names.
const SOURCES: [&str; 10] = [
    "abi/numbers.rs",
    "abi/records.rs",
    "calls/engine.rs",
    "calls/nodes.rs",
    "calls/apps.rs",
    "calls/attempts.rs",
    "calls/requests.rs",
    "calls/queues.rs",
    "calls/events.rs",
    "calls/views.rs",
];

fn header() -> String {
    let config = cbindgen::Config::from_file(package().join("cbindgen.toml"));
    let mut builder = cbindgen::Builder::new().with_config(config.expect("a valid configuration"));
    for source in SOURCES {
        builder = builder.with_src(package().join("src").join(source));
    }
    let mut text = Vec::new();
    builder
        .generate()
        .expect("the sources can be read")
        .write(&mut text);
    let text = String::from_utf8(text).expect("the header is text");
    // The word of Rust for what a caller promises.
    text.replace("# Safety", "Pointers:")
}

/// Compares a file of the package, or writes it where that is asked for.
fn compare(path: &str, made: &str) {
    if env::var_os("CAPSCHED_WRITE_HEADER").is_some() {
        fs::write(package().join(path), made).expect("the package can be written");
    }
    assert!(
        read(path) == made,
        "{path} is not what the sources say; see the first lines of this file"
    );
}

#[test]
fn the_header_is_what_the_sources_say() {
    compare("include/capsched.h", &header());
}

/// The folder of the libraries that were built for this test.
fn libraries() -> PathBuf {
    let own = env::current_exe().expect("a test has a path");
    own.parent().expect("it lies in a folder").to_owned()
}

fn shared_library() -> PathBuf {
    libraries().join("libcapsched_c.so")
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn exported(library: &Path) -> BTreeSet<String> {
    let listed = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output();
    let text = succeeded(listed.expect("nm runs"), "nm");
    let name = |line: &str| line.split_whitespace().last().map(str::to_owned);
    text.lines().filter_map(name).collect()
}

#[test]
fn the_library_exports_the_listed_names_and_no_others() {
    if !exists("nm") {
        println!("skipped: there is no nm");
        return;
    }
    let names: Vec<String> = exported(&shared_library())
        .into_iter()
        .map(|name| name + "\n")
        .collect();
    compare("symbols.txt", &names.concat());
    let header = read("include/capsched.h");
    for name in names {
        assert!(
            header.contains(&format!(" {}(", name.trim_end())),
            "{name} is not in the header"
        );
    }
}

fn succeeded(output: Output, what: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{what}: {}\n{out}\n{errors}",
        output.status
    );
    out
}

fn compiled(compiler: &str, source: &str, options: &[&str]) -> PathBuf {
    let program = libraries().join(format!("capsched-{compiler}-example"));
    let built = Command::new(compiler)
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-I"])
        .arg(package().join("include"))
        .arg(package().join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(libraries())
        .arg("-lcapsched_c")
        .arg(format!("-Wl,-rpath,{}", libraries().display()))
        .output();
    succeeded(built.expect("the compiler runs"), compiler);
    program
}

/// What memory checkers do not know of a processor stops them before the program has done anything.
const UNKNOWN_INSTRUCTION: &str = "Unrecognised instruction";

#[test]
fn the_example_in_c_compiles_without_a_warning_and_runs_without_a_leak() {
    if !exists("cc") {
        println!("skipped: there is no C compiler");
        return;
    }
    let program = compiled(
        "cc",
        "examples/embed.c",
        &["-std=c11", "-D_POSIX_C_SOURCE=200809L"],
    );
    let run = Command::new(&program).output().expect("the example runs");
    assert_eq!(
        succeeded(run, "the example"),
        "25 placed, the first node is n0:8041\n\
         container 1 has 2048 MiB now, and a gang of 4 is placed\n\
         3 opportunistic ones have room\n"
    );
    if !exists("valgrind") {
        println!("the run under valgrind is skipped: it is not installed");
        return;
    }
    let checked = Command::new("valgrind")
        .args([
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect",
        ])
        .arg(&program)
        .output()
        .expect("valgrind runs");
    if String::from_utf8_lossy(&checked.stderr).contains(UNKNOWN_INSTRUCTION) {
        println!(
            "the run under valgrind is skipped: it does not know an instruction of this processor"
        );
        return;
    }
    succeeded(checked, "valgrind");
}
