//! What a seed decides before the first step: cluster, tree of queues, mode, and which faults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::configured::Configured;
use crate::api::{Mode, NodeName, PartitionSpec, Reference, ResourceVector, TreeSettings};
use crate::config::{self, Options};
use crate::simulator::Random;

/// The label of the second partition.
pub(super) const LABEL: &str = "gpu";

/// Number of configurations that a reload may choose from.
pub(super) const VARIANTS: u8 = 8;

/// Batches that a ring takes where queues are not short.
pub(super) const QUEUE_CAPACITY: u8 = 64;

/// Parents, and leaves below each, that a setup may have at most: their shares are whole percents.
const MOST_CHILDREN: u8 = 20;

/// Everything that a seed decides before the first step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The seed.
    pub seed: u64,
    /// Who runs rounds.
    pub mode: SetupMode,
    /// Proposers; without meaning in heartbeat mode.
    pub proposers: u8,
    /// Batches that a ring takes.
    pub capacity: u8,
    /// Steps between two full checks.
    pub audit_every: u16,
    /// Names of nodes.
    pub nodes: u8,
    /// Parents below root.
    pub parents: u8,
    /// Leaves below each parent.
    pub leaves: u8,
    /// Whether all resource types count, or memory alone.
    pub dominant: bool,
    /// Whether there is a second partition, and whether it is shared.
    pub label: SetupLabel,
    /// Missed opportunities before a rack is good enough; -1 for at once.
    pub locality_delay: i8,
    /// Faults that are switched on.
    pub faults: Families,
    /// What else is configured.
    pub extras: Extras,
    /// The release whose rules hold. Reports that name none are of 3.4.
    #[serde(default = "unnamed")]
    pub reference: Reference,
}

const fn unnamed() -> Reference {
    Reference::Hadoop34
}

/// Settings that most clusters do without, and that take other ways through a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extras {
    /// Whether nodes and containers count a third resource type.
    pub third_type: bool,
    /// Whether users weigh differently.
    pub weights: bool,
    /// Whether preemption is lazy.
    pub lazy_preemption: bool,
}

/// Who runs rounds in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupMode {
    /// Heartbeats.
    Heartbeat,
    /// Walks over the nodes.
    Asynchronous,
    /// All nodes of a partition.
    Global,
}

/// The second partition of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupLabel {
    /// There is none.
    None,
    /// It serves only who names it.
    Exclusive,
    /// It is shared while idle.
    Shared,
}

/// Families of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "one switch for each family")]
pub struct Families {
    /// Nodes get lost, come back, change size and label, are decommissioned.
    pub nodes: bool,
    /// Heartbeats are odd, double or missing; ends are reported twice or for others.
    pub heartbeats: bool,
    /// Applications end at any step, move, change priority, ask for much or for nothing.
    pub apps: bool,
    /// Configurations are reloaded, good and bad ones.
    pub config: bool,
    /// Proposers stall on old snapshots, die, propose what does not hold.
    pub proposers: bool,
    /// Queues are short and the committer is slow.
    pub queue: bool,
}

impl Families {
    fn drawn(random: &mut Random) -> Self {
        let mut is_on = || random.below(2) == 0;
        Self {
            nodes: is_on(),
            heartbeats: is_on(),
            apps: is_on(),
            config: is_on(),
            proposers: is_on(),
            queue: is_on(),
        }
    }
}

