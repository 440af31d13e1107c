//! Line charts as SVG, without any library: what the figures of a report are drawn with.
#![expect(
    clippy::float_arithmetic,
    reason = "positions on a drawing; nothing is decided by them"
)]

use std::fmt::Write;

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
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 86.0;

/// Colours that people with any colour vision distinguish (Okabe and Ito).
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];

/// Charts side by side.
pub(crate) fn svg(charts: &[Chart]) -> String {
    let mut out = String::new();
    let count = u32::try_from(charts.len()).unwrap_or(1);
    let width = WIDTH * f64::from(count);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" \
         width=\"{width}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (i, chart) in (0_u32..).zip(charts) {
        let _ = writeln!(
            out,
            "<g transform=\"translate({},0)\">",
            WIDTH * f64::from(i)
        );
        chart.draw(&mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

impl Chart {
    fn draw(&self, out: &mut String) {
        let (x, y) = (self.x_axis(), self.y_axis());
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"22\" font-size=\"14\" text-anchor=\"middle\">{}</text>",
            WIDTH / 2.0,
            escaped(&self.title)
        );
        self.draw_axes(out, &x, &y);
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let place = |&(px, py): &(f64, f64)| (x.place(px), y.place(py));
            let path: Vec<String> = series
                .points
                .iter()
                .map(place)
                .map(|(px, py)| format!("{px:.1},{py:.1}"))
                .collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                path.join(" ")
            );
            if series.points.len() < 12 {
                for (px, py) in series.points.iter().map(place) {
                    let _ = writeln!(
                        out,
                        "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
                    );
                }
            }
            self.draw_name(out, i, colour, &series.name);
        }
    }

    fn draw_axes(&self, out: &mut String, x: &Axis, y: &Axis) {
        for (at, name) in y.ticks() {
            let py = y.place(at);
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{py:.1}\" y2=\"{py:.1}\" stroke=\"#dddddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                py + 4.0
            );
        }
        for (at, name) in &self.x_ticks {
            let px = x.place(*at);
            let _ = writeln!(
                out,
                "<line x1=\"{px:.1}\" x2=\"{px:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"#888888\"/>\
                 <text x=\"{px:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 5.0,
                HEIGHT - BOTTOM + 19.0,
                escaped(name)
            );
        }
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT},{TOP} V{} H{}\" fill=\"none\" stroke=\"#444444\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16,{}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            WIDTH - RIGHT,
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - BOTTOM + 38.0,
            escaped(&self.x_label),
            f64::midpoint(TOP, HEIGHT - BOTTOM),
            escaped(&self.y_label)
        );
    }

    /// The name of a line, below the chart in two columns.
    fn draw_name(&self, out: &mut String, i: usize, colour: &str, name: &str) {
        let (column, row) = (i % 3, i / 3);
        let index = |n: usize| f64::from(u32::try_from(n).unwrap_or(0));
        let px = LEFT + 150.0 * index(column);
        let py = HEIGHT - 30.0 + 16.0 * index(row);
        let _ = writeln!(
            out,
            "<line x1=\"{px}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{colour}\" \
             stroke-width=\"3\"/><text x=\"{}\" y=\"{py}\">{}</text>",
            px + 18.0,
            py - 4.0,
            py - 4.0,
            px + 23.0,
            escaped(name)
        );
    }

    fn values(&self, which: fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let all = self
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(which));
        all.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    fn x_axis(&self) -> Axis {
        let (low, high) = self.values(|point| point.0);
        Axis {
            low,
            high: if high > low { high } else { low + 1.0 },
            from: LEFT,
            to: WIDTH - RIGHT,
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
            low,
            high: if high > low { high } else { low + 1.0 },
            from: HEIGHT - BOTTOM,
            to: TOP,
            log: self.log_y,
        }
    }
}

/// Maps values to positions; the ends of a logarithmic one are exponents.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let value = if self.log {
            value.max(1e-9).log10()
        } else {
            value
        };
        let share = (value - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let value = |at: f64| if self.log { 10_f64.powf(at) } else { at };
        let step = if self.log {
            1.0
        } else {
            (self.high - self.low) / 5.0
        };
        let mut at = self.low;
        let mut ticks = Vec::new();
        while at <= self.high + step / 100.0 && ticks.len() < 12 {
            ticks.push((value(at), short(value(at))));
            at += step;
        }
        ticks
    }
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
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
        };
        let text = svg(&[chart]);
        assert_eq!(text.matches("<polyline").count(), 2);
        assert!(text.contains("a &lt; b") && text.contains(">two<"));
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert!((nice(3.1e5) - 5e5).abs() < 1.0);
        assert_eq!(short(2.5e6), "2.5M");
        assert_eq!(short(200.0), "200");
    }
}
