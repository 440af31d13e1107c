//! House rules that no lint knows: floors and their edges, module comments, characters, sizes.
//!
//! The table of edges is a decision about the architecture. A new edge is one line here and is
//! argued for in the commit that adds it; see `docs/ARCHITECTURE.md`.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use capsched::fast_path::{FastPath, PlantedFlaw};
use capsched::sync::Mutant;
use rules::Floor;

/// The floors, lowest first, with the floors that each may use.
const FLOORS: &[Floor] = &[
    floor("fast_path", &[]),
    floor("id", &[]),
    floor("time", &["id"]),
    floor("sync", &["id", "time"]),
    floor("metrics", &["id", "time", "sync"]),
    floor("resource", &["fast_path", "id"]),
    floor("cluster", &["id", "resource"]),
    floor("queue", &["fast_path", "id", "resource", "cluster"]),
    floor(
        "snapshot",
        &[
            "fast_path",
            "id",
            "sync",
            "metrics",
            "resource",
            "cluster",
            "queue",
        ],
    ),
    floor(
        "policy",
        &[
            "fast_path",
            "id",
            "resource",
            "cluster",
            "queue",
            "snapshot",
        ],
    ),
    floor(
        "accounting",
        &[
            "fast_path",
            "id",
            "resource",
            "cluster",
            "queue",
            "snapshot",
            "policy",
        ],
    ),
    floor(
        "proposer",
        &[
            "fast_path",
            "id",
            "resource",
            "cluster",
            "queue",
            "snapshot",
            "policy",
            "accounting",
        ],
    ),
    floor(
        "commit",
        &[
            "fast_path",
            "id",
            "time",
            "sync",
            "metrics",
            "resource",
            "cluster",
            "queue",
            "snapshot",
            "policy",
            "accounting",
            "proposer",
        ],
    ),
    floor(
        "runtime",
        &[
            "fast_path",
            "id",
            "time",
            "sync",
            "metrics",
            "resource",
            "cluster",
            "queue",
            "snapshot",
            "policy",
            "proposer",
            "commit",
        ],
    ),
    floor(
        "rescheduler",
        &[
            "id", "metrics", "resource", "cluster", "queue", "snapshot", "policy", "proposer",
            "commit", "runtime",
        ],
    ),
    floor(
        "config",
        &[
            "id",
            "resource",
            "cluster",
            "queue",
            "policy",
            "runtime",
            "rescheduler",
        ],
    ),
    floor(
        "explain",
        &[
            "id",
            "resource",
            "cluster",
            "queue",
            "snapshot",
            "policy",
            "proposer",
            "rescheduler",
        ],
    ),
    floor(
        "api",
        &[
            "id",
            "time",
            "sync",
            "metrics",
            "resource",
            "cluster",
            "queue",
            "snapshot",
            "policy",
            "proposer",
            "commit",
            "runtime",
            "rescheduler",
            "config",
            "explain",
        ],
    ),
    floor(
        "simulator",
        &[
            "id", "time", "metrics", "resource", "queue", "config", "api",
        ],
    ),
];

/// Exported macros, which stand at the root of the crate, with their floors.
const MACROS: &[(&str, &str)] = &[("closed_enum", "metrics")];

/// Floors whose functions depend on their arguments alone. Those of `accounting`, and the working copy of
/// `proposer`, write a state that their caller owns and passes in.
const PURE: &[&str] = &["resource", "policy", "accounting", "proposer", "explain"];

/// What a pure floor may not even reach through an edge.
const IMPURE: &[&str] = &["time", "sync", "metrics"];

