//! Fewer calls that still show something: applications, nodes, then single calls are left out.

use std::collections::BTreeSet;

use super::call::Call;

/// Leaves out calls as long as `shows` holds of the rest: whole applications first, then whole nodes,
/// then single calls from the last to the first. At most `trials` rests are looked at.
///
/// Cost: a replay of the rest for each trial.
pub fn reduced(
    calls: Vec<Call>,
    trials: usize,
    mut shows: impl FnMut(&[Call]) -> bool,
) -> Vec<Call> {
    let mut left = trials;
    let mut rest = calls;
    let apps: BTreeSet<u32> = rest.iter().filter_map(Call::app).collect();
    let apps = apps.into_iter().collect::<Vec<_>>();
    without(&mut rest, &apps, &mut left, &mut shows, |call, app| {
        call.app() == Some(*app)
    });
    let nodes: BTreeSet<String> = rest
        .iter()
        .filter_map(Call::node)
        .map(str::to_owned)
        .collect();
    let nodes = nodes.into_iter().collect::<Vec<_>>();
    without(&mut rest, &nodes, &mut left, &mut shows, |call, node| {
        call.node() == Some(node)
    });
    by_chunks(&mut rest, &mut left, &mut shows);
    rest
}

/// Leaves out everything of groups of names, halving the groups that are needed.
fn without<T>(
    rest: &mut Vec<Call>,
    names: &[T],
    left: &mut usize,
    shows: &mut impl FnMut(&[Call]) -> bool,
    is_of: impl Fn(&Call, &T) -> bool + Copy,
) {
    if names.is_empty() || *left == 0 {
        return;
    }
    let is_out = |call: &Call| names.iter().any(|name| is_of(call, name));
    let shorter: Vec<Call> = rest.iter().filter(|call| !is_out(call)).cloned().collect();
    *left -= 1;
    if shorter.len() < rest.len() && shows(&shorter) {
        *rest = shorter;
    } else if names.len() > 1 {
        let (first, second) = names.split_at(names.len() / 2);
        without(rest, second, left, shows, is_of);
        without(rest, first, left, shows, is_of);
    }
}

/// Leaves out stretches of calls, of half the length each time.
fn by_chunks(rest: &mut Vec<Call>, left: &mut usize, shows: &mut impl FnMut(&[Call]) -> bool) {
    let mut length = rest.len() / 2;
    while length > 0 {
        let mut end = rest.len();
        while end > 0 && *left > 0 {
            let begin = end.saturating_sub(length);
            let mut shorter = rest.clone();
            shorter.drain(begin..end);
            *left -= 1;
            if shows(&shorter) {
                *rest = shorter;
            }
            end = begin;
        }
        length /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let beat = |node: &str| Call::Beat {
            node: node.to_owned(),
            report: None,
        };
        let mut calls: Vec<Call> = (0..50).map(|app| Call::FinishApp { app }).collect();
        calls.extend((0..30).map(|node| beat(&format!("n{}:0", node % 5))));
        calls.push(Call::Schedule {});
        calls.push(Call::Advance { to_ms: 7 });
        let needed = [
            Call::FinishApp { app: 13 },
            beat("n2:0"),
            Call::Advance { to_ms: 7 },
        ];
        let rest = reduced(calls, 1000, |rest| {
            needed.iter().all(|call| rest.contains(call))
        });
        assert_eq!(rest, needed);
    }
}
