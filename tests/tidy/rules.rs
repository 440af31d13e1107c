//! The house rules as functions from text to the list of what is wrong with it.

use crate::source::{Part, Word, lines_without_tests, only, words};

/// A floor of the engine and the floors that it may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor {
    pub(crate) name: &'static str,
    pub(crate) uses: &'static [&'static str],
}

/// An edge that does not point to a floor further down in the table.
pub(crate) fn edges_not_down(floors: &[Floor]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, floor) in floors.iter().enumerate() {
        for used in floor.uses {
            if !floors[..at].iter().any(|below| below.name == *used) {
                wrong.push(format!(
                    "the edge {} -> {used} does not point down",
                    floor.name
                ));
            }
        }
    }
    wrong
}

/// A `crate::` path that uses no edge of the table, or that hides which floor it uses. Exported
/// macros stand at the root of the crate; they come with the floor that they belong to.
pub(crate) fn edges_not_listed(
    floor: &str,
    source: &str,
    floors: &[Floor],
    macros: &[(&str, &str)],
) -> Vec<String> {
    let uses = floors.iter().find(|f| f.name == floor).map(|f| f.uses);
    let Some(uses) = uses else {
        return vec![format!("{floor} is not in the table of floors")];
    };
    let code = only(Part::Code, source);
    let mut wrong = Vec::new();
    for word in words(&code).iter().filter(|word| word.text == "crate") {
        let mut target = target(word.rest);
        if let Target::Floor(name) = &mut target
            && let Some((_, owner)) = macros.iter().find(|(exported, _)| exported == name)
        {
            *name = owner;
        }
        match target {
            Target::Visibility => {}
            Target::Floor(name) if name == floor || uses.contains(&name) => {}
            Target::Floor(name) => wrong.push(at(word, &format!("no edge {floor} -> {name}"))),
            Target::Unclear => wrong.push(at(word, "name one floor after crate::")),
        }
    }
    wrong
}

/// What stands behind the word `crate`.
enum Target<'a> {
    /// `pub(crate)`.
    Visibility,
    Floor(&'a str),
    /// A group, a glob or an alias.
    Unclear,
}

fn target(rest: &str) -> Target<'_> {
    let rest = rest.trim_start();
    if rest.starts_with(')') {
        return Target::Visibility;
    }
    let Some(path) = rest.strip_prefix("::").map(str::trim_start) else {
        return Target::Unclear;
    };
    match words(path).first() {
        Some(first) if path.starts_with(first.text) => Target::Floor(first.text),
        _ => Target::Unclear,
    }
}

/// Ways around the table: climbing two modules, or out of a floor from its front page. Unit tests
/// are a module further down, so they may climb one more.
pub(crate) fn climbs(front_page: bool, source: &str) -> Vec<String> {
    let code = only(Part::Code, source);
    let own_lines = lines_without_tests(source);
    let mut wrong = Vec::new();
    let mut inside_path = false;
    for word in words(&code) {
        if word.text == "super" && !inside_path {
            let height = climbed(word.rest);
            let allowed = usize::from(!front_page) + usize::from(word.line > own_lines);
            if height > allowed {
                wrong.push(at(&word, "climbs too far; name the floor"));
            }
        }
        inside_path = word.text == "super" && word.rest.trim_start().starts_with("::");
    }
    wrong
}

/// How many modules a path climbs whose first `super` is followed by this.
fn climbed(rest: &str) -> usize {
    match rest.trim_start().strip_prefix("::").map(str::trim_start) {
        None => 0,
        Some(path) if words(path).first().is_some_and(|w| w.text == "super") => {
            1 + path.strip_prefix("super").map_or(0, climbed)
        }
        Some(_) => 1,
    }
}

/// Root modules that are no floors, and floors out of order, as they stand in `lib.rs`.
pub(crate) fn root_modules(lib: &str, floors: &[Floor]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut height = 0;
    for name in module_names(lib) {
        match floors.iter().position(|floor| floor.name == name) {
            None => wrong.push(format!("{name} is not in the table of floors")),
            Some(at) if at < height => wrong.push(format!("{name} stands above its floor")),
            Some(at) => height = at,
        }
    }
    wrong
}

/// The modules that a file declares without a body, in order.
pub(crate) fn module_names(source: &str) -> Vec<String> {
    let code = only(Part::Code, source);
    let found = words(&code);
    let pairs = found.windows(2);
    pairs
        .filter(|pair| pair[0].text == "mod" && pair[1].rest.trim_start().starts_with(';'))
        .map(|pair| pair[1].text.to_owned())
        .collect()
}

