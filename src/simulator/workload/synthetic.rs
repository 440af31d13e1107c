//! The synthetic generator: seven kinds of work that operators name, drawn from a seed.
//!
//! Jobs are drawn one at a time, so that any number of them costs no memory. Arrivals of all kinds
//! but services are a Poisson process; services come first, one a second.

use super::error::TraceError;
use super::job::{Job, NodeLine, ResourceTypes, Run, TaskGroup, Workload};
use super::report::MappingReport;
use crate::api::ResourceVector;
use crate::simulator::statistics::Random;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// Most memory of one container of a service, in MiB.
const SERVICE_MIB: i64 = 8192;

/// Most containers of a service.
const SERVICE_CONTAINERS: u64 = 12;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Archetype {
    /// People's queries: some small containers for a minute, from many users.
    AdHoc,
    /// Work that gets resources first: high application priority, otherwise like batch but smaller.
    Preferred,
    /// Training: few large containers, with GPUs where there are any, for hours.
    MachineLearning,
    /// Dashboards: one to three small containers for seconds, many times a day.
    Dashboard,
    /// Notebooks: grow step by step and hold all they got until the session ends.
    Exploration,
    /// Throughput: hundreds of maps, then reduces.
    Batch,
    /// Always on: never releases anything.
    Service,
}

impl Archetype {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::AdHoc,
        Self::Preferred,
        Self::MachineLearning,
        Self::Dashboard,
        Self::Exploration,
        Self::Batch,
        Self::Service,
    ];

    /// The name; jobs are called `<name>-<number>`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AdHoc => "adhoc",
            Self::Preferred => "preferred",
            Self::MachineLearning => "ml",
            Self::Dashboard => "dashboard",
            Self::Exploration => "exploration",
            Self::Batch => "batch",
            Self::Service => "service",
        }
    }
}

/// One kind of work within a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The kind.
    pub archetype: Archetype,
    /// Its part of the arrivals, in proportion to the other weights; without meaning for services.
    pub weight: u32,
    /// Queue its jobs go to.
    pub queue: String,
}

/// Settings of the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntheticSettings {
    /// The seed: equal seeds and settings give equal workloads.
    pub seed: u64,
    /// Jobs that arrive over the span, without services.
    pub jobs: u64,
    /// Mean time over which they arrive, in ms.
    pub span_ms: u64,
    /// Services, which arrive first.
    pub services: u64,
    /// Users; each job's is drawn evenly.
    pub users: u64,
    /// Containers of every job in thousandths of the usual number.
    pub scale_permille: u64,
    /// Most memory in MiB that one container of training asks for.
    pub largest_mib: i64,
    /// Resource types; training asks for one GPU a container where there is a type for it.
    pub types: ResourceTypes,
    /// The mix.
    pub mix: Vec<Share>,
}

impl Default for SyntheticSettings {
    /// A day of 2,000 jobs over the queues `root.adhoc`, `root.preferred`, `root.ml`,
    /// `root.dashboard`, `root.exploration`, `root.batch` and `root.service`.
    fn default() -> Self {
        let weight = |archetype| match archetype {
            Archetype::AdHoc => 30,
            Archetype::Preferred => 8,
            Archetype::MachineLearning => 4,
            Archetype::Dashboard => 40,
            Archetype::Exploration => 8,
            Archetype::Batch => 10,
            Archetype::Service => 0,
        };
        let share = |archetype: Archetype| Share {
            archetype,
            weight: weight(archetype),
            queue: format!("root.{}", archetype.name()),
        };
        Self {
            seed: 1,
            jobs: 2000,
            span_ms: 24 * HOUR,
            services: 10,
            users: 40,
            scale_permille: 1000,
            largest_mib: i64::MAX,
            types: ResourceTypes::default(),
            mix: Archetype::ALL.map(share).to_vec(),
        }
    }
}

/// A generated workload, in order of time.
#[derive(Debug)]
pub struct Synthetic {
    settings: SyntheticSettings,
    arrivals: Random,
    weights: Vec<f64>,
    services_left: u64,
    jobs_left: u64,
    service_ms: u64,
    arrival_ms: u64,
    given: u64,
    gpu: Option<(usize, i64)>,
}

