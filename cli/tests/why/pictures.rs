//! The pictures of the documents, the script that draws them, and the files that packaging names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{captured, command, folder};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Pictures that the script draws; those of one kind when a comment is given.
fn drawn(kind: Option<&str>) -> BTreeSet<String> {
    let script = read("docs/pictures/draw");
    let names = script.lines().filter_map(|line| {
        let (name, comment) = line.trim().split_once(") # ")?;
        let is_name = name.ends_with(".svg") && !name.contains(char::is_whitespace);
        (is_name && kind.is_none_or(|kind| kind == comment)).then(|| name.to_owned())
    });
    names.collect()
}

/// All pages of the repository's documents.
fn pages(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, text);
        } else if path.extension().is_some_and(|end| end == "md") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_script_draws_the_pictures_that_exist_and_each_is_shown() {
    let files = fs::read_dir(root().join("docs/pictures")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = names.filter(|name| name.ends_with(".svg")).collect();
    assert!(files.len() > 2);
    assert_eq!(drawn(None), files);
    let kinds: BTreeSet<String> = ["the same on every machine", "measured"]
        .iter()
        .flat_map(|kind| drawn(Some(kind)))
        .collect();
    assert_eq!(kinds, files, "each line says what kind its picture is");
    let mut text = read("README.md");
    text.push_str(&read("perf/FIGURES.md"));
    pages(&root().join("docs"), &mut text);
    for name in files {
        assert!(
            text.contains(&format!("pictures/{name})")),
            "{name} is not shown"
        );
    }
}

/// The example of `demo organisation` is compared in `teach.rs`.
#[test]
fn the_slopes_in_the_documents_are_what_whatif_draws() {
    let folder = folder("pictures-slopes");
    let [run, svg] =
        ["run", "slopes.svg"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    let trace = "configs/traces/native/preemption.jsonl";
    let conf = "configs/scenarios/preemption.xml";
    let set = "root.batch.maximum-capacity=50";
    for args in [
        &["replay", trace, "--conf", conf, "--out", &run][..],
        &["whatif", &run, "--set", set, "--svg", &svg],
    ] {
        let output = command(args).current_dir(root()).output().unwrap();
        let (code, _, err) = captured(&output);
        assert_eq!(code, 0, "{args:?}: {err}");
    }
    let script = read("docs/pictures/draw");
    for part in [trace, conf, set] {
        assert!(script.contains(part), "{part}");
    }
    assert!(drawn(Some("the same on every machine")).contains("whatif-slopes.svg"));
    assert!(
        fs::read_to_string(svg).unwrap() == read("docs/pictures/whatif-slopes.svg"),
        "draw it again: docs/pictures/draw whatif-slopes.svg"
    );
}

#[test]
fn packaging_names_files_that_exist() {
    let docker = read("Dockerfile");
    let copies = docker.lines().filter_map(|line| line.strip_prefix("COPY "));
    let local = copies.filter(|line| !line.starts_with("--from"));
    let release = read(".ci/release");
    let kept = release.lines().filter_map(|line| line.strip_prefix("cp "));
    let mut seen = 0;
    for line in local.chain(kept) {
        let words: Vec<&str> = line.split(' ').collect();
        for path in &words[..words.len() - 1] {
            if path.contains('$') || path.starts_with('-') {
                continue;
            }
            assert!(root().join(path).exists(), "{path} of `{line}`");
            seen += 1;
        }
    }
    assert!(seen > 6, "{seen}");
}