impl Setup {
    /// What a seed decides, under the default release.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = Random::stream(seed, 1);
        let faults = Families::drawn(&mut random);
        let mut one_of = |n: u64| random.below(n);
        Self {
            seed,
            mode: match one_of(7) {
                0 => SetupMode::Heartbeat,
                1..=3 => SetupMode::Asynchronous,
                _ => SetupMode::Global,
            },
            proposers: small(1 + one_of(4)),
            capacity: if faults.queue {
                [1, 1, 2, 8][index(one_of(4))]
            } else {
                QUEUE_CAPACITY
            },
            audit_every: [1, 4, 16, 64][index(one_of(4))],
            nodes: small(3 + one_of(18)),
            parents: small(1 + one_of(3)),
            leaves: small(1 + one_of(3)),
            dominant: one_of(4) > 0,
            label: match one_of(4) {
                0 => SetupLabel::Exclusive,
                1 => SetupLabel::Shared,
                _ => SetupLabel::None,
            },
            locality_delay: [-1, 2, 5][index(one_of(3))],
            faults,
            extras: Extras {
                third_type: one_of(4) == 0,
                weights: one_of(4) == 0,
                lazy_preemption: one_of(8) == 0,
            },
            reference: Reference::default(),
        }
    }

    /// Whether a setup from outside can be simulated.
    ///
    /// # Errors
    ///
    /// What is too large, in words.
    pub fn check(&self) -> Result<(), String> {
        for (name, number) in [("parents", self.parents), ("leaves", self.leaves)] {
            if number > MOST_CHILDREN {
                return Err(format!("setup.{name} is {number}, above {MOST_CHILDREN}"));
            }
        }
        Ok(())
    }

    /// The mode of the pipeline.
    pub(super) fn mode(&self) -> Mode {
        let threads = usize::from(self.proposers.max(1));
        match self.mode {
            SetupMode::Heartbeat => Mode::Heartbeat,
            SetupMode::Asynchronous => Mode::Asynchronous { threads },
            SetupMode::Global => Mode::Global { threads },
        }
    }

    pub(super) fn partitions(&self) -> Vec<PartitionSpec> {
        let exclusive = match self.label {
            SetupLabel::None => return Vec::new(),
            SetupLabel::Exclusive => true,
            SetupLabel::Shared => false,
        };
        let name = LABEL.to_owned();
        vec![PartitionSpec { name, exclusive }]
    }

    /// The label of a number; nothing stands for the default partition.
    pub(super) fn label(&self, number: u8) -> &'static str {
        if self.label != SetupLabel::None && number.is_multiple_of(3) {
            LABEL
        } else {
            ""
        }
    }

    /// Number of resource types; a calculator that knows memory only is refused a third one.
    pub(super) fn types(&self) -> usize {
        2 + usize::from(self.extras.third_type && self.dominant)
    }

    /// How many resource types decide: memory alone, or all of them.
    pub(super) fn counting(&self) -> usize {
        if self.dominant { self.types() } else { 1 }
    }

    /// The size of a node, by number.
    pub(super) fn node_size(&self, size: u8) -> ResourceVector {
        let sizes = [
            [8192, 8, 2],
            [4096, 4, 0],
            [16_384, 12, 4],
            [12_288, 6, 1],
            [0, 0, 0],
        ];
        ResourceVector::of(&sizes[usize::from(size) % sizes.len()][..self.types()])
    }

    /// The size of a container, by number.
    pub(super) fn container_size(&self, size: u8) -> ResourceVector {
        let sizes = [
            [1024, 1, 0],
            [2048, 1, 1],
            [3072, 2, 0],
            [600, 1, 0],
            [5000, 3, 2],
            [8192, 4, 0],
        ];
        ResourceVector::of(&sizes[usize::from(size) % sizes.len()][..self.types()])
    }

    /// The full path of the leaf of a number, whether or not it exists just now.
    pub(super) fn leaf(&self, number: u8) -> String {
        let (parents, leaves) = (self.parents.max(1), self.leaves.max(1));
        let number = number % (parents * leaves);
        format!("root.p{}.l{}", number / leaves, number % leaves)
    }

    /// Twice the weight of users that do not weigh 1.
    pub(super) fn halves_of_weight(&self) -> BTreeMap<String, i64> {
        let users = [("u0", 1), ("u1", 4)].into_iter();
        let users = users.filter(|_| self.extras.weights);
        users
            .map(|(user, halves)| (user.to_owned(), halves))
            .collect()
    }

    /// A configuration: 0 is the first one, others change something, the last one lacks the queues above its
    /// leaves.
    pub(super) fn variant(&self, variant: u8) -> Variant {
        let mut pairs = self.general(variant);
        let mut configured = BTreeMap::new();
        let shares = shares(self.parents.max(1));
        let names: Vec<String> = (0..shares.len()).map(|i| format!("p{i}")).collect();
        pairs.insert("root.queues".to_owned(), names.join(","));
        for (name, share) in names.iter().zip(shares) {
            let most = match variant {
                2 => 100,
                _ => [100, 60, 80][share.number % 3].max(share.percent),
            };
            let path = format!("root.{name}");
            self.queue(&mut pairs, &path, share.percent, most);
            let shares = Configured {
                share: share.percent,
                most,
                factor: 0,
            };
            configured.insert(path.clone(), shares);
            self.leaves(&mut pairs, &mut configured, &path, share.number, variant);
        }
        let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
        let pairs = pairs.into_iter().map(prefixed).collect();
        let loaded = config::load_pairs(&BTreeMap::new(), &pairs, &self.options());
        let mut settings = loaded
            .expect("every variant is a valid configuration")
            .settings;
        if variant == VARIANTS - 1 {
            let is_parent = |path: &str| path.matches('.').count() == 1;
            settings.queues.retain(|queue| !is_parent(&queue.path));
        }
        Variant {
            settings,
            configured,
        }
    }

    fn options(&self) -> Options {
        let types = ["memory-mb", "vcores", "gpu"].map(str::to_owned);
        Options {
            resource_types: Some(types[..self.types()].to_vec()),
            reference: self.reference,
            ..Options::default()
        }
    }

    fn leaves(
        &self,
        pairs: &mut BTreeMap<String, String>,
        configured: &mut BTreeMap<String, Configured>,
        parent: &str,
        number: usize,
        variant: u8,
    ) {
        let all = self.leaves.max(1) + u8::from(variant == 5 && number == 0);
        let shares = shares(all);
        // Variant 4 leaves the first leaf out, when there are others.
        let gone = usize::from(variant == 4 && number == 0 && all > 1);
        let names: Vec<String> = (gone..shares.len()).map(|i| format!("l{i}")).collect();
        pairs.insert(format!("{parent}.queues"), names.join(","));
        for share in &shares[gone..] {
            let extra = if share.number == 1 && gone == 1 {
                shares[0].percent
            } else {
                0
            };
            let percent = share.percent + extra;
            let most = match variant {
                1 => 30,
                2 => 100,
                _ => [100, 50, 70][(share.number + number) % 3],
            };
            let path = format!("{parent}.l{}", share.number);
            self.queue(pairs, &path, percent, most.max(percent));
            let fair = (share.number + usize::from(variant == 6)) % 2 == 1;
            let order = if fair { "fair" } else { "fifo" };
            pairs.insert(format!("{path}.ordering-policy"), order.to_owned());
            let factor = [1, 10, 2][(share.number + number) % 3];
            let shares = Configured {
                share: percent,
                most: most.max(percent),
                factor,
            };
            configured.insert(path.clone(), shares);
            pairs.insert(format!("{path}.user-limit-factor"), factor.to_string());
            if self.extras.weights {
                let percent = format!("{path}.minimum-user-limit-percent");
                pairs.insert(percent, "50".to_owned());
                for (user, halves) in self.halves_of_weight() {
                    let key = format!("{path}.user-settings.{user}.weight");
                    let weight = format!("{}.{}", halves / 2, halves % 2 * 5);
                    pairs.insert(key, weight);
                }
            }
            if variant == 3 && share.number == 0 && number == 0 {
                pairs.insert(format!("{path}.state"), "STOPPED".to_owned());
            }
        }
    }

    fn queue(&self, pairs: &mut BTreeMap<String, String>, path: &str, share: i64, most: i64) {
        let mut figures = vec![String::new()];
        if self.label != SetupLabel::None {
            figures.push(format!("accessible-node-labels.{LABEL}."));
        }
        for figure in figures {
            pairs.insert(format!("{path}.{figure}capacity"), share.to_string());
            pairs.insert(format!("{path}.{figure}maximum-capacity"), most.to_string());
        }
    }

    fn general(&self, variant: u8) -> BTreeMap<String, String> {
        let calculator = if self.dominant { "Dominant" } else { "Default" };
        let calculator =
            format!("org.apache.hadoop.yarn.util.resource.{calculator}ResourceCalculator");
        let masters = if variant == 6 { "0.3" } else { "1" };
        let mut pairs: BTreeMap<String, String> = [
            ("resource-calculator", calculator.as_str()),
            ("maximum-am-resource-percent", masters),
            ("node-locality-delay", &self.locality_delay.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        if self.extras.lazy_preemption {
            pairs.insert("lazy-preemption-enabled".to_owned(), "true".to_owned());
        }
        if self.label != SetupLabel::None {
            pairs.insert("root.accessible-node-labels".to_owned(), "*".to_owned());
            let key = format!("root.accessible-node-labels.{LABEL}.capacity");
            pairs.insert(key, "100".to_owned());
        }
        if self.mode == SetupMode::Global {
            let lookup = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                          ResourceUsageMultiNodeLookupPolicy";
            for (key, value) in [
                ("multi-node-placement-enabled", "true"),
                ("multi-node-sorting.policy", "default"),
                ("multi-node-sorting.policy.names", "default"),
                ("multi-node-sorting.policy.default.class", lookup),
            ] {
                pairs.insert(key.to_owned(), value.to_owned());
            }
        }
        pairs
    }
}

/// A configuration and what the books have to know of it.
pub(super) struct Variant {
    pub(super) settings: TreeSettings,
    /// What it says of the queues below root, by path.
    pub(super) configured: BTreeMap<String, Configured>,
}

struct QueueShare {
    number: usize,
    percent: i64,
}

/// Equal percentages with the rest for the first.
fn shares(count: u8) -> Vec<QueueShare> {
    let count = i64::from(count);
    let each = 100 / count;
    (0..count)
        .map(|i| QueueShare {
            number: usize::try_from(i).expect("a count of queues is small"),
            percent: match i {
                0 => 100 - each * (count - 1),
                _ => each,
            },
        })
        .collect()
}

/// The name of a node.
pub(super) fn node_name(number: u8) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).expect("a letter and a number are a host")
}