/// What is wrong with the first line, which says what the file is for.
pub(crate) fn module_comment(source: &str) -> Vec<String> {
    let first = source.lines().next().unwrap_or_default();
    match first.strip_prefix("//! ") {
        None => vec!["the first line is no `//!` comment".to_owned()],
        Some(text) if text.split_whitespace().count() < 3 => {
            vec!["the first line says too little".to_owned()]
        }
        Some(_) => Vec::new(),
    }
}

/// First lines that say the same; files come as path and text.
pub(crate) fn equal_comments(files: &[(String, String)]) -> Vec<String> {
    let mut firsts: Vec<(String, &str)> = files
        .iter()
        .map(|(path, text)| {
            (
                plain(text.lines().next().unwrap_or_default()),
                path.as_str(),
            )
        })
        .collect();
    firsts.sort();
    let pairs = firsts.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs
        .map(|pair| format!("{} and {} begin with the same words", pair[0].1, pair[1].1))
        .collect()
}

fn plain(line: &str) -> String {
    let lower = line.to_lowercase();
    let found: Vec<&str> = words(&lower).iter().map(|word| word.text).collect();
    found.join(" ")
}

/// Characters that a reader cannot see, and characters outside ASCII where they do not belong: code
/// holds none, literals only the given signs, comments and the literals of tests any. Without signs
/// the whole file is tests.
pub(crate) fn characters(source: &str, signs: Option<&str>) -> Vec<String> {
    let code = only(Part::Code, source);
    let comments = only(Part::Comment, source);
    let own_lines = lines_without_tests(source);
    let mut wrong = Vec::new();
    let parts = source.lines().zip(code.lines()).zip(comments.lines());
    for (at, ((line, code), comment)) in parts.enumerate() {
        let mut say = |c: char, what: &str| {
            wrong.push(format!("line {}: {} {what}", at + 1, c.escape_unicode()));
        };
        if let Some(c) = code.chars().find(|c| !c.is_ascii()) {
            say(c, "in code");
        }
        let literal = line.chars().zip(code.chars().zip(comment.chars()));
        let literal = literal.filter(|(c, (code, comment))| c != code && c != comment);
        let strange = |c: &char| !c.is_ascii() && signs.is_some_and(|signs| !signs.contains(*c));
        if at < own_lines
            && let Some(c) = literal.map(|(c, _)| c).find(strange)
        {
            say(c, "in a literal");
        }
        if let Some(c) = line.chars().find(|&c| is_invisible(c)) {
            say(c, "is invisible");
        }
    }
    wrong
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{a0}' | '\u{ad}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}'
        )
        || matches!(c, '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}')
        || c >= '\u{e0000}'
}

/// A file that has grown beyond what is allowed, or whose exception is no longer needed.
pub(crate) fn length(source: &str, limit: usize, exception: Option<usize>) -> Vec<String> {
    let lines = lines_without_tests(source);
    match exception {
        Some(_) if lines <= limit => vec!["needs no exception in length any more".to_owned()],
        Some(allowed) if lines > allowed => vec![format!("{lines} lines, {allowed} were excepted")],
        None if lines > limit => vec![format!("{lines} lines without tests, at most {limit}")],
        _ => Vec::new(),
    }
}

/// Gates of fast paths without a comment near them that names the slow path.
pub(crate) fn gates_without_slow_path(source: &str) -> Vec<String> {
    const NEAR: usize = 8;
    let lines: Vec<&str> = source.lines().collect();
    let is_gate = |line: &&str| line.contains("FastPath::") && line.contains(".is_taken()");
    let gates = lines.iter().enumerate().filter(|(_, line)| is_gate(line));
    gates
        .filter(|(at, _)| {
            let near = &lines[at.saturating_sub(NEAR)..(at + NEAR).min(lines.len())];
            !near.iter().any(|line| line.contains("// Must equal"))
        })
        .map(|(at, _)| format!("line {}: a gate that names no slow path", at + 1))
        .collect()
}

/// The functions that a cell of a table names, without their types and modules.
pub(crate) fn functions_named(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let functions = quoted.filter(|name| !name.ends_with(".rs"));
    functions
        .map(|name| name.rsplit("::").next().unwrap_or(name))
        .collect()
}

