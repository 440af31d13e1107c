//! Rules about the shape of code: how long functions are, and which names types have.

use crate::source::{Part, Word, lines_without_tests, only, words};

/// A function with its lines, its signature included; comments and empty lines do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) lines: usize,
}

/// The functions of a file that have a body, without its unit tests.
pub(crate) fn functions(source: &str) -> Vec<Function> {
    let code = only(Part::Code, source);
    let own_lines = lines_without_tests(source);
    let found = words(&code);
    let pairs = found.windows(2);
    let named = pairs.filter(|pair| pair[0].text == "fn" && pair[0].line <= own_lines);
    named
        .filter_map(|pair| {
            let text = pair[0].rest;
            let lines = text[..body_end(text)?].lines();
            Some(Function {
                name: pair[1].text.to_owned(),
                lines: lines.filter(|line| !line.trim().is_empty()).count(),
            })
        })
        .collect()
}

/// Public functions of a type that take a shared reference to it, by its blocks in a formatted file.
pub(crate) fn calls_of<'a>(source: &'a str, owner: &str) -> Vec<&'a str> {
    let block = format!("{owner} {{");
    let (mut inside, mut found) = (false, Vec::new());
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("impl ") {
            let owned = line.strip_suffix(&*block);
            inside =
                owned.is_some_and(|start| start.ends_with([' ', ':']) && !start.contains(" for "));
        }
        let line = line.strip_prefix("    pub ").filter(|_| inside);
        let Some((_, signature)) = line.and_then(|line| line.split_once("fn ")) else {
            continue;
        };
        let (name, inputs) = signature.split_once(['(', '<']).unwrap_or((signature, ""));
        let next = lines.peek().map_or("", |next| next.trim());
        if inputs.contains("&self") || next == "&self," {
            found.push(name);
        }
    }
    found
}