impl Synthetic {
    /// The workload of the settings.
    #[must_use]
    pub fn new(settings: SyntheticSettings) -> Self {
        let mut arrivals = Random::new(settings.seed);
        let weight = |share: &Share| match share.archetype {
            Archetype::Service => 0.0,
            _ => f64::from(share.weight),
        };
        let weights: Vec<f64> = settings.mix.iter().map(weight).collect();
        let any = weights.iter().any(|&weight| weight > 0.0);
        let has_service = |share: &Share| share.archetype == Archetype::Service;
        let gpu = settings
            .types
            .index_of("gpu-milli")
            .map(|index| (index, 1000))
            .or_else(|| {
                settings
                    .types
                    .index_of("yarn.io/gpu")
                    .map(|index| (index, 1))
            });
        Self {
            services_left: if settings.mix.iter().any(has_service) {
                settings.services
            } else {
                0
            },
            jobs_left: if any { settings.jobs } else { 0 },
            service_ms: 0,
            arrival_ms: arrivals.exponential(mean_gap(&settings)),
            given: 0,
            weights,
            arrivals,
            gpu,
            settings,
        }
    }

    /// Which comes next: its time and kind with its queue.
    fn next_arrival(&mut self) -> Option<(u64, Share)> {
        let service = self.services_left > 0;
        if service && (self.jobs_left == 0 || self.service_ms <= self.arrival_ms) {
            let is_service = |share: &&Share| share.archetype == Archetype::Service;
            let share = self.settings.mix.iter().find(is_service)?.clone();
            let at_ms = self.service_ms;
            self.services_left -= 1;
            self.service_ms += 1000;
            return Some((at_ms, share));
        }
        self.jobs_left = self.jobs_left.checked_sub(1)?;
        let share = self.settings.mix[self.arrivals.pick(&self.weights)?].clone();
        let at_ms = self.arrival_ms;
        self.arrival_ms += self.arrivals.exponential(mean_gap(&self.settings));
        Some((at_ms, share))
    }

    fn scaled(&self, count: u64) -> u32 {
        let scaled = count.saturating_mul(self.settings.scale_permille) / 1000;
        u32::try_from(scaled.clamp(1, 1_000_000)).expect("a million fits in a u32")
    }

    fn group(&self, size: [i64; 2], count: u64, run: Run) -> TaskGroup {
        TaskGroup::new(ResourceVector::of(&size), self.scaled(count), run)
    }

    fn tasks(&self, archetype: Archetype, random: &mut Random) -> Vec<TaskGroup> {
        let seed = random.next_u64();
        let spread = |median_ms: u64| Run::Spread {
            median_ms,
            sigma_thousandths: 400,
            seed,
        };
        match archetype {
            Archetype::AdHoc => {
                let count = random.log_normal(8, 900).clamp(1, 400);
                let memory = pick(random, &[1024, 2048, 4096]);
                vec![self.group([memory, 1], count, spread(45_000))]
            }
            Archetype::Preferred => {
                let count = random.log_normal(20, 600).clamp(2, 200);
                vec![self.group([4096, 2], count, spread(2 * MINUTE))]
            }
            Archetype::MachineLearning => vec![self.training(random)],
            Archetype::Dashboard => {
                let count = random.between(1, 3);
                vec![self.group([1024, 1], count, spread(6000))]
            }
            Archetype::Exploration => self.session(random),
            Archetype::Batch => {
                let maps = random.log_normal(200, 900).clamp(10, 5000);
                let mut reduces = self.group([4096, 1], (maps / 10).max(1), spread(4 * MINUTE));
                reduces.priority = 10;
                reduces.stage = 1;
                vec![self.group([2048, 1], maps, spread(90_000)), reduces]
            }
            Archetype::Service => {
                let memory = pick(random, &[2048, 4096, SERVICE_MIB]);
                let count = random.between(2, SERVICE_CONTAINERS);
                vec![self.group([memory, 2], count, Run::Forever)]
            }
        }
    }

