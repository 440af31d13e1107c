//! Lines of the table about use: shares of the cluster, packing, locality, fairness.

use capsched::simulator::LocalityCounts;

use super::figures::percent;
use super::outcome::Outcome;
use super::table::{Line, unless_zero};

/// How full the cluster was, how near containers came to what they ask for, and how fair it was.
pub(super) fn usage(runs: &[Outcome]) -> Vec<Line> {
    let mut lines = Vec::new();
    let types = runs.first().map_or(&[][..], |run| &run.types);
    for (index, name) in types.iter().enumerate() {
        let share = move |of: fn(&Outcome) -> &Vec<u32>| {
            move |run: &Outcome| of(run).get(index).map(|share| percent(*share))
        };
        lines.push(Line::new(
            format!("{name} used, mean"),
            "Used by containers, as a share of the cluster, over the run until its last container \
             ended.",
            runs,
            |run| {
                let any = run.report.finished_ms > 0;
                let share = run.report.used_permille.get(index).filter(|_| any);
                share.map(|share| percent(*share))
            },
        ));
        lines.push(Line::new(
            format!("{name} packed, mean"),
            "The same as a share of the nodes that run any container: how densely they are filled.",
            runs,
            |run| {
                let any = run.report.finished_ms > 0;
                let share = run.report.packed_permille.get(index).filter(|_| any);
                share.map(|share| percent(*share))
            },
        ));
        lines.push(Line::new(
            format!("{name} used, most"),
            "The largest such share at any moment.",
            runs,
            share(|run| &run.report.most_used_permille),
        ));
    }
    lines.extend(locality(runs));
    lines.extend(fairness(runs));
    lines
}

/// Where containers went that ask for hosts or racks.
fn locality(runs: &[Outcome]) -> Vec<Line> {
    let share = |of: fn(&LocalityCounts) -> u64| {
        move |run: &Outcome| {
            let counts = &run.report.locality;
            let share = (of(counts) * 1000).checked_div(counts.all())?;
            Some(percent(u32::try_from(share).unwrap_or(u32::MAX)))
        }
    };
    vec![
        Line::new(
            "on a host asked for",
            "Containers on a host that they ask for, of all that ask for hosts or racks.",
            runs,
            share(|counts| counts.on_host),
        ),
        Line::new(
            "in a rack asked for",
            "Containers on another node of a rack that they ask for.",
            runs,
            share(|counts| counts.in_rack),
        ),
    ]
}

fn fairness(runs: &[Outcome]) -> Vec<Line> {
    let gap = |of: fn(&(u32, u32)) -> u32| {
        move |run: &Outcome| {
            let any = run.report.gap_permille.1 > 0;
            any.then(|| percent(of(&run.report.gap_permille)))
        }
    };
    vec![
        Line::new(
            "below guarantee, mean",
            "How far the queue that is worst off, and waits, is below its guaranteed share.",
            runs,
            gap(|gap| gap.0),
        ),
        Line::new(
            "below guarantee, most",
            "The largest such distance.",
            runs,
            gap(|gap| gap.1),
        ),
        Line::new(
            "reservations",
            "Times that a node was reserved for a container that did not fit yet.",
            runs,
            |run| unless_zero(run.report.counts.reserved),
        ),
    ]
}
