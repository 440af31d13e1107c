//! Explanations for people: one application, its timeline, a node.

use std::fmt::Write as _;

use capsched::api::{
    Evidence, Explanation, Finding, Holder, KeyOnNode, NextStep, NodeName, Position, Reason,
    WaitSpan, amounts,
};
use std::sync::Arc;

use super::jobs::Job;
use super::{About, Answer, shown_rounds, summed};
use crate::play::{Origin, grouped, step_text, virtual_time, wrapped_to};

/// Columns of an answer: `top` shows it in a frame on a terminal of 80.
const COLUMNS: usize = 78;

/// Columns in front of what is said.
const INDENT: usize = 20;

/// Spans of a timeline that are shown.
const SPANS: usize = 20;

/// The whole answer about an application.
pub(super) fn of_app(answer: &Answer<'_>, about: &About) -> String {
    let job = answer.job;
    let named = match job.name.as_str() {
        "" => String::new(),
        name => format!("  job {}", name.escape_debug()),
    };
    let mut out = format!(
        "{}{named}  user {}  queue {}  {}\n",
        job.app,
        job.user.escape_debug(),
        job.queue.escape_debug(),
        life(job)
    );
    for refused in &answer.course.refused {
        let _ = writeln!(out, "\nrefused at {}", virtual_time(refused.at_ms));
        out.push_str(&finding(&refused.finding, (&about.origin, &job.queue)));
        out.push_str(&helps(&refused.steps, Some(refused.finding.reason)));
    }
    if let Some(now) = &answer.now {
        let _ = writeln!(out, "\nat {} it waits for", virtual_time(answer.at_ms));
        let spans = answer.course.timeline.spans();
        out.push_str(&waits(now, since(spans), about));
        out.push_str(&helps(&answer.steps, reason_of(now)));
    }
    out.push_str(&timeline(answer, about));
    out.push_str(&shown_rounds::rounds(&answer.course.rounds, answer.at_ms));
    out.push_str(&shown_rounds::taken(&answer.taken, &about.types));
    out
}

/// The whole answer of a server about an application.
pub(super) fn of_server(answer: &Answer<'_>, about: &About) -> String {
    let job = answer.job;
    let named = match job.name.as_str() {
        "" => String::new(),
        name => format!("  job {}", name.escape_debug()),
    };
    let ago = |then_ms: u64| virtual_time(answer.at_ms.saturating_sub(then_ms));
    let ended = job
        .ended_ms
        .map_or_else(String::new, |ended| format!(", ended {} ago", ago(ended)));
    let mut out = format!(
        "{}{named}  user {}  queue {}  {}, submitted {} ago{ended}\n",
        job.app,
        job.user.escape_debug(),
        job.queue.escape_debug(),
        job.outcome.escape_debug(),
        ago(job.submitted_ms),
    );
    match &answer.now {
        Some(now) => {
            out.push_str("\nit waits for\n");
            let spans = answer.course.timeline.spans();
            out.push_str(&waits(now, since(spans), about));
            out.push_str(&helps(&answer.steps, reason_of(now)));
        }
        None => out.push_str("\nit waits for nothing now\n"),
    }
    out.push_str(&timeline(answer, about));
    out
}

fn life(job: &Job) -> String {
    let mut said = format!("submitted {}", virtual_time(job.submitted_ms));
    if let Some(first) = job.first_container_ms {
        let _ = write!(said, ", first container {}", virtual_time(first));
    }
    if let Some(ended) = job.ended_ms {
        let _ = write!(said, ", {} {}", job.outcome, virtual_time(ended));
    }
    if job.asked > 0 {
        let (placed, asked) = (grouped(job.placed), grouped(job.asked));
        let _ = write!(said, ", {placed} of {asked} containers placed");
    }
    said
}

/// Begin of the wait that goes on.
fn since(spans: &[WaitSpan]) -> Option<u64> {
    let last = spans.last().filter(|span| span.finding.is_some());
    last.map(|span| span.from_ms)
}

