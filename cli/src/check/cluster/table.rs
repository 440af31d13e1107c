//! The tree of queues as a table, and the settings of single queues with their origins.

use std::fmt::Write as _;

use capsched::api::PartitionView;
use capsched::config::{EffectiveValue, Origin};

use crate::output::escaped;
use crate::play::grouped;

use super::{Row, Tree, is_set};

/// The tree, then the settings of some queues.
pub(super) fn text(tree: &Tree, values: &[String]) -> String {
    let mut out = String::new();
    let partitions: Vec<(&str, &[i64])> = match &tree.state.partitions {
        Some(all) => all
            .iter()
            .map(|(name, total)| (name.as_str(), total.as_slice()))
            .collect(),
        None => vec![("", tree.state.cluster.as_slice())],
    };
    let nodes = u64::try_from(tree.nodes).unwrap_or(u64::MAX);
    for (label, total) in partitions {
        let title = if label.is_empty() {
            format!("{} nodes", grouped(nodes))
        } else {
            format!("label {}", escaped(label))
        };
        let _ = writeln!(out, "\n{title}: {}", amounts(tree, total));
        out.push_str(&partition(tree, label));
    }
    for row in &tree.rows {
        if wanted(values, &row.view.path) {
            let lines: Vec<&EffectiveValue> = row.values.iter().map(|(one, _)| one).collect();
            out.push_str(&settings(&row.view.path, &lines));
        }
    }
    for (path, list) in &tree.created {
        if wanted(values, path) {
            out.push_str(&settings(path, &list.iter().collect::<Vec<_>>()));
        }
    }
    out
}

/// Whether a path is asked for, itself or as one below.
fn wanted(values: &[String], path: &str) -> bool {
    values.iter().any(|wanted| {
        let below = path.strip_prefix(wanted.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Columns of values at most; longer ones move what stands behind them.
const WIDEST_VALUE: usize = 40;

/// The settings of a queue that are not defaults, then the names of those that are.
fn settings(path: &str, values: &[&EffectiveValue]) -> String {
    let mut out = format!("\n{}\n", escaped(path));
    let width = values.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let shown = values.iter().map(|one| escaped(&one.value).chars().count());
    let of_value = shown.max().unwrap_or(0).clamp(14, WIDEST_VALUE);
    for one in values.iter().filter(|one| is_set(one.origin)) {
        let from = match (one.origin, &one.property) {
            (Origin::Queue, _) => "this queue".to_owned(),
            (Origin::Derived, _) | (_, None) => "worked out".to_owned(),
            (_, Some(key)) => key.clone(),
        };
        let _ = writeln!(
            out,
            "  {:width$}  {:<of_value$} {:<11} {}",
            one.name,
            escaped(&one.value),
            one.origin.word(),
            escaped(&from)
        );
    }
    let defaults = values.iter().filter(|one| !is_set(one.origin));
    for one in defaults {
        let _ = writeln!(
            out,
            "  {:width$}  {:<of_value$} {}",
            one.name,
            escaped(&one.value),
            one.origin.word()
        );
    }
    out
}

/// One partition of the tree as a table.
fn partition(tree: &Tree, label: &str) -> String {
    let head = [
        "queue",
        "capacity",
        "guaranteed",
        "maximum",
        "masters",
        "apps",
    ];
    let mut lines: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    for row in &tree.rows {
        if let Some(part) = row.view.labels.get(label) {
            lines.push(cells(tree, row, part, label));
        }
    }
    aligned(&lines)
}

fn cells(tree: &Tree, row: &Row, part: &PartitionView, label: &str) -> Vec<String> {
    let depth = row.view.path.matches('.').count();
    let name = row.view.path.rsplit('.').next().unwrap_or_default();
    let capacity = row.values.iter().find(|(one, _)| one.name == "capacity");
    let capacity = capacity.filter(|_| label.is_empty());
    let written = capacity.map_or_else(String::new, |(one, _)| escaped(&one.value));
    let masters = part.am_limit.as_deref();
    let apps = row.view.leaf.as_ref().map(|leaf| leaf.max_apps.to_string());
    vec![
        format!("{}{}", "  ".repeat(depth), escaped(name)),
        written,
        format!(
            "{} {}",
            amounts(tree, &part.eff_min),
            percent(part.abs_cap.0)
        ),
        format!(
            "{} {}",
            amounts(tree, &part.eff_max),
            percent(part.abs_max_cap.0)
        ),
        masters.map_or_else(String::new, |limit| amounts(tree, limit)),
        apps.unwrap_or_default(),
    ]
}

#[expect(
    clippy::float_arithmetic,
    reason = "a fraction is shown as a percentage"
)]
fn percent(fraction: f32) -> String {
    format!("({:.1} %)", fraction * 100.0)
}

/// Memory in MiB or GiB, then the other types by name.
fn amounts(tree: &Tree, amounts: &[i64]) -> String {
    let types = tree.types.iter().zip(amounts).enumerate();
    let parts: Vec<String> = types
        .filter(|(index, (_, amount))| *index < 2 || **amount != 0)
        .map(|(index, (name, amount))| match index {
            0 if *amount != 0 && amount % 1024 == 0 => format!("{} GiB", amount / 1024),
            0 => format!("{amount} MiB"),
            1 => format!("{amount} vcores"),
            _ => format!("{amount} {}", escaped(name)),
        })
        .collect();
    parts.join(" ")
}

/// Columns of equal width; the first one to the left.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}
