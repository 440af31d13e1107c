//! fair-scheduler.xml, as `yarn fs2cs` converts it.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use roxmltree::Node;

use super::fair_general::{self as general, General, master_share};
use super::xml::{elements, line, parse, text};
use super::{Converted, Stop, fair_placement, fair_refused, quantity};
use crate::output::Problem;

/// Levels of queues that are followed.
const DEEPEST: usize = 64;
/// Package of the policies.
const POLICIES: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.";

/// One queue of the Fair Scheduler.
#[derive(Debug)]
struct FairQueue {
    path: String,
    weight: f32,
    parent: bool,
    preemptable: bool,
    /// `fair`, `drf`, `fifo`; that of the file unless the queue has one.
    policy: String,
    values: BTreeMap<String, (u32, String)>,
    children: Vec<FairQueue>,
}

impl FairQueue {
    /// Adds a queue below this one. Elements with one name describe one queue.
    fn adopt(&mut self, child: FairQueue) {
        match self.children.iter_mut().find(|one| one.path == child.path) {
            Some(same) => same.merge(child),
            None => self.children.push(child),
        }
    }

    /// Takes over what a second element with the name of this queue says.
    fn merge(&mut self, other: FairQueue) {
        if other.values.contains_key("weight") {
            self.weight = other.weight;
        }
        let orders = ["schedulingPolicy", "schedulingMode"];
        if orders.iter().any(|name| other.values.contains_key(*name)) {
            self.policy = other.policy;
        }
        self.parent |= other.parent;
        self.preemptable &= other.preemptable;
        self.values.extend(other.values);
        for child in other.children {
            self.adopt(child);
        }
    }
}

/// The file as a whole.
struct Allocations<'a> {
    name: &'a str,
    site: &'a BTreeMap<String, String>,
    percentages: bool,
    preemption: bool,
    default_policy: String,
    /// Whether the file has an element for root.
    names_root: bool,
    out: Converted,
}

/// Converts an allocation file with the site of the Fair Scheduler.
pub(super) fn convert(
    file: &str,
    name: &str,
    site: &BTreeMap<String, String>,
    percentages: bool,
) -> Result<Converted> {
    let document = parse(file, name)?;
    let top = document.root_element();
    if !top.has_tag_name("allocations") {
        let found = top.tag_name().name();
        let problem = format!("{name}: the root element is `{found}`, not `allocations`");
        return Err(anyhow!(Problem(problem)));
    }
    let flag = |key: &str| site.get(key).is_some_and(|value| value.trim() == "true");
    let mut all = Allocations {
        name,
        site,
        percentages,
        preemption: flag("yarn.scheduler.fair.preemption"),
        default_policy: fair_refused::default_policy(top),
        names_root: elements(top).filter(is_queue).any(is_root),
        out: Converted::default(),
    };
    all.run(top)?;
    all.out.stops.extend(fair_refused::stops(top));
    Ok(all.out)
}

/// The text of the last element that has one of the names: a later one replaces an earlier one.
pub(super) fn last_text(above: Node<'_, '_>, names: &[&str]) -> Option<String> {
    let named = |one: &Node<'_, '_>| names.contains(&one.tag_name().name());
    elements(above).filter(named).last().map(text)
}

fn is_root(node: Node<'_, '_>) -> bool {
    node.attribute("name").map(str::trim) == Some("root")
}

pub(super) fn is_queue(node: &Node<'_, '_>) -> bool {
    node.has_tag_name("queue") || node.has_tag_name("pool")
}

