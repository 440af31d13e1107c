//! Charts in characters, at most 80 columns wide, drawn with ratatui's widgets.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::canvas::Canvas;
use ratatui::widgets::{Axis, Chart as Plot, Dataset, GraphType, Widget};

use super::chart::{Chart, Fact, Lesson, LevelKind, Series};
use crate::printed;

/// Widest line.
const WIDTH: usize = 80;
/// Columns of numbers on the left, with the axis.
const LEFT: u16 = 7;
/// Columns of the plot.
const COLUMNS: u16 = 70;
/// Columns that the last number of the x axis may need beyond the plot.
const OVER: u16 = 3;

/// Full, dark, medium and light shade.
const AREAS: [char; 4] = ['\u{2588}', '\u{2593}', '\u{2592}', '\u{2591}'];
const AREA_COLOURS: [Color; 4] = [Color::Blue, Color::Yellow, Color::Green, Color::Magenta];
const CURVES: [char; 4] = ['*', 'o', '+', 'x'];
const CURVE_COLOURS: [Color; 4] = [Color::Red, Color::Cyan, Color::Green, Color::Magenta];
const GUARANTEE: char = '\u{2500}';
const MAXIMUM: char = '\u{2550}';

/// The whole example as text.
pub(super) fn draw(lesson: &Lesson, colours: bool) -> String {
    let mut out = String::new();
    if colours {
        let _ = writeln!(out, "\u{1b}[1m{}\u{1b}[0m", lesson.title);
    } else {
        let _ = writeln!(out, "{}", lesson.title);
    }
    paragraph(&mut out, "", lesson.about);
    for chart in &lesson.charts {
        out.push('\n');
        draw_chart(&mut out, chart, colours);
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

fn draw_chart(out: &mut String, chart: &Chart, colours: bool) {
    paragraph(out, "", &chart.title);
    out.push_str(&printed::text(&plot(chart), colours));
    let label = chart.x.label;
    let _ = writeln!(out, "{label:>width$}", width = usize::from(LEFT + COLUMNS));
    legend(out, chart, colours);
    for (at, mark) in chart.marks.iter().enumerate() {
        let head = format!("  {} {:>4}  ", Chart::letter(at), mark.at);
        paragraph(out, &head, &mark.text);
    }
}

/// The plot: a row of letters, the chart with its y axis, the x axis, its numbers.
fn plot(chart: &Chart) -> Buffer {
    let height = u16::try_from(chart.rows).unwrap_or(0) + 1;
    let mut buffer = Buffer::empty(Rect::new(0, 0, LEFT + COLUMNS + OVER, height + 3));
    buffer.set_string(0, 0, format!("{:>5}", chart.y.label), Style::new());
    letters(chart, Rect::new(LEFT, 0, COLUMNS, 1), &mut buffer);
    let layers = layers(chart);
    let end = u16::try_from(chart.y.end).unwrap_or(0);
    let steps = (0..=chart.y.end / chart.y.step).map(|i| i * chart.y.step);
    let numbers = steps.map(|value| format!("{value:>5} "));
    // The empty label keeps a row for the numbers below, which have positions of their own.
    Plot::new(layers.iter().map(Layer::dataset).collect())
        .x_axis(
            Axis::default()
                .bounds([0.0, f64::from(COLUMNS - 1)])
                .labels([""]),
        )
        .y_axis(
            Axis::default()
                .bounds([0.0, f64::from(end)])
                .labels(numbers),
        )
        .render(Rect::new(0, 1, LEFT + COLUMNS, height + 2), &mut buffer);
    let below = Rect::new(LEFT, height + 1, COLUMNS + OVER, 2);
    x_axis(chart, below, &mut buffer);
    buffer
}

/// The ticks of the x axis, and their numbers in the row below.
fn x_axis(chart: &Chart, area: Rect, buffer: &mut Buffer) {
    let values = (0..=chart.x.end / chart.x.step).map(|i| i * chart.x.step);
    let values: Vec<i64> = values.collect();
    let draw = Canvas::default()
        .x_bounds([0.0, f64::from(area.width - 1)])
        .y_bounds([0.0, 1.0]);
    draw.paint(|context| {
        for value in &values {
            let column = f64::from(column(chart, *value));
            context.print(column, 1.0, "\u{2534}");
            context.print(column, 0.0, value.to_string());
        }
    })
    .render(area, buffer);
}

/// The letters of what happened, over their columns.
fn letters(chart: &Chart, area: Rect, buffer: &mut Buffer) {
    let mut line = [' '; COLUMNS as usize];
    for (at, mark) in chart.marks.iter().enumerate() {
        let wanted = usize::from(column(chart, mark.at));
        let mut right = line.iter_mut().skip(wanted);
        if let Some(free) = right.find(|sign| **sign == ' ') {
            *free = Chart::letter(at);
        }
    }
    let line: String = line.iter().collect();
    line.render(area, buffer);
}

/// Points that are drawn in one form, over all layers before.
struct Layer {
    points: Vec<(f64, f64)>,
    sign: char,
    colour: Color,
    form: GraphType,
}

impl Layer {
    fn dataset(&self) -> Dataset<'_> {
        Dataset::default()
            .data(&self.points)
            .marker(Marker::Custom(self.sign))
            .style(self.colour)
            .graph_type(self.form)
    }
}

/// Areas, over them the levels, over them the curves.
fn layers(chart: &Chart) -> Vec<Layer> {
    let mut layers = areas(chart);
    layers.extend(chart.levels.iter().map(|level| {
        Layer {
            points: [0, COLUMNS - 1]
                .map(|column| (f64::from(column), float(level.value)))
                .to_vec(),
            sign: level_sign(level.kind),
            colour: Color::Reset,
            form: GraphType::Line,
        }
    }));
    // The first curve lies on top of those after it.
    let curves = chart.curves.iter().enumerate().rev();
    layers.extend(curves.map(|(i, series)| Layer {
        points: steps(chart, series),
        sign: CURVES[i % 4],
        colour: CURVE_COLOURS[i % 4],
        form: GraphType::Line,
    }));
    layers
}

/// Bars from 0 to the top of each area: the highest area first, so that lower ones cover it.
fn areas(chart: &Chart) -> Vec<Layer> {
    let mut tops = [0_i64; COLUMNS as usize];
    let layer = |(i, series): (usize, &Series)| {
        let mut points = Vec::new();
        for (column, top) in (0..COLUMNS).zip(&mut tops) {
            let own = value(chart, series, column).unwrap_or(0);
            *top += own;
            if own > 0 {
                points.push((f64::from(column), float(*top)));
            }
        }
        Layer {
            points,
            sign: AREAS[i % 4],
            colour: AREA_COLOURS[i % 4],
            form: GraphType::Bar,
        }
    };
    let mut layers: Vec<Layer> = chart.areas.iter().enumerate().map(layer).collect();
    layers.reverse();
    layers
}

/// The corners of a step curve.
fn steps(chart: &Chart, series: &Series) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for column in 0..COLUMNS {
        let Some(value) = value(chart, series, column) else {
            continue;
        };
        let x = f64::from(column);
        if let Some(&(_, before)) = points.last() {
            points.push((x, before));
        }
        points.push((x, float(value)));
    }
    points
}