/// Crates and parts of the standard library that belong to some floors only.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("arc_swap", &["sync"]),
    ("core_affinity", &["runtime"]),
    ("crossbeam_utils", &["time", "sync"]),
    ("loom", &["sync"]),
    ("shuttle", &["sync"]),
    ("ecow", &["id"]),
    ("foldhash", &["id"]),
    ("hdrhistogram", &["metrics"]),
    ("internment", &["id"]),
    ("oneshot", &["sync"]),
    ("smallvec", &["queue", "commit"]),
    ("csv", &["simulator"]),
    ("flate2", &["simulator"]),
    ("quick_xml", &["config"]),
    (
        "serde",
        &[
            "id",
            "resource",
            "queue",
            "commit",
            "config",
            "explain",
            "api",
            "simulator",
        ],
    ),
    ("serde_json", &["config", "explain", "api", "simulator"]),
    ("serde_path_to_error", &["simulator"]),
    ("zstd", &["simulator"]),
    ("std::sync::atomic", &["sync"]),
    ("std::thread", &["sync"]),
    ("std::time::Instant", &["time"]),
    ("std::time::SystemTime", &["time"]),
    ("std::env", &["fast_path", "sync"]),
    ("std::net", &[]),
    ("std::process", &[]),
];

/// Longest file without its unit tests.
const LINES: usize = 500;

/// Longer files with the lines they are allowed; a number here only ever goes down.
const LONGER: &[(&str, usize)] = &[];

/// Longest function, its signature included, without comments and empty lines.
const FUNCTION: usize = 40;

/// Longer functions, a line each: folder, name, lines that it may have, and a reason of its own. The list only
/// ever shrinks: a function that has become short enough, or has gone, is removed from it.
const LONG_FUNCTIONS: &str = "tests/tidy/long-functions.txt";

/// Names that several types have, with their number and the reason.
const SHARED_NAMES: &[(&str, usize, &str)] = &[
    (
        "ArcCell",
        2,
        "one for the program, one that the models watch",
    ),
    (
        "CachedArc",
        2,
        "one for the program, one that the models watch",
    ),
];

/// Signs that texts for people may hold: section, times, middle dot, minus, at most, at least,
/// unequal, ellipsis, arrow.
const SIGNS: &str = "\u{a7}\u{d7}\u{b7}\u{2212}\u{2264}\u{2265}\u{2260}\u{2026}\u{2192}";

/// Pages, and folders of pages, whose sentences are checked.
const PLAIN: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "docs/",
    "perf/",
];

/// Open work goes to the issue list.
const FORBIDDEN: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