impl Allocations<'_> {
    fn run(&mut self, top: Node<'_, '_>) -> Result<()> {
        let root = self.root(top)?;
        let drf = self.default_policy == "drf" || uses_drf(&root);
        let general = General {
            site: self.site,
            percentages: self.percentages,
            preemption: self.preemption,
            drf,
        };
        general.properties(&mut self.out);
        general::defaults(top, self.name, &mut self.out)?;
        self.queue(&root, None, drf)?;
        fair_placement::rules(top, self.site, self.percentages, &mut self.out);
        Ok(())
    }

    fn problem(&self, line: u32, message: &str) -> anyhow::Error {
        anyhow!(Problem(format!("{}:{line}: {message}", self.name)))
    }

    fn empty(&self, path: &str, preemptable: bool) -> FairQueue {
        FairQueue {
            path: path.to_owned(),
            weight: 1.0,
            parent: false,
            preemptable,
            policy: self.default_policy.clone(),
            values: BTreeMap::new(),
            children: Vec::new(),
        }
    }

    /// The tree: queues of the file stand below root, whether or not the file names it.
    fn root(&self, top: Node<'_, '_>) -> Result<FairQueue> {
        let mut root = self.empty("root", true);
        root.parent = true;
        for node in elements(top).filter(is_queue) {
            if is_root(node) {
                root.merge(self.read(node, "", true, 0)?);
            } else {
                root.adopt(self.read(node, "root", true, 0)?);
            }
        }
        Ok(root)
    }

    fn read(
        &self,
        node: Node<'_, '_>,
        above: &str,
        preemptable: bool,
        depth: usize,
    ) -> Result<FairQueue> {
        let at = line(node);
        let name = node.attribute("name").map_or("", str::trim);
        if name.is_empty() || name.contains('.') {
            return Err(self.problem(at, "the name of a queue is missing, empty or has a dot"));
        }
        if depth > DEEPEST {
            return Err(self.problem(at, "queues are nested too deep"));
        }
        let path = match above {
            "" => name.to_owned(),
            above => format!("{above}.{name}"),
        };
        let mut queue = self.empty(&path, preemptable);
        self.values(node, &mut queue)?;
        for child in elements(node).filter(is_queue) {
            let child = self.read(child, &path, queue.preemptable, depth + 1)?;
            queue.adopt(child);
        }
        let named = node.attribute("type") == Some("parent");
        let reservable = queue.values.contains_key("reservation");
        queue.parent = named || reservable || !queue.children.is_empty();
        Ok(queue)
    }

    /// The elements of a queue, but for the queues below it.
    fn values(&self, node: Node<'_, '_>, queue: &mut FairQueue) -> Result<()> {
        for one in elements(node).filter(|one| !is_queue(one)) {
            let value = (line(one), text(one));
            queue.values.insert(one.tag_name().name().to_owned(), value);
        }
        if let Some((at, value)) = queue.values.get("weight") {
            let weight: Option<f32> = value.parse().ok();
            queue.weight = weight
                .filter(|weight| weight.is_finite() && *weight >= 0.0)
                .ok_or_else(|| self.problem(*at, "the weight is no number of at least 0"))?;
        }
        if let Some((_, value)) = queue.values.get("allowPreemptionFrom") {
            queue.preemptable &= value.eq_ignore_ascii_case("true");
        }
        if let Some(policy) = fair_refused::own_policy(node) {
            queue.policy = policy;
        }
        Ok(())
    }

    /// A queue and those below it.
    // As FSQueueConverter.convertQueueHierarchy.
    fn queue(&mut self, queue: &FairQueue, above: Option<[i64; 2]>, drf: bool) -> Result<()> {
        let path = queue.path.as_str();
        if !queue.children.is_empty() {
            let names = queue
                .children
                .iter()
                .map(|child| child.path.rsplit('.').next().unwrap_or(&child.path));
            let names: Vec<&str> = names.collect();
            self.out.queue(path, "queues", names.join(","));
        }
        let largest = self.own(queue, above)?;
        self.out.queue(path, "maximum-capacity", "100");
        self.capacities(queue);
        // With percentages a parent without children is a leaf, as it creates none.
        if !queue.parent || (self.percentages && queue.children.is_empty()) {
            self.out.queue(path, "user-limit-factor", "-1");
        }
        if !queue.parent {
            self.order(queue, drf);
        }
        self.lost(queue);
        for child in &queue.children {
            self.queue(child, largest, drf)?;
        }
        Ok(())
    }

    /// Settings that both schedulers have; the largest allocation that holds for the children.
    fn own(&mut self, queue: &FairQueue, above: Option<[i64; 2]>) -> Result<Option<[i64; 2]>> {
        let path = queue.path.as_str();
        if let Some((at, text)) = queue.values.get("maxAMShare") {
            let share: f32 = text
                .parse()
                .map_err(|_| self.problem(*at, "`maxAMShare` is no number"))?;
            self.out
                .queue(path, "maximum-am-resource-percent", master_share(share));
        }
        if let Some((_, most)) = queue.values.get("maxRunningApps") {
            self.out.queue(path, "max-parallel-apps", most);
        }
        self.access(queue);
        if self.preemption && !queue.preemptable {
            self.out.queue(path, "disable_preemption", "true");
        }
        Ok(self.largest(queue, above))
    }

    fn access(&mut self, queue: &FairQueue) {
        let path = queue.path.as_str();
        for (name, key) in [
            ("aclSubmitApps", "acl_submit_applications"),
            ("aclAdministerApps", "acl_administer_queue"),
        ] {
            match queue.values.get(name) {
                None if path == "root" && self.names_root => self.out.queue(path, key, "*"),
                // Nobody, which `yarn fs2cs` leaves out: root would be open to everybody.
                Some((_, list)) if list.is_empty() && path == "root" => {
                    self.out.queue(path, key, " ");
                }
                Some((_, list)) if !list.is_empty() => self.out.queue(path, key, list),
                _ => {}
            }
        }
    }

    /// The largest container: that of the parent unless the queue has another one.
    fn largest(&mut self, queue: &FairQueue, above: Option<[i64; 2]>) -> Option<[i64; 2]> {
        let path = queue.path.as_str();
        let Some((at, text)) = queue.values.get("maxContainerAllocation") else {
            return above;
        };
        let Some(own) = quantity::fair(text) else {
            let what = format!("maxContainerAllocation {text}");
            self.out
                .lose(format!("{path}, line {at}"), what, "no amounts");
            return above;
        };
        if above != Some(own) {
            for (name, amount) in ["mb", "vcores"].iter().zip(own) {
                let key = format!("maximum-allocation-{name}");
                self.out.queue(path, &key, amount.to_string());
            }
        }
        Some(own)
    }

    /// Weights of the children, or their percentages.
    // As WeightToWeightConverter and WeightToPercentConverter.
    fn capacities(&mut self, queue: &FairQueue) {
        if self.percentages {
            self.inexact(queue);
            for (child, percent) in queue.children.iter().zip(percentages(&queue.children)) {
                let text = format!("{}.{:03}", percent / 1000, percent % 1000);
                self.out.queue(&child.path, "capacity", text);
            }
            let none = |child: &FairQueue| child.weight <= 0.0;
            if queue.children.len() > 1 && queue.children.iter().all(none) {
                self.out
                    .queue(&queue.path, "allow-zero-capacity-sum", "true");
            }
            return;
        }
        if queue.parent {
            if queue.path == "root" {
                self.out.queue("root", "capacity", weight(queue.weight));
            }
            for child in &queue.children {
                self.out
                    .queue(&child.path, "capacity", weight(child.weight));
            }
            self.out
                .queue(&queue.path, "auto-queue-creation-v2.enabled", "true");
        }
    }

    /// Names the first weight of which the reference computes no percentage.
    // As WeightToPercentConverter.
    #[expect(
        clippy::float_arithmetic,
        reason = "the reference asks for exact fractions"
    )]
    fn inexact(&mut self, queue: &FairQueue) {
        let children = &queue.children;
        let sum: f64 = children.iter().map(|child| f64::from(child.weight)).sum();
        if children.len() < 2 || sum < 1.0 {
            return;
        }
        let inexact = |child: &&FairQueue| (f64::from(child.weight) * 100_000.0).fract() != 0.0;
        if let Some(child) = children.iter().find(inexact) {
            let at = child.values.get("weight").map_or(0, |(at, _)| *at);
            self.out.stops.push(Stop {
                place: format!("line {at}"),
                what: format!("weight {} of {} as a percentage", child.weight, child.path),
                why: "it takes only weights that binary fractions of five digits hold, such as 0.25",
                file: true,
            });
        }
    }

    fn order(&mut self, queue: &FairQueue, drf: bool) {
        let path = queue.path.as_str();
        let size_based = self.site.get("yarn.scheduler.fair.sizebasedweight");
        if size_based.is_some_and(|value| value.trim() == "true") {
            let key = "ordering-policy.fair.enable-size-based-weight";
            self.out.queue(path, key, "true");
        }
        match queue.policy.as_str() {
            "fifo" => self.out.queue(path, "ordering-policy", "fifo"),
            "fair" | "drf" => {
                self.out.queue(path, "ordering-policy", "fair");
                if drf && queue.policy == "fair" {
                    let why =
                        "one calculator holds for the cluster, and another queue asks for drf";
                    self.out
                        .lose(path, "schedulingPolicy fair by memory alone", why);
                }
            }
            other => {
                let why = "there is no such order; fifo holds";
                self.out
                    .lose(path, format!("schedulingPolicy {other}"), why);
            }
        }
    }

    fn lost(&mut self, queue: &FairQueue) {
        for (name, (at, value)) in &queue.values {
            let why = match name.as_str() {
                "minResources" => "a minimum beside a weight has no counterpart",
                "maxResources" => "amounts beside weights are not read; the maximum is 100 %",
                "maxChildResources" => "a maximum of undeclared children has no counterpart",
                "minSharePreemptionTimeout"
                | "fairSharePreemptionTimeout"
                | "fairSharePreemptionThreshold" => {
                    "preemption has one wait for the whole cluster, not by queue"
                }
                "reservation" => "reservable queues are configured otherwise",
                "weight"
                | "maxAMShare"
                | "maxRunningApps"
                | "aclSubmitApps"
                | "aclAdministerApps"
                | "maxContainerAllocation"
                | "schedulingPolicy"
                | "schedulingMode"
                | "allowPreemptionFrom" => continue,
                _ => "the element is not known",
            };
            let place = format!("{}, line {at}", queue.path);
            self.out.lose(place, format!("{name} {value}"), why);
        }
    }
}

