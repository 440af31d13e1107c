//! What a refresh changes for what runs: two states are compared, before it and behind it.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{ApplicationId, PartitionView, QueueView, Sequential, StateView, UserLimits};
use serde::{Deserialize, Serialize};

/// How a refresh concerns applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EffectKind {
    /// A queue with applications is not in the new configuration.
    QueueGoes,
    /// A queue with applications is stopped.
    QueueStops,
    /// A queue uses more than its new guarantee.
    AboveGuarantee,
    /// A queue uses more than its new maximum.
    AboveMaximum,
    /// Masters use more than their new limit.
    AboveAmLimit,
    /// A user uses more than the new limit.
    AboveUserLimit,
    /// A submission is refused when it is made anew.
    SubmissionRefused,
    /// An ask is refused when it is made anew.
    AskRefused,
    /// The dominant reason of an application is another one.
    OtherReason,
    /// An application gets room for its master.
    Activated,
    /// Preemption asks containers back that it leaves now.
    AskedBack,
}

impl EffectKind {
    /// A stable word.
    #[must_use]
    pub const fn token(self) -> &'static str {
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
    #[must_use]
    pub const fn meaning(self) -> &'static str {
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
pub struct Exceeded {
    /// What is used.
    pub used: Vec<i64>,
    /// The limit before the change.
    pub before: Vec<i64>,
    /// The limit behind it.
    pub after: Vec<i64>,
}

/// One change for some applications of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// How applications are concerned.
    pub kind: EffectKind,
    /// Path of the queue.
    pub queue: String,
    /// Label of the partition; nothing where the effect is not of one.
    pub partition: Option<String>,
    /// The user whose limit is exceeded.
    pub user: Option<String>,
    /// The limit that is exceeded.
    pub limit: Option<Exceeded>,
    /// Numbers of the applications, ascending.
    pub apps: Vec<u32>,
    /// What the engine says.
    pub detail: String,
}

impl Effect {
    /// An effect that is of no partition and no user.
    #[must_use]
    pub fn new(kind: EffectKind, queue: &str, apps: Vec<u32>) -> Self {
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

    /// The same with what the engine says.
    #[must_use]
    pub fn saying(mut self, detail: String) -> Self {
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

/// An effect in documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRow {
    /// [`EffectKind::token`].
    pub effect: String,
    /// [`EffectKind::meaning`].
    pub meaning: String,
    /// Path of the queue.
    pub queue: String,
    /// Label of the partition.
    pub partition: Option<String>,
    /// The user whose limit is exceeded.
    pub user: Option<String>,
    /// The limit that is exceeded.
    pub limit: Option<LimitRow>,
    /// Ids of the applications, by number.
    pub applications: Vec<String>,
    /// What the engine says.
    pub detail: String,
}

/// A limit that is exceeded, in amounts by resource type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitRow {
    /// What is used.
    pub used: BTreeMap<String, i64>,
    /// The limit before the change.
    pub before: BTreeMap<String, i64>,
    /// The limit behind it.
    pub after: BTreeMap<String, i64>,
}

impl Effect {
    /// The effect as a row; applications have the ids of a state.
    #[must_use]
    pub fn row(&self, types: &[String], state: &SeenState<'_>) -> EffectRow {
        let amounts = |of: &[i64]| -> BTreeMap<String, i64> {
            types.iter().cloned().zip(of.iter().copied()).collect()
        };
        let limit = self.limit.as_ref().map(|limit| LimitRow {
            used: amounts(&limit.used),
            before: amounts(&limit.before),
            after: amounts(&limit.after),
        });
        let apps = self.apps.iter();
        EffectRow {
            effect: self.kind.token().to_owned(),
            meaning: self.kind.meaning().to_owned(),
            queue: self.queue.clone(),
            partition: self.partition.clone(),
            user: self.user.clone(),
            limit,
            applications: apps.map(|&app| state.id(app).to_string()).collect(),
            detail: self.detail.clone(),
        }
    }
}

/// A state with its view.
#[derive(Debug)]
pub struct SeenState<'a> {
    engine: &'a Sequential,
    /// What it looks like.
    pub view: StateView,
    /// Ids and users of the live applications, by number.
    apps: BTreeMap<u32, (ApplicationId, String)>,
}

