//! What fair-scheduler.xml and its site say about the whole scheduler.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use roxmltree::Node;

use super::Converted;
use super::fair::last_text;
use super::xml::{elements, line, text};
use crate::output::Problem;

const FAIR: &str = "yarn.scheduler.fair.";
const CALCULATOR: &str = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
const SCHEDULER: &str =
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler";
const RM: &str = "org.apache.hadoop.yarn.server.resourcemanager.";
const PREEMPTION: &str = "yarn.resourcemanager.monitor.capacity.preemption.";

/// Properties of the site below [`FAIR`] that are read, or that a conversion needs no longer.
const READ: [&str; 11] = [
    "allocation.file",
    "allow-undeclared-pools",
    "assignmultiple",
    "continuous-scheduling-enabled",
    "continuous-scheduling-sleep-ms",
    "max.assign",
    "preemption",
    "sizebasedweight",
    "user-as-default-queue",
    "waitTimeBeforeKill",
    "waitTimeBeforeNextStarvationCheck",
];

/// What the properties of the whole scheduler follow from.
pub(super) struct General<'a> {
    pub(super) site: &'a BTreeMap<String, String>,
    pub(super) percentages: bool,
    pub(super) preemption: bool,
    /// Whether a queue divides by the dominant resource.
    pub(super) drf: bool,
}

impl General<'_> {
    fn get(&self, name: &str, default: &str) -> String {
        let value = self.site.get(&format!("{FAIR}{name}"));
        value.map_or(default, |value| value.trim()).to_owned()
    }

    /// Sets the properties of both files.
    // As FSYarnSiteConverter.
    pub(super) fn properties(&self, out: &mut Converted) {
        out.site("yarn.resourcemanager.scheduler.class", SCHEDULER);
        out.site("yarn.resourcemanager.scheduler.monitor.enable", "true");
        out.site(
            "yarn.resourcemanager.scheduler.monitor.policies",
            self.policies(),
        );
        if self.preemption {
            let wait = self.get("waitTimeBeforeKill", "15000");
            out.site(&format!("{PREEMPTION}max_wait_before_kill"), wait);
            let check = self.get("waitTimeBeforeNextStarvationCheck", "10000");
            out.site(&format!("{PREEMPTION}monitoring_interval"), check);
        }
        if self.drf {
            out.set("resource-calculator", CALCULATOR);
        }
        let multiple = self.get("assignmultiple", "false");
        out.set("per-node-heartbeat.multiple-assignments-enabled", multiple);
        let most = self.get("max.assign", "-1");
        if most != "-1" {
            out.set("per-node-heartbeat.maximum-container-assignments", most);
        }
        if self.get("continuous-scheduling-enabled", "false") == "true" {
            out.set("schedule-asynchronously.enable", "true");
            let pause = self.get("continuous-scheduling-sleep-ms", "5");
            out.set("schedule-asynchronously.scheduling-interval-ms", pause);
        }
        self.lost(out);
        if !self.percentages {
            // Created queues go as fast as the Fair Scheduler removes them.
            out.set("auto-queue-creation-v2.queue-expiration-time", "10");
        }
    }

    /// Lists the properties of the site that nothing is made of.
    fn lost(&self, out: &mut Converted) {
        for (key, value) in self.site {
            let why = match key.strip_prefix(FAIR) {
                Some(name) if READ.contains(&name) => continue,
                // `yarn fs2cs` takes the share of the nodes for a number of opportunities.
                Some("locality.threshold.node" | "locality.threshold.rack") => {
                    "delays for locality count missed opportunities, not shares of the nodes"
                }
                Some(_) => "the property has no counterpart",
                None if key.contains("increment-allocation") => {
                    "amounts are rounded up to the smallest allocation alone"
                }
                None => continue,
            };
            out.lose("yarn-site.xml", format!("{key} {value}"), why);
        }
    }

    /// The classes that the monitor runs.
    fn policies(&self) -> String {
        let preemption = "monitor.capacity.ProportionalCapacityPreemptionPolicy";
        let deletion = "scheduler.capacity.AutoCreatedQueueDeletionPolicy";
        let refresh = "scheduler.capacity.QueueConfigurationAutoRefreshPolicy";
        let all = [
            (self.preemption, preemption),
            (!self.percentages, deletion),
            (true, refresh),
        ];
        let named = all.iter().filter(|(wanted, _)| *wanted);
        let named: Vec<String> = named.map(|(_, class)| format!("{RM}{class}")).collect();
        named.join(",")
    }
}

/// -1 switches the limit off in the Fair Scheduler, and more than all of a queue is all of it.
pub(super) fn master_share(share: f32) -> String {
    match share {
        off if off < 0.0 => "1".to_owned(),
        share => share.min(1.0).to_string(),
    }
}

/// Defaults that stand outside the queues. `file` stands in errors.
pub(super) fn defaults(top: Node<'_, '_>, file: &str, out: &mut Converted) -> Result<()> {
    let named = |one: &Node<'_, '_>| one.has_tag_name("queueMaxAMShareDefault");
    let node = elements(top).filter(named).last();
    let share = match node {
        None => 0.5,
        Some(node) => text(node).parse::<f32>().map_err(|_| {
            let at = line(node);
            let problem = format!("{file}:{at}: `queueMaxAMShareDefault` is no number");
            anyhow!(Problem(problem))
        })?,
    };
    out.set("maximum-am-resource-percent", master_share(share));
    if let Some(most) = last_text(top, &["queueMaxAppsDefault"]) {
        out.set("max-parallel-apps", most);
    }
    if let Some(most) = last_text(top, &["userMaxAppsDefault"]) {
        out.set("user.max-parallel-apps", most);
    }
    for user in elements(top).filter(|one| one.has_tag_name("user")) {
        let name = user.attribute("name").map_or("", str::trim).to_owned();
        if let Some(most) = last_text(user, &["maxRunningApps"]) {
            out.set(&format!("user.{name}.max-parallel-apps"), most);
        }
    }
    for one in elements(top) {
        let name = one.tag_name().name();
        if let Some(why) = lost(name) {
            out.lose(format!("line {}", line(one)), name, why);
        }
    }
    Ok(())
}

/// Why an element outside the queues has no counterpart.
fn lost(name: &str) -> Option<&'static str> {
    match name {
        "queueMaxResourcesDefault" => Some("a maximum by default has no counterpart"),
        "defaultMinSharePreemptionTimeout"
        | "defaultFairSharePreemptionTimeout"
        | "fairSharePreemptionTimeout"
        | "defaultFairSharePreemptionThreshold" => {
            Some("preemption has one wait for the whole cluster, not by queue")
        }
        "reservation-agent" | "reservation-policy" | "reservation-planner" => {
            Some("the reservation system is configured otherwise")
        }
        "queue"
        | "pool"
        | "user"
        | "userMaxAppsDefault"
        | "queueMaxAppsDefault"
        | "queueMaxAMShareDefault"
        | "defaultQueueSchedulingPolicy"
        | "defaultQueueSchedulingMode"
        | "queuePlacementPolicy" => None,
        _ => Some("the element is not known"),
    }
}
