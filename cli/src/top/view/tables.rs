//! Applications, nodes, events, figures of the scheduler, and the answer about an application.
//!
//! Bars of tables are text: a bar of ratatui fills an area and cannot stand between the columns of a line.

use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::{coloured, row_style, start, tail, window};
use crate::moments::{AppAt, NodeAt};
use crate::play::{grouped, virtual_time};
use crate::top::model::{Model, Why};

/// Columns of a bar.
const BAR: u32 = 12;

/// Classes of nodes by use.
const CLASSES: u32 = 10;

fn heading(text: String) -> Line<'static> {
    Line::styled(text, coloured(Color::DarkGray))
}

/// Rows that fit below a heading.
fn room(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(3)
}

/// Letters of the longest token of a reason.
const LONGEST_REASON: usize = 26;

/// The applications around the chosen one.
pub(super) fn applications(model: &Model<'_>, area: Rect) -> Vec<Line<'static>> {
    let inner = usize::from(area.width).saturating_sub(2);
    // Containers that run and wait, the time since submission, and the reason.
    let reason_width = if inner < 100 { 18 } else { LONGEST_REASON };
    let names = inner.saturating_sub(7 + 7 + 10 + reason_width);
    // An application's number has 18 characters.
    let name = (names / 2).max(19).min(names);
    let queue = names - name;
    let now_ms = model.now_ms();
    let mut lines = vec![heading(format!(
        "{:<name$}{:<queue$}{:>6} {:>6} {:>9} reason",
        "application", "queue", "runs", "waits", "age"
    ))];
    let rows = model.applications();
    for (selected, app) in window(&rows, model.selected(), room(area)) {
        let shown = label(model, app);
        let age = virtual_time(now_ms.saturating_sub(app.submitted_ms));
        let reason = app.reason.map_or("", capsched::api::Reason::token);
        let text = format!(
            "{:<name$}{:<queue$}{:>6} {:>6} {age:>9} {}",
            tail(&shown, name.saturating_sub(1)),
            tail(&app.queue, queue.saturating_sub(1)),
            grouped(app.running),
            grouped(app.waiting),
            start(reason, reason_width)
        );
        lines.push(Line::styled(text, row_style(selected)));
    }
    let further = model.now().map_or(0, |now| now.further_apps);
    if further > 0 {
        lines.push(Line::from(format!("and {further} more that run")));
    }
    lines
}

/// The job's name, or the application's.
fn label(model: &Model<'_>, app: &AppAt) -> String {
    match model.job_name(app.id) {
        "" => app.id.to_string(),
        name => name.to_owned(),
    }
}

/// The nodes around the chosen one.
pub(super) fn nodes(model: &Model<'_>, area: Rect) -> Vec<Line<'static>> {
    let inner = usize::from(area.width).saturating_sub(2);
    let name = inner.saturating_sub(12 + 6 + 7 + 11);
    let mut lines = vec![heading(format!(
        "{:<name$}{:<12} {:>5} {:>6} {:>10}",
        "node", "memory", "", "most", "containers"
    ))];
    let rows = model.nodes();
    for (selected, node) in window(&rows, model.selected(), room(area)) {
        lines.push(node_line(node, name).style(row_style(selected)));
    }
    lines
}

fn node_line(node: &NodeAt, name: usize) -> Line<'static> {
    let filled = (node.memory_permille * BAR + 500) / 1_000;
    let bar = |from: u32, to: u32, sign: &str| {
        sign.repeat(usize::try_from(to.saturating_sub(from)).unwrap_or(0))
    };
    let text = bar(0, filled.min(BAR), "\u{2588}") + &bar(filled, BAR, "\u{2591}");
    let host = node.name.strip_suffix(":0").unwrap_or(&node.name);
    let reserved = if node.reserved { "R" } else { " " };
    Line::from(vec![
        Span::raw(format!("{:<name$}", tail(host, name.saturating_sub(1)))),
        Span::styled(text, coloured(Color::Blue)),
        Span::raw(format!(
            " {:>3} % {:>4} % {:>9}{reserved}",
            (node.memory_permille + 5) / 10,
            (node.used_permille + 5) / 10,
            node.containers
        )),
    ])
}

/// Nodes by the use of the type that is used most, and free memory that nothing can use.
pub(super) fn fullness(model: &Model<'_>) -> Vec<Line<'static>> {
    let nodes = model.nodes();
    let mut classes = vec![0_u64; usize::try_from(CLASSES).unwrap_or(0) + 1];
    for node in &nodes {
        let class = (node.used_permille * CLASSES).div_ceil(1_000).min(CLASSES);
        classes[usize::try_from(class).unwrap_or(0)] += 1;
    }
    let most = classes.iter().copied().max().unwrap_or(0).max(1);
    let mut lines = Vec::new();
    for (class, count) in classes.iter().enumerate() {
        let title = match class {
            0 => "empty".to_owned(),
            class => format!("to {class}0 %"),
        };
        let long = usize::try_from(count.saturating_mul(9).div_ceil(most)).unwrap_or(0);
        let text = "\u{2588}".repeat(long);
        lines.push(Line::from(format!(
            "{title:<8} {text:<9}{:>8}",
            grouped(*count)
        )));
    }
    if let Some(free) = model.now().and_then(|now| now.free) {
        let share = free
            .unusable
            .saturating_mul(100)
            .checked_div(free.all)
            .unwrap_or(0);
        lines.push(Line::from(""));
        lines.push(Line::from(format!("free {} GiB", free.all / 1024)));
        lines.push(Line::from(format!("{share} % where nothing fits")));
    }
    lines
}

/// The events around the chosen one, newest first.
pub(super) fn events(model: &Model<'_>, area: Rect) -> Vec<Line<'static>> {
    let inner = usize::from(area.width).saturating_sub(2);
    let notes = model.events();
    if notes.is_empty() {
        return vec![Line::from("no refusal, reservation or kill up to now")];
    }
    let mut lines = vec![heading(format!("{:>10}  what happened", "at"))];
    for (selected, note) in window(&notes, model.selected(), room(area)) {
        let text = start(&note.text, inner.saturating_sub(12));
        let text = format!("{:>10}  {text}", virtual_time(note.at_ms));
        lines.push(Line::styled(text, row_style(selected)));
    }
    lines
}

/// Totals, and the latencies that were measured.
pub(super) fn scheduler(model: &Model<'_>) -> Vec<Line<'static>> {
    let Some(now) = model.now() else {
        return Vec::new();
    };
    let tally = &now.tally;
    let pair = |a: (&str, u64), b: (&str, u64)| {
        let half = |(name, n): (&str, u64)| format!("{name:<22}{:>12}", grouped(n));
        Line::from(format!("{}    {}", half(a), half(b)))
    };
    let mut lines = vec![
        pair(
            ("containers placed", tally.placed),
            ("applications accepted", tally.submitted),
        ),
        pair(
            ("containers ended", tally.released),
            ("applications ended", tally.ended),
        ),
        pair(
            ("  by the scheduler", tally.killed),
            ("refused", tally.refused),
        ),
        pair(
            ("reservations", tally.reserved),
            ("proposals refused", tally.conflicts),
        ),
        Line::from(""),
    ];
    lines.extend(latencies(model));
    lines
}

/// The latencies of each phase, where any was measured.
fn latencies(model: &Model<'_>) -> Vec<Line<'static>> {
    if model.phases().is_empty() {
        let none = "no latency was measured: the run is played step by step";
        return vec![Line::from(none)];
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![
        Line::styled("latencies, in us", bold),
        heading(format!(
            "{:<16}{:>12}{:>12}{:>12}{:>12}",
            "phase", "n", "p50", "p99", "max"
        )),
    ];
    for (phase, of) in model.phases() {
        lines.push(Line::from(format!(
            "{:<16}{:>12}{:>12}{:>12}{:>12}",
            start(phase, 15),
            grouped(of.n),
            us(of.p50),
            us(of.p99),
            us(of.max)
        )));
    }
    lines
}

/// Microseconds with one digit.
fn us(ns: u64) -> String {
    format!("{}.{}", grouped(ns / 1_000), ns % 1_000 / 100)
}

/// The answer about an application, from a line on.
pub(super) fn why(why: &Why) -> Vec<Line<'static>> {
    let Some(lines) = &why.lines else {
        let app = why.app;
        return vec![Line::from(format!(
            "{app}: the run is repeated up to here ..."
        ))];
    };
    // Input stands in it, so that control characters are escaped.
    let shown = lines.iter().skip(why.from);
    shown.map(|line| Line::from(super::escaped(line))).collect()
}
