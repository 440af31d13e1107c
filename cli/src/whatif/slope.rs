//! A slope chart as SVG: the wait at p95 of each queue, in the run as it was and in each candidate.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "positions in a picture"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::figures::RunSummary;
use crate::play::virtual_time;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 220.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 70.0;
const PLOT: f64 = 380.0;
/// Least distance of two labels.
const LINE: f64 = 18.0;

/// Colours that stay apart for the colour-blind.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444",
];

/// The chart.
pub(super) fn chart(played: &[RunSummary]) -> String {
    let mut chart = Slopes::new(played);
    chart.columns();
    chart.lines();
    if let (Some(first), Some(last)) = (played.first(), played.last()) {
        chart.labels((LEFT - 12.0, "end"), first);
        chart.labels((RIGHT + 12.0, "start"), last);
    }
    chart.out.push_str("</svg>\n");
    chart.out
}

/// The chart while it is drawn.
struct Slopes<'a> {
    played: &'a [RunSummary],
    names: BTreeSet<&'a String>,
    /// The longest wait in ms.
    most: f64,
    out: String,
}

impl<'a> Slopes<'a> {
    fn new(played: &'a [RunSummary]) -> Self {
        let queues = || played.iter().flat_map(|run| run.queues.iter());
        let most = queues().map(|(_, of)| of.p95_ms).max().unwrap_or(0).max(1);
        let height = TOP + PLOT + 60.0;
        let title = "Wait for the first container at p95, by queue";
        Self {
            played,
            names: queues().map(|(name, _)| name).collect(),
            most: most as f64,
            out: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
                 width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
                 font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"13\">\n<title>{title}</title>\n\
                 <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
                 <text x=\"{LEFT}\" y=\"28\" font-size=\"17\" fill=\"#222222\">{title}</text>\n"
            ),
        }
    }

    fn x(&self, at: usize) -> f64 {
        let step = (RIGHT - LEFT) / (self.played.len().max(2) - 1) as f64;
        LEFT + step * at as f64
    }

    fn y(&self, ms: u64) -> f64 {
        TOP + PLOT - ms as f64 / self.most * PLOT
    }

    /// A line for each run, with its name below.
    fn columns(&mut self) {
        for (at, run) in self.played.iter().enumerate() {
            let (at, name) = (self.x(at), escaped(&run.name));
            let (bottom, below) = (TOP + PLOT, TOP + PLOT + 26.0);
            let _ = writeln!(
                self.out,
                "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#bbbbbb\"/>\n\
                 <text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\" fill=\"#222222\">{name}</text>"
            );
        }
    }

    /// A line for each queue.
    fn lines(&mut self) {
        for (index, name) in self.names.clone().into_iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points = self.played.iter().enumerate();
            let points = points.map(|(at, run)| (self.x(at), self.y(wait(run, name))));
            let points: Vec<(f64, f64)> = points.collect();
            let shown: Vec<String> = points
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let _ = writeln!(
                self.out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"3\"/>",
                shown.join(" ")
            );
            for (x, y) in &points {
                let _ = writeln!(
                    self.out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"
                );
            }
        }
    }

    /// Names with their waits at one side, moved apart where they would overlap.
    fn labels(&mut self, (x, anchor): (f64, &str), run: &RunSummary) {
        let names = self.names.iter().enumerate();
        let mut all: Vec<(f64, u64, usize, &String)> = names
            .map(|(index, &name)| (self.y(wait(run, name)), wait(run, name), index, name))
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut above = f64::MAX;
        for (y, ms, index, name) in all {
            above = y.min(above - LINE);
            let (at, colour) = (above + 4.0, COLOURS[index % COLOURS.len()]);
            let text = format!("{} {}", escaped(name), virtual_time(ms));
            let _ = writeln!(
                self.out,
                "<text x=\"{x:.1}\" y=\"{at:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
            );
        }
    }
}

fn wait(run: &RunSummary, queue: &str) -> u64 {
    run.queues.get(queue).map_or(0, |of| of.p95_ms)
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