/// The rack of a node.
pub(super) fn rack(number: u8) -> String {
    format!("/r{}", number % 3)
}

pub(super) fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

pub(super) fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Sequential;

    #[test]
    fn an_engine_starts_with_every_variant_but_the_last() {
        for seed in 0..60 {
            let setup = Setup::of(seed);
            for variant in 0..VARIANTS {
                let settings = setup.variant(variant).settings;
                let started = Sequential::new(settings, &setup.partitions());
                let (starts, valid) = (started.is_ok(), variant < VARIANTS - 1);
                assert_eq!(starts, valid, "seed {seed} variant {variant}");
            }
        }
    }

    #[test]
    fn seeds_switch_every_extra_on_and_off() {
        let on = |extra: fn(&Extras) -> bool| {
            let count = (0..200)
                .filter(|&seed| extra(&Setup::of(seed).extras))
                .count();
            assert!((10..100).contains(&count), "{count}");
        };
        on(|extras| extras.third_type);
        on(|extras| extras.weights);
        on(|extras| extras.lazy_preemption);
    }

    #[test]
    fn seeds_switch_every_family_on_and_off() {
        let on = |family: fn(&Families) -> bool| {
            let count = (0..200)
                .filter(|&seed| family(&Setup::of(seed).faults))
                .count();
            assert!((60..140).contains(&count), "{count}");
        };
        on(|f| f.nodes);
        on(|f| f.heartbeats);
        on(|f| f.apps);
        on(|f| f.config);
        on(|f| f.proposers);
        on(|f| f.queue);
    }
}