const fn floor(name: &'static str, uses: &'static [&'static str]) -> Floor {
    Floor { name, uses }
}

#[test]
fn every_edge_points_down() {
    assert_none(rules::edges_not_down(FLOORS));
}

#[test]
fn pure_floors_have_no_edge_to_clocks_atomics_and_counters() {
    for floor in FLOORS.iter().filter(|floor| PURE.contains(&floor.name)) {
        let edge = floor.uses.iter().find(|used| IMPURE.contains(used));
        assert_eq!(edge, None, "{} is pure", floor.name);
    }
}

#[test]
fn the_simulator_knows_the_engine_by_its_front_door_only() {
    let simulator = FLOORS.last().expect("the table is not empty");
    let open = [
        "id", "time", "metrics", "resource", "queue", "config", "api",
    ];
    assert_eq!((simulator.name, simulator.uses), ("simulator", &open[..]));
}

#[test]
fn floors_use_each_other_by_listed_edges_only() {
    check_engine(|path, floor, text| {
        let mut wrong = rules::edges_not_listed(floor, text, FLOORS, MACROS);
        let front_page = path == format!("src/{floor}.rs") || path == format!("src/{floor}/mod.rs");
        wrong.extend(rules::climbs(front_page, text));
        wrong
    });
}

#[test]
fn files_of_a_floor_import_each_other_in_no_circle() {
    let mut files = rust_files();
    files.retain(|(path, _)| {
        path.strip_prefix("src/")
            .is_some_and(|inside| inside.contains('/'))
    });
    assert!(files.len() > FLOORS.len());
    let circles = circles::circles(&files);
    assert_none(circles.iter().map(|circle| circle.join(" <-> ")).collect());
}

#[test]
fn outside_crates_stay_on_their_floors() {
    check_engine(|path, floor, text| {
        let text = if path.ends_with("tests.rs") {
            ""
        } else {
            source::without_tests(text)
        };
        rules::outside_paths(floor, text, OUTSIDE)
    });
    let listed = |name: &String| OUTSIDE.iter().any(|(path, _)| path == name);
    let mut names = rules::dependencies(&read("Cargo.toml"));
    names.retain(|name| !listed(name));
    assert_none(names);
}

/// Everything here is built and tested by the oldest compiler that the manifest promises.
#[test]
fn the_promised_compiler_is_the_one_of_the_repository() {
    let quoted = |file: &str, key: &str| {
        let text = read(file);
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line
            .and_then(|line| line.split('"').nth(1))
            .map(str::to_owned);
        value.unwrap_or_else(|| panic!("{file} has no {key}"))
    };
    let promised = quoted("Cargo.toml", "rust-version = \"");
    let used = quoted("rust-toolchain.toml", "channel");
    assert!(
        used.starts_with(&format!("{promised}.")),
        "{promised} is promised, {used} is used"
    );
    assert!(read("src/lib.rs").contains(&format!("Rust {promised} or newer")));
}

/// Who links the engine alone gets no crate that only trace files need.
#[test]
fn crates_for_trace_files_are_optional() {
    let manifest = read("Cargo.toml");
    for name in ["csv", "flate2", "zstd"] {
        let optional = format!("{name} = {{ workspace = true, optional = true }}");
        assert!(manifest.contains(&optional), "{name}");
        assert!(manifest.contains(&format!("\"dep:{name}\"")), "{name}");
    }
}

#[test]
fn the_library_lists_its_floors_in_order() {
    let lib = read("src/lib.rs");
    assert_none(rules::root_modules(&lib, FLOORS));
    let declared = rules::module_names(&lib);
    let undeclared = |name: &str| !declared.iter().any(|floor| floor == name);
    let mut floors = existing_floors();
    floors.retain(|name| undeclared(name));
    assert_none(floors);
}

#[test]
fn files_begin_by_saying_what_they_are_for() {
    let files = rust_files();
    check(&files, |_, text| rules::module_comment(text));
    assert_none(rules::equal_comments(&files));
}

#[test]
fn code_is_ascii_and_every_character_can_be_seen() {
    check(&rust_files(), |path, text| {
        let signs = (!path.starts_with("tests/")).then_some(SIGNS);
        rules::characters(text, signs)
    });
}

#[test]
fn files_stay_short() {
    let mut files = rust_files();
    files.retain(|(path, _)| !path.starts_with("tests/") && !path.ends_with("tests.rs"));
    check(&files, |path, text| {
        let exception = LONGER.iter().find(|(longer, _)| *longer == path);
        rules::length(text, LINES, exception.map(|(_, lines)| *lines))
    });
    let gone = |longer: &str| !files.iter().any(|(path, _)| path == longer);
    let stale: Vec<&str> = LONGER
        .iter()
        .map(|(path, _)| *path)
        .filter(|path| gone(path))
        .collect();
    assert_none(stale);
}

/// The folder of a file up to the floor, under which the list of long functions names it: a function
/// that moves within its floor keeps its place.
fn floor_of(path: &str) -> String {
    let inside = path.trim_end_matches(".rs");
    let parts: Vec<&str> = inside.split('/').take(2).collect();
    parts.join("/")
}

#[test]
fn functions_stay_short() {
    let list = read(LONG_FUNCTIONS);
    let (mut exceptions, mut reasons) = (Vec::new(), BTreeSet::new());
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(folder), Some(name), Some(lines)) = (words.next(), words.next(), words.next())
        else {
            panic!("{LONG_FUNCTIONS}: not a folder, a name, a number and a reason: {line}");
        };
        let reason = words.collect::<Vec<_>>().join(" ");
        assert!(reason.contains(' '), "{LONG_FUNCTIONS}: no reason: {line}");
        assert!(
            reasons.insert(reason),
            "{LONG_FUNCTIONS}: the reason of another function: {line}"
        );
        let lines = lines.parse().expect("a number of lines");
        exceptions.push((folder, name, lines));
    }
    let mut files = rust_files();
    files.retain(|(path, _)| {
        ["src/", "cli/src/", "perf/src/"]
            .iter()
            .any(|of| path.starts_with(of))
    });
    files.retain(|(path, _)| !path.ends_with("tests.rs"));
    let found = files.iter().flat_map(|(path, text)| {
        let functions = shape::functions(text).into_iter();
        functions.map(|function| (floor_of(path), function))
    });
    let found: Vec<_> = found.collect();
    assert_none(shape::too_long(&found, FUNCTION, &exceptions));
}