    /// The workers of a training run, which end together.
    fn training(&self, random: &mut Random) -> TaskGroup {
        let memory = pick(random, &[16_384, 32_768, 65_536]);
        let memory = memory.min(self.settings.largest_mib).max(1024);
        let count = [1, 2, 4, 8, 16][usize::try_from(random.below(5)).unwrap_or(0)];
        let length = random.log_normal(3 * HOUR, 700);
        let run = Run::Same(length.clamp(10 * MINUTE, 72 * HOUR));
        let mut workers = self.group([memory, 8], count, run);
        if let Some((index, amount)) = self.gpu {
            workers.size.set(index, amount);
        }
        workers
    }

    /// Steps of a session: each asks for more, and everything is held until the same end.
    fn session(&self, random: &mut Random) -> Vec<TaskGroup> {
        let length = random.log_normal(HOUR, 500).clamp(5 * MINUTE, 10 * HOUR);
        let steps = random.between(1, 4);
        (0..steps)
            .map(|step| {
                let delay_ms = length * step / 5;
                let count = random.between(1, 8);
                let mut group = self.group([8192, 2], count, Run::Same(length - delay_ms));
                group.delay_ms = delay_ms;
                group
            })
            .collect()
    }
}

fn mean_gap(settings: &SyntheticSettings) -> u64 {
    settings.span_ms / settings.jobs.max(1)
}

fn pick(random: &mut Random, values: &[i64]) -> i64 {
    let bound = u64::try_from(values.len()).unwrap_or(0);
    let index = usize::try_from(random.below(bound)).unwrap_or(0);
    values.get(index).copied().unwrap_or(1024)
}

impl Iterator for Synthetic {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (at_ms, share) = self.next_arrival()?;
        self.given += 1;
        // A stream of its own: changing how one job is drawn leaves the others alone.
        let mut random = Random::stream(self.settings.seed, self.given);
        let kind = share.archetype;
        let user = random.below(self.settings.users.max(1));
        let tasks = self.tasks(kind, &mut random);
        Some(Ok(Job {
            at_ms,
            user: format!("user-{user:02}"),
            queue: share.queue,
            name: format!("{}-{}", kind.name(), self.given),
            priority: match kind {
                Archetype::Preferred => Some(10),
                Archetype::Service => Some(5),
                _ => None,
            },
            master: Some(ResourceVector::of(&[1024, 1])),
            partition: None,
            tags: vec![kind.name().to_owned()],
            tasks,
            line: 0,
        }))
    }
}

impl Workload for Synthetic {
    fn report(&self) -> MappingReport {
        let mut report = MappingReport::new("synthetic");
        report.rows = self.given;
        report.used = self.given;
        report
    }
}

/// Most memory of one container that services and masters cannot shut out for ever from all of
/// `nodes` equal nodes: of a node that holds the fewest containers of services, by the number of
/// those that there may be, and one master. The least is 1 GiB.
#[must_use]
pub fn largest_beside_services(settings: &SyntheticSettings, nodes: u32, node_mib: i64) -> i64 {
    let scaled = |count: u64| {
        count
            .saturating_mul(settings.scale_permille)
            .div_ceil(1000)
            .max(1)
    };
    let each = scaled(SERVICE_CONTAINERS).saturating_add(1);
    let served = settings
        .mix
        .iter()
        .any(|share| share.archetype == Archetype::Service);
    let all = if served {
        settings.services.saturating_mul(each)
    } else {
        0
    };
    let on_emptiest = i64::try_from(all / u64::from(nodes.max(1))).unwrap_or(i64::MAX);
    let taken = on_emptiest.saturating_mul(SERVICE_MIB).saturating_add(1024);
    node_mib.saturating_sub(taken).max(1024)
}