/// What an application waits for now, and since when where that is known.
fn waits(now: &Explanation, since_ms: Option<u64>, about: &About) -> String {
    let types = &about.types;
    let mut out = String::new();
    for key in &now.keys {
        let (n, size) = (grouped(key.containers), amounts(&key.size, types));
        let _ = writeln!(out, "  {n} x {size}");
    }
    out.push('\n');
    if let Some(found) = now.dominant() {
        out.push_str(&finding(found, (&about.origin, &now.queue)));
        if let Some(since_ms) = since_ms {
            out.push_str(&labelled("since", &about.moment(since_ms)));
        }
    }
    let others = now.secondary();
    if !others.is_empty() {
        out.push_str("\nalso, once that clears\n");
    }
    for other in others {
        out.push_str(&finding(other, (&about.origin, &now.queue)));
    }
    out.push('\n');
    if let Some(position) = &now.position {
        out.push_str(&labelled("order", &order(position)));
    }
    if let Some(verdict) = &now.preemption {
        out.push_str(&labelled(
            "preemption",
            &shown_rounds::sentence(verdict, about.now_ms),
        ));
    }
    out
}

fn reason_of(now: &Explanation) -> Option<Reason> {
    now.dominant().map(|found| found.reason)
}

/// What was seen to help, on a copy of the engine at the moment.
fn helps(steps: &[NextStep], reason: Option<Reason>) -> String {
    if steps.is_empty() {
        return reason.map_or_else(String::new, |reason| {
            labelled("would help", reason.without_step())
        });
    }
    let mut out = String::new();
    for (at, step) in steps.iter().enumerate() {
        let label = if at == 0 { "would help" } else { "" };
        out.push_str(&labelled(label, &step_text(step)));
    }
    out
}

/// A reason with its evidence, for an application of a leaf.
fn finding(found: &Finding, (origin, leaf): (&Origin, &str)) -> String {
    let mut out = format!("  {}\n", found.reason);
    out.push_str(&wrapped(&found.detail, 4));
    let shown = &found.evidence;
    if let Some(property) = &found.property {
        let source = origin.source(property, leaf);
        let text = source.map_or_else(
            || format!("{property} (default)"),
            |source| source.text(property),
        );
        out.push_str(&labelled("set by", &text));
    }
    out.push_str(&figures(shown));
    if !shown.holders.is_empty() {
        let holders: Vec<String> = shown.holders.iter().map(holder).collect();
        out.push_str(&labelled("held by", &holders.join(", ")));
    }
    if !shown.short.is_empty() {
        let short = shown
            .short
            .iter()
            .map(|(name, n)| format!("{} lack {name}", grouped(*n)));
        let short: Vec<String> = short.collect();
        out.push_str(&labelled("nodes", &short.join(", ")));
    }
    out
}

/// `memory-mb: limit 4096, used 4096, asked 1024  of root.a`; of one figure alone `containers: 2`.
fn figures(shown: &Evidence) -> String {
    let Some(dimension) = &shown.dimension else {
        return String::new();
    };
    let known = [
        ("limit ", shown.limit),
        ("used ", shown.used),
        ("asked ", shown.asked),
    ];
    let known: Vec<_> = known.into_iter().filter(|(_, of)| of.is_some()).collect();
    let alone = known.len() == 1;
    let said = known.into_iter().filter_map(|(name, amount)| {
        let name = if alone { "" } else { name };
        Some(format!("{name}{}", amount?))
    });
    let said: Vec<String> = said.collect();
    let mut said = format!("{dimension}: {}", said.join(", "));
    if let Some(queue) = &shown.binding {
        let _ = write!(said, "  of {queue}");
    }
    labelled("figures", &said)
}

fn holder(holder: &Holder) -> String {
    format!("{} ({}, {})", holder.app, holder.user, holder.amount)
}

fn order(position: &Position) -> String {
    let order = if position.fair { "fair" } else { "fifo" };
    let ahead: Vec<String> = position.ahead.iter().map(ToString::to_string).collect();
    let mut said = format!(
        "{} of {} {} in {} ({order})",
        position.place,
        position.of,
        position.list.name(),
        position.queue
    );
    if !ahead.is_empty() {
        let _ = write!(said, "; ahead: {}", ahead.join(", "));
        let named = ahead.len() + 1;
        if position.place > named {
            let _ = write!(said, " and {} more", position.place - named);
        }
    }
    said
}

/// Lines that fit, each behind so many blanks.
pub(super) fn wrapped(text: &str, indent: usize) -> String {
    wrapped_to(COLUMNS, text, indent)
}

/// A line with a word in front.
fn labelled(label: &str, text: &str) -> String {
    let lines = wrapped(text, INDENT);
    let padded = format!("    {label:<width$}", width = INDENT - 4);
    lines.replacen(&" ".repeat(INDENT), &padded, 1)
}

