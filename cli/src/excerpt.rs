//! Excerpts of files for findings: short lines, nothing that a terminal acts on.
//!
//! A file may have lines of megabytes and control characters. An excerpt holds the lines of a
//! finding, cut around what is underlined, with control characters escaped. Line numbers stay those
//! of the file.

use std::ops::Range;

use crate::output::escaped;

/// Characters of a line that are shown; longer lines are cut.
const WIDTH: usize = 160;

/// Characters that are shown before what is underlined in a line that is cut.
const BEFORE: usize = 60;

/// Lines between the first and the last one of an excerpt. Places further away get no excerpt.
const FAR: usize = 2_000;

/// A text with the starts of its lines, so that places need no walk through the text.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Cost: one pass over the text.
    pub(crate) fn of(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = [0].into_iter().chain(breaks.map(|(at, _)| at + 1));
        Self {
            text,
            starts: starts.collect(),
        }
    }

    /// Line and column (in characters) of a byte, both counted from 1.
    pub(crate) fn position(&self, byte: usize) -> (usize, usize) {
        let mut end = byte.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= end) - 1;
        let column = self.text[self.starts[line]..end].chars().count();
        (line + 1, column + 1)
    }

    fn line_of(&self, byte: usize) -> usize {
        self.position(byte).0 - 1
    }

    /// A line without its end, and where it starts.
    fn line(&self, number: usize) -> (&'a str, usize) {
        let start = self.starts[number];
        let end = self
            .starts
            .get(number + 1)
            .map_or(self.text.len(), |next| next - 1);
        (self.text[start..end].trim_end_matches('\r'), start)
    }
}

/// The lines around some places of one file, ready to be shown.
#[derive(Debug)]
pub(crate) struct Excerpt {
    text: String,
    /// Number of the first line, from 0.
    first_line: usize,
    /// Where the places stand in the text; nothing for one that is too far from the first.
    places: Vec<Option<Range<usize>>>,
}

impl Excerpt {
    /// The lines of some places; the first place is the one that counts.
    pub(crate) fn of(lines: &Lines<'_>, places: &[Range<usize>]) -> Option<Self> {
        let first = places.first()?;
        let main = lines.line_of(first.start);
        let wanted: Vec<Option<usize>> = places
            .iter()
            .map(|place| Some(lines.line_of(place.start)).filter(|at| at.abs_diff(main) <= FAR))
            .collect();
        let near = || wanted.iter().flatten();
        let (first_line, last_line) = (*near().min()?, *near().max()?);
        let mut excerpt = Self {
            text: String::new(),
            first_line,
            places: vec![None; places.len()],
        };
        for number in first_line..=last_line {
            if near().any(|at| *at == number) {
                let on = |i: usize| wanted[i] == Some(number);
                excerpt.push(lines.line(number), places, on);
            }
            if number < last_line {
                excerpt.text.push('\n');
            }
        }
        Some(excerpt)
    }

    /// The lines, with line feeds between them.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Number of the first line, from 1.
    pub(crate) const fn first_line(&self) -> usize {
        self.first_line + 1
    }

    /// Where a place stands in the excerpt.
    pub(crate) fn place(&self, at: usize) -> Option<Range<usize>> {
        self.places.get(at).cloned().flatten()
    }

    /// Adds a line, cut around the first place on it; notes where the places on it come to stand.
    fn push(&mut self, line: (&str, usize), places: &[Range<usize>], on: impl Fn(usize) -> bool) {
        let (line, start) = line;
        let here: Vec<usize> = (0..places.len()).filter(|&i| on(i)).collect();
        let inside = |byte: usize| byte.saturating_sub(start).min(line.len());
        let focus = here.first().map_or(0, |&i| inside(places[i].start));
        let window = window(line, focus);
        if window.start > 0 {
            self.text.push('…');
        }
        let base = self.text.len();
        let mut shown: Vec<(usize, usize)> = Vec::new();
        for (at, c) in line[window.clone()].char_indices() {
            shown.push((window.start + at, self.text.len()));
            match c {
                '\t' => self.text.push(c),
                c => self.text.push_str(&escaped(c.encode_utf8(&mut [0; 4]))),
            }
        }
        let end = self.text.len();
        let to_shown = |byte: usize| {
            let found = shown.partition_point(|(from, _)| *from < byte);
            shown.get(found).map_or(end, |(_, to)| *to)
        };
        for i in here {
            let from = to_shown(inside(places[i].start)).max(base);
            let to = to_shown(inside(places[i].end)).max(from);
            self.places[i] = Some(from..to);
        }
        if window.end < line.len() {
            self.text.push('…');
        }
    }
}

/// The part of a line that is shown, around a byte of it.
fn window(line: &str, focus: usize) -> Range<usize> {
    if line.len() <= WIDTH || line.chars().nth(WIDTH).is_none() {
        return 0..line.len();
    }
    let mut focus = focus;
    while !line.is_char_boundary(focus) {
        focus -= 1;
    }
    let before = line[..focus].char_indices().rev().take(BEFORE).last();
    let start = before.map_or(focus, |(at, _)| at);
    let end = line[start..].char_indices().nth(WIDTH);
    start..end.map_or(line.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, places: &[Range<usize>]) -> Excerpt {
        Excerpt::of(&Lines::of(text), places).unwrap()
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let lines = Lines::of("ab\né=x");
        assert_eq!(lines.position(0), (1, 1));
        assert_eq!(lines.position(3), (2, 1));
        assert_eq!(lines.position(6), (2, 3));
        assert_eq!(lines.position(99), (2, 4));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}<here>{}\nnext", "é".repeat(100_000), "y".repeat(100_000));
        let at = text.find("<here>").unwrap();
        let found = excerpt(&text, std::slice::from_ref(&(at..at + 6)));
        assert!(found.text.len() < 1_000, "{}", found.text.len());
        let place = found.place(0).unwrap();
        assert_eq!(&found.text[place], "<here>");
        assert!(found.text.starts_with('…') && found.text.ends_with('…'));
        let whole = excerpt(&text, std::slice::from_ref(&(0..text.len())));
        assert!(whole.text.len() < 1_000);
    }

    #[test]
    fn control_characters_are_escaped() {
        let text = "a\u{1b}[31mred\u{202e}x";
        let at = text.find("red").unwrap();
        let found = excerpt(text, std::slice::from_ref(&(at..at + 3)));
        assert_eq!(&found.text[found.place(0).unwrap()], "red");
        assert!(
            found.text.starts_with("a\\u{1b}[31mred\\u{202e}x"),
            "{}",
            found.text
        );
    }

    #[test]
    fn places_far_apart_have_no_common_excerpt() {
        let text = "x\n".repeat(5_000);
        let found = excerpt(&text, &[0..1, 8_000..8_001, 200..201]);
        assert_eq!(found.place(1), None);
        assert_eq!(&found.text[found.place(2).unwrap()], "x");
        assert!(found.text.len() < 300, "lines between are left out");
    }
}