/// Equal nodes `node0`, `node1`, ... in racks of `per_rack`.
#[must_use]
pub fn equal_nodes(count: u32, per_rack: u32, size: ResourceVector) -> Vec<NodeLine> {
    (0..count)
        .map(|index| NodeLine {
            host: format!("node{index}"),
            rack: format!("/rack{}", index / per_rack.max(1)),
            size,
            partition: String::new(),
            attributes: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(settings: SyntheticSettings) -> Vec<Job> {
        Synthetic::new(settings).map(Result::unwrap).collect()
    }

    fn of(jobs: &[Job], kind: Archetype) -> Vec<&Job> {
        jobs.iter()
            .filter(|job| job.tags[0] == kind.name())
            .collect()
    }

    #[test]
    fn a_seed_names_one_workload_in_order_of_time() {
        let day = jobs(SyntheticSettings::default());
        assert_eq!(day.len(), 2010);
        assert!(day.is_sorted_by_key(|job| job.at_ms));
        assert_eq!(day, jobs(SyntheticSettings::default()));
        let other = SyntheticSettings {
            seed: 2,
            ..SyntheticSettings::default()
        };
        assert_ne!(day, jobs(other));
        let last = day.last().unwrap().at_ms;
        assert!((20 * HOUR..28 * HOUR).contains(&last), "{last}");
    }

    #[test]
    fn each_kind_is_what_operators_mean_by_it() {
        let settings = SyntheticSettings {
            types: ResourceTypes::with_extra(&["yarn.io/gpu"]).unwrap(),
            ..SyntheticSettings::default()
        };
        let day = jobs(settings);
        for job in of(&day, Archetype::Service) {
            assert!(job.tasks.iter().all(|group| group.run == Run::Forever));
        }
        for job in of(&day, Archetype::Dashboard) {
            assert!(job.tasks[0].count <= 3 && job.tasks[0].run.of(0).unwrap() < MINUTE);
        }
        for job in of(&day, Archetype::MachineLearning) {
            assert!(job.tasks[0].size.memory() >= 16_384 && job.tasks[0].size[2] == 1);
            assert!(job.tasks[0].run.of(0).unwrap() >= 10 * MINUTE);
        }
        for job in of(&day, Archetype::Exploration) {
            let end = |group: &TaskGroup| group.delay_ms + group.run.of(0).unwrap();
            assert!(
                job.tasks
                    .iter()
                    .all(|group| end(group) == end(&job.tasks[0]))
            );
        }
        for job in of(&day, Archetype::Batch) {
            assert!(job.tasks[0].count >= 10 && job.tasks[1].stage == 1);
        }
        let preferred = of(&day, Archetype::Preferred);
        assert!(preferred.iter().all(|job| job.priority == Some(10)));
        let (dashboards, ad_hoc) = (of(&day, Archetype::Dashboard), of(&day, Archetype::AdHoc));
        assert!(dashboards.len() > 600 && ad_hoc.len() > 450);
    }

    #[test]
    fn a_mix_without_weights_gives_services_alone_or_nothing() {
        let mut settings = SyntheticSettings::default();
        for share in &mut settings.mix {
            share.weight = 0;
        }
        assert_eq!(jobs(settings.clone()).len(), 10);
        settings.mix.clear();
        assert!(jobs(settings).is_empty());
    }

    #[test]
    fn training_asks_for_no_more_than_services_leave_on_some_node() {
        let mut settings = SyntheticSettings::default();
        settings.largest_mib = largest_beside_services(&settings, 50, 65_536);
        // Ten services of at most 13 containers: some node holds at most two.
        assert_eq!(settings.largest_mib, 65_536 - 2 * 8192 - 1024);
        let largest = settings.largest_mib;
        let day = jobs(settings);
        let sizes = of(&day, Archetype::MachineLearning).into_iter();
        let most = sizes.map(|job| job.tasks[0].size.memory()).max();
        assert_eq!(most, Some(largest));
        let none = SyntheticSettings {
            services: 0,
            ..SyntheticSettings::default()
        };
        assert_eq!(largest_beside_services(&none, 50, 65_536), 64_512);
    }

    #[test]
    fn counts_are_scaled_and_stay_above_zero() {
        let settings = SyntheticSettings {
            scale_permille: 1,
            ..SyntheticSettings::default()
        };
        let groups = jobs(settings).into_iter().flat_map(|job| job.tasks);
        assert!(
            groups
                .map(|group| group.count)
                .all(|count| (1..=5).contains(&count))
        );
    }
}