impl<'a> SeenState<'a> {
    /// What an engine looks like now.
    #[must_use]
    pub fn of(engine: &'a Sequential) -> Self {
        let ledger = engine.ledger();
        let row = |(id, slot): (ApplicationId, _)| {
            let user = &ledger.state().apps[slot].submission.user_name;
            (id.sequence, (id, user.to_string()))
        };
        Self {
            engine,
            view: StateView::of(ledger),
            apps: ledger.apps_by_id().into_iter().map(row).collect(),
        }
    }

    /// The id of a live application by its number.
    #[must_use]
    pub fn id(&self, app: u32) -> ApplicationId {
        let known = self.apps.get(&app);
        known.map_or_else(|| ApplicationId::new(app), |(id, _)| *id)
    }

    fn is_of(&self, app: u32, user: &str) -> bool {
        self.apps.get(&app).is_some_and(|(_, of)| of == user)
    }

    fn queue(&self, path: &str) -> Option<&QueueView> {
        self.view.queues.iter().find(|queue| queue.path == path)
    }

    /// Applications of a queue or below it.
    #[must_use]
    pub fn apps_below(&self, path: &str) -> Vec<u32> {
        let below = |queue: &str| {
            let rest = queue.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let apps = self.view.apps.iter().filter(|app| below(&app.queue));
        apps.map(|app| app.app).collect()
    }

    /// How many of an amount's types count: with the calculator of memory, memory alone.
    fn counted(&self) -> usize {
        self.engine.ledger().state().calculator.fitting_types()
    }

    fn exceeds(&self, used: &[i64], limit: &[i64]) -> bool {
        let pairs = used.iter().zip(limit).take(self.counted());
        pairs.into_iter().any(|(used, limit)| used > limit)
    }
}

/// Queues of the state with applications that are not in a list of queues, and their applications.
/// Queues that submissions created go with the first queue above them that none created.
#[must_use]
pub fn of_leaving(before: &SeenState<'_>, paths: &BTreeSet<&str>) -> Vec<Effect> {
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
        (!apps.is_empty()).then(|| Effect::new(EffectKind::QueueGoes, path, apps))
    };
    leaving
        .iter()
        .filter(is_topmost)
        .filter_map(effect)
        .collect()
}

/// What queues and users exceed behind a refresh and not before it, and queues that stop.
#[must_use]
pub fn of_limits(before: &SeenState<'_>, after: &SeenState<'_>) -> Vec<Effect> {
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
            effects.push(Effect::new(EffectKind::QueueStops, &new.path, apps.clone()));
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
            of_users(&mut effects, (before, after), new);
        }
    }
    effects
}

/// What a queue uses of a partition, and one of its limits there.
type UsedAndLimit = fn(&PartitionView) -> Option<(&Vec<i64>, &Vec<i64>)>;

fn of_part(
    effects: &mut Vec<Effect>,
    (before, after): (&SeenState<'_>, &SeenState<'_>),
    (path, label): (&str, &str),
    [old, new]: [&PartitionView; 2],
) {
    let mut look = |kind: EffectKind, pick: UsedAndLimit| {
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
    look(EffectKind::AboveGuarantee, |part| {
        Some((part.used.as_ref()?, &part.eff_min))
    });
    look(EffectKind::AboveMaximum, |part| {
        Some((part.used.as_ref()?, &part.eff_max))
    });
    look(EffectKind::AboveAmLimit, |part| {
        Some((part.am_used.as_ref()?, part.am_limit.as_ref()?))
    });
}

fn of_users(
    effects: &mut Vec<Effect>,
    (before, after): (&SeenState<'_>, &SeenState<'_>),
    queue: &QueueView,
) {
    let known = queue.leaf.iter().flat_map(|leaf| &leaf.users);
    for (user, of) in known {
        for (label, used) in &of.used {
            let limit = |seen: &SeenState<'_>| -> Option<Vec<i64>> {
                let ledger = seen.engine.ledger();
                let limits = UserLimits::on_partition(ledger, &queue.path, user, label)?;
                Some(limits.enforced.values(used.len()).to_vec())
            };
            let (Some(was), Some(now)) = (limit(before), limit(after)) else {
                continue;
            };
            if !after.exceeds(used, &now) || before.exceeds(used, &was) {
                continue;
            }
            let own = |app: &u32| after.is_of(*app, user);
            let apps = after.apps_below(&queue.path).into_iter().filter(own);
            let limit = Exceeded {
                used: used.clone(),
                before: was,
                after: now,
            };
            let effect = Effect::new(EffectKind::AboveUserLimit, &queue.path, apps.collect());
            effects.push(effect.of_partition(label, limit).of_user(user));
        }
    }
}
