//! The tree of queues with bars, and what waits by reason.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::{Line, Span};

use super::{boxed, coloured, row_style, start, tail, window};
use crate::moments::{PartAt, QueueAt};
use crate::play::grouped;
use crate::top::model::Model;

/// Columns of a bar.
const BAR: usize = 14;

/// Columns beside the name: guarantee and maximum, bar, share, applications.
const BESIDE: usize = 8 + 1 + BAR + 6 + 10;

/// Draws the tree.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model<'_>) {
    let partition = match model.partition() {
        "" => "default",
        named => named,
    };
    let title = format!("queues (partition: {})", super::escaped(partition));
    let inner = usize::from(area.width).saturating_sub(2);
    let room = inner.saturating_sub(BESIDE).max(6);
    let rows = model.queues();
    let height = usize::from(area.height).saturating_sub(3);
    let head = format!(
        "{:<room$} {:>7} {:<BAR$} {:>5} {:>9}",
        "", "min|max", "used", "%", "run/wait"
    );
    let mut lines = vec![Line::styled(head, coloured(Color::DarkGray))];
    for (selected, queue) in window(&rows, model.selected(), height) {
        let last = is_last(&rows, queue);
        lines.push(line((queue, last), model.partition(), room).style(row_style(selected)));
    }
    boxed(frame, area, &title, lines);
}

/// Whether no other child of the same parent follows.
fn is_last(rows: &[&QueueAt], queue: &QueueAt) -> bool {
    let parent = |path: &str| path.rsplit_once('.').map(|(parent, _)| parent.to_owned());
    let own = parent(&queue.path);
    let after = rows.iter().skip_while(|other| other.path != queue.path);
    !after.skip(1).any(|other| parent(&other.path) == own)
}

fn line((queue, last): (&QueueAt, bool), partition: &str, room: usize) -> Line<'static> {
    let depth = queue.path.matches('.').count();
    let branch = match (depth, last) {
        (0, _) => "",
        (_, false) => "\u{251c} ",
        (_, true) => "\u{2514} ",
    };
    let indent = format!("{}{branch}", "  ".repeat(depth.saturating_sub(1)));
    let name = queue.path.rsplit('.').next().unwrap_or("");
    let left = room.saturating_sub(indent.chars().count());
    let name = format!("{indent}{}", tail(name, left));
    let Some(part) = queue.part(partition) else {
        return Line::from(name);
    };
    let percent = |permille: u32| (permille + 5) / 10;
    let limits = format!(
        "{}|{}",
        percent(part.guaranteed_permille),
        percent(part.maximum_permille)
    );
    let above = part.used_permille > part.guaranteed_permille && depth > 0;
    let mark = if above { '!' } else { ' ' };
    let apps = if queue.is_leaf {
        format!("{}/{}", queue.running, queue.pending)
    } else {
        String::new()
    };
    let colour = if above { Color::Yellow } else { Color::Blue };
    Line::from(vec![
        Span::raw(format!("{name:<room$} {limits:>7} ")),
        Span::styled(bar(part, depth > 0), coloured(colour)),
        Span::raw(format!(" {:>3} %{mark}", percent(part.used_permille))),
        Span::raw(format!("{apps:>9}")),
    ])
}

/// What is used of the partition, with the guarantee as a stroke; the root has none.
fn bar(part: &PartAt, marks: bool) -> String {
    let cells = u32::try_from(BAR).unwrap_or(0);
    let at = |permille: u32| usize::try_from((permille * cells + 500) / 1_000).unwrap_or(BAR);
    let (used, guarantee) = (at(part.used_permille), at(part.guaranteed_permille));
    let cell = |index: usize| match (marks && index + 1 == guarantee, index < used) {
        (true, _) => '\u{2502}',
        (_, true) => '\u{2588}',
        (_, false) => '\u{2591}',
    };
    (0..BAR).map(cell).collect()
}

/// Applications that wait, by reason, most first.
pub(super) fn reasons(model: &Model<'_>) -> Vec<Line<'static>> {
    let Some(now) = model.now() else {
        return Vec::new();
    };
    let mut all: Vec<(&str, u64)> = now
        .reasons
        .iter()
        .map(|(reason, count)| (reason.token(), count.apps))
        .collect();
    all.sort_by_key(|(token, apps)| (std::cmp::Reverse(*apps), *token));
    if all.is_empty() {
        return vec![Line::from("nothing waits")];
    }
    let line = |(token, apps): (&str, u64)| {
        let apps = grouped(apps);
        Line::from(format!("{:<19}{apps:>7}", start(token, 19)))
    };
    all.into_iter().map(line).collect()
}
