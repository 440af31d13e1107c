//! Applications that wait, grouped by reason, queue or tier.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capsched::api::{Explanation, Finding, Reason};

use super::jobs::Jobs;
use crate::play::{grouped, wrapped};

/// What a list is grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum GroupBy {
    /// By the token of the dominant reason.
    #[default]
    Reason,
    /// By leaf queue.
    Queue,
    /// By tier: never, admission, quota, order, placement, progressing.
    Tier,
}

/// One group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Its name: a token, a path or a tier.
    pub(super) name: String,
    /// Applications.
    pub(super) apps: u64,
    /// Their containers.
    pub(super) containers: u64,
    /// Applications of the group by reason.
    pub(super) reasons: BTreeMap<Reason, u64>,
    /// The application with most containers: its job and what is found.
    pub(super) example: (String, String),
    largest: u64,
}

impl Group {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            apps: 0,
            containers: 0,
            reasons: BTreeMap::new(),
            example: (String::new(), String::new()),
            largest: 0,
        }
    }

    /// Counts an application.
    fn add(&mut self, app: &Explanation, why: &Finding, jobs: &Jobs) {
        let containers = app.containers();
        self.apps += 1;
        self.containers += containers;
        *self.reasons.entry(why.reason).or_default() += 1;
        if containers > self.largest {
            self.largest = containers;
            let name = jobs.of(app.app).map_or("", |job| &job.name);
            let named = if name.is_empty() {
                app.app.to_string()
            } else {
                format!("{} ({})", app.app, name.escape_debug())
            };
            self.example = (named, why.detail.clone());
        }
    }
}

/// All groups, in the order of their tiers or names.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) by: &'static str,
    pub(super) all: Vec<Group>,
}

impl Groups {
    /// Groups explanations by their dominant reasons.
    pub(super) fn of(found: &[Explanation], by: GroupBy, jobs: &Jobs) -> Self {
        let mut groups: BTreeMap<(u8, String), Group> = BTreeMap::new();
        for app in found {
            let Some(why) = app.dominant() else { continue };
            let tier = why.reason.tier();
            let key = match by {
                GroupBy::Reason => (tier, why.reason.token().to_owned()),
                GroupBy::Queue => (0, app.queue.to_string()),
                GroupBy::Tier => (tier, Reason::tier_name(tier).unwrap_or("").to_owned()),
            };
            let group = groups.entry(key);
            let group = group.or_insert_with_key(|(_, name)| Group::new(name));
            group.add(app, why, jobs);
        }
        let by = match by {
            GroupBy::Reason => "reason",
            GroupBy::Queue => "queue",
            GroupBy::Tier => "tier",
        };
        let all = groups.into_values().collect();
        Self { by, all }
    }

    /// The groups for people.
    pub(super) fn table(&self, when: &str) -> String {
        let apps: u64 = self.all.iter().map(|group| group.apps).sum();
        let containers: u64 = self.all.iter().map(|group| group.containers).sum();
        if apps == 0 {
            return format!("nothing waits {when}\n");
        }
        let waits = if apps == 1 {
            "application waits"
        } else {
            "applications wait"
        };
        let plural = if containers == 1 { "" } else { "s" };
        let mut out = format!(
            "{} {waits} for {} container{plural} {when}\n\n      apps containers  {}\n",
            grouped(apps),
            grouped(containers),
            self.by
        );
        for group in &self.all {
            let (apps, containers) = (grouped(group.apps), grouped(group.containers));
            let _ = writeln!(out, "{apps:>10}{containers:>11}  {}", group.name);
            if self.by != "reason" {
                let reason = |(reason, n): (&Reason, &u64)| format!("{reason} {}", grouped(*n));
                let reasons: Vec<String> = group.reasons.iter().map(reason).collect();
                out.push_str(&wrapped(&reasons.join(", "), 25));
            }
            let (named, detail) = &group.example;
            out.push_str(&wrapped(&format!("{named}: {detail}"), 25));
        }
        out
    }
}