#[test]
fn a_type_has_its_name_for_itself() {
    let mut files = rust_files();
    files.retain(|(path, _)| path.starts_with("src/") && !path.ends_with("tests.rs"));
    let found = files.iter().flat_map(|(path, text)| {
        let types = shape::types(text).into_iter();
        types.map(|name| (floor_of(path), name))
    });
    let found: Vec<_> = found.collect();
    assert_none(shape::shared_names(&found, SHARED_NAMES));
}

/// What other languages call: the package whose calls take pointers, and functions that are found by their names.
const FOREIGN: &[&str] = &["capi/", "java/native/src/lib.rs"];

#[test]
fn no_file_but_those_that_other_languages_call_holds_unsafe_code() {
    check(&rust_files(), |path, text| {
        if FOREIGN.iter().any(|foreign| path.starts_with(foreign)) {
            return Vec::new();
        }
        let code = source::only(source::Part::Code, text);
        rules::forbidden(&code, &["unsafe", "unsafe_code"])
    });
}

#[test]
fn no_text_promises_later_work() {
    let texts = files_where(|name| {
        [".rs", ".md", ".toml", ".sh", ".java"]
            .iter()
            .any(|end| name.ends_with(end))
    });
    check(&texts, |_, text| rules::forbidden(text, FORBIDDEN));
}

/// Floors whose code runs for each container: a test stands beside it, or its first page names one.
const HOT: &[&str] = &["accounting", "proposer", "commit", "runtime"];

/// Files with fewer lines hold types alone.
const SMALL: usize = 60;

#[test]
fn hot_code_has_unit_tests_or_names_its_tests() {
    check_engine(|path, floor, text| {
        let front_page = path.ends_with("/mod.rs");
        let small = text.lines().count() < SMALL;
        if !HOT.contains(&floor) || front_page || small || path.contains("/testing/") {
            return Vec::new();
        }
        rules::missing_tests(text, |file| root().join(file).exists())
    });
}

/// Types and traits that outsiders see are shown in use: their documentation has an example.
#[test]
fn every_item_of_the_front_door_has_an_example() {
    let mut files = rust_files();
    files.retain(|(path, _)| path.starts_with("src/api/"));
    check(&files, |_, text| {
        let items = ["pub struct ", "pub enum ", "pub trait "];
        let (mut wrong, mut example) = (Vec::new(), false);
        for line in text.lines() {
            if line.starts_with("///") {
                example |= line.starts_with("/// ```");
            } else if !line.starts_with("#[") {
                if items.iter().any(|item| line.starts_with(item)) && !example {
                    wrong.push(format!("no example: {line}"));
                }
                example = false;
            }
        }
        wrong
    });
}

#[test]
fn the_architecture_page_names_every_floor() {
    let floors = existing_floors();
    let page = read("docs/ARCHITECTURE.md");
    assert_none(rules::unnamed(&page, floors.iter().map(String::as_str)));
}

/// Every call of a running engine is in one of the tables of the page, and they name no other.
#[test]
fn the_architecture_page_says_how_long_each_call_holds_others() {
    let page = read("docs/ARCHITECTURE.md");
    let section = page.split_once("### How long a call holds others\n");
    let (section, _) = section.unwrap().1.split_once("\n#").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let first = rows.map(|row| row.split(" | ").next().unwrap());
    let listed: BTreeSet<&str> = first
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let files = rust_files();
    let engine = files.iter().filter(|(path, _)| path.starts_with("src/"));
    let calls: BTreeSet<&str> = engine
        .flat_map(|(_, text)| shape::calls_of(text, "Threaded"))
        .collect();
    assert!(calls.len() > 60, "{calls:?}");
    assert_none(listed.symmetric_difference(&calls).copied().collect());
}

