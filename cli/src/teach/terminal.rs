//! Charts in characters, at most 80 columns wide.

use std::fmt::Write as _;

use super::chart::{Chart, Fact, Lesson, LevelKind};

/// Widest line.
const WIDTH: usize = 80;
/// Columns of numbers on the left, with the axis.
const LEFT: usize = 7;
/// Columns of the plot.
const COLUMNS: usize = 70;

/// Full, dark, medium and light shade.
const AREAS: [char; 4] = ['\u{2588}', '\u{2593}', '\u{2592}', '\u{2591}'];
const AREA_COLOURS: [u8; 4] = [34, 33, 32, 35];
const CURVES: [char; 4] = ['*', 'o', '+', 'x'];
const CURVE_COLOURS: [u8; 4] = [31, 36, 32, 35];
const GUARANTEE: char = '\u{2500}';
const MAXIMUM: char = '\u{2550}';
const BOLD: u8 = 1;

/// The whole example as text.
pub(super) fn draw(lesson: &Lesson, colour: bool) -> String {
    let mut out = String::new();
    let pen = Pen { colour };
    out.push_str(&pen.ink(BOLD, lesson.title));
    out.push('\n');
    paragraph(&mut out, "", lesson.about);
    for chart in &lesson.charts {
        out.push('\n');
        draw_chart(&mut out, chart, pen);
    }
    out.push_str("\nWhat came out\n");
    lesson.facts.iter().for_each(|fact| number(&mut out, fact));
    out.push_str("\nWhat was given\n");
    for text in &lesson.assumed {
        paragraph(&mut out, "  - ", text);
    }
    out
}

fn number(out: &mut String, fact: &Fact) {
    // Writing to a string cannot fail, here and below.
    let line = format!("  {:<58}{:>6} {}", fact.text, fact.value, fact.unit);
    let _ = writeln!(out, "{}", line.trim_end());
}

#[derive(Clone, Copy)]
struct Pen {
    colour: bool,
}

impl Pen {
    fn ink(self, code: u8, text: &str) -> String {
        if self.colour && code != 0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Words in lines that fit; the first line starts with `head`, the others are indented as far.
fn paragraph(out: &mut String, head: &str, text: &str) {
    let indent = " ".repeat(head.chars().count());
    let mut line = head.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        let space = usize::from(!empty);
        if !empty && line.chars().count() + space + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line.clone_from(&indent);
        } else if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(&line);
    out.push('\n');
}

#[derive(Clone, Copy)]
struct Cell {
    sign: char,
    colour: u8,
}

/// The plot, row by row from below; row 0 is the x axis.
struct Grid<'a> {
    chart: &'a Chart,
    cells: Vec<[Cell; COLUMNS]>,
}

fn draw_chart(out: &mut String, chart: &Chart, pen: Pen) {
    paragraph(out, "", &chart.title);
    let mut grid = Grid::new(chart);
    grid.areas();
    grid.levels();
    grid.curves();
    let letters = grid.letters();
    if letters.is_empty() {
        let _ = writeln!(out, "{:>5}", chart.y.label);
    } else {
        let _ = writeln!(out, "{:>5}  {letters}", chart.y.label);
    }
    grid.print(out, pen);
    grid.print_axis(out);
    legend(out, chart, pen);
    for (at, mark) in chart.marks.iter().enumerate() {
        let head = format!("  {} {:>4}  ", Chart::letter(at), mark.at);
        paragraph(out, &head, &mark.text);
    }
}

impl<'a> Grid<'a> {
    fn new(chart: &'a Chart) -> Self {
        let blank = Cell {
            sign: ' ',
            colour: 0,
        };
        let rows = usize::try_from(chart.rows).unwrap_or(0) + 1;
        Self {
            chart,
            cells: vec![[blank; COLUMNS]; rows],
        }
    }

    /// The position of the x axis that a column stands for.
    fn position(&self, column: usize) -> usize {
        let end = usize::try_from(self.chart.x.end).unwrap_or(0);
        (column * end + (COLUMNS - 1) / 2) / (COLUMNS - 1)
    }

