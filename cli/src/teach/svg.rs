//! The charts of an example as SVG.
#![expect(
    clippy::cast_precision_loss,
    reason = "positions in a picture, far below the exact range"
)]

use capsched_svg::{Anchor, Canvas, GRID, INK, Point};

use super::chart::{Chart, Lesson, LevelKind};

const WIDTH: i64 = 960;
const LEFT: i64 = 70;
const RIGHT: i64 = 930;
/// From the top of a chart to the top of its plot.
const TOP: i64 = 70;
const PLOT: i64 = 320;
/// From the bottom of the plot to the first line of the legend.
const AXIS: i64 = 66;
const LINE: i64 = 22;

const AREAS: [&str; 4] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];
const CURVES: [&str; 4] = ["#d55e00", "#0072b2", "#009e73", "#444444"];
/// The first curve lies over the others, so it is thinner than what it may cover.
const WIDTHS: [i64; 4] = [2, 5, 3, 3];

/// All charts of an example, one below the other.
pub(super) fn page(lesson: &Lesson) -> String {
    let whole: i64 = lesson.charts.iter().map(height).sum();
    let mut canvas = Canvas::new(point(WIDTH, whole), lesson.title);
    let mut y = 0;
    for chart in &lesson.charts {
        canvas.moved(point(0, y), |canvas| draw(chart, canvas));
        y += height(chart);
    }
    canvas.finish()
}

/// One chart.
pub(super) fn single(chart: &Chart) -> String {
    let mut canvas = Canvas::new(point(WIDTH, height(chart)), &chart.title);
    draw(chart, &mut canvas);
    canvas.finish()
}

fn point(x: i64, y: i64) -> Point {
    (x as f64, y as f64)
}

/// Lines of the legend and of what happened; two entries share a line.
fn lines(chart: &Chart) -> (i64, i64) {
    let pairs = |count: usize| i64::try_from(count.div_ceil(2)).unwrap_or(0);
    let entries = chart.areas.len() + chart.curves.len() + chart.levels.len();
    (pairs(entries), pairs(chart.marks.len()))
}

fn height(chart: &Chart) -> i64 {
    let (legend, marks) = lines(chart);
    TOP + PLOT + AXIS + (legend + marks) * LINE + 24
}

fn draw(chart: &Chart, canvas: &mut Canvas) {
    let mut picture = Picture { chart, canvas };
    picture.text(LEFT, 26, Anchor::Start, &chart.title, "font-size=\"17\"");
    picture.grid();
    picture.areas();
    picture.levels();
    picture.curves();
    picture.level_labels();
    picture.marks();
    picture.legend();
}

struct Picture<'a> {
    chart: &'a Chart,
    canvas: &'a mut Canvas,
}

