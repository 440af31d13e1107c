//! The tree of queues with bars, and what waits by reason.
//!
//! A bar is text: it has a stroke at the guarantee, which no gauge of ratatui has.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::{Line, Span};

use super::{boxed, coloured, row_style, start, tail, window};
use crate::moments::{PartAt, QueueAt};
use crate::play::grouped;
use crate::top::model::Model;

/// Columns of a bar, at least and at most.
const BAR: (usize, usize) = (14, 40);

/// Columns beside name and bar: guarantee and maximum, share, applications.
const BESIDE: usize = 8 + 1 + 6 + 10;

/// Columns of names and of bars.
#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    bar: usize,
}

impl Widths {
    /// Names get what they need, as far as bars keep their least; bars get what is left.
    fn of(inner: usize, rows: &[&QueueAt]) -> Self {
        let need = |queue: &&QueueAt| {
            let depth = queue.path.matches('.').count();
            let name = queue.path.rsplit('.').next().unwrap_or("");
            2 * depth + name.chars().count()
        };
        let need = rows.iter().map(need).max().unwrap_or(0);
        let room = inner.saturating_sub(BESIDE);
        let name = need.min(room.saturating_sub(BAR.0)).max(6);
        let bar = room.saturating_sub(name).clamp(BAR.0, BAR.1);
        Self { name, bar }
    }
}

/// Draws the tree.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model<'_>) {
    let partition = match model.partition() {
        "" => "default",
        named => named,
    };
    let title = format!("queues (partition: {})", super::escaped(partition));
    let inner = usize::from(area.width).saturating_sub(2);
    let rows = model.queues();
    let widths = Widths::of(inner, &rows);
    let Widths { name, bar } = widths;
    let height = usize::from(area.height).saturating_sub(3);
    let head = format!(
        "{:<name$} {:>7} {:<bar$} {:>5} {:>9}",
        "", "min|max", "used", "%", "run/wait"
    );
    let mut lines = vec![Line::styled(head, coloured(Color::DarkGray))];
    for (selected, queue) in window(&rows, model.selected(), height) {
        let branches = branches(&rows, queue);
        let line = line((queue, &branches), model.partition(), widths);
        lines.push(line.style(row_style(selected)));
    }
    boxed(frame, area, &title, lines);
}

/// The lines of the tree in front of a name: one for each queue above it of which another child follows.
fn branches(rows: &[&QueueAt], queue: &QueueAt) -> String {
    let Some((_, below)) = queue.path.split_once('.') else {
        return String::new();
    };
    let depth = below.split('.').count();
    let ends = queue.path.match_indices('.').map(|(at, _)| at).skip(1);
    let above = ends.map(|end| &queue.path[..end]);
    let mut out: String = above
        .map(|path| match is_last(rows, path) {
            true => "  ",
            false => "\u{2502} ",
        })
        .take(depth - 1)
        .collect();
    out.push_str(match is_last(rows, &queue.path) {
        true => "\u{2514} ",
        false => "\u{251c} ",
    });
    out
}

/// Whether no other child of the same parent follows.
fn is_last(rows: &[&QueueAt], path: &str) -> bool {
    let parent = |path: &str| path.rsplit_once('.').map(|(parent, _)| parent.to_owned());
    let own = parent(path);
    let after = rows.iter().skip_while(|other| *other.path != *path);
    !after.skip(1).any(|other| parent(&other.path) == own)
}

fn line((queue, branches): (&QueueAt, &str), partition: &str, widths: Widths) -> Line<'static> {
    let (depth, room) = (queue.path.matches('.').count(), widths.name);
    let name = queue.path.rsplit('.').next().unwrap_or("");
    let left = room.saturating_sub(branches.chars().count());
    let name = format!("{branches}{}", tail(name, left));
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
        Span::styled(bar(part, depth > 0, widths.bar), coloured(colour)),
        Span::raw(format!(" {:>3} %{mark}", percent(part.used_permille))),
        Span::raw(format!("{apps:>9}")),
    ])
}

/// What is used of the partition, with the guarantee as a stroke; the root has none.
fn bar(part: &PartAt, marks: bool, width: usize) -> String {
    let cells = u32::try_from(width).unwrap_or(0);
    let at = |permille: u32| usize::try_from((permille * cells + 500) / 1_000).unwrap_or(width);
    let (used, guarantee) = (at(part.used_permille), at(part.guaranteed_permille));
    let cell = |index: usize| match (marks && index + 1 == guarantee, index < used) {
        (true, _) => '\u{2502}',
        (_, true) => '\u{2588}',
        (_, false) => '\u{2591}',
    };
    (0..width).map(cell).collect()
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
