//! Settings that work as they read and that operators regret once the cluster is in use.

use std::collections::BTreeMap;

use super::{Effects, key};
use crate::config::diagnostic::{Diagnostic, clip};
use crate::config::severity::Severity;
use crate::queue::{CapacitySetting, LegacyCapacity, QueueKind, QueueSettings, VectorEntry};

/// Queues that a finding shows besides the first one.
const SHOWN: usize = 4;

const MONITOR: &str = "yarn.resourcemanager.scheduler.monitor.enable";

impl<'a> Effects<'a> {
    /// Leaves that one user alone cannot fill, though the queue may grow: one hint for all of them.
    // As UsersManager.computeUserLimit: the guarantee times the factor bounds each user.
    pub(super) fn lone_users(&self) -> Option<Diagnostic> {
        let queues = self.settings.queues.iter();
        let leaves: Vec<&QueueSettings> =
            queues.filter(|queue| self.bounds_a_user(queue)).collect();
        let first = leaves.first()?;
        let factor = first.leaf.user_limit_factor;
        let more = match leaves.len() - 1 {
            0 => String::new(),
            n => format!("; so it is with {n} more"),
        };
        let message = format!(
            "one user alone gets at most {factor} times the guarantee of `{}`, below its maximum{more}",
            clip(&first.path)
        );
        let place = |queue: &QueueSettings| {
            let own = self.properties.span(&key(&queue.path, "user-limit-factor"));
            own.or_else(|| self.properties.span(&key(&queue.path, "capacity")))
        };
        let mut finding = Diagnostic::new("H_LONE_USER", Severity::Hint, message)
            .at(place(first))
            .help("set `user-limit-factor` to -1 where one user may fill the queue");
        for queue in leaves.iter().skip(1).take(SHOWN) {
            finding = finding.also(place(queue), "this one too");
        }
        Some(finding)
    }

