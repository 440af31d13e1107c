//! Work that a run refused or left: by reason and setting, with counts and an example.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use capsched::api::{ApplicationId, Finding, Reason, Waiting};
use capsched::simulator::{LeftJob, Refusal};
use serde_json::{Value, json};

use super::figures::grouped;
use super::origin::{Origin, SettingSource};
use super::tried::{REASONS, Trials, Tried};

/// Columns of a terminal that nobody has widened.
pub(crate) const WIDTH: usize = 80;

/// Work with one fate for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    fate: Fate,
    finding: Finding,
    containers: u64,
    jobs: u64,
    example: String,
    /// The leaf of the example; nothing for refusals.
    queue: String,
    /// The application of the example, where it waits.
    app: Option<ApplicationId>,
    /// What was tried for the example at the end of the run.
    tried: Option<Tried>,
    /// Where the value of the setting that decided comes from.
    set_by: Option<SettingSource>,
}

/// What became of work that has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Refused,
    Waiting,
    NotAsked,
}

impl Fate {
    const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Waiting => "waiting",
            Self::NotAsked => "not asked yet",
        }
    }
}

/// Everything refused or left at the end of a run, most containers first. `waits` are the engine's
/// reasons; containers that a job waits for beyond them were not asked for when the run ended.
pub(crate) fn left(
    refusals: &[Refusal],
    jobs: &[LeftJob],
    waits: &[(ApplicationId, Vec<Waiting>)],
    failed_not_asked: u64,
) -> Vec<Left> {
    let mut all: Vec<Left> = refusals.iter().map(of_refusal).collect();
    let reasons: BTreeMap<ApplicationId, &Vec<Waiting>> =
        waits.iter().map(|(app, waits)| (*app, waits)).collect();
    for job in jobs {
        let waits = reasons.get(&job.app).map_or(&[][..], |waits| waits);
        let of = Some(job);
        let mut rest = job.waiting;
        for wait in waits {
            let containers = wait.containers.min(rest);
            rest -= containers;
            add(&mut all, Fate::Waiting, &wait.finding, containers, of);
        }
        let late = Finding::new(Reason::NotYetEvaluated, "the run ended before".to_owned());
        add(&mut all, Fate::Waiting, &late, rest, of);
        let first = waits.iter().min_by_key(|wait| wait.finding.reason);
        let behind = first.map_or(late, |wait| wait.finding.clone());
        add(&mut all, Fate::NotAsked, &behind, job.not_asked, of);
    }
    let failed = Finding::new(Reason::InvalidRequest, "their jobs failed".to_owned());
    add(&mut all, Fate::NotAsked, &failed, failed_not_asked, None);
    all.sort_by_key(|left| (std::cmp::Reverse(left.containers), left.fate));
    all
}

fn of_refusal(refusal: &Refusal) -> Left {
    Left {
        fate: Fate::Refused,
        finding: refusal.finding.clone(),
        containers: refusal.containers,
        jobs: refusal.jobs,
        example: refusal.example.clone(),
        queue: String::new(),
        app: None,
        tried: None,
        set_by: None,
    }
}

/// Tries steps for the examples that wait, one for each of the first reasons.
pub(super) fn try_steps(all: &mut [Left], trials: &Trials<'_>) {
    let waiting = all.iter_mut().filter(|left| left.app.is_some());
    for left in waiting.take(REASONS) {
        left.tried = left.app.and_then(|app| trials.of(app, left.finding.reason));
    }
}

fn add(all: &mut Vec<Left>, fate: Fate, finding: &Finding, containers: u64, of: Option<&LeftJob>) {
    if containers == 0 {
        return;
    }
    let job = of.map_or("", |job| &job.name);
    let same = |left: &&mut Left| {
        left.fate == fate
            && left.finding.reason == finding.reason
            && left.finding.property == finding.property
    };
    if let Some(left) = all.iter_mut().find(same) {
        left.containers += containers;
        left.jobs += u64::from(left.example != job);
        return;
    }
    all.push(Left {
        fate,
        finding: finding.clone(),
        containers,
        jobs: u64::from(!job.is_empty()),
        example: job.to_owned(),
        queue: of.map_or_else(String::new, |job| job.queue.clone()),
        app: of.filter(|_| fate == Fate::Waiting).map(|job| job.app),
        tried: None,
        set_by: None,
    });
}

impl Left {
    /// The entry with the place of its setting.
    pub(crate) fn placed(self, origin: &Origin) -> Self {
        let set_by = self.finding.property.as_deref();
        let set_by = set_by.and_then(|property| origin.source(property, &self.queue));
        Self { set_by, ..self }
    }