/// People who do not know the project read these pages.
#[test]
fn sentences_of_pages_are_short_and_plain() {
    let mut pages = files_where(|name| name.ends_with(".md"));
    pages.retain(|(path, _)| PLAIN.iter().any(|start| path.starts_with(start)));
    check(&pages, |_, text| prose::faults(text));
}

/// Comments use the terms of the field, as pages do.
#[test]
fn comments_hold_no_metaphors() {
    let mut files = rust_files();
    files.retain(|(path, _)| !path.starts_with("tests/tidy"));
    check(&files, |_, text| prose::metaphors_in_comments(text));
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = files_where(|name| name.ends_with(".md"));
    check(&pages, |path, text| {
        let page = root().join(path);
        let folder = page.parent().expect("a page lies in a folder");
        let mut links = rules::file_links(text);
        links.retain(|target| !folder.join(target).exists());
        links
            .iter()
            .map(|target| format!("no file {target}"))
            .collect()
    });
}

/// A path is as the root has it, or as the folder of the page has it.
#[test]
fn paths_that_pages_name_exist() {
    let pages = files_where(|name| name.ends_with(".md"));
    check(&pages, |path, text| {
        let page = root().join(path);
        let folder = page.parent().expect("a page lies in a folder");
        let mut named = rules::named_paths(text);
        named.retain(|name| !root().join(name).exists() && !folder.join(name).exists());
        named.iter().map(|name| format!("no file {name}")).collect()
    });
}

/// Crates with a known defect below a version. Reviewed with each release.
const OLDEST: &[(&str, [u32; 3])] = &[
    ("arc-swap", [1, 9, 1]),
    ("crossbeam-channel", [0, 5, 15]),
    ("crossbeam-deque", [0, 8, 1]),
    ("crossbeam-epoch", [0, 9, 20]),
    ("h2", [0, 4, 4]),
    ("quick-xml", [0, 41, 0]),
    ("rustls", [0, 23, 46]),
    ("rustls-webpki", [0, 103, 13]),
    ("tonic", [0, 12, 3]),
];

/// Crates of a lock file that are older than they may be.
fn too_old(lock: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key));
            line.map(|value| value.trim_matches('"'))
                .unwrap_or_default()
        };
        let (name, version) = (value("name = "), value("version = "));
        let plain = version.split(['-', '+']).next().unwrap_or_default();
        let found: Vec<u32> = plain
            .split('.')
            .map_while(|part| part.parse().ok())
            .collect();
        let oldest = OLDEST.iter().find(|(known, _)| *known == name);
        if let Some((_, oldest)) = oldest.filter(|(_, oldest)| found[..] < oldest[..]) {
            wrong.push(format!("{name} {version} is older than {oldest:?}"));
        }
    }
    wrong
}

#[test]
fn no_crate_is_older_than_its_last_known_defect() {
    for lock in ["Cargo.lock", "python/Cargo.lock"] {
        assert_none(too_old(&read(lock)));
    }
    let old = "[[package]]\nname = \"h2\"\nversion = \"0.4.3\"\n";
    assert_eq!(too_old(old), ["h2 0.4.3 is older than [0, 4, 4]"]);
}

#[test]
fn every_planted_bug_of_the_commit_is_demanded_or_excused() {
    let script = read(".ci/canaries");
    let list = |name: &str| {
        let (_, rest) = script.split_once(name).expect("the script has the list");
        let (inside, _) = rest.split_once(')').expect("the list ends");
        let names = inside.split_whitespace();
        let names = names.map(|pair| pair.split(':').next().unwrap_or(pair).to_owned());
        names.collect::<Vec<_>>()
    };
    let mut listed = [list("\ndemanded=("), list("\nexcused=(")].concat();
    listed.sort();
    let of_the_commit = Mutant::ALL.iter().filter(|bug| bug.is_of_the_commit());
    let mut known: Vec<_> = of_the_commit.map(|bug| format!("{bug:?}")).collect();
    known.sort();
    assert_eq!(listed, known);
}

