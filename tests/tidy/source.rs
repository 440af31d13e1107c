//! Reading Rust text for the house rules: which characters are code, comment or literal.

use std::iter::Peekable;
use std::str::CharIndices;

/// What a character of a source file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything that is neither of the other two.
    Code,
    /// Line and block comments, documentation included.
    Comment,
    /// Strings and characters with their quotes.
    Literal,
}

/// The source with everything but one part blanked; lines stay where they are.
pub(crate) fn only(part: Part, source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let keep = |(&c, p): (&char, Part)| if p == part || c == '\n' { c } else { ' ' };
    chars.iter().zip(parts(&chars)).map(keep).collect()
}

/// The part of each character.
fn parts(chars: &[char]) -> Vec<Part> {
    let mut parts = Vec::with_capacity(chars.len());
    while parts.len() < chars.len() {
        let at = parts.len();
        let (part, length) = match chars[at..] {
            ['/', '/', ..] => (Part::Comment, line_length(&chars[at..])),
            ['/', '*', ..] => (Part::Comment, block_length(&chars[at..])),
            ['"', ..] => (Part::Literal, quoted_length(&chars[at..], '"')),
            ['\'', '\\', ..] | ['\'', _, '\'', ..] => {
                (Part::Literal, quoted_length(&chars[at..], '\''))
            }
            ['r', ..] if starts_word(chars, at) => match raw_length(&chars[at..]) {
                Some(length) => (Part::Literal, length),
                None => (Part::Code, 1),
            },
            _ => (Part::Code, 1),
        };
        let end = (at + length).min(chars.len());
        parts.resize(end, part);
    }
    parts
}

fn line_length(rest: &[char]) -> usize {
    rest.iter().position(|&c| c == '\n').unwrap_or(rest.len())
}

/// Block comments nest.
fn block_length(rest: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => {
                depth += 1;
                at += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

fn quoted_length(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Length of a raw string that starts at the letter `r`; nothing for a word such as `r#type`.
fn raw_length(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return None;
    }
    let mut end = vec!['"'];
    end.resize(1 + hashes, '#');
    let body = &rest[2 + hashes..];
    let closed = body.windows(end.len()).position(|w| w == end);
    Some(closed.map_or(rest.len(), |at| 2 + hashes + at + end.len()))
}

/// Whether a raw string may start here: not in the middle of a word, but after the `b` or `c` of
/// a byte or C string.
fn starts_word(chars: &[char], at: usize) -> bool {
    let inside = |i: usize| is_word(chars[i]);
    match at {
        0 => true,
        1 => !inside(0) || matches!(chars[0], 'b' | 'c'),
        _ => !inside(at - 1) || (matches!(chars[at - 1], 'b' | 'c') && !inside(at - 2)),
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// A word of a text with its line, from 1, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
    pub(crate) rest: &'a str,
}

/// The words of a text in order.
pub(crate) fn words(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if c == '\n' {
            line += 1;
        } else if is_word(c) {
            let end = word_end(&mut chars, text.len());
            found.push(Word {
                line,
                text: &text[start..end],
                rest: &text[end..],
            });
        }
    }
    found
}

fn word_end(chars: &mut Peekable<CharIndices<'_>>, length: usize) -> usize {
    while chars.next_if(|&(_, c)| is_word(c)).is_some() {}
    chars.peek().map_or(length, |&(at, _)| at)
}

/// The source before its module of unit tests, which stands last.
pub(crate) fn without_tests(source: &str) -> &str {
    let lines = source.split_inclusive('\n');
    let length = lines.take(lines_without_tests(source)).map(str::len).sum();
    &source[..length]
}

/// Number of lines before the module of unit tests.
pub(crate) fn lines_without_tests(source: &str) -> usize {
    let code = only(Part::Code, source);
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let tests = lines
        .windows(2)
        .position(|pair| is_for_tests(pair[0]) && pair[1].starts_with("mod "));
    tests.unwrap_or(lines.len())
}

/// Whether an attribute compiles what follows it for tests only, whatever else it demands.
fn is_for_tests(line: &str) -> bool {
    line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_told_from_code() {
        let source = "let a = \"b // c\"; // d \"e\"\nf('\"', 'g', '\\'', &'h) /* i /* j */ k */ l";
        let code = only(Part::Code, source);
        let names: Vec<&str> = words(&code).iter().map(|word| word.text).collect();
        assert_eq!(names, ["let", "a", "f", "h", "l"]);
        let comment = only(Part::Comment, source);
        assert_eq!(comment.split_whitespace().next(), Some("//"));
        assert!(comment.contains("/* i /* j */ k */"));
        assert!(only(Part::Literal, source).contains("\"b // c\""));
    }

    #[test]
    fn raw_strings_end_at_their_own_mark() {
        let source = "x(r#\"crate \" //\"#, br\"super\", r#type, for\"a\") y";
        let code = only(Part::Code, source);
        let names: Vec<&str> = words(&code).iter().map(|word| word.text).collect();
        assert_eq!(names, ["x", "b", "r", "type", "for", "y"]);
    }

    #[test]
    fn an_open_literal_or_comment_runs_to_the_end() {
        for source in ["a \"b", "a /* b", "a r#\"b\"", "a // b", "a '\\"] {
            assert_eq!(words(&only(Part::Code, source)).len(), 1, "{source}");
        }
    }

    #[test]
    fn words_know_their_line_and_what_follows() {
        let found = words("a\n b_1::c");
        assert_eq!((found[1].line, found[1].text), (2, "b_1"));
        assert_eq!(found[1].rest, "::c");
    }

    #[test]
    fn tests_do_not_count_as_lines() {
        let source = "//! a\nfn b() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(lines_without_tests(source), 3);
        assert_eq!(without_tests(source), "//! a\nfn b() {}\n\n");
        assert_eq!(lines_without_tests("//! a\n#[cfg(test)]\nuse b;\n"), 3);
        let source = "//! a\n#[cfg(all(test, not(b)))]\nmod tests {\n}\n";
        assert_eq!(lines_without_tests(source), 1);
    }
}