    #[expect(
        clippy::float_arithmetic,
        reason = "shares of one parent are compared for a hint"
    )]
    fn bounds_a_user(&self, queue: &QueueSettings) -> bool {
        let factor = queue.leaf.user_limit_factor;
        if queue.kind != QueueKind::Leaf || factor < 0.0 {
            return false;
        }
        let shares = self.shares(queue);
        shares.is_some_and(|(least, most)| least > 0.0 && f64::from(factor) * least < most)
    }

    /// Guarantee and maximum of a queue as fractions of its parent's, where both are fractions.
    #[expect(
        clippy::float_arithmetic,
        reason = "shares of one parent are compared for a hint"
    )]
    fn shares(&self, queue: &QueueSettings) -> Option<(f64, f64)> {
        let part = queue.partitions.get("")?;
        let most = self.percent(&part.maximum)? / 100.0;
        if let Some(percent) = self.percent(&part.capacity) {
            return Some((percent / 100.0, most));
        }
        let siblings = self.children.get(queue.parent_path()?)?;
        let weights = siblings.iter().map(|sibling| {
            let part = sibling.partitions.get("")?;
            self.weight(&part.capacity)
        });
        let all: Option<Vec<f64>> = weights.collect();
        let sum: f64 = all?.iter().sum();
        let own = self.weight(&part.capacity)?;
        (sum > 0.0).then_some((own / sum, most))
    }

    /// The percentage of a setting that is one, for every type the same.
    fn percent(&self, setting: &CapacitySetting) -> Option<f64> {
        if self.settings.scheduler.legacy_queue_mode {
            return match setting.legacy {
                LegacyCapacity::Percent(percent) => Some(percent.into()),
                _ => None,
            };
        }
        match setting.vector.first() {
            Some(first @ VectorEntry::Percent(percent)) => {
                let same = setting.vector.iter().all(|entry| entry == first);
                same.then_some(*percent)
            }
            _ => None,
        }
    }

    fn weight(&self, setting: &CapacitySetting) -> Option<f64> {
        if self.settings.scheduler.legacy_queue_mode {
            return match setting.legacy {
                LegacyCapacity::Weight(weight) => Some(weight.into()),
                _ => None,
            };
        }
        let types = self.settings.scheduler.resource_types.len();
        setting.common_weight(types).map(f64::from)
    }

    /// A site without preemption whose queues may take what others are guaranteed.
    pub(super) fn nothing_preempted(&self) -> Option<Diagnostic> {
        if !self.speaks_of_more_than_types() || self.flag(MONITOR) {
            return None;
        }
        let mut elastic: BTreeMap<&str, usize> = BTreeMap::new();
        for queue in &self.settings.queues {
            let Some(parent) = queue.parent_path() else {
                continue;
            };
            let grows = self.shares(queue).is_some_and(|(least, most)| least < most);
            *elastic.entry(parent).or_default() += usize::from(grows);
        }
        let (parent, count) = elastic.into_iter().find(|(_, count)| *count > 1)?;
        let message = format!(
            "nothing is preempted: {count} children of `{}` may grow into what the others are \
             guaranteed, and give it back only as containers end",
            clip(parent)
        );
        let place = self.properties.span(MONITOR);
        let finding = Diagnostic::new("H_NO_PREEMPTION", Severity::Hint, message)
            .at(place.or_else(|| self.properties.start()))
            .help(format!("set `{MONITOR}` to true in yarn-site.xml"));
        Some(finding)
    }

    /// Whether a site file says more than the resource types.
    pub(super) fn speaks_of_more_than_types(&self) -> bool {
        let mut keys = self.properties.keys();
        keys.any(|key| self.properties.in_site(key) && !key.starts_with("yarn.resource-types"))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{ConfigSource, Layer, Options, check};

    /// Messages of the hints with a code.
    fn hints(code: &str, own: &[(&str, &str)], site: &[(&str, &str)]) -> Vec<String> {
        let text = |prefix: &str, pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                format!("<property name=\"{prefix}{name}\" value=\"{value}\"/>")
            });
            format!(
                "<configuration>{}</configuration>",
                pairs.collect::<String>()
            )
        };
        let file = |text: String, layer| ConfigSource {
            name: "f.xml".to_owned(),
            bytes: text.into_bytes(),
            layer,
        };
        let mut files = vec![file(
            text("yarn.scheduler.capacity.", own),
            Layer::Scheduler,
        )];
        if !site.is_empty() {
            files.push(file(text("", site), Layer::Site));
        }
        let report = check(&files, &Options::default());
        assert!(!report.refuses(false), "{report}");
        let found = report
            .diagnostics
            .into_iter()
            .filter(|one| one.code == code);
        found.map(|one| one.message).collect()
    }

    const TWO: [(&str, &str); 3] = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
    ];

    #[test]
    fn a_lone_user_is_bounded_by_the_guarantee_unless_the_factor_reaches_the_maximum() {
        let found = |more: &[(&str, &str)]| {
            let all: Vec<_> = TWO.iter().chain(more).copied().collect();
            hints("H_LONE_USER", &all, &[])
        };
        let both = found(&[]);
        assert_eq!(both.len(), 1);
        assert!(
            both[0].contains("`root.a`") && both[0].contains("1 more"),
            "{both:?}"
        );
        assert!(found(&[("user-limit-factor", "-1")]).is_empty());
        assert!(found(&[("user-limit-factor", "2.5")]).is_empty());
        let tight = [
            ("root.a.maximum-capacity", "60"),
            ("root.b.maximum-capacity", "40"),
        ];
        assert!(found(&tight).is_empty());
    }

    #[test]
    fn weights_are_shares_of_their_sum() {
        let of = |factor: &str| {
            let own = [
                ("root.queues", "a,b"),
                ("root.a.capacity", "3w"),
                ("root.b.capacity", "1w"),
                ("user-limit-factor", factor),
            ];
            hints("H_LONE_USER", &own, &[]).len()
        };
        assert_eq!((of("3.9"), of("4")), (1, 0));
    }

    #[test]
    fn preemption_is_missed_only_by_a_site_whose_queues_may_grow() {
        let code = "H_NO_PREEMPTION";
        let monitor = "yarn.resourcemanager.scheduler.monitor.enable";
        let site = [("yarn.nodemanager.resource.memory-mb", "1024")];
        assert_eq!(hints(code, &TWO, &site).len(), 1);
        assert_eq!(hints(code, &TWO, &[(monitor, "false")]).len(), 1);
        assert!(hints(code, &TWO, &[(monitor, "true")]).is_empty());
        assert!(hints(code, &TWO, &[]).is_empty(), "no site, no word");
        let types = [("yarn.resource-types", "x")];
        let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        let own = [TWO[0], TWO[1], TWO[2], ("resource-calculator", dominant)];
        assert!(hints(code, &own, &types).is_empty());
    }
}