/// The page of fast paths has one row for each, and the engine a gate, a slow path by name, and each flaw.
#[test]
fn every_fast_path_has_a_row_a_gate_and_its_flaws() {
    let page = read("docs/FAST-PATHS.md");
    let mut engine = rust_files();
    engine.retain(|(path, _)| path.starts_with("src/") && path != "src/fast_path.rs");
    let holds = |what: &str| engine.iter().any(|(_, text)| text.contains(what));
    let mut wrong = Vec::new();
    for path in FastPath::ALL {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{path:?}` |")));
        wrong.extend(row.is_none().then(|| format!("{path:?}: no row")));
        let row = row.unwrap_or_default();
        let flaws = PlantedFlaw::ALL.iter().filter(|(broken, _)| broken == path);
        for (_, flaw) in flaws {
            let named = row.contains(&format!("`{flaw:?}`"));
            let planted = holds(&format!("is_planted(PlantedFlaw::{flaw:?})"));
            wrong.extend((!named || !planted).then(|| format!("{flaw:?}: in row and code?")));
        }
        let compared = row.split(" | ").nth(3).unwrap_or_default();
        let names = rules::functions_named(compared);
        wrong.extend(
            names
                .is_empty()
                .then(|| format!("{path:?}: nothing compares")),
        );
        let mut names = names.into_iter();
        let compares = |name: &str| engine.iter().any(|(_, text)| rules::compares(text, name));
        wrong.extend(
            names
                .find(|name| !compares(name))
                .map(|name| format!("{path:?}: {name} compares nothing")),
        );
        let gate = format!("FastPath::{path:?}.is_taken()");
        wrong.extend((!holds(&gate)).then(|| format!("{path:?}: no gate")));
    }
    assert_none(wrong);
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert!(rows >= FastPath::ALL.len());
    check(&engine, |_, text| rules::gates_without_slow_path(text));
}

/// Applies a rule to every file of the engine, with the name of the file's floor.
fn check_engine(rule: impl Fn(&str, &str, &str) -> Vec<String>) {
    let mut files = rust_files();
    files.retain(|(path, _)| path.starts_with("src/") && path != "src/lib.rs");
    check(&files, |path, text| {
        let inside = path.trim_start_matches("src/");
        let floor = inside.split(['/', '.']).next().unwrap_or_default();
        rule(path, floor, text)
    });
}

/// Applies a rule to files and fails with everything that it found.
fn check(files: &[(String, String)], rule: impl Fn(&str, &str) -> Vec<String>) {
    assert!(!files.is_empty(), "no file was checked");
    let found = files.iter().flat_map(|(path, text)| {
        let wrong = rule(path, text).into_iter();
        wrong.map(move |what| format!("{path}: {what}"))
    });
    assert_none(found.collect::<Vec<String>>());
}

fn assert_none<T: AsRef<str>>(wrong: Vec<T>) {
    let lines: Vec<&str> = wrong.iter().map(AsRef::as_ref).collect();
    assert!(
        lines.is_empty(),
        "against the house rules:\n{}",
        lines.join("\n")
    );
}

/// The folders and single files under `src`, which are the floors that exist.
fn existing_floors() -> Vec<String> {
    let entries = fs::read_dir(root().join("src")).expect("the engine has sources");
    let names = entries.map(|entry| entry.expect("a readable folder").file_name());
    let mut floors: Vec<String> = names
        .map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned())
        .filter(|name| name != "lib")
        .collect();
    floors.sort();
    floors
}

fn rust_files() -> Vec<(String, String)> {
    files_where(|name| name.ends_with(".rs"))
}

/// Path from the root and text of every file whose name is wanted; build output and hidden folders
/// are left out.
fn files_where(wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let name = name.expect("an entry has a name");
            if path.is_dir() && name != "target" && name != "runs" && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() && wanted(&name) {
                let inside = path
                    .strip_prefix(root())
                    .expect("the walk starts at the root");
                let inside = inside.to_string_lossy().replace('\\', "/");
                files.push((inside.clone(), read(&inside)));
            }
        }
    }
    files.sort();
    files
}

fn read(path: &str) -> String {
    let text = fs::read_to_string(root().join(Path::new(path)));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