/// Whether a file has a function of a name that asserts something in builds with assertions, or asserts what the
/// function answers.
pub(crate) fn compares(source: &str, name: &str) -> bool {
    const NEAR: usize = 4;
    let lines: Vec<&str> = source.lines().collect();
    let asserts = |lines: &[&str]| lines.iter().any(|line| line.contains("debug_assert"));
    let called = format!("{name}(");
    let generic = format!("{name}::<");
    let is_call = |line: &str| {
        let here = line.contains(&called) || line.contains(&generic);
        here && !line.contains("fn ")
    };
    let declared = |line: &str| {
        let rest = line
            .split_once("fn ")
            .and_then(|(_, rest)| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    (0..lines.len()).any(|at| {
        let indent = lines[at].len() - lines[at].trim_start().len();
        let end = format!("{:indent$}}}", "");
        let body = lines[at..].iter().position(|line| **line == *end);
        let body = body.map_or(at, |length| at + length);
        (declared(lines[at]) && asserts(&lines[at..body]))
            || (is_call(lines[at]) && asserts(&lines[at.saturating_sub(NEAR)..=at]))
    })
}

/// A file without unit tests whose `//!` names no test file that exists.
pub(crate) fn missing_tests(source: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    if lines_without_tests(source) < source.lines().count() {
        return Vec::new();
    }
    let front = source.lines().take_while(|line| line.starts_with("//!"));
    let mut named = front.flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_test = |name: &str| name.contains("tests/") && name.ends_with(".rs") && exists(name);
    if named.any(is_test) {
        return Vec::new();
    }
    vec!["has no unit test, and names no test file".to_owned()]
}

/// Words that must not stand in any text.
pub(crate) fn forbidden(text: &str, forbidden: &[&str]) -> Vec<String> {
    let found = words(text);
    let found = found.iter().filter(|word| forbidden.contains(&word.text));
    found
        .map(|word| at(word, &format!("{} is not written here", word.text)))
        .collect()
}

/// Paths into crates or modules that only some floors may use; a rule is a path and its floors.
pub(crate) fn outside_paths(floor: &str, source: &str, rules: &[(&str, &[&str])]) -> Vec<String> {
    let code = only(Part::Code, source);
    let dense: String = code
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    let found = words(&dense);
    let mut wrong = Vec::new();
    for (path, floors) in rules.iter().filter(|(_, floors)| !floors.contains(&floor)) {
        let (first, more) = path.split_once("::").unwrap_or((path, ""));
        let hit = found.iter().find(|word| {
            let tail = word.rest.strip_prefix("::");
            let root = !dense[..dense.len() - word.rest.len() - word.text.len()].ends_with("::");
            word.text == first && root && tail.is_some_and(|tail| follows(tail, more))
        });
        if let Some(word) = hit {
            wrong.push(at(
                word,
                &format!("{path} belongs to {}", floors.join(", ")),
            ));
        }
    }
    wrong
}

fn follows(tail: &str, path: &str) -> bool {
    let end = tail.strip_prefix(path).map(|rest| rest.chars().next());
    end.is_some_and(|next| {
        path.is_empty() || !next.is_some_and(|c| c == '_' || c.is_alphanumeric())
    })
}

/// The crates that a manifest depends on at run time, in the spelling of Rust paths.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.starts_with("[target.") && line.ends_with(".dependencies]")
                || line == "[dependencies]";
        } else if inside && line.contains('=') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            names.push(name.replace('-', "_"));
        }
    }
    names
}

/// Floors that a page does not name in backquotes.
pub(crate) fn unnamed<'a>(page: &str, floors: impl Iterator<Item = &'a str>) -> Vec<String> {
    floors
        .filter(|floor| !page.contains(&format!("`{floor}`")))
        .map(|floor| format!("the page does not name `{floor}`"))
        .collect()
}

/// Paths of the repository that a page names as code: in backticks, below a folder of the root. What a build makes
/// is no file of the repository.
pub(crate) fn named_paths(page: &str) -> Vec<&str> {
    const FOLDERS: [&str; 10] = [
        ".ci/", "tests/", "src/", "docs/", "cli/", "server/", "perf/", "capi/", "python/", "java/",
    ];
    let of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    page.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)))
        .filter(|name| name.chars().all(of_path) && !name.contains("/target/"))
        .collect()
}