    /// The column of a position of the x axis.
    fn column(&self, position: i64) -> usize {
        let end = usize::try_from(self.chart.x.end).unwrap_or(0).max(1);
        let position = usize::try_from(position).unwrap_or(0).min(end);
        (position * (COLUMNS - 1) + end / 2) / end
    }

    /// The row nearest to a value.
    fn row(&self, value: i64) -> usize {
        let (rows, end) = (self.chart.rows, self.chart.y.end.max(1));
        let value = value.clamp(0, end);
        usize::try_from((2 * value * rows + end) / (2 * end)).unwrap_or(0)
    }

    fn put(&mut self, row: usize, column: usize, sign: char, colour: u8) {
        self.cells[row][column] = Cell { sign, colour };
    }

    fn areas(&mut self) {
        for column in 0..COLUMNS {
            let at = self.position(column);
            let mut below = 0;
            for (i, series) in self.chart.areas.iter().enumerate() {
                let top = below + series.values.get(at).copied().unwrap_or(0);
                for row in self.row(below) + 1..=self.row(top) {
                    self.put(row, column, AREAS[i % 4], AREA_COLOURS[i % 4]);
                }
                below = top;
            }
        }
    }

    fn levels(&mut self) {
        for level in &self.chart.levels {
            let row = self.row(level.value);
            let sign = level_sign(level.kind);
            for column in 0..COLUMNS {
                self.put(row, column, sign, BOLD);
            }
        }
    }

    /// Step curves; the first lies on top of those after it.
    fn curves(&mut self) {
        for (i, series) in self.chart.curves.iter().enumerate().rev() {
            let mut before = None;
            for column in 0..COLUMNS {
                let Some(&value) = series.values.get(self.position(column)) else {
                    continue;
                };
                let row = self.row(value);
                let from = before.unwrap_or(row);
                // A step is drawn as a line from the last row, without that row.
                for between in from.min(row)..=from.max(row) {
                    if between != from || between == row {
                        self.put(between, column, CURVES[i % 4], CURVE_COLOURS[i % 4]);
                    }
                }
                before = Some(row);
            }
        }
    }

    /// The letters of what happened, over their columns.
    fn letters(&self) -> String {
        let mut line = [' '; COLUMNS];
        for (at, mark) in self.chart.marks.iter().enumerate() {
            let wanted = self.column(mark.at);
            let free = (wanted..COLUMNS).find(|&column| line[column] == ' ');
            if let Some(column) = free {
                line[column] = Chart::letter(at);
            }
        }
        let line: String = line.iter().collect();
        line.trim_end().to_owned()
    }

    fn print(&self, out: &mut String, pen: Pen) {
        for (row, cells) in self.cells.iter().enumerate().skip(1).rev() {
            let _ = write!(out, "{:>5} \u{2502}", self.number(row));
            let mut at = 0;
            while at < COLUMNS {
                let colour = cells[at].colour;
                let same = cells[at..].iter().take_while(|cell| cell.colour == colour);
                let text: String = same.map(|cell| cell.sign).collect();
                at += text.chars().count();
                let last = at == COLUMNS;
                let text = if last { text.trim_end() } else { &text };
                out.push_str(&pen.ink(if text.is_empty() { 0 } else { colour }, text));
            }
            out.push('\n');
        }
    }

    /// What is written on the left of a row: a level's value, or a step of the axis.
    fn number(&self, row: usize) -> String {
        let steps = (0..=self.chart.y.end / self.chart.y.step).map(|i| i * self.chart.y.step);
        let levels = self.chart.levels.iter().map(|level| level.value);
        let found = levels.chain(steps).find(|&value| self.row(value) == row);
        found.map_or(String::new(), |value| value.to_string())
    }

