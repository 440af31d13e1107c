//! Changes as text.

use std::fmt::Write as _;

use crate::output::escaped;

use super::changes::{AmountChange, Changes, Kind, ValueChange};

/// One block for the scheduler and for each queue, then a line that counts them.
pub(super) fn text(changes: &Changes) -> String {
    let mut out = String::new();
    if !changes.scheduler.is_empty() {
        out.push_str("~ scheduler\n");
        changes
            .scheduler
            .iter()
            .for_each(|one| value(&mut out, one));
    }
    for queue in &changes.queues {
        let mark = match queue.kind {
            Kind::Added => '+',
            Kind::Removed => '-',
            Kind::Changed => '~',
        };
        let _ = writeln!(out, "{mark} {}", escaped(&queue.path));
        queue.values.iter().for_each(|one| value(&mut out, one));
        let types = &changes.types;
        queue
            .amounts
            .iter()
            .for_each(|one| amount(&mut out, one, types));
    }
    let _ = writeln!(
        out,
        "queues: {} added, {} removed, {} changed",
        changes.count(Kind::Added),
        changes.count(Kind::Removed),
        changes.count(Kind::Changed)
    );
    out
}

fn value(out: &mut String, one: &ValueChange) {
    let shown = |text: &str| match text {
        "" => "-".to_owned(),
        text => escaped(text),
    };
    let (before, after) = (shown(&one.before), shown(&one.after));
    let _ = writeln!(out, "    {:<28} {before} -> {after}", one.name);
}

fn amount(out: &mut String, one: &AmountChange, types: &[String]) {
    let name = match one.label.as_str() {
        "" => one.name.to_owned(),
        label => format!("{} on {}", one.name, escaped(label)),
    };
    let (before, after) = (amounts(&one.before, types), amounts(&one.after, types));
    let _ = writeln!(out, "    {name:<28} {before} -> {after}");
}

/// Amounts with the names of their types.
pub(super) fn amounts(amounts: &[i64], types: &[String]) -> String {
    let part = |(index, (name, amount)): (usize, (&String, &i64))| match index {
        0 if *amount != 0 && amount % 1024 == 0 => format!("{} GiB", amount / 1024),
        0 => format!("{amount} MiB"),
        _ => format!("{amount} {}", escaped(name)),
    };
    let parts: Vec<String> = types.iter().zip(amounts).enumerate().map(part).collect();
    match parts.is_empty() {
        true => "-".to_owned(),
        false => parts.join(" "),
    }
}
