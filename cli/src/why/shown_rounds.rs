//! Rounds of preemption as text: who is asked to give back, by which rule, or why nobody is.

use std::fmt::Write as _;
use std::sync::Arc;

use capsched::api::{AppVerdict, Taken, WhyNot, amounts};
use capsched::metrics::Closed as _;

use super::preempted::RoundSpan;
use super::shown::wrapped;
use crate::play::{grouped, virtual_time};

/// Spans that are shown.
const SPANS: usize = 20;

/// What a round did for an application, in one sentence. `now_ms`: the clock of a server; nothing in virtual time.
pub(super) fn sentence(verdict: &AppVerdict, now_ms: Option<u64>) -> String {
    let mut said = format!("{}: {}", verdict.token(), verdict.reason.meaning());
    if !verdict.queues.is_empty() {
        let gives = matches!(
            verdict.reason,
            WhyNot::ObserveOnly | WhyNot::AwaitingDeadline | WhyNot::Killable
        );
        let of = if gives { "of" } else { "which are" };
        let _ = write!(said, ", {of} {}", verdict.queues.join(", "));
    }
    if let Some(first) = verdict.containers.first() {
        let _ = write!(said, ": {}", first.container);
        if let more @ 1.. = verdict.containers.len() - 1 {
            let _ = write!(said, " and {more} more");
        }
        let rules: Vec<&str> = verdict.rules().iter().map(|rule| rule.name()).collect();
        if !rules.is_empty() {
            let _ = write!(said, ", by the rule {}", rules.join(" and "));
        }
        if let Some(until_ms) = first.until_ms {
            let when = match now_ms {
                None => format!("from {} on", virtual_time(until_ms)),
                Some(now_ms) => format!("in {}", virtual_time(until_ms.saturating_sub(now_ms))),
            };
            let _ = write!(said, ", killed {when}");
        }
    }
    said
}

/// The spans as a table; nothing without one.
pub(super) fn rounds(spans: &[RoundSpan], at_ms: u64) -> String {
    if spans.is_empty() {
        return String::new();
    }
    let mut out = "\nwhat rounds of preemption found for it\n\n".to_owned();
    out.push_str("      from          for  asked back  found\n");
    for span in spans.iter().take(SPANS) {
        let open = if span.to_ms == at_ms { " (still)" } else { "" };
        let _ = writeln!(
            out,
            "{:>10} {:>12} {:>11}  {}{open}",
            virtual_time(span.from_ms),
            virtual_time(span.to_ms.saturating_sub(span.from_ms)),
            grouped(u64::try_from(span.containers).unwrap_or(u64::MAX)),
            span.verdict.token()
        );
        let said = sentence(&span.verdict, None);
        let said = said.split_once(": ").map_or("", |(_, said)| said);
        out.push_str(&wrapped(said, 37));
    }
    if spans.len() > SPANS {
        let _ = writeln!(out, "and {} more; --json has all", spans.len() - SPANS);
    }
    out
}

/// What was taken of the application, by rule.
pub(super) fn taken(taken: &[Taken], types: &[Arc<str>]) -> String {
    let mut out = String::new();
    for one in taken {
        let (n, size) = (grouped(one.containers), amounts(&one.size, types));
        let rule = one.reason.name();
        let _ = writeln!(
            out,
            "\npreemption chose {n} of its containers by the rule {rule}: {size}"
        );
    }
    out
}