/// Targets of links in a page that lead to files, without their anchors.
pub(crate) fn file_links(page: &str) -> Vec<&str> {
    let targets = page
        .split("](")
        .skip(1)
        .filter_map(|tail| tail.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

fn at(word: &Word<'_>, what: &str) -> String {
    format!("line {}: {what}", word.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: &[Floor] = &[
        Floor {
            name: "low",
            uses: &[],
        },
        Floor {
            name: "middle",
            uses: &["low"],
        },
        Floor {
            name: "high",
            uses: &["middle"],
        },
    ];

    #[test]
    fn an_edge_up_or_to_nowhere_is_refused() {
        assert!(edges_not_down(FLOORS).is_empty());
        let up = [
            Floor {
                name: "low",
                uses: &["high"],
            },
            Floor {
                name: "high",
                uses: &[],
            },
        ];
        assert_eq!(edges_not_down(&up).len(), 1);
        assert_eq!(
            edges_not_down(&[Floor {
                name: "low",
                uses: &["none"]
            }])
            .len(),
            1
        );
        assert_eq!(
            edges_not_down(&[Floor {
                name: "low",
                uses: &["low"]
            }])
            .len(),
            1
        );
    }

    #[test]
    fn an_import_needs_a_listed_edge() {
        let fine = "use crate::low::{A};\npub(crate) fn b() { crate::middle::c() } // crate::high";
        assert!(edges_not_listed("middle", fine, FLOORS, &[]).is_empty());
        for bad in [
            "use crate::high::A;",
            "fn a() { crate :: high::b() }",
            "use crate::{low::A};",
            "use crate::*;",
            "use crate as it;",
            "macro_rules! a { () => { $crate::high::B } }",
        ] {
            assert_eq!(
                edges_not_listed("middle", bad, FLOORS, &[]).len(),
                1,
                "{bad}"
            );
        }
        assert_eq!(
            edges_not_listed("high", "use crate::low::A;", FLOORS, &[]).len(),
            1
        );
        assert_eq!(edges_not_listed("cellar", "", FLOORS, &[]).len(), 1);
    }

    #[test]
    fn a_macro_counts_as_its_floor() {
        let macros = &[("count", "low")];
        let source = "crate::count!(A);";
        assert!(edges_not_listed("middle", source, FLOORS, macros).is_empty());
        assert_eq!(edges_not_listed("high", source, FLOORS, macros).len(), 1);
    }

    #[test]
    fn climbing_out_is_refused() {
        assert!(climbs(false, "use super::A;\npub(super) fn b() {}").is_empty());
        assert_eq!(climbs(false, "use super::super::A;").len(), 1);
        assert_eq!(climbs(false, "fn a() { super:: super::b() }").len(), 1);
        assert_eq!(climbs(true, "use super::low::A;").len(), 1);
        let tests =
            |path: &str| format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n use {path};\n}}");
        assert!(climbs(true, &tests("super::a")).is_empty());
        assert!(climbs(false, &tests("super::super::a")).is_empty());
        assert_eq!(climbs(true, &tests("super::super::a")).len(), 1);
        assert_eq!(climbs(false, &tests("super::super::super::a")).len(), 1);
    }

    #[test]
    fn root_modules_follow_the_table() {
        assert!(root_modules("pub mod low;\n\n#[doc(hidden)]\npub mod high;", FLOORS).is_empty());
        assert_eq!(root_modules("pub mod high;\npub mod low;", FLOORS).len(), 1);
        assert_eq!(root_modules("mod attic;", FLOORS).len(), 1);
        assert!(root_modules("mod inline { }", FLOORS).is_empty());
    }

    #[test]
    fn a_file_says_what_it_is_for() {
        assert!(module_comment("//! Something that counts.\n").is_empty());
        for bad in [
            "",
            "// Something that counts.",
            "//! Nodes.",
            "use a;\n//! Too late, sorry.",
        ] {
            assert_eq!(module_comment(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn two_files_do_not_say_the_same() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = [
            file("a", "//! Orders of queues.\n"),
            file("b", "//! orders, of queues\n"),
            file("c", "//! Orders of nodes.\n"),
        ];
        assert_eq!(equal_comments(&files).len(), 1);
        assert!(equal_comments(&files[1..]).is_empty());
    }

    #[test]
    fn strange_characters_are_refused() {
        let fine = "//! a \u{d7} b\nlet c = \"d \u{2264}\"; // \u{e4}\n";
        assert!(characters(fine, Some("\u{2264}")).is_empty());
        assert_eq!(characters(fine, Some("")).len(), 1);
        assert!(characters(fine, None).is_empty());
        assert_eq!(characters("let \u{e4} = 1;", None).len(), 1);
        let tests = "#[cfg(test)]\nmod tests {\n    const A: &str = \"\u{e4}\";\n}";
        assert!(characters(tests, Some("")).is_empty());
        for hidden in ["\u{202e}", "\u{200b}", "\u{a0}", "\t", "\r", "\u{feff}"] {
            assert_eq!(
                characters(&format!("// a{hidden}b"), None).len(),
                1,
                "{hidden:?}"
            );
        }
    }

    #[test]
    fn files_grow_only_by_exception() {
        let source = "a\n".repeat(11);
        assert_eq!(length(&source, 10, None).len(), 1);
        assert!(length(&source, 11, None).is_empty());
        assert!(length(&source, 10, Some(11)).is_empty());
        assert_eq!(length(&source, 9, Some(10)).len(), 1);
        assert_eq!(length(&source, 11, Some(20)).len(), 1);
    }

    #[test]
    fn a_gate_names_its_slow_path() {
        let gate = "if FastPath::A.is_taken() {}";
        assert_eq!(gates_without_slow_path(gate).len(), 1);
        assert!(gates_without_slow_path(&format!("// Must equal [`b`].\n{gate}")).is_empty());
        let far = "\n".repeat(20);
        assert_eq!(
            gates_without_slow_path(&format!("// Must equal [`b`].{far}{gate}")).len(),
            1
        );
    }

    #[test]
    fn a_comparison_is_asserted_where_it_is_called_or_asserts_itself() {
        let row = "`Pass::holds`, at 64 places; a test in `tests/a.rs`";
        assert_eq!(functions_named(row), ["holds"]);
        let body = "fn holds(a: u8) {\n    debug_assert!(a > 0);\n}\n";
        assert!(compares(body, "holds") && !compares(body, "hold"));
        let silent = "fn holds() {\n    go();\n}\n\nfn other() {\n    debug_assert!(a);\n}\n";
        assert!(!compares(silent, "holds"));
        assert!(compares(
            "    debug_assert!(\n        self.holds(a),\n    );",
            "holds"
        ));
        assert!(!compares("    self.holds(a);", "holds"));
    }

    #[test]
    fn words_are_refused_wherever_they_stand() {
        assert_eq!(
            forbidden("// BANNED: later\nlet a = \"BANNED\";", &["BANNED"]).len(),
            2
        );
        assert!(forbidden("UNBANNED banned", &["BANNED"]).is_empty());
    }

    #[test]
    fn an_outside_crate_belongs_to_its_floors() {
        let rules: &[(&str, &[&str])] = &[("tool", &["low"]), ("std::thread", &["high"])];
        assert!(outside_paths("low", "use tool::A;", rules).is_empty());
        assert_eq!(outside_paths("high", "use tool::A;", rules).len(), 1);
        assert_eq!(
            outside_paths("low", "fn a() { std::thread::spawn(b) }", rules).len(),
            1
        );
        assert!(
            outside_paths("low", "std::threads::a(); a::tool::b(); // tool::c", rules).is_empty()
        );
        assert!(outside_paths("high", "use std::thread;", rules).is_empty());
        assert_eq!(outside_paths("low", "use std::thread;", rules).len(), 1);
    }

    #[test]
    fn dependencies_are_those_of_the_running_library() {
        let manifest = "[dependencies]\na-b.workspace = true\nc = \"1\"\n\n[dev-dependencies]\nd = \
                        \"1\"\n[target.'cfg(x)'.dependencies]\ne.workspace = true\n[lints]\nf = 1\n";
        assert_eq!(dependencies(manifest), ["a_b", "c", "e"]);
    }

    #[test]
    fn a_file_without_unit_tests_names_a_test_file_that_exists() {
        let missing = |source: &str| missing_tests(source, |file| file == "tests/a.rs").len();
        assert_eq!(missing("//! A.\nfn b() {}\n"), 1);
        assert_eq!(missing("//! A.\n//! Tests: `tests/a.rs`.\nfn b() {}\n"), 0);
        assert_eq!(missing("//! A.\n//! Tests: `tests/c.rs`.\nfn b() {}\n"), 1);
        assert_eq!(
            missing("//! A.\nfn b() {}\n#[cfg(test)]\nmod tests {\n}\n"),
            0
        );
    }

    #[test]
    fn a_page_names_its_floors_and_links_to_files() {
        assert_eq!(
            unnamed("the `low` one", ["low", "high"].into_iter()).len(),
            1
        );
        let page = "[a](docs/A.md#x) [b](https://b.org/c.md) [d](#d)";
        assert_eq!(file_links(page), ["docs/A.md"]);
        assert_eq!(
            named_paths("`.ci/run`, `src/a b`, `java/target/b`, `a/b`"),
            [".ci/run"]
        );
    }
}
