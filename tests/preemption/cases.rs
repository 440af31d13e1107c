//! Preemption against tables of cases: one round, or a few on a timeline, and who loses how much.
//!
//! `tests/fixtures/preemption-cases.json` holds the published cases. More tables of the same
//! schema run with `CAPSCHED_PREEMPTION_CASES=one.json,two.json`; a colon or a space between the
//! paths will do as well.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a malformed table is a failed test; what further tables held is printed"
)]

use std::collections::BTreeMap;
use std::path::Path;

use capsched::commit::VerdictKind;
use capsched::config;
use capsched::id::{ApplicationId, ContainerId, NodeName, NodeSlot, SchedulerKey};
use capsched::rescheduler::{
    LimitLookup, Memory, RoundApp, RoundContainer, RoundInput, RoundLeaf, RoundNode, RoundPlan,
    RoundQueue, RoundQueuePart, RoundUser, Settings, plan,
};
use capsched::resource::{Calculator, ResourceVector, share};
use serde_json::Value;

const PREFIX: &str = "yarn.resourcemanager.monitor.capacity.preemption.";

/// A case as the policy sees it, and the names behind the positions.
struct Case<'a> {
    table: &'a Value,
    view: RoundInput,
    partitions: Vec<&'a str>,
    apps: BTreeMap<&'a str, usize>,
    nodes: BTreeMap<&'a str, usize>,
    users: BTreeMap<(usize, &'a str), usize>,
}

/// The same limit for every user of a leaf.
struct EqualLimits(Vec<ResourceVector>);

