//! Circles among the files of a floor: files that import each other, over others or at once.
//!
//! Re-exports (`pub use`) are no imports: the front page of a folder re-exports what its files hold.

use std::collections::BTreeMap;

use crate::source::{Part, only, without_tests};

/// Files that a file imports, by path of module.
type Imports = BTreeMap<String, Vec<String>>;

/// Each group of modules that import each other, in order of their names. Files are path and text.
pub(crate) fn circles(files: &[(String, String)]) -> Vec<Vec<String>> {
    let names: Vec<String> = files.iter().map(|(path, _)| module_of(path)).collect();
    let imports: Imports = files
        .iter()
        .zip(&names)
        .map(|((path, text), name)| (name.clone(), imports_of(path, text, &names)))
        .collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for name in &names {
        if found.iter().flatten().any(|known| known == name) {
            continue;
        }
        let back =
            |other: &&String| reaches(&imports, name, other) && reaches(&imports, other, name);
        let circle: Vec<String> = names.iter().filter(back).cloned().collect();
        if !circle.is_empty() {
            found.push(circle);
        }
    }
    found
}

/// Whether imports lead from one module to another, by one step at least.
fn reaches(imports: &Imports, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (Vec::new(), vec![from]);
    while let Some(name) = next.pop() {
        for used in imports.get(name).into_iter().flatten() {
            if used == to {
                return true;
            }
            if !seen.contains(&used.as_str()) {
                seen.push(used);
                next.push(used);
            }
        }
    }
    false
}

/// The module of a file, as `commit::nodes` for `src/commit/nodes/mod.rs`.
fn module_of(path: &str) -> String {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    inside.replace('/', "::")
}

/// The modules among `names` that the private `use` lines of a file name, without itself.
fn imports_of(path: &str, text: &str, names: &[String]) -> Vec<String> {
    let own = module_of(path);
    let code = only(Part::Code, without_tests(text));
    let statements = code.split(';').filter_map(|statement| {
        let lines: Vec<&str> = statement.lines().collect();
        let first = lines.iter().position(|line| line.starts_with("use "))?;
        Some(lines[first..].concat())
    });
    let mut found: Vec<String> = statements
        .flat_map(|statement| leaves(statement.trim_start_matches("use ")))
        .filter_map(|leaf| module_named(&absolute(&own, &leaf)?, names))
        .filter(|name| *name != own)
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Every path of a `use` statement, groups spelled out.
fn leaves(statement: &str) -> Vec<String> {
    let statement = statement.trim();
    let Some((head, rest)) = statement.split_once('{') else {
        let path = statement.split(" as ").next().unwrap_or_default();
        return vec![path.replace(' ', "")];
    };
    let body = rest.rsplit_once('}').map_or(rest, |(body, _)| body);
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for c in body.chars() {
        depth = match c {
            '{' => depth + 1,
            '}' => depth.saturating_sub(1),
            _ => depth,
        };
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    let whole = parts.iter().map(|part| format!("{head}{}", part.trim()));
    whole.flat_map(|path| leaves(&path)).collect()
}

/// A path from the root of the crate; nothing for a path into another crate.
fn absolute(own: &str, path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    if let Some(rest) = path.strip_prefix("self::") {
        return Some(format!("{own}::{rest}"));
    }
    let (mut above, mut rest) = (own, path.strip_prefix("super::")?);
    loop {
        above = above.rsplit_once("::").map_or("", |(above, _)| above);
        match rest.strip_prefix("super::") {
            Some(further) => rest = further,
            None if above.is_empty() => return Some(rest.to_owned()),
            None => return Some(format!("{above}::{rest}")),
        }
    }
}

/// The file that holds what a path names: the longest part of it that is a module.
fn module_named(path: &str, names: &[String]) -> Option<String> {
    let mut part = path;
    while !names.iter().any(|name| name == part) {
        (part, _) = part.rsplit_once("::")?;
    }
    Some(part.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> (String, String) {
        (path.to_owned(), text.to_owned())
    }

    #[test]
    fn files_that_import_each_other_over_a_third_are_a_circle() {
        let files = [
            file("src/a/mod.rs", "mod one;\npub use one::One;\n"),
            file(
                "src/a/one.rs",
                "use super::two::{Two, more};\nuse std::fmt;\n",
            ),
            file(
                "src/a/two.rs",
                "use crate::a::{\n    three::Three,\n    other::X as Y,\n};\n",
            ),
            file(
                "src/a/three.rs",
                "use super::One;\nuse super::super::a::one::One;\n",
            ),
            file("src/a/other.rs", "use super::three::Three;\n"),
        ];
        let circle = ["a::one", "a::two", "a::three", "a::other"];
        let found = circles(&files);
        assert_eq!(found.len(), 1);
        assert!(
            circle
                .iter()
                .all(|name| found[0].iter().any(|other| other == name))
        );
        // Three imports the front page as well, which imports nothing.
        assert_eq!(found[0].len(), circle.len());
    }

    #[test]
    fn tests_text_and_comments_import_nothing() {
        let files = [
            file("src/a/one.rs", "use super::two::Two;\n"),
            file(
                "src/a/two.rs",
                "// use super::one::One;\nfn two() {}\n\n#[cfg(test)]\nmod tests {\nuse super::one::One;\n}\n",
            ),
        ];
        assert_eq!(circles(&files), Vec::<Vec<String>>::new());
    }
}