    /// Whether the jobs name queues that the configuration does not have, as those of a foreign trace do.
    fn names_no_queue(&self) -> bool {
        self.fate == Fate::Refused && self.finding.reason == Reason::QueueNotFound
    }

    /// The setting that decided, with value and place.
    fn setting(&self) -> Option<String> {
        let property = self.finding.property.as_ref()?;
        Some(match &self.set_by {
            Some(source) => source.text(property),
            None => format!("{property} (default)"),
        })
    }

    /// The entry as JSON.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "fate": self.fate.name(),
            "reason": self.finding.reason.token(),
            "tier": self.finding.reason.tier(),
            "property": self.finding.property,
            "set_by": self.set_by.as_ref().map(SettingSource::place_json),
            "containers": self.containers,
            "jobs": self.jobs,
            "example": self.example,
            "detail": self.finding.detail,
            "tried": self.tried.as_ref().map(Tried::to_json),
        })
    }
}

/// Names the command that tries what helps the first job of a list, on a copy of the run that was recorded; nothing
/// where no job is left.
pub(crate) fn pointer(all: &[Left], folder: &Path) -> String {
    let example = all.iter().map(|left| left.example.as_str());
    let mut examples = example.filter(|example| !example.is_empty());
    examples.next().map_or_else(String::new, |job| {
        format!(
            "what would help: capsched why {} {}\n",
            folder.display(),
            job.escape_debug()
        )
    })
}

/// A block for people: at most `rows` reasons.
pub(crate) fn block(title: &str, all: &[Left], rows: usize) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{title}\ncontainers     jobs  what became of them, and why\n");
    for left in all.iter().take(rows) {
        let _ = writeln!(
            out,
            "{:>10}{:>9}  {}: {}",
            grouped(left.containers),
            grouped(left.jobs),
            left.fate.name(),
            left.finding.reason
        );
        let job = match left.example.as_str() {
            "" => String::new(),
            name => format!("job {}: ", name.escape_debug()),
        };
        out.push_str(&wrapped(&format!("{job}{}", left.finding.detail), 21));
        if let Some(setting) = left.setting() {
            out.push_str(&wrapped(&format!("set by {setting}"), 21));
        }
        if let Some(tried) = &left.tried {
            out.push_str(&wrapped(&tried.text(), 21));
        }
        if left.names_no_queue() {
            let text = "--map 'queue=NAME:QUEUE' sends the jobs of NAME to QUEUE";
            out.push_str(&wrapped(text, 21));
        }
    }
    if all.len() > rows {
        let _ = writeln!(out, "and {} more; --json has all", all.len() - rows);
    }
    out
}

/// Text in lines that end before the edge of the terminal, each behind so many blanks.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    wrapped_to(WIDTH, text, indent)
}

/// The same with lines of at most `width` columns.
pub(crate) fn wrapped_to(width: usize, text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.len() + 1 + word.len() > width {
            let _ = writeln!(out, "{:indent$}{line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(reason: Reason, containers: u64) -> Waiting {
        Waiting {
            containers,
            size: capsched::api::ResourceVector::NONE,
            finding: Finding::new(reason, "because".to_owned()).by_queue_setting("root.a", "x"),
        }
    }

    fn job(app: u32, waiting: u64, not_asked: u64) -> LeftJob {
        LeftJob {
            app: ApplicationId::new(app),
            name: format!("j{app}"),
            queue: "root.a".to_owned(),
            waiting,
            not_asked,
        }
    }

    #[test]
    fn containers_are_summed_by_reason_and_none_is_forgotten() {
        let (one, two) = (ApplicationId::new(1), ApplicationId::new(2));
        let waits = [
            (one, vec![waits(Reason::UserLimit, 3)]),
            (two, vec![waits(Reason::UserLimit, 9)]),
        ];
        let all = left(&[], &[job(1, 3, 0), job(2, 5, 4), job(3, 1, 0)], &waits, 2);
        let sums: Vec<_> = all.iter().map(|l| (l.fate, l.containers, l.jobs)).collect();
        assert_eq!(
            sums,
            [
                (Fate::Waiting, 8, 2),
                (Fate::NotAsked, 4, 1),
                (Fate::NotAsked, 2, 0),
                (Fate::Waiting, 1, 1)
            ]
        );
        let text = block("left", &all, 1);
        assert!(text.contains("waiting: USER_LIMIT"), "{text}");
        assert!(text.contains("set by yarn.scheduler.capacity.root.a.x (default)"));
        assert!(text.contains("and 3 more"), "{text}");
    }

    #[test]
    fn lines_end_before_the_edge() {
        let text = wrapped(&"word ".repeat(60), 21);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(text.split_whitespace().count(), 60);
    }
}
