//! The page of ten questions: every command on it comes to what the page shows.

use std::fs;
use std::path::Path;

use crate::support::{captured, command, folder};

/// A command of the page and the lines behind it.
struct Shown {
    line: String,
    output: Vec<String>,
}

/// The blocks of a page that show a console, each with its commands.
fn blocks(page: &str) -> Vec<Vec<Shown>> {
    let mut found: Vec<Vec<Shown>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => {
                inside = true;
                found.push(Vec::new());
            }
            "```" => inside = false,
            line if inside => {
                let block = found.last_mut().unwrap();
                if let Some(line) = line.strip_prefix("$ ") {
                    block.push(Shown {
                        line: line.to_owned(),
                        output: Vec::new(),
                    });
                } else {
                    block.last_mut().unwrap().output.push(line.to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

/// Runs a command of the page where its files are; its lines are those of the page, up to a line of dots.
fn assert_comes_to(at: &Path, shown: &Shown) {
    let words: Vec<&str> = shown.line.split(' ').collect();
    assert_eq!(words[0], "capsched");
    let output = command(&words[1..]).current_dir(at).output().unwrap();
    let (code, out, err) = captured(&output);
    let text = if words[1] == "check" { out + &err } else { out };
    assert!(code < 2, "{}: {code}", shown.line);
    let expected: Vec<&str> = shown.output.iter().map(String::as_str).collect();
    let mut lines: Vec<&str> = text.lines().collect();
    let whole = expected.last() != Some(&"...");
    let expected = &expected[..expected.len() - usize::from(!whole)];
    if !whole {
        lines.truncate(expected.len());
    }
    assert_eq!(lines, expected, "{}", shown.line);
}

#[test]
fn ten_questions_have_the_answers_of_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let at = folder("questions");
    for file in fs::read_dir(root.join("configs/questions")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), at.join(file.file_name())).unwrap();
    }
    let page = fs::read_to_string(root.join("docs/tutorials/questions.md")).unwrap();
    let threads = page.matches("(https://github.com/").count();
    let questions = blocks(&page);
    assert_eq!((questions.len(), threads), (10, 10));
    for question in &questions {
        let _absent = fs::remove_dir_all(at.join("run"));
        assert!(!question.is_empty());
        for shown in question {
            assert_comes_to(&at, shown);
        }
    }
}