impl Picture<'_> {
    fn x(&self, position: i64) -> i64 {
        LEFT + position * (RIGHT - LEFT) / self.chart.x.end.max(1)
    }

    fn y(&self, value: i64) -> i64 {
        TOP + PLOT - value * PLOT / self.chart.y.end.max(1)
    }

    fn text(&mut self, x: i64, y: i64, anchor: Anchor, text: &str, more: &str) {
        self.canvas.text(point(x, y), anchor, text, more);
    }

    fn line(&mut self, (x1, y1): (i64, i64), (x2, y2): (i64, i64), style: &str) {
        self.canvas.line(point(x1, y1), point(x2, y2), style);
    }

    fn grid(&mut self) {
        let (x, y) = (&self.chart.x, &self.chart.y);
        let bottom = TOP + PLOT;
        for value in (0..=y.end / y.step).map(|i| i * y.step) {
            let at = self.y(value);
            self.line((LEFT, at), (RIGHT, at), &format!("stroke=\"{GRID}\""));
            self.text(LEFT - 8, at + 4, Anchor::End, &value.to_string(), "");
        }
        for value in (0..=x.end / x.step).map(|i| i * x.step) {
            let at = self.x(value);
            self.line((at, bottom), (at, bottom + 5), &format!("stroke=\"{INK}\""));
            self.text(at, bottom + 20, Anchor::Middle, &value.to_string(), "");
        }
        self.line(
            (LEFT, bottom),
            (RIGHT, bottom),
            &format!("stroke=\"{INK}\""),
        );
        self.line((LEFT, TOP), (LEFT, bottom), &format!("stroke=\"{INK}\""));
        let middle = i64::midpoint(LEFT, RIGHT);
        self.text(middle, bottom + 40, Anchor::Middle, x.label, "");
        self.canvas.upright(point(20, TOP + PLOT / 2), y.label);
    }

    /// Points of a step curve: a value holds until the next position.
    fn steps(&self, values: &[i64]) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        let mut before = None;
        for (position, &value) in (0..).zip(values) {
            let (x, y) = (self.x(position), self.y(value));
            if let Some(before) = before.filter(|before| *before != y) {
                points.push(point(x, before));
            }
            points.push(point(x, y));
            before = Some(y);
        }
        points
    }

    fn areas(&mut self) {
        let opacity = if self.chart.curves.is_empty() {
            "0.8"
        } else {
            "0.3"
        };
        let mut below = vec![0; self.chart.areas.first().map_or(0, |a| a.values.len())];
        for (i, series) in self.chart.areas.iter().enumerate() {
            let top: Vec<i64> = below
                .iter()
                .zip(&series.values)
                .map(|(a, b)| a + b)
                .collect();
            let mut outline = self.steps(&top);
            outline.extend(self.steps(&below).into_iter().rev());
            let style = format!("fill=\"{}\" fill-opacity=\"{opacity}\"", AREAS[i % 4]);
            self.canvas.polygon(&outline, &style);
            below = top;
        }
    }

    /// The first curve is drawn last, over the others.
    fn curves(&mut self) {
        for (i, series) in self.chart.curves.iter().enumerate().rev() {
            let points = self.steps(&series.values);
            let (colour, width) = (CURVES[i % 4], WIDTHS[i % 4]);
            let style = format!("stroke=\"{colour}\" stroke-width=\"{width}\"");
            self.canvas.polyline(&points, &style);
        }
    }

    fn levels(&mut self) {
        for level in &self.chart.levels {
            let at = self.y(level.value);
            self.line((LEFT, at), (RIGHT, at), level_style(level.kind));
        }
    }

    fn level_labels(&mut self) {
        let levels = &self.chart.levels;
        for (i, level) in levels.iter().enumerate() {
            let at = self.y(level.value);
            // The second of two equal levels is written below the line.
            let second = levels[..i].iter().any(|other| other.value == level.value);
            let inside = if second || at - TOP < 20 {
                at + 16
            } else {
                at - 6
            };
            let text = format!("{}: {}", level.label, level.value);
            let halo = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"4\"";
            self.text(RIGHT - 6, inside, Anchor::End, &text, halo);
        }
    }

    fn marks(&mut self) {
        let chart = self.chart;
        for (i, mark) in chart.marks.iter().enumerate() {
            let at = self.x(mark.at);
            let style = "stroke=\"#222222\" stroke-dasharray=\"2 3\"";
            self.line((at, TOP - 8), (at, TOP + PLOT), style);
            let letter = Chart::letter(i).to_string();
            self.text(
                at,
                TOP - 14,
                Anchor::Middle,
                &letter,
                "font-weight=\"bold\"",
            );
        }
        let (legend, _) = lines(chart);
        for (i, mark) in (0..).zip(&chart.marks) {
            let (x, y) = place(i, legend);
            let letter = Chart::letter(usize::try_from(i).unwrap_or(0));
            let text = format!("{letter}  ({}) {}", mark.at, mark.text);
            self.text(x, y, Anchor::Start, &text, "");
        }
    }

    fn legend(&mut self) {
        let chart = self.chart;
        let mut samples = Vec::new();
        for (i, series) in chart.curves.iter().enumerate() {
            let (colour, width) = (CURVES[i % 4], WIDTHS[i % 4]);
            let style = format!("stroke=\"{colour}\" stroke-width=\"{width}\"");
            samples.push((style, series.label.clone()));
        }
        for (i, series) in chart.areas.iter().enumerate() {
            let opacity = if chart.curves.is_empty() {
                "0.8"
            } else {
                "0.3"
            };
            let colour = AREAS[i % 4];
            let style =
                format!("stroke=\"{colour}\" stroke-width=\"14\" stroke-opacity=\"{opacity}\"");
            samples.push((style, series.label.clone()));
        }
        for level in &chart.levels {
            let text = format!("{}: {}", level.label, level.value);
            samples.push((level_style(level.kind).to_owned(), text));
        }
        for (i, (style, text)) in (0..).zip(samples) {
            let (x, y) = place(i, 0);
            self.line((x, y - 4), (x + 26, y - 4), &style);
            self.text(x + 34, y, Anchor::Start, &text, "");
        }
    }
}

/// Where an entry of the two columns below the plot stands, after some lines.
fn place(entry: i64, lines: i64) -> (i64, i64) {
    let x = LEFT + entry % 2 * (RIGHT - LEFT) / 2;
    (x, TOP + PLOT + AXIS + (lines + entry / 2) * LINE + 8)
}

fn level_style(kind: LevelKind) -> &'static str {
    match kind {
        LevelKind::Guarantee => "stroke=\"#222222\" stroke-width=\"2\" stroke-dasharray=\"8 4\"",
        LevelKind::Maximum => "stroke=\"#b00020\" stroke-width=\"2\" stroke-dasharray=\"2 3\"",
    }
}