fn uses_drf(queue: &FairQueue) -> bool {
    queue.policy == "drf" || queue.children.iter().any(uses_drf)
}

/// The short name of a policy, which a file may also name by its class.
// As SchedulingPolicy.parse.
pub(super) fn policy_name(text: &str) -> String {
    let class = text.strip_prefix(POLICIES);
    match class {
        Some("FairSharePolicy") => "fair".to_owned(),
        Some("FifoPolicy") => "fifo".to_owned(),
        Some("DominantResourceFairnessPolicy") => "drf".to_owned(),
        _ => text.to_ascii_lowercase(),
    }
}

fn weight(weight: f32) -> String {
    format!("{weight}w")
}

/// Thousandths of a percent that sum to 100 %, unless all weights are 0. The largest takes what
/// rounding left.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    reason = "weights are fractions, and percentages have three digits"
)]
fn percentages(children: &[FairQueue]) -> Vec<i64> {
    let sum: f64 = children.iter().map(|child| f64::from(child.weight)).sum();
    if children.len() == 1 {
        return vec![100_000];
    }
    if sum <= 0.0 {
        return vec![0; children.len()];
    }
    let share = |child: &FairQueue| (f64::from(child.weight) / sum * 100_000.0).round() as i64;
    let mut all: Vec<i64> = children.iter().map(share).collect();
    let rest = 100_000 - all.iter().sum::<i64>();
    let most = all.iter().copied().max().unwrap_or(0);
    if let Some(largest) = all.iter_mut().find(|share| **share == most) {
        *largest += rest;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "<?xml version='1.0'?>\n<allocations>\n\
        <queue name='prod'><weight>3</weight><schedulingPolicy>drf</schedulingPolicy>\n\
        <minResources>1024 mb, 1 vcores</minResources>\n\
        <queue name='etl'><maxRunningApps>7</maxRunningApps></queue></queue>\n\
        <queue name='dev'><allowPreemptionFrom>false</allowPreemptionFrom>\n\
        <aclSubmitApps>ann,bob devs</aclSubmitApps><schedulingPolicy>fifo</schedulingPolicy></queue>\n\
        <queuePlacementPolicy><rule name='specified' create='false'/><rule name='default' queue='dev'/>\n\
        </queuePlacementPolicy></allocations>";

    fn own(out: &Converted, name: &str) -> Option<String> {
        out.scheduler
            .get(&format!("yarn.scheduler.capacity.{name}"))
            .cloned()
    }

    #[test]
    fn queues_weights_and_orders_are_kept_and_the_rest_is_listed() {
        let site = BTreeMap::from([(
            "yarn.scheduler.fair.preemption".to_owned(),
            "true".to_owned(),
        )]);
        let out = convert(FILE, "f.xml", &site, false).unwrap();
        for (name, value) in [
            ("root.queues", "prod,dev"),
            ("root.prod.capacity", "3w"),
            ("root.dev.capacity", "1w"),
            ("root.prod.etl.max-parallel-apps", "7"),
            ("root.dev.disable_preemption", "true"),
            ("root.dev.acl_submit_applications", "ann,bob devs"),
            ("root.dev.ordering-policy", "fifo"),
            ("root.prod.auto-queue-creation-v2.enabled", "true"),
            ("root.prod.etl.user-limit-factor", "-1"),
            ("maximum-am-resource-percent", "0.5"),
        ] {
            assert_eq!(own(&out, name).as_deref(), Some(value), "{name}");
        }
        let report = capsched::config::check(
            &out.sources(&BTreeMap::new()),
            &capsched::config::Options::default(),
        );
        assert!(!report.refuses(false), "{report}");
        let minimum = out
            .lost
            .iter()
            .find(|one| one.what.starts_with("minResources"))
            .unwrap();
        assert_eq!(minimum.place, "root.prod, line 4");
    }

    #[test]
    fn percentages_sum_to_a_hundred() {
        let file = "<allocations><queue name='a'/><queue name='b'/><queue name='c'/></allocations>";
        let out = convert(file, "f.xml", &BTreeMap::new(), true).unwrap();
        let shares = ["a", "b", "c"].map(|name| own(&out, &format!("root.{name}.capacity")));
        let shares = shares.map(Option::unwrap);
        assert_eq!(shares, ["33.334", "33.333", "33.333"].map(str::to_owned));
        let report = capsched::config::check(
            &out.sources(&BTreeMap::new()),
            &capsched::config::Options::default(),
        );
        assert!(!report.refuses(false), "{report}");
    }

    #[test]
    fn foreign_and_broken_files_are_refused_with_their_place() {
        let none = BTreeMap::new();
        for (file, part) in [
            ("<configuration/>", "not `allocations`"),
            (
                "<allocations>\n<queue name='a.b'/></allocations>",
                "f.xml:2",
            ),
            (
                "<allocations><queue name='a'><weight>x</weight></queue></allocations>",
                "weight",
            ),
            ("<allocations>", "f.xml:1"),
        ] {
            let error = convert(file, "f.xml", &none, false).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert!(error.is::<Problem>());
        }
    }
}
