//! Line charts as SVG: what the figures of a report are drawn with.
#![expect(
    clippy::float_arithmetic,
    reason = "positions on a drawing; nothing is decided by them"
)]

use capsched_svg::{Anchor, Axis, COLOURS, Canvas, GRID};

/// A line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Lines over one pair of axes.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    /// Positions on the x axis with their names.
    pub(crate) x_ticks: Vec<(f64, String)>,
    /// Whether the y axis is logarithmic; it begins at zero otherwise.
    pub(crate) log_y: bool,
    pub(crate) series: Vec<Series>,
    /// What each line would be at best: dashed, in the colours of the series.
    pub(crate) ideal: Option<Ideal>,
}

/// Lines that are no measurements.
#[derive(Clone, Debug)]
pub(crate) struct Ideal {
    pub(crate) name: String,
    /// One for each series.
    pub(crate) lines: Vec<Vec<(f64, f64)>>,
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 86.0;

/// Charts below each other, so that their letters can be read on a narrow page.
pub(crate) fn svg(charts: &[Chart]) -> String {
    let count = u32::try_from(charts.len()).unwrap_or(1);
    let title = charts.first().map_or("", |chart| &chart.title);
    let mut canvas = Canvas::new((WIDTH, HEIGHT * f64::from(count)), title);
    for (i, chart) in (0_u32..).zip(charts) {
        canvas.moved((0.0, HEIGHT * f64::from(i)), |canvas| chart.draw(canvas));
    }
    canvas.finish()
}

impl Chart {
    fn draw(&self, canvas: &mut Canvas) {
        let (x, y) = (self.x_axis(), self.y_axis());
        let top = (WIDTH / 2.0, 22.0);
        canvas.text(top, Anchor::Middle, &self.title, "font-size=\"14\"");
        self.draw_axes(canvas, &x, &y);
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let place = |&(px, py): &(f64, f64)| (x.place(px), y.place(py));
            let points: Vec<_> = series.points.iter().map(place).collect();
            let style = format!("stroke=\"{colour}\" stroke-width=\"2\"");
            canvas.polyline(&points, &style);
            if points.len() < 12 {
                for point in &points {
                    canvas.dot(*point, 3.5, colour);
                }
            }
            draw_name(canvas, i, &solid(colour), &series.name);
        }
        self.draw_ideal(canvas, &x, &y);
    }

    fn draw_ideal(&self, canvas: &mut Canvas, x: &Axis, y: &Axis) {
        let Some(ideal) = &self.ideal else {
            return;
        };
        for (line, colour) in ideal.lines.iter().zip(COLOURS.iter().cycle()) {
            let points: Vec<_> = line
                .iter()
                .map(|&(px, py)| (x.place(px), y.place(py)))
                .collect();
            canvas.polyline(&points, &dashed(colour));
        }
        draw_name(canvas, self.series.len(), &dashed("#666666"), &ideal.name);
    }

    fn draw_axes(&self, canvas: &mut Canvas, x: &Axis, y: &Axis) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for (at, name) in ticks(y) {
            let py = y.place(at);
            let style = format!("stroke=\"{GRID}\"");
            canvas.line((LEFT, py), (right, py), &style);
            canvas.text((LEFT - 6.0, py + 4.0), Anchor::End, &name, "");
        }
        for (at, name) in &self.x_ticks {
            let px = x.place(*at);
            canvas.line((px, bottom), (px, bottom + 5.0), "stroke=\"#888888\"");
            canvas.text((px, bottom + 19.0), Anchor::Middle, name, "");
        }
        let corner = [(LEFT, TOP), (LEFT, bottom), (right, bottom)];
        canvas.polyline(&corner, "stroke=\"#444444\"");
        let below = (f64::midpoint(LEFT, right), bottom + 38.0);
        canvas.text(below, Anchor::Middle, &self.x_label, "");
        canvas.upright((16.0, f64::midpoint(TOP, bottom)), &self.y_label);
    }

    fn values(&self, which: fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let measured = self.series.iter().map(|series| &series.points);
        let ideal = self.ideal.iter().flat_map(|ideal| &ideal.lines);
        let all = measured
            .chain(ideal)
            .flat_map(|line| line.iter().map(which));
        all.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    fn x_axis(&self) -> Axis {
        let (low, high) = self.values(|point| point.0);
        Axis {
            values: (low, if high > low { high } else { low + 1.0 }),
            positions: (LEFT, WIDTH - RIGHT),
            log: false,
        }
    }

    fn y_axis(&self) -> Axis {
        let (low, high) = self.values(|point| point.1);
        let (low, high) = if self.log_y {
            let decade = |value: f64| value.max(1e-9).log10();
            (decade(low).floor(), decade(high).ceil())
        } else {
            (0.0, nice(high))
        };
        Axis {
            values: (low, if high > low { high } else { low + 1.0 }),
            positions: (HEIGHT - BOTTOM, TOP),
            log: self.log_y,
        }
    }
}