/// Where the body behind a signature ends; nothing for a signature alone.
fn body_end(text: &str) -> Option<usize> {
    let (mut depth, mut inside) = (0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => {
                inside |= c == '{' && depth == 0;
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if inside && depth == 0 {
                    return Some(at + 1);
                }
            }
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// A function that may be longer than the limit: its folder, its name, the lines that it may have.
pub(crate) type Exception<'a> = (&'a str, &'a str, usize);

/// Functions longer than the limit, or than their exception, and exceptions that are no longer needed.
/// Functions come with the folder of their file.
pub(crate) fn too_long(
    functions: &[(String, Function)],
    limit: usize,
    exceptions: &[Exception<'_>],
) -> Vec<String> {
    let mut unused: Vec<_> = exceptions.to_vec();
    let mut wrong = Vec::new();
    let mut long: Vec<_> = functions.iter().filter(|(_, f)| f.lines > limit).collect();
    long.sort_by_key(|(_, function)| std::cmp::Reverse(function.lines));
    for (folder, Function { name, lines }) in long {
        let fits = |listed: &Exception<'_>| (listed.0, listed.1) == (folder, name);
        let listed = unused
            .iter()
            .position(|listed| fits(listed) && *lines <= listed.2);
        match listed {
            Some(at) => drop(unused.remove(at)),
            None => wrong.push(format!(
                "{folder}: {name} has {lines} lines, at most {limit}"
            )),
        }
    }
    let stale = unused.iter();
    wrong.extend(stale.map(|(folder, name, _)| format!("{folder}: {name} needs no exception")));
    wrong
}

/// The names of the structures, enumerations and traits that a file declares outside its unit tests.
pub(crate) fn types(source: &str) -> Vec<String> {
    let code = only(Part::Code, source);
    let own_lines = lines_without_tests(source);
    let declares = |word: &Word<'_>| matches!(word.text, "struct" | "enum" | "trait" | "union");
    let found = words(&code);
    let pairs = found.windows(2);
    pairs
        .filter(|pair| declares(&pair[0]) && pair[0].line <= own_lines)
        .filter(|pair| pair[0].rest.starts_with(' ') && pair[0].rest[1..].starts_with(pair[1].text))
        .map(|pair| pair[1].text.to_owned())
        .collect()
}

/// Names that several types have and that are not excepted, and exceptions that name too many.
/// A type comes as the folder of its file and its name.
pub(crate) fn shared_names(
    types: &[(String, String)],
    exceptions: &[(&str, usize, &str)],
) -> Vec<String> {
    let mut names: Vec<&str> = types.iter().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut wrong = Vec::new();
    for name in names {
        let places: Vec<&str> = types
            .iter()
            .filter(|(_, other)| other == name)
            .map(|(folder, _)| folder.as_str())
            .collect();
        let allowed = exceptions
            .iter()
            .find(|(listed, _, reason)| *listed == name && !reason.is_empty());
        let allowed = allowed.map_or(1, |(_, count, _)| *count);
        if places.len() > allowed {
            wrong.push(format!("{name}: several types, in {}", places.join(", ")));
        } else if places.len() < allowed {
            wrong.push(format!(
                "{name}: {} types, {allowed} excepted",
                places.len()
            ));
        }
    }
    let known = |name: &str| types.iter().any(|(_, other)| other == name);
    let stale = exceptions.iter().filter(|(name, ..)| !known(name));
    wrong.extend(stale.map(|(name, ..)| format!("{name}: no type has this name")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, lines: usize) -> (String, Function) {
        let name = name.to_owned();
        ("src/a".to_owned(), Function { name, lines })
    }

    #[test]
    fn functions_are_counted_with_signature_and_without_comments_and_tests() {
        let source = "trait A { fn none(&self) -> [u8; 2]; }\nfn a(\n  b: C<'_>,\n) -> [u8; 2] {\n\n  // }\n  \
            d(|| { e() }, \"}\");\n}\nconst fn b() {}\n#[cfg(all(test, c))]\nmod tests {\n  fn f() {}\n}\n";
        let found = functions(source);
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.lines)).collect();
        assert_eq!(found, [("a", 5), ("b", 1)]);
    }

    #[test]
    fn an_exception_covers_one_function_up_to_its_length_and_is_removed_with_it() {
        let found = [function("a", 41), function("a", 50), function("b", 40)];
        let check = |exceptions: &[Exception<'_>]| too_long(&found, 40, exceptions).len();
        assert_eq!(check(&[("src/a", "a", 50), ("src/a", "a", 41)]), 0);
        assert_eq!(check(&[("src/a", "a", 50)]), 1, "one is not listed");
        assert_eq!(check(&[("src/a", "a", 49), ("src/a", "a", 41)]), 2, "grew");
        let stale = [("src/a", "a", 50), ("src/a", "a", 41), ("src/a", "b", 60)];
        assert_eq!(check(&stale), 1, "b is short");
    }

    #[test]
    fn a_name_belongs_to_one_type_unless_excepted() {
        let source = "struct A;\npub(crate) enum B<T> { C(T) }\nimpl A {}\ntype Item = A;\n\
            #[cfg(test)]\nmod tests {\n  struct A;\n}\n";
        assert_eq!(types(source), ["A", "B"]);
        let all = ["A", "B", "A"].map(|name| ("src/a".to_owned(), name.to_owned()));
        assert_eq!(shared_names(&all, &[]).len(), 1);
        assert_eq!(shared_names(&all, &[("A", 2, "b")]).len(), 0);
        assert_eq!(
            shared_names(&all, &[("A", 3, "b")]).len(),
            1,
            "too many excepted"
        );
        let stale = [("A", 2, "b"), ("C", 2, "b")];
        assert_eq!(shared_names(&all, &stale).len(), 1, "stale");
        assert_eq!(shared_names(&all, &[("A", 2, "")]).len(), 1, "no reason");
    }
}
