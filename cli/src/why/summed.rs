//! Many waits that come in turn: one sum for each reason.

use std::fmt::Write as _;

use capsched::api::{Finding, Reason, WaitSpan};

use super::About;
use super::shown::{part, wrapped};
use crate::play::{grouped, virtual_time};

/// `waited 63 min in turn: 52 min for the maximum of root.dev, 11 min for applications ahead of root.dev`.
pub(super) fn sentence(parts: &[(u64, String)]) -> String {
    let mut sums: Vec<(u64, &str)> = Vec::new();
    for (ms, what) in parts {
        match sums.iter_mut().find(|(_, known)| known == what) {
            Some((sum, _)) => *sum += ms,
            None => sums.push((*ms, what)),
        }
    }
    sums.sort_by_key(|(ms, _)| std::cmp::Reverse(*ms));
    let all: u64 = sums.iter().map(|(ms, _)| ms).sum();
    let shown: Vec<String> = sums.iter().map(|(ms, what)| part(*ms, what)).collect();
    format!("waited {} in turn: {}", virtual_time(all), shown.join(", "))
}

/// Waits for one reason by one setting.
struct Cause<'a> {
    longest: &'a Finding,
    longest_ms: u64,
    from_ms: u64,
    to_ms: u64,
    sum_ms: u64,
    spans: u64,
    containers: u64,
}

impl Cause<'_> {
    fn key(&self) -> (Reason, Option<&str>) {
        (self.longest.reason, self.longest.property.as_deref())
    }
}

/// A line for each reason, in the order in which they came first.
pub(super) fn by_cause(waited: &[&WaitSpan], (at_ms, about): (u64, &About)) -> String {
    let causes = causes(waited);
    // Ages are longer than moments of virtual time.
    let from = if about.now_ms.is_some() { 14 } else { 10 };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n{:>from$} {:>from$} {:>10} {:>6} {:>10}  reason",
        "first", "last until", "in all", "times", "containers"
    );
    for cause in &causes {
        let _ = writeln!(
            out,
            "{:>from$} {:>from$} {:>10} {:>6} {:>10}  {}{}",
            about.moment(cause.from_ms),
            about.moment(cause.to_ms),
            virtual_time(cause.sum_ms),
            grouped(cause.spans),
            grouped(cause.containers),
            cause.longest.reason,
            if cause.to_ms == at_ms { " (still)" } else { "" }
        );
        out.push_str(&wrapped(&cause.longest.detail, 2 * from + 10));
    }
    let _ = writeln!(
        out,
        "{} waits in turn, each with the figures of its longest; --json has them one by one",
        grouped(waited.len() as u64)
    );
    out
}

fn causes<'a>(waited: &[&'a WaitSpan]) -> Vec<Cause<'a>> {
    let mut causes: Vec<Cause<'a>> = Vec::new();
    for span in waited {
        let Some(finding) = &span.finding else {
            continue;
        };
        let key = (finding.reason, finding.property.as_deref());
        let at = causes.iter().position(|cause| cause.key() == key);
        let at = at.unwrap_or_else(|| {
            causes.push(Cause {
                longest: finding,
                longest_ms: 0,
                from_ms: span.from_ms,
                to_ms: span.to_ms,
                sum_ms: 0,
                spans: 0,
                containers: 0,
            });
            causes.len() - 1
        });
        let cause = &mut causes[at];
        let ms = span.length_ms();
        cause.spans += 1;
        cause.sum_ms += ms;
        cause.to_ms = span.to_ms;
        cause.containers = cause.containers.max(span.containers);
        if ms > cause.longest_ms {
            (cause.longest, cause.longest_ms) = (finding, ms);
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_one_reason_and_setting_are_one_line_with_the_figures_of_the_longest() {
        let found = |reason, detail: &str, property: &str| {
            Finding::new(reason, detail.to_owned()).by_queue_setting("root.a", property)
        };
        let short = found(Reason::QueueMaxCapacity, "short", "maximum-capacity");
        let long = found(Reason::QueueMaxCapacity, "long", "maximum-capacity");
        let user = found(Reason::UserLimit, "user", "user-limit-factor");
        let spans: Vec<WaitSpan> = [(0, 10, &short, 2), (10, 15, &user, 7), (15, 45, &long, 3)]
            .map(|(from_ms, to_ms, finding, containers)| WaitSpan {
                from_ms,
                to_ms,
                finding: Some(finding.clone()),
                containers,
            })
            .into();
        let waited: Vec<&WaitSpan> = spans.iter().collect();
        let found = causes(&waited);
        let figures = |cause: &Cause<'_>| {
            let span = (cause.from_ms, cause.to_ms, cause.sum_ms);
            (
                cause.longest.detail.clone(),
                span,
                cause.spans,
                cause.containers,
            )
        };
        let figures: Vec<_> = found.iter().map(figures).collect();
        let wanted = [
            ("long".to_owned(), (0, 45, 40), 2, 3),
            ("user".to_owned(), (10, 15, 5), 1, 7),
        ];
        assert_eq!(figures, wanted);
    }

    #[test]
    fn waits_in_turn_are_summed_and_the_longest_comes_first() {
        let part = |ms: u64, what: &str| (ms, what.to_owned());
        let mut parts = Vec::new();
        for _ in 0..30 {
            parts.push(part(10, "the user limit"));
            parts.push(part(2_000, "the maximum"));
        }
        let said = sentence(&parts);
        assert_eq!(
            said,
            "waited 60.3 s in turn: 60.0 s for the maximum, 300 ms for the user limit"
        );
    }
}
