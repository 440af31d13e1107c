//! What a refresh changes for what runs: two states are compared, before it and behind it.

use std::collections::BTreeSet;

use capsched::api::{PartitionView, QueueView, StateView, Stepped, UserLimits};

/// How a refresh concerns applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    QueueGoes,
    QueueStops,
    AboveGuarantee,
    AboveMaximum,
    AboveAmLimit,
    AboveUserLimit,
    SubmissionRefused,
    AskRefused,
    OtherReason,
    Activated,
    AskedBack,
}

impl Kind {
    /// A stable word.
    pub(super) const fn token(self) -> &'static str {
        match self {
            Self::QueueGoes => "QUEUE_GOES",
            Self::QueueStops => "QUEUE_STOPS",
            Self::AboveGuarantee => "ABOVE_GUARANTEE",
            Self::AboveMaximum => "ABOVE_MAXIMUM",
            Self::AboveAmLimit => "ABOVE_AM_LIMIT",
            Self::AboveUserLimit => "ABOVE_USER_LIMIT",
            Self::SubmissionRefused => "SUBMISSION_REFUSED",
            Self::AskRefused => "ASK_REFUSED",
            Self::OtherReason => "WAITS_FOR_ANOTHER_REASON",
            Self::Activated => "ACTIVATED",
            Self::AskedBack => "ASKED_BACK",
        }
    }

    /// What it means for the applications.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::QueueGoes => "the file has no such queue; its applications must end first",
            Self::QueueStops => "takes no submissions any more; its applications run on",
            Self::AboveGuarantee => {
                "uses more than its guarantee then; preemption may take what is above it"
            }
            Self::AboveMaximum => {
                "uses more than its maximum then; it gets no container before it is below"
            }
            Self::AboveAmLimit => {
                "its masters use more than they may then; no further application starts"
            }
            Self::AboveUserLimit => {
                "its user uses more than the user limit then; no container before it is below"
            }
            Self::SubmissionRefused => {
                "the same submissions, made anew in their order, are refused"
            }
            Self::AskRefused => "the same ask, made anew, is refused",
            Self::OtherReason => "waits, and the reason is another one then",
            Self::Activated => "waits for its master, and gets room for it",
            Self::AskedBack => "a round of preemption asks containers back that it leaves now",
        }
    }
}

/// A limit that is exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub(super) used: Vec<i64>,
    pub(super) before: Vec<i64>,
    pub(super) after: Vec<i64>,
}

/// One change for some applications of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) kind: Kind,
    pub(super) queue: String,
    /// Label of the partition; nothing where the effect is not of one.
    pub(super) partition: Option<String>,
    pub(super) user: Option<String>,
    pub(super) limit: Option<Exceeded>,
    /// Numbers of the applications, ascending.
    pub(super) apps: Vec<u32>,
    /// What the engine says.
    pub(super) detail: String,
}

impl Effect {
    pub(super) fn new(kind: Kind, queue: &str, apps: Vec<u32>) -> Self {
        Self {
            kind,
            queue: queue.to_owned(),
            partition: None,
            user: None,
            limit: None,
            apps,
            detail: String::new(),
        }
    }

    pub(super) fn saying(mut self, detail: String) -> Self {
        self.detail = detail;
        self
    }

    fn of_partition(mut self, label: &str, limit: Exceeded) -> Self {
        self.partition = Some(label.to_owned());
        self.limit = Some(limit);
        self
    }

    fn of_user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }
}

/// An engine with its view.
pub(super) struct Seen {
    pub(super) engine: Stepped,
    pub(super) view: StateView,
}

impl Seen {
    pub(super) fn of(engine: Stepped) -> Self {
        let view = StateView::of(engine.engine().ledger());
        Self { engine, view }
    }

    fn queue(&self, path: &str) -> Option<&QueueView> {
        self.view.queues.iter().find(|queue| queue.path == path)
    }