/// The name of a line, below the chart in three columns.
fn draw_name(canvas: &mut Canvas, i: usize, style: &str, name: &str) {
    let index = |n: usize| f64::from(u32::try_from(n).unwrap_or(0));
    let px = LEFT + 150.0 * index(i % 3);
    let py = HEIGHT - 30.0 + 16.0 * index(i / 3);
    canvas.line((px, py - 4.0), (px + 18.0, py - 4.0), style);
    canvas.text((px + 23.0, py), Anchor::Start, name, "");
}

fn solid(colour: &str) -> String {
    format!("stroke=\"{colour}\" stroke-width=\"3\"")
}

fn dashed(colour: &str) -> String {
    format!("stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"")
}

/// Values on an axis with their names.
fn ticks(axis: &Axis) -> Vec<(f64, String)> {
    let (low, high) = axis.values;
    let value = |at: f64| if axis.log { 10_f64.powf(at) } else { at };
    let step = if axis.log { 1.0 } else { (high - low) / 5.0 };
    let mut at = low;
    let mut ticks = Vec::new();
    while at <= high + step / 100.0 && ticks.len() < 12 {
        ticks.push((value(at), short(value(at))));
        at += step;
    }
    ticks
}

/// The next greater of 1, 2, 2.5 or 5 with zeros.
fn nice(value: f64) -> f64 {
    let unit = 10_f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let fits = |step: &&f64| **step * unit >= value;
    steps.iter().find(fits).map_or(value, |step| step * unit)
}

/// A number with k, M or nothing behind it.
fn short(value: f64) -> String {
    let (scaled, unit) = if value >= 1e6 {
        (value / 1e6, "M")
    } else if value >= 1e3 {
        (value / 1e3, "k")
    } else {
        (value, "")
    };
    let digits = if scaled >= 10.0 || scaled.fract().abs() < 1e-9 {
        format!("{scaled:.0}")
    } else {
        format!("{scaled:.2}").trim_end_matches('0').to_owned()
    };
    format!("{}{unit}", digits.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_line_and_a_name_for_each_series() {
        let line = |name: &str| Series {
            name: name.to_owned(),
            points: vec![(1.0, 10.0), (2.0, 2_000.0)],
        };
        let chart = Chart {
            title: "a < b".to_owned(),
            x_label: "x".to_owned(),
            y_label: "y".to_owned(),
            x_ticks: vec![(1.0, "1".to_owned())],
            log_y: true,
            series: vec![line("one"), line("two")],
            ideal: Some(Ideal {
                name: "at best".to_owned(),
                lines: vec![vec![(1.0, 10.0), (2.0, 20.0)]],
            }),
        };
        let text = svg(&[chart.clone(), chart]);
        // The axes are a line, too.
        assert_eq!(text.matches("<polyline").count(), 8);
        assert!(text.contains("a &lt; b") && text.contains(">two<") && text.contains(">at best<"));
        assert_eq!(text.matches("stroke-dasharray").count(), 4);
        assert!(text.contains("width=\"520\" height=\"720\""));
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert!((nice(3.1e5) - 5e5).abs() < 1.0);
        assert_eq!(short(2.5e6), "2.5M");
        assert_eq!(short(200.0), "200");
    }
}
