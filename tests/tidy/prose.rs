//! Rules for prose: sentences of pages stay short, and metaphors stand neither in pages nor in comments.

use crate::source::{Part, only};

/// Most words of one sentence.
pub(crate) const WORDS: usize = 25;

/// Words that stand for a plain technical term, with that term.
const METAPHORS: &[(&str, &str)] = &[
    ("tell", "report, return or deliver"),
    ("tells", "reports, returns or delivers"),
    ("told", "reported, returned or delivered"),
    ("telling", "reporting or delivering"),
    ("owe", "has uncharged amounts"),
    ("owes", "has uncharged amounts"),
    ("owed", "uncharged"),
    ("lend", "share"),
    ("lends", "shares"),
    ("lent", "shared"),
    ("lending", "sharing"),
    ("hear", "receive"),
    ("hears", "receives"),
    ("heard", "received"),
    ("stay away", "back off"),
    ("stays away", "backs off"),
    ("lay down", "release"),
    ("lays down", "releases"),
    ("laid down", "released"),
];

/// A sentence of a page with the line that it begins on, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    line: usize,
    text: String,
}

/// Sentences of a page that have too many words or a metaphor in them.
pub(crate) fn faults(page: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for Sentence { line, text } in sentences(page) {
        let words = words(&text);
        if words.len() > WORDS {
            let start = text.split_whitespace().take(6);
            let start = start.collect::<Vec<_>>().join(" ");
            wrong.push(format!(
                "line {line}: {} words in a sentence, at most {WORDS}: {start} ...",
                words.len()
            ));
        }
        wrong.extend(metaphors_among(line, &words));
    }
    wrong
}

/// Sentences of the comments of a source file that have a metaphor in them. They may be long.
pub(crate) fn metaphors_in_comments(source: &str) -> Vec<String> {
    let comments = only(Part::Comment, source);
    let text = |line: &str| {
        let text = line.trim_start().trim_start_matches(['/', '!', '*']);
        text.trim_start().to_owned() + "\n"
    };
    let page: String = comments.lines().map(text).collect();
    let found = sentences(&page).into_iter();
    found
        .flat_map(|sentence| metaphors_among(sentence.line, &words(&sentence.text)))
        .collect()
}

/// The metaphors among the words of a sentence that begins on a line.
fn metaphors_among(line: usize, words: &[String]) -> Vec<String> {
    let all = format!(" {} ", words.join(" "));
    let found = METAPHORS.iter();
    let found = found.filter(|(word, _)| all.contains(&format!(" {word} ")));
    found
        .map(|(word, term)| format!("line {line}: `{word}`; write {term}"))
        .collect()
}

/// The words of a sentence in lower case: letters, digits and what joins them.
fn words(sentence: &str) -> Vec<String> {
    let trimmed = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let nonempty = trimmed.filter(|word| !word.is_empty());
    nonempty.map(str::to_lowercase).collect()
}

/// The sentences of a page, without headings, tables, code, comments and the targets of links.
pub(crate) fn sentences(page: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut paragraph: Vec<(usize, String)> = Vec::new();
    let (mut code, mut comment) = (false, false);
    for (at, line) in page.lines().enumerate() {
        let text = line.trim_start();
        let fence = text.starts_with("```");
        code ^= fence;
        comment |= text.starts_with("<!--");
        let apart = ["#", "|", "![", "<"].iter().any(|s| text.starts_with(s));
        if code || fence || comment || apart || text.is_empty() {
            cut(&mut paragraph, &mut found);
        } else {
            let item = item_text(text);
            if item.is_some() {
                cut(&mut paragraph, &mut found);
            }
            paragraph.push((at + 1, item.unwrap_or(text).to_owned()));
        }
        comment &= !text.contains("-->");
    }
    cut(&mut paragraph, &mut found);
    found
}

/// The text of an item of a list.
fn item_text(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "> "].iter().find_map(|b| line.strip_prefix(b));
    bullet.or_else(|| {
        let (number, rest) = line.split_once(". ")?;
        let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        numbered.then_some(rest)
    })
}

/// Cuts a paragraph into its sentences and empties it.
fn cut(paragraph: &mut Vec<(usize, String)>, found: &mut Vec<Sentence>) {
    let mut sentence: Vec<String> = Vec::new();
    let mut begin = 0;
    for (line, text) in plain(std::mem::take(paragraph)) {
        for word in text.split_whitespace() {
            if sentence.is_empty() {
                begin = line;
            }
            sentence.push(word.to_owned());
            let bare = word.trim_end_matches([')', '"', '*', '_', '\u{201d}']);
            if bare.ends_with(['.', '!', '?']) {
                found.push(Sentence {
                    line: begin,
                    text: sentence.join(" "),
                });
                sentence.clear();
            }
        }
    }
    if !sentence.is_empty() {
        found.push(Sentence {
            line: begin,
            text: sentence.join(" "),
        });
    }
}

/// Lines with a word in place of each span of code and the text in place of each link. Both may go
/// over the end of a line.
fn plain(lines: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let (mut code, mut target) = (false, false);
    lines
        .into_iter()
        .map(|(at, line)| {
            let mut text = String::new();
            let mut before = ' ';
            for c in line.chars() {
                match c {
                    '`' => {
                        if !code {
                            text.push('C');
                        }
                        code = !code;
                    }
                    _ if code => {}
                    '(' if before == ']' => target = true,
                    ')' if target => target = false,
                    _ if target => {}
                    '[' | ']' => {}
                    c => text.push(c),
                }
                before = c;
            }
            (at, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<(usize, String)> {
        let all = sentences(page).into_iter();
        all.map(|found| (found.line, found.text)).collect()
    }

    #[test]
    fn sentences_go_over_lines_and_end_at_stops() {
        let page = "One two.\nThree\nfour 3.5 (five). Six";
        let expected = [(1, "One two."), (2, "Three four 3.5 (five)."), (3, "Six")];
        assert_eq!(
            texts(page),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
    }

    #[test]
    fn headings_tables_code_and_comments_are_left_out() {
        let page = "# A title\n| a | b |\n```sh\na b\n```\n<!-- x\ny -->\n![a](b)\n- Item `a b c`, [x y](z.md#a).";
        assert_eq!(texts(page), [(9, "Item C, x y.".to_owned())]);
    }

    #[test]
    fn items_of_lists_are_apart() {
        let page = "Before:\n1. one\n2. two\n   more\n- three";
        let found: Vec<String> = texts(page).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["Before:", "one", "two more", "three"]);
    }

    #[test]
    fn long_sentences_and_metaphors_are_found_with_their_line() {
        let long = format!("x\n\n{}", "word ".repeat(WORDS + 1));
        assert_eq!(faults(&long).len(), 1);
        assert!(faults(&long)[0].starts_with("line 3: 26 words"));
        assert_eq!(faults(&"word ".repeat(WORDS)), Vec::<String>::new());
        assert_eq!(faults("A queue that stays\naway, and is Told.").len(), 2);
        let source = "//! It waits.\nlet a = \"told\"; // A queue that stays\n// away, and is\n// told.\nb();";
        assert_eq!(metaphors_in_comments(source).len(), 2);
        assert_eq!(faults("An untold `told` number."), Vec::<String>::new());
    }
}