impl LimitLookup for EqualLimits {
    fn among_all(&mut self, queue: usize, _: usize, _: usize) -> ResourceVector {
        self.0[queue]
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn amount(value: &Value) -> ResourceVector {
    let values: Vec<_> = list(value).map(|value| value.as_i64().unwrap()).collect();
    ResourceVector::of(&values)
}

impl<'a> Case<'a> {
    fn of(table: &'a Value) -> Self {
        let types = list(&table["resourceTypes"]).count().max(2);
        let calculator = match text(&table["calculator"]) {
            "default" => Calculator::MemoryOnly { types },
            _ => Calculator::Dominant { types },
        };
        let labels = table["labels"].as_object().unwrap();
        let mut partitions: Vec<_> = labels.keys().map(String::as_str).collect();
        partitions.sort_unstable();
        let totals = partitions
            .iter()
            .map(|&name| amount(&labels[name]["total"]));
        let view = RoundInput {
            calculator,
            cluster: amount(&table["clusterResource"]),
            minimum: ResourceVector::splat(1, list(&table["resourceTypes"]).count()),
            partitions: totals.collect(),
            queues: Vec::new(),
            users: Vec::new(),
            apps: Vec::new(),
            nodes: Vec::new(),
            containers: Vec::new(),
        };
        let mut case = Self {
            table,
            view,
            partitions,
            apps: BTreeMap::new(),
            nodes: BTreeMap::new(),
            users: BTreeMap::new(),
        };
        case.add_queue(&table["queues"], None, false);
        list(&table["nodes"]).for_each(|node| case.add_node(node));
        list(&table["apps"]).for_each(|app| case.add_app(app));
        case.sum_up();
        case
    }

    fn partition(&self, name: &str) -> usize {
        let found = self.partitions.iter().position(|&known| known == name);
        found.unwrap_or_else(|| panic!("no partition `{name}`"))
    }

    fn add_queue(&mut self, table: &'a Value, parent: Option<usize>, above_disabled: bool) {
        let at = self.view.queues.len();
        let disabled = table["disablePreemption"].as_bool();
        let disabled = disabled.unwrap_or(above_disabled);
        let leaf = list(&table["children"]).next().is_none();
        let by_priority = self.table["harness"] == "H2" && parent.is_some();
        let priority = table["priority"].as_i64().filter(|_| by_priority);
        let parts = self.partitions.iter().enumerate();
        let parts: Vec<_> = parts
            .map(|(i, name)| self.part(&table["partitions"][name], i, leaf))
            .collect();
        let masters = table["maxAmResourcePercent"].as_f64().unwrap_or(0.0);
        let default = self.partition("");
        let masters = share::times(&amount(&table["partitions"][""]["guaranteed"]), masters);
        assert_eq!(default, 0, "the default partition sorts first");
        self.view.queues.push(RoundQueue {
            path: text(&table["path"]).into(),
            parent,
            children: Vec::new(),
            priority: i32::try_from(priority.unwrap_or(0)).unwrap(),
            preemption_disabled: disabled,
            intra_queue_disabled: disabled,
            parts,
            leaf: leaf.then(|| RoundLeaf {
                masters,
                ..RoundLeaf::default()
            }),
        });
        for child in list(&table["children"]) {
            let next = self.view.queues.len();
            self.view.queues[at].children.push(next);
            self.add_queue(child, Some(at), disabled);
        }
    }

    fn part(&self, table: &Value, partition: usize, leaf: bool) -> RoundQueuePart {
        let total = self.view.partitions[partition];
        let [used, reserved, pending, guaranteed, maximum] =
            ["used", "reserved", "pending", "guaranteed", "max"].map(|name| amount(&table[name]));
        let label = &self.table["labels"][self.partitions[partition]];
        let shared = partition != 0 && label["exclusive"] == false;
        let bounded = !maximum.is_none() || !shared;
        let none = ResourceVector::NONE;
        let fraction = |part: i64, of: i64| match of {
            0 => 0.0,
            of => share::safe_div(part, of),
        };
        RoundQueuePart {
            used,
            reserved,
            guaranteed,
            maximum: if bounded { maximum } else { total },
            killable: none,
            pending: if leaf { pending } else { none },
            pending_without_reserved: if leaf {
                (pending - reserved).component_max(&none)
            } else {
                none
            },
            absolute_capacity: fraction(guaranteed.memory(), total.memory()),
            used_capacity: fraction(used.memory(), guaranteed.memory()),
        }
    }

    fn add_node(&mut self, table: &'a Value) {
        let name = text(&table["id"]);
        let partition = self.partition(text(&table["partition"]));
        let total = match &table["total"] {
            Value::Null => self.view.partitions[partition],
            total => amount(total),
        };
        let at = self.view.nodes.len();
        self.nodes.insert(name, at);
        self.view.nodes.push(RoundNode {
            slot: NodeSlot::at(at),
            java_hash: NodeName::new(name, 1).unwrap().java_hash(),
            partition,
            total,
            allocated: ResourceVector::NONE,
            killable: ResourceVector::NONE,
            running: Vec::new(),
            reserved: None,
        });
    }

    fn add_app(&mut self, table: &'a Value) {
        let at = self.view.apps.len();
        let path = text(&table["queue"]);
        let queues = &self.view.queues;
        let queue = queues
            .iter()
            .position(|queue| *queue.path == *path)
            .unwrap();
        let none = vec![ResourceVector::NONE; self.partitions.len()];
        let next = self.users.len();
        let user = *self
            .users
            .entry((queue, text(&table["user"])))
            .or_insert(next);
        if user == self.view.users.len() {
            self.view.users.push(RoundUser { used: none.clone() });
        }
        let asked = |name: &&str| amount(&table["pending"][name]);
        self.apps.insert(text(&table["id"]), at);
        self.view.apps.push(RoundApp {
            id: ApplicationId::new(u32::try_from(at + 1).unwrap()),
            queue,
            user,
            priority: i32::try_from(table["priority"].as_i64().unwrap_or(0)).unwrap(),
            master_size: ResourceVector::NONE,
            master_partition: Some(0),
            started: true,
            used: none,
            pending: self.partitions.iter().map(asked).collect(),
            fair_key: (0.0, u64::try_from(at).unwrap()),
            live: Vec::new(),
            reserved: Vec::new(),
        });
        let leaf = self.view.queues[queue].leaf.as_mut().unwrap();
        leaf.active.push(at);
        leaf.apps.push(at);
        let mut number = 0;
        for group in list(&table["containers"]) {
            for _ in 0..group["count"].as_u64().unwrap() {
                number += 1;
                self.add_container(at, number, group);
            }
        }
    }

    fn add_container(&mut self, app: usize, number: u32, table: &Value) {
        let at = self.view.containers.len();
        let node = self.nodes[text(&table["node"])];
        let partition = self.view.nodes[node].partition;
        let row = &mut self.view.apps[app];
        let size = amount(&table["resource"]);
        let (reserved, master) = (table["reserved"] == true, table["am"] == true);
        if reserved {
            row.reserved.push(at);
            self.view.nodes[node].reserved = Some(at);
        } else {
            row.live.push(at);
            row.used[partition] += size;
            self.view.users[row.user].used[partition] += size;
            self.view.nodes[node].running.push(at);
            self.view.nodes[node].allocated += size;
        }
        if master {
            row.master_size = size;
            row.master_partition = Some(partition);
        }
        let id = ContainerId::new(row.id, number);
        let priority = table["priority"].as_i64().unwrap_or(1);
        let requested = self.partition(text(&table["labelExpression"]));
        self.view.containers.push(RoundContainer {
            id,
            app,
            key: SchedulerKey::new(i32::try_from(priority).unwrap(), 0),
            size,
            node,
            requested_partition: Some(requested),
            reserved,
            master,
            killable: false,
            may_move: true,
            stamp: u64::try_from(at).unwrap(),
            created_ms: 0,
        });
    }

    /// Parents want what their children want; applications are served by priority, then in order.
    fn sum_up(&mut self) {
        for at in (0..self.view.queues.len()).rev() {
            let parts = self.view.queues[at].parts.clone();
            if let Some(parent) = self.view.queues[at].parent {
                let above = &mut self.view.queues[parent].parts;
                for (above, part) in above.iter_mut().zip(&parts) {
                    above.pending += part.pending;
                    above.pending_without_reserved += part.pending_without_reserved;
                }
            }
            let apps = &self.view.apps;
            if let Some(leaf) = &mut self.view.queues[at].leaf {
                leaf.active
                    .sort_by_key(|&app| (std::cmp::Reverse(apps[app].priority), apps[app].id));
            }
        }
    }

    /// The guarantee of a leaf on the default partition, shared equally among its users.
    fn limits(&self) -> EqualLimits {
        let of_queue = |(at, queue): (usize, &RoundQueue)| {
            let users = self.users.keys().filter(|(queue, _)| *queue == at).count();
            let users = i64::try_from(users.max(1)).unwrap();
            let guaranteed = queue.parts[0].guaranteed;
            ResourceVector::build(|i| share::ceil_div(guaranteed[i], users))
        };
        EqualLimits(self.view.queues.iter().enumerate().map(of_queue).collect())
    }

    fn settings(&self) -> Settings {
        let word = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let keys = self.table["config"].as_object().unwrap();
        let keys = keys.iter().map(|(key, value)| {
            let full = key.starts_with("yarn.");
            let key = if full {
                key.clone()
            } else {
                format!("{PREFIX}{key}")
            };
            (key, word(value))
        });
        let mut site: BTreeMap<_, _> = keys.collect();
        let monitor = "yarn.resourcemanager.scheduler.monitor.enable";
        site.insert(monitor.to_owned(), "true".to_owned());
        let queues = [
            ("yarn.scheduler.capacity.root.queues", "a"),
            ("yarn.scheduler.capacity.root.a.capacity", "100"),
        ];
        let queues = queues.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&site, &BTreeMap::from(queues), &types);
        loaded
            .unwrap_or_else(|report| panic!("{report}"))
            .preemption
    }

    fn round(&self, memory: &mut Memory, now_ms: u64) -> RoundPlan {
        plan(
            &self.view,
            &self.settings(),
            &mut self.limits(),
            memory,
            now_ms,
        )
    }

    fn check(&self) -> Vec<String> {
        let expected = &self.table["expected"];
        let chosen = self.round(&mut Memory::default(), 0);
        let mut found = self.check_chosen(expected, &chosen);
        found.extend(self.check_ideal(&expected["idealAssigned"], &chosen));
        found.extend(self.check_timeline(&expected["timeline"]));
        found
    }

    fn check_chosen(&self, expected: &Value, plan: &RoundPlan) -> Vec<String> {
        let rows: Vec<_> = plan.chosen.iter().map(|(id, _)| self.row(*id)).collect();
        let per_app = self.count("app", &expected["preempted"], &self.apps, |at| {
            rows.iter().filter(|row| row.app == at).count()
        });
        let per_node = self.count("node", &expected["preemptedPerNode"], &self.nodes, |at| {
            rows.iter().filter(|row| row.node == at).count()
        });
        per_app.into_iter().chain(per_node).collect()
    }

    fn row(&self, id: ContainerId) -> &RoundContainer {
        let mut rows = self.view.containers.iter();
        rows.find(|row| row.id == id).unwrap()
    }

    fn count(
        &self,
        what: &str,
        expected: &Value,
        positions: &BTreeMap<&str, usize>,
        counted: impl Fn(usize) -> usize,
    ) -> Vec<String> {
        let expected = expected.as_object().into_iter().flatten();
        let wrong = expected.filter_map(|(name, wanted)| {
            let got = counted(positions[name.as_str()]);
            let right = wanted.as_u64() == u64::try_from(got).ok();
            (!right).then(|| format!("{what} {name}: expected {wanted}, got {got}"))
        });
        wrong.collect()
    }

    fn check_ideal(&self, expected: &Value, plan: &RoundPlan) -> Vec<String> {
        let mut found = Vec::new();
        for (path, parts) in expected.as_object().into_iter().flatten() {
            let mut queues = self.view.queues.iter();
            let queue = queues.position(|queue| *queue.path == **path).unwrap();
            for (name, wanted) in parts.as_object().into_iter().flatten() {
                let got = &plan.ideal[queue][self.partition(name)];
                let types = list(wanted).count();
                if amount(wanted).values(types) != got.values(types) {
                    found.push(format!("ideal of {path}: expected {wanted}, got {got}"));
                }
            }
        }
        found
    }

    fn check_timeline(&self, timeline: &Value) -> Vec<String> {
        let mut memory = Memory::default();
        let mut found = Vec::new();
        for moment in list(timeline) {
            let now = moment["nowMs"].as_u64().unwrap();
            let plan = self.round(&mut memory, now);
            let mut got: BTreeMap<(&str, &str), u64> = BTreeMap::new();
            for verdict in &plan.verdicts {
                let word = match verdict.kind {
                    VerdictKind::AskBack { .. } => "MARK_CONTAINER_FOR_PREEMPTION",
                    VerdictKind::Kill => "MARK_CONTAINER_FOR_KILLABLE",
                    _ => continue,
                };
                let app = self.row(verdict.container).app;
                let named = self.apps.iter().find(|(_, at)| **at == app).unwrap();
                *got.entry((word, named.0)).or_default() += 1;
            }
            let mut wanted = BTreeMap::new();
            for (word, apps) in moment["events"].as_object().unwrap() {
                for (app, count) in apps.as_object().unwrap() {
                    wanted.insert((word.as_str(), app.as_str()), count.as_u64().unwrap());
                }
            }
            if got != wanted {
                found.push(format!("at {now} ms: expected {wanted:?}, got {got:?}"));
            }
        }
        found
    }
}

/// What went wrong in each case of a table.
fn failures(path: &Path) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let cases: Value = serde_json::from_str(&text).unwrap();
    let mut failed = Vec::new();
    let mut passed = 0;
    assert!(cases.is_array(), "{} is no list of cases", path.display());
    for table in list(&cases) {
        if table["expected"]["uncertain"] == true {
            continue;
        }
        let checked = std::panic::catch_unwind(|| Case::of(table).check());
        let wrong = checked.unwrap_or_else(|_| vec!["is not of the schema, see above".to_owned()]);
        if wrong.is_empty() {
            passed += 1;
        } else {
            failed.push(format!("{}: {}", table["name"], wrong.join("; ")));
        }
    }
    (passed, failed)
}

