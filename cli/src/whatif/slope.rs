//! A slope chart as SVG: the wait at p95 of each queue, in the run as it was and in each candidate.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "positions in a picture"
)]

use std::collections::BTreeSet;

use capsched_svg::{Anchor, COLOURS, Canvas, Point};

use super::figures::RunSummary;
use crate::play::virtual_time;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 220.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 70.0;
const PLOT: f64 = 380.0;
/// Least distance of two labels.
const LINE: f64 = 18.0;

/// The chart.
pub(super) fn chart(played: &[RunSummary]) -> String {
    let mut chart = Slopes::new(played);
    chart.columns();
    chart.lines();
    if let (Some(first), Some(last)) = (played.first(), played.last()) {
        chart.labels((LEFT - 12.0, Anchor::End), first);
        chart.labels((RIGHT + 12.0, Anchor::Start), last);
    }
    chart.canvas.finish()
}

/// The chart while it is drawn.
struct Slopes<'a> {
    played: &'a [RunSummary],
    names: BTreeSet<&'a String>,
    /// The longest wait in ms.
    most: f64,
    canvas: Canvas,
}

impl<'a> Slopes<'a> {
    fn new(played: &'a [RunSummary]) -> Self {
        let queues = || played.iter().flat_map(|run| run.queues.iter());
        let most = queues().map(|(_, of)| of.p95_ms).max().unwrap_or(0).max(1);
        let height = TOP + PLOT + 60.0;
        let title = "Wait for the first container at p95, by queue";
        let mut canvas = Canvas::new((WIDTH, height), title);
        canvas.text((LEFT, 28.0), Anchor::Start, title, "font-size=\"17\"");
        Self {
            played,
            names: queues().map(|(name, _)| name).collect(),
            most: most as f64,
            canvas,
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
            let at = self.x(at);
            let style = "stroke=\"#bbbbbb\"";
            self.canvas.line((at, TOP), (at, TOP + PLOT), style);
            let below = (at, TOP + PLOT + 26.0);
            self.canvas.text(below, Anchor::Middle, &run.name, "");
        }
    }

    /// A line for each queue.
    fn lines(&mut self) {
        for (index, name) in self.names.clone().into_iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points = self.played.iter().enumerate();
            let points = points.map(|(at, run)| (self.x(at), self.y(wait(run, name))));
            let points: Vec<Point> = points.collect();
            let style = format!("stroke=\"{colour}\" stroke-width=\"3\"");
            self.canvas.polyline(&points, &style);
            for point in &points {
                self.canvas.dot(*point, 5.0, colour);
            }
        }
    }

    /// Names with their waits at one side, moved apart where they would overlap.
    fn labels(&mut self, (x, anchor): (f64, Anchor), run: &RunSummary) {
        let names = self.names.iter().enumerate();
        let mut all: Vec<(f64, u64, usize, &String)> = names
            .map(|(index, &name)| (self.y(wait(run, name)), wait(run, name), index, name))
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut above = f64::MAX;
        for (y, ms, index, name) in all {
            above = y.min(above - LINE);
            let (at, colour) = (above + 4.0, COLOURS[index % COLOURS.len()]);
            let text = format!("{name} {}", virtual_time(ms));
            self.canvas.coloured((x, at), (anchor, colour), &text, "");
        }
    }
}

fn wait(run: &RunSummary, queue: &str) -> u64 {
    run.queues.get(queue).map_or(0, |of| of.p95_ms)
}