    /// Applications of a queue or below it.
    pub(super) fn apps_below(&self, path: &str) -> Vec<u32> {
        let below = |queue: &str| {
            let rest = queue.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let apps = self.view.apps.iter().filter(|app| below(&app.queue));
        apps.map(|app| app.app).collect()
    }

    /// How many of an amount's types count: with the calculator of memory, memory alone.
    fn counted(&self) -> usize {
        match self.engine.engine().ledger().state().calculator {
            capsched::resource::Calculator::MemoryOnly { .. } => 1,
            capsched::resource::Calculator::Dominant { types } => types,
        }
    }

    fn exceeds(&self, used: &[i64], limit: &[i64]) -> bool {
        let pairs = used.iter().zip(limit).take(self.counted());
        pairs.into_iter().any(|(used, limit)| used > limit)
    }
}

/// Queues of the state with applications that are not in a list of queues, and their applications.
/// Queues that submissions created go with the first queue above them that none created.
pub(super) fn of_leaving(before: &Seen, paths: &BTreeSet<&str>) -> Vec<Effect> {
    let leaves = |queue: &&QueueView| !queue.dynamic && !paths.contains(queue.path.as_str());
    let leaving: Vec<&str> = before
        .view
        .queues
        .iter()
        .filter(leaves)
        .map(|queue| queue.path.as_str())
        .collect();
    let is_topmost = |path: &&&str| {
        let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
        !leaving.contains(&parent)
    };
    let effect = |path: &&str| {
        let apps = before.apps_below(path);
        (!apps.is_empty()).then(|| Effect::new(Kind::QueueGoes, path, apps))
    };
    leaving
        .iter()
        .filter(is_topmost)
        .filter_map(effect)
        .collect()
}

/// What queues and users exceed behind a refresh and not before it, and queues that stop.
pub(super) fn of_limits(before: &Seen, after: &Seen, users: &dyn Fn(u32) -> String) -> Vec<Effect> {
    let mut effects = Vec::new();
    for new in &after.view.queues {
        let Some(old) = before.queue(&new.path) else {
            continue;
        };
        let apps = after.apps_below(&new.path);
        if apps.is_empty() {
            continue;
        }
        if new.state.is_some() && old.state.is_none() {
            effects.push(Effect::new(Kind::QueueStops, &new.path, apps.clone()));
        }
        for (label, part) in &new.labels {
            if let Some(was) = old.labels.get(label) {
                of_part(
                    &mut effects,
                    (before, after),
                    (&new.path, label),
                    [was, part],
                );
            }
        }
        if new.leaf.is_some() {
            of_users(&mut effects, (before, after), new, users);
        }
    }
    effects
}

/// What a queue uses of a partition, and one of its limits there.
type UsedAndLimit = fn(&PartitionView) -> Option<(&Vec<i64>, &Vec<i64>)>;

fn of_part(
    effects: &mut Vec<Effect>,
    (before, after): (&Seen, &Seen),
    (path, label): (&str, &str),
    [old, new]: [&PartitionView; 2],
) {
    let mut look = |kind: Kind, pick: UsedAndLimit| {
        let (Some((used_before, was)), Some((used, limit))) = (pick(old), pick(new)) else {
            return;
        };
        if after.exceeds(used, limit) && !before.exceeds(used_before, was) {
            let limit = Exceeded {
                used: used.clone(),
                before: was.clone(),
                after: limit.clone(),
            };
            let effect = Effect::new(kind, path, after.apps_below(path));
            effects.push(effect.of_partition(label, limit));
        }
    };
    look(Kind::AboveGuarantee, |part| {
        Some((part.used.as_ref()?, &part.eff_min))
    });
    look(Kind::AboveMaximum, |part| {
        Some((part.used.as_ref()?, &part.eff_max))
    });
    look(Kind::AboveAmLimit, |part| {
        Some((part.am_used.as_ref()?, part.am_limit.as_ref()?))
    });
}

fn of_users(
    effects: &mut Vec<Effect>,
    (before, after): (&Seen, &Seen),
    queue: &QueueView,
    users: &dyn Fn(u32) -> String,
) {
    let known = queue.leaf.iter().flat_map(|leaf| &leaf.users);
    for (user, of) in known {
        for (label, used) in &of.used {
            let limit = |seen: &Seen| -> Option<Vec<i64>> {
                let ledger = seen.engine.engine().ledger();
                let limits = UserLimits::on_partition(ledger, &queue.path, user, label)?;
                Some(limits.enforced.values(used.len()).to_vec())
            };
            let (Some(was), Some(now)) = (limit(before), limit(after)) else {
                continue;
            };
            if !after.exceeds(used, &now) || before.exceeds(used, &was) {
                continue;
            }
            let own = |app: &u32| users(*app) == *user;
            let apps = after.apps_below(&queue.path).into_iter().filter(own);
            let limit = Exceeded {
                used: used.clone(),
                before: was,
                after: now,
            };
            let effect = Effect::new(Kind::AboveUserLimit, &queue.path, apps.collect());
            effects.push(effect.of_partition(label, limit).of_user(user));
        }
    }
}