#[test]
fn published_cases_take_what_the_reference_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("tests/fixtures/preemption-cases.json");
    let (passed, failed) = failures(&path);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed, 59, "every case was looked at");
}

#[test]
fn random_cases_take_what_an_independent_model_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("tests/fixtures/preemption-random.json");
    let (passed, failed) = failures(&path);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed, 73, "every case was looked at");
}

/// The paths of a list; a name of a file is one path, whatever stands in it.
fn named(paths: &str) -> Vec<&str> {
    if Path::new(paths).is_file() {
        return vec![paths];
    }
    let parts = paths.split(|c: char| c == ',' || c == ':' || c.is_whitespace());
    parts.filter(|path| !path.is_empty()).collect()
}

#[test]
fn lists_of_tables_are_split_at_commas_colons_and_spaces() {
    assert_eq!(
        named("a.json,b.json:c.json d.json"),
        ["a.json", "b.json", "c.json", "d.json"]
    );
    assert_eq!(named(""), [] as [&str; 0]);
}

#[test]
fn further_tables_take_what_they_say() {
    let paths = std::env::var("CAPSCHED_PREEMPTION_CASES").unwrap_or_default();
    let mut all = Vec::new();
    for path in named(&paths) {
        let (passed, failed) = failures(Path::new(path));
        assert!(passed + failed.len() > 0, "{path} holds no case");
        println!("{path}: {passed} cases pass, {} fail", failed.len());
        all.extend(failed);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