/// The value of a series at the position of the x axis that a column stands for.
fn value(chart: &Chart, series: &Series, column: u16) -> Option<i64> {
    let end = usize::try_from(chart.x.end).unwrap_or(0);
    let last = usize::from(COLUMNS - 1);
    let position = (usize::from(column) * end + last / 2) / last;
    series.values.get(position).copied()
}

/// The column of a position of the x axis.
fn column(chart: &Chart, position: i64) -> u16 {
    let end = chart.x.end.max(1);
    let last = i64::from(COLUMNS - 1);
    let column = (position.clamp(0, end) * last + end / 2) / end;
    u16::try_from(column).unwrap_or(0)
}

/// A value of a chart, which is small.
fn float(value: i64) -> f64 {
    f64::from(i32::try_from(value).unwrap_or(i32::MAX))
}

const fn level_sign(kind: LevelKind) -> char {
    match kind {
        LevelKind::Guarantee => GUARANTEE,
        LevelKind::Maximum => MAXIMUM,
    }
}

fn legend(out: &mut String, chart: &Chart, colours: bool) {
    let entry = |out: &mut String, sign: char, colour: Color, text: &str| {
        let sample: String = std::iter::repeat_n(sign, 3).collect();
        let _ = writeln!(out, "  {} {text}", printed::ink(colour, &sample, colours));
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
        entry(out, level_sign(level.kind), Color::Reset, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Axis as ChartAxis, Level, Mark};
    use super::*;

    fn chart() -> Chart {
        let axis = |label, end, step| ChartAxis { label, end, step };
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
            curves: vec![series("limit", &[4, 4, 3, 0])],
            levels: vec![Level::guarantee("guarantee", 2)],
            marks: vec![
                Mark {
                    at: 2,
                    text: "something".to_owned(),
                },
                Mark {
                    at: 2,
                    text: "something more".to_owned(),
                },
            ],
        }
    }

    fn drawn(colours: bool) -> String {
        let mut out = String::new();
        draw_chart(&mut out, &chart(), colours);
        out
    }

    #[test]
    fn areas_lie_on_each_other_and_lines_over_them() {
        assert_eq!(drawn(false), include_str!("chart.txt"));
    }

    #[test]
    fn a_column_holds_each_value_at_its_row() {
        let buffer = plot(&chart());
        let column = |x: u16| -> String {
            let rows = (1..=5).rev();
            rows.map(|y| buffer[(LEFT + x, y)].symbol().to_owned())
                .collect()
        };
        assert_eq!(column(0), "\u{2588}\u{2588}\u{2500} *");
        assert_eq!(column(COLUMNS - 1), "*\u{2588}\u{2500}\u{2593}\u{2593}");
    }

    #[test]
    fn without_colour_there_is_no_escape_and_no_line_is_too_long() {
        let plain = drawn(false);
        assert!(!plain.contains('\u{1b}'));
        assert!(plain.lines().all(|line| line.chars().count() <= WIDTH));
        let coloured = drawn(true);
        assert!(coloured.contains("\u{1b}[34m\u{2588}"), "{coloured}");
        let parts = coloured.split('\u{1b}').skip(1);
        let uncoloured: String = parts
            .filter_map(|part| part.split_once('m'))
            .map(|(_, text)| text)
            .collect();
        let head = coloured.split('\u{1b}').next().unwrap_or("");
        assert_eq!(format!("{head}{uncoloured}"), plain);
    }

    #[test]
    fn paragraphs_are_indented_and_fit() {
        let mut out = String::new();
        paragraph(&mut out, "  - ", &"word ".repeat(40));
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(out.lines().skip(1).all(|line| line.starts_with("    word")));
    }
}