    fn print_axis(&self, out: &mut String) {
        let mut axis = ['\u{2500}'; COLUMNS];
        let lowest = self.cells[0];
        let mut numbers = [' '; COLUMNS + 4];
        let step = self.chart.x.step;
        for value in (0..=self.chart.x.end / step).map(|i| i * step) {
            let column = self.column(value);
            axis[column] = '\u{2534}';
            for (i, digit) in value.to_string().chars().enumerate() {
                numbers[column + i] = digit;
            }
        }
        // A curve at 0 is drawn on the axis.
        for (sign, cell) in axis.iter_mut().zip(lowest) {
            if cell.sign != ' ' {
                *sign = cell.sign;
            }
        }
        let text = |signs: &[char]| signs.iter().collect::<String>();
        let _ = writeln!(out, "{:>5} \u{2514}{}", 0, text(&axis));
        let numbers = text(&numbers);
        let indent = " ".repeat(LEFT);
        let _ = writeln!(out, "{indent}{}", numbers.trim_end());
        let label = self.chart.x.label;
        let _ = writeln!(out, "{:>width$}", label, width = LEFT + COLUMNS);
    }
}

fn level_sign(kind: LevelKind) -> char {
    match kind {
        LevelKind::Guarantee => GUARANTEE,
        LevelKind::Maximum => MAXIMUM,
    }
}

fn legend(out: &mut String, chart: &Chart, pen: Pen) {
    let entry = |out: &mut String, sign: char, colour: u8, text: &str| {
        let sample: String = std::iter::repeat_n(sign, 3).collect();
        let _ = writeln!(out, "  {} {text}", pen.ink(colour, &sample));
    };
    for (i, series) in chart.curves.iter().enumerate() {
        entry(out, CURVES[i % 4], CURVE_COLOURS[i % 4], &series.label);
    }
    if chart.curves.len() > 1 {
        out.push_str("      (where curves meet, the upper one of this list is drawn)\n");
    }
    // As they lie on each other.
    for (i, series) in chart.areas.iter().enumerate().rev() {
        entry(out, AREAS[i % 4], AREA_COLOURS[i % 4], &series.label);
    }
    for level in &chart.levels {
        let text = format!("{}: {}", level.label, level.value);
        entry(out, level_sign(level.kind), BOLD, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Axis, Level, Mark, Series};
    use super::*;

    fn chart() -> Chart {
        let axis = |label, end, step| Axis { label, end, step };
        let series = |label: &str, values: &[i64]| Series {
            label: label.to_owned(),
            values: values.to_vec(),
        };
        Chart {
            name: "test",
            title: "Test".to_owned(),
            x: axis("s", 3, 1),
            y: axis("GB", 4, 2),
            rows: 4,
            areas: vec![series("low", &[1, 1, 2, 2]), series("high", &[0, 1, 1, 2])],
            curves: vec![series("limit", &[4, 4, 3, 3])],
            levels: vec![Level::guarantee("guarantee", 2)],
            marks: vec![Mark {
                at: 2,
                text: "something".to_owned(),
            }],
        }
    }

    #[test]
    fn areas_lie_on_each_other_and_lines_over_them() {
        let chart = chart();
        let mut grid = Grid::new(&chart);
        grid.areas();
        grid.levels();
        grid.curves();
        let column = |at: usize| -> String { (1..5).map(|row| grid.cells[row][at].sign).collect() };
        assert_eq!(column(0), "\u{2588}\u{2500} *");
        assert_eq!(column(COLUMNS - 1), "\u{2588}\u{2500}*\u{2593}");
        assert_eq!(grid.number(2), "2");
    }

    #[test]
    fn without_colour_there_is_no_escape_and_no_line_is_too_long() {
        let mut plain = String::new();
        draw_chart(&mut plain, &chart(), Pen { colour: false });
        assert!(!plain.contains('\u{1b}'));
        assert!(plain.lines().all(|line| line.chars().count() <= WIDTH));
        let mut coloured = String::new();
        draw_chart(&mut coloured, &chart(), Pen { colour: true });
        assert!(coloured.contains("\u{1b}[34m"));
    }

    #[test]
    fn paragraphs_are_indented_and_fit() {
        let mut out = String::new();
        paragraph(&mut out, "  - ", &"word ".repeat(40));
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(out.lines().skip(1).all(|line| line.starts_with("    word")));
    }
}