/// What the application waited for, as a sentence and as a table.
fn timeline(answer: &Answer<'_>, about: &About) -> String {
    let timeline = &answer.course.timeline;
    let waited: Vec<&WaitSpan> = timeline
        .spans()
        .iter()
        .filter(|span| span.finding.is_some() && span.length_ms() > 0)
        .collect();
    if waited.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}", wrapped(&sentence(&waited), 0));
    if waited.len() > SPANS {
        out.push_str(&summed::by_cause(&waited, (answer.at_ms, about)));
        return out;
    }
    // Ages are longer than moments of virtual time.
    let from = if about.now_ms.is_some() { 14 } else { 10 };
    let _ = writeln!(out, "\n{:>from$}          for  containers  reason", "from");
    for span in waited {
        let Some(found) = &span.finding else { continue };
        let open = if span.to_ms == answer.at_ms {
            " (still)"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "{:>from$} {:>12} {:>11}  {}{open}",
            about.moment(span.from_ms),
            virtual_time(span.length_ms()),
            grouped(span.containers),
            found.reason
        );
        out.push_str(&wrapped(&found.detail, from + 27));
    }
    out
}

/// `waited 40 s for the AM limit of root.dev, then 3 min for the maximum of root.dev`; equal reasons
/// that follow each other are one. Of many that come in turn, each has its sum.
pub(super) fn sentence(waited: &[&WaitSpan]) -> String {
    let mut parts: Vec<(u64, String)> = Vec::new();
    for span in waited {
        let what = span.finding.as_ref().map_or_else(String::new, cause);
        match parts.last_mut() {
            Some((ms, last)) if *last == what => *ms += span.length_ms(),
            _ => parts.push((span.length_ms(), what)),
        }
    }
    if parts.len() > SPANS / 2 {
        return summed::sentence(&parts);
    }
    let shown = parts.iter().map(|(ms, what)| part(*ms, what));
    let shown: Vec<String> = shown.collect();
    format!("waited {}", shown.join(", then "))
}

pub(super) fn part(ms: u64, what: &str) -> String {
    format!("{} for {what}", virtual_time(ms))
}

/// A reason in a few words.
fn cause(found: &Finding) -> String {
    let of = |what: &str| match &found.evidence.binding {
        Some(queue) => format!("{what} of {queue}"),
        None => what.to_owned(),
    };
    match found.reason {
        Reason::AmLimitQueue => of("the AM limit"),
        Reason::AmLimitUser => of("the AM limit of its user"),
        Reason::MaxParallelApps => of("the limit of parallel applications"),
        Reason::QueueMaxCapacity => of("the maximum"),
        Reason::ParentHeadroom => of("the headroom"),
        Reason::UserLimit => of("the user limit"),
        Reason::LowerPriority => of("applications of higher priority"),
        Reason::BehindInOrder => of("applications ahead"),
        Reason::NoNodeFitsNow => "free resources".to_owned(),
        Reason::Fragmented => "a node with enough room".to_owned(),
        Reason::ReservedOnNode => "room on its reserved node".to_owned(),
        Reason::PreemptionInProgress => "containers that are asked back".to_owned(),
        Reason::ConflictRetry => "a proposal that is repeated".to_owned(),
        Reason::NotYetEvaluated => "the next decision".to_owned(),
        other => other.token().to_owned(),
    }
}

/// What a node lacks for an application.
pub(super) fn why_not(
    when: &str,
    job: &Job,
    node: &NodeName,
    (keys, types): (&[KeyOnNode], &[Arc<str>]),
) -> String {
    if keys.is_empty() {
        return format!("{} waits for nothing {when}\n", job.app);
    }
    let mut out = String::new();
    for key in keys {
        let (n, size) = (grouped(key.containers), amounts(&key.size, types));
        let verdict = if key.fits() {
            "could take one; limits and order decide"
        } else {
            "does not take it"
        };
        let _ = writeln!(
            out,
            "{node} {when}: {} waits for {n} x {size}; {verdict}",
            job.app
        );
        for check in &key.checks {
            let mark = if check.holds { "ok" } else { "NO" };
            let _ = writeln!(out, "  {mark}  {:<12} {}", check.what, check.detail);
        }
    }
    out
}
