//! YuniKorn's queues.yaml: guarantees and maximums as amounts, queues without a guarantee as weights.

mod partition;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Converted, quantity};
use crate::output::Problem;

/// Levels of queues and placement rules that are followed.
const DEEPEST: usize = 64;

#[derive(Debug, Deserialize)]
struct Config {
    partitions: Vec<Partition>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
struct Partition {
    name: String,
    #[serde(default)]
    queues: Vec<Queue>,
    #[serde(default)]
    placementrules: Vec<PlacementRule>,
    #[serde(default)]
    limits: Vec<Limit>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_yaml_ng::Value>,
}

#[derive(Debug, Default, Deserialize)]
struct Queue {
    name: String,
    #[serde(default)]
    parent: bool,
    #[serde(default)]
    resources: Resources,
    #[serde(default)]
    maxapplications: Option<u64>,
    #[serde(default)]
    properties: BTreeMap<String, String>,
    #[serde(default)]
    adminacl: Option<String>,
    #[serde(default)]
    submitacl: Option<String>,
    #[serde(default)]
    childtemplate: Option<Template>,
    #[serde(default)]
    queues: Vec<Queue>,
    #[serde(default)]
    limits: Vec<Limit>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_yaml_ng::Value>,
}

#[derive(Debug, Default, Deserialize)]
struct Template {
    #[serde(default)]
    maxapplications: Option<u64>,
    #[serde(default)]
    properties: BTreeMap<String, String>,
    #[serde(default)]
    resources: Resources,
}

type Amounts = BTreeMap<String, Quantity>;

#[derive(Debug, Default, Deserialize)]
struct Resources {
    #[serde(default)]
    guaranteed: Amounts,
    #[serde(default)]
    max: Amounts,
}

/// A quantity, quoted or not.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Quantity {
    Number(u64),
    Text(String),
}

impl Quantity {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.trim().to_owned(),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Limit {
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    maxapplications: Option<u64>,
    #[serde(default)]
    maxresources: Amounts,
}

#[derive(Debug, Deserialize)]
struct PlacementRule {
    name: String,
    #[serde(default)]
    create: bool,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    parent: Option<Box<PlacementRule>>,
    #[serde(default)]
    filter: Option<serde_yaml_ng::Value>,
}

impl PlacementRule {
    fn creates(&self) -> bool {
        self.create || self.parent.as_ref().is_some_and(|above| above.creates())
    }
}

/// Converts a file; the first partition is taken.
pub(super) fn convert(text: &str, name: &str) -> Result<Converted> {
    let config: Config = serde_yaml_ng::from_str(text)
        .map_err(|error| anyhow!(Problem(format!("{name}: {error}"))))?;
    let mut partitions = config.partitions.into_iter();
    let first = partitions.next();
    let first = first.ok_or_else(|| anyhow!(Problem(format!("{name}: there is no partition"))))?;
    let mut out = Converted::default();
    for other in partitions {
        let place = format!("partition {}", other.name);
        out.lose(
            place,
            "the whole partition",
            "a partition is a cluster of its own here",
        );
    }
    partition::properties(&first.name, &first.others, &mut out);
    let mut root = root(first.queues);
    inherit(&mut root);
    if first.placementrules.iter().any(PlacementRule::creates) {
        create_below_parents(&mut root);
    }
    queue(&root, "root", false, 0, name, &mut out)?;
    if root.submitacl.is_none() {
        out.queue("root", "acl_submit_applications", " ");
    }
    if root.adminacl.is_none() {
        out.queue("root", "acl_administer_queue", " ");
    }
    limits(&first.limits, "root", &mut out);
    rules(&first.placementrules, &mut out);
    Ok(out)
}

/// The root queue; what stands beside it belongs below it.
fn root(queues: Vec<Queue>) -> Queue {
    let (mut roots, below): (Vec<Queue>, Vec<Queue>) = queues
        .into_iter()
        .partition(|queue| queue.name.eq_ignore_ascii_case("root"));
    let mut root = roots.pop().unwrap_or_default();
    root.queues.extend(below);
    root
}

const ORDER: &str = "application.sort.policy";

/// A queue without an order of applications has that of its parent, and so have those that a template makes.
// As Queue.mergeProperties.
fn inherit(queue: &mut Queue) {
    let Some(order) = queue.properties.get(ORDER).cloned() else {
        return queue.queues.iter_mut().for_each(inherit);
    };
    let own = |properties: &mut BTreeMap<String, String>| {
        let known = properties.entry(ORDER.to_owned());
        known.or_insert_with(|| order.clone());
    };
    if let Some(template) = &mut queue.childtemplate {
        own(&mut template.properties);
    }
    for child in &mut queue.queues {
        own(&mut child.properties);
        inherit(child);
    }
}

/// Rules that create queues do so below every parent.
fn create_below_parents(queue: &mut Queue) {
    queue.parent |= !queue.queues.is_empty();
    queue.queues.iter_mut().for_each(create_below_parents);
}

fn queue(
    queue: &Queue,
    path: &str,
    ordered: bool,
    depth: usize,
    file: &str,
    out: &mut Converted,
) -> Result<()> {
    if depth > DEEPEST {
        return Err(anyhow!(Problem(format!(
            "{file}: {path}: queues are nested too deep"
        ))));
    }
    if path != "root" {
        amounts(&queue.resources, path, "", out);
    } else if !queue.resources.max.is_empty() || !queue.resources.guaranteed.is_empty() {
        out.lose(path, "resources of root", "root has the whole cluster");
    }
    let offset = |queue: &Queue| queue.properties.contains_key("priority.offset");
    let by_priority = queue.queues.iter().any(offset);
    let leaf = queue.queues.is_empty() && !queue.parent && path != "root";
    own(queue, path, leaf, by_priority, out);
    properties(&queue.properties, path, leaf, ordered, out);
    template(queue, path, out);
    limits(&queue.limits, path, out);
    for key in queue.others.keys() {
        out.lose(path, key.clone(), "there is no counterpart");
    }
    children(queue, path, by_priority, depth, file, out)
}

/// Settings that both schedulers have.
fn own(queue: &Queue, path: &str, leaf: bool, by_priority: bool, out: &mut Converted) {
    if let Some(most) = queue.maxapplications.filter(|most| *most > 0) {
        out.queue(path, "max-parallel-apps", most.to_string());
    }
    for (list, key) in [
        (&queue.submitacl, "acl_submit_applications"),
        (&queue.adminacl, "acl_administer_queue"),
    ] {
        if let Some(list) = list {
            out.queue(path, key, if list.is_empty() { " " } else { list });
        }
    }
    if leaf {
        out.queue(path, "user-limit-factor", "-1");
        return;
    }
    let order = if by_priority {
        "priority-utilization"
    } else {
        "utilization"
    };
    out.queue(path, "ordering-policy", order);
    if queue.parent || queue.queues.is_empty() {
        out.queue(path, "auto-queue-creation-v2.enabled", "true");
    }
}

fn children(
    parent: &Queue,
    path: &str,
    by_priority: bool,
    depth: usize,
    file: &str,
    out: &mut Converted,
) -> Result<()> {
    let names: Vec<&str> = parent
        .queues
        .iter()
        .map(|child| child.name.as_str())
        .collect();
    if let Some(bad) = names
        .iter()
        .find(|name| name.is_empty() || name.contains(['.', ',']))
    {
        let problem = format!("{file}: {path}: `{bad}` is no name of a queue");
        return Err(anyhow!(Problem(problem)));
    }
    if !names.is_empty() {
        out.queue(path, "queues", names.join(","));
    }
    for child in &parent.queues {
        let below = format!("{path}.{}", child.name);
        queue(child, &below, by_priority, depth + 1, file, out)?;
    }
    Ok(())
}

/// Guarantee and maximum of a queue, or of those that a template makes.
fn amounts(resources: &Resources, path: &str, inside: &str, out: &mut Converted) {
    match vector(&resources.guaranteed, path, out) {
        Some(amounts) => out.queue(path, &format!("{inside}capacity"), amounts),
        // Without a guarantee a queue shares what is left.
        None => out.queue(path, &format!("{inside}capacity"), "1w"),
    }
    if let Some(amounts) = vector(&resources.max, path, out) {
        out.queue(path, &format!("{inside}maximum-capacity"), amounts);
    }
}

/// Amounts of memory and vcores; nothing unless both are given.
fn vector(amounts: &Amounts, path: &str, out: &mut Converted) -> Option<String> {
    if amounts.is_empty() {
        return None;
    }
    let (mut memory, mut vcores) = (None, None);
    for (name, amount) in amounts {
        let text = amount.text();
        match name.as_str() {
            "memory" => memory = quantity::bytes(&text).map(|bytes| bytes >> 20),
            "vcore" => {
                let milli = quantity::millicores(&text);
                if milli.is_some_and(|milli| milli % 1_000 != 0) {
                    out.lose(
                        path,
                        format!("vcore {text}"),
                        "vcores are whole; rounded down",
                    );
                }
                vcores = milli.map(|milli| milli / 1_000);
            }
            other => {
                let what = format!("{other} {text}");
                out.lose(
                    path,
                    what,
                    "name the type in yarn.resource-types and add it by hand",
                );
            }
        }
    }
    if let (Some(memory), Some(vcores)) = (memory, vcores) {
        return Some(format!("[memory={memory},vcores={vcores}]"));
    }
    let given = amounts.iter();
    let given = given.map(|(name, amount)| format!("{name} {}", amount.text()));
    let given: Vec<String> = given.collect();
    let why = "memory and vcore are needed together, in known units";
    out.lose(path, given.join(", "), why);
    None
}

fn properties(
    properties: &BTreeMap<String, String>,
    path: &str,
    leaf: bool,
    ordered: bool,
    out: &mut Converted,
) {
    for (name, value) in properties {
        let why = match (name.as_str(), value.trim()) {
            // The leaves below have inherited it.
            (ORDER, _) if !leaf => continue,
            (ORDER, order @ ("fifo" | "fair")) => {
                out.queue(path, "ordering-policy", order);
                continue;
            }
            ("priority.offset", value) if ordered && value.parse::<i32>().is_ok() => {
                out.queue(path, "priority", value);
                continue;
            }
            ("preemption.policy", "disabled") => {
                out.queue(path, "disable_preemption", "true");
                continue;
            }
            ("priority.policy" | "preemption.policy", "default") => continue,
            ("preemption.policy" | "priority.policy", _) => "a queue is no fence here",
            ("preemption.delay", _) => "preemption has one wait for the whole cluster",
            (ORDER, _) => "there is no such order; fifo holds",
            _ => "there is no counterpart",
        };
        out.lose(path, format!("{name} {value}"), why);
    }
}

fn template(queue: &Queue, path: &str, out: &mut Converted) {
    let Some(template) = &queue.childtemplate else {
        return;
    };
    let inside = "auto-queue-creation-v2.leaf-template.";
    amounts(&template.resources, path, inside, out);
    if let Some(most) = template.maxapplications.filter(|most| *most > 0) {
        out.queue(
            path,
            &format!("{inside}max-parallel-apps"),
            most.to_string(),
        );
    }
    for (name, value) in &template.properties {
        match (name.as_str(), value.trim()) {
            (ORDER, order @ ("fifo" | "fair")) => {
                out.queue(path, &format!("{inside}ordering-policy"), order);
            }
            _ => out.lose(
                path,
                format!("childtemplate {name} {value}"),
                "there is no counterpart",
            ),
        }
    }
}

/// Limits of users; those of everybody below root hold for the whole scheduler.
fn limits(limits: &[Limit], path: &str, out: &mut Converted) {
    for limit in limits {
        let everybody = limit.users.iter().any(|user| user == "*");
        match limit.maxapplications.filter(|most| *most > 0) {
            Some(most) if path == "root" && everybody => {
                out.set("user.max-parallel-apps", most.to_string());
            }
            Some(most) if path == "root" => {
                for user in &limit.users {
                    out.set(&format!("user.{user}.max-parallel-apps"), most.to_string());
                }
            }
            Some(most) => {
                let why = "applications of a user are bounded for the whole scheduler only";
                out.lose(path, format!("limit of {most} applications"), why);
            }
            None => {}
        }
        if !limit.groups.is_empty() {
            let what = format!("limit of the groups {}", limit.groups.join(", "));
            out.lose(path, what, "groups have no limits");
        }
        if !limit.maxresources.is_empty() {
            let what = format!("maxresources of {}", limit.users.join(", "));
            let why = "users have a share of a queue (user-limit-factor), no amounts";
            out.lose(path, what, why);
        }
    }
}

fn rules(rules: &[PlacementRule], out: &mut Converted) {
    let mut made: Vec<Value> = Vec::new();
    for rule in rules {
        let policy = match (rule.name.as_str(), &rule.parent) {
            ("provided", None) => json!({"policy": "specified"}),
            ("user", None) => json!({"policy": "user", "parentQueue": "root"}),
            ("user", Some(parent)) if parent.name == "fixed" && parent.parent.is_none() => {
                json!({"policy": "user", "parentQueue": full(parent.value.as_deref())})
            }
            ("fixed", None) => {
                json!({"policy": "custom", "customPlacement": full(rule.value.as_deref())})
            }
            (other, _) => {
                let why = match other {
                    "tag" | "provided" | "user" | "fixed" => "tags and nested parents have no rule",
                    _ => "there is no such rule",
                };
                out.lose("placementrules", other.to_owned(), why);
                continue;
            }
        };
        if rule.filter.is_some() {
            let why = "the rule holds for everybody";
            out.lose("placementrules", format!("filter of {}", rule.name), why);
        }
        let mut policy = policy;
        policy["type"] = "user".into();
        policy["matches"] = "*".into();
        policy["fallbackResult"] = "skip".into();
        policy["create"] = rule.create.into();
        made.push(policy);
    }
    if !made.is_empty() {
        out.set("mapping-rule-format", "json");
        out.set("mapping-rule-json", json!({ "rules": made }).to_string());
        out.set("queue-mappings-override.enable", "true");
    }
}

fn full(queue: Option<&str>) -> String {
    match queue.map(str::trim) {
        None | Some("") => "root".to_owned(),
        Some(queue) if queue == "root" || queue.starts_with("root.") => queue.to_owned(),
        Some(queue) => format!("root.{queue}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
      - name: provided
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: prod
            resources:
              guaranteed: {memory: 64Gi, vcore: 16}
              max: {memory: 128Gi, vcore: 32000m}
            properties:
              application.sort.policy: fair
              preemption.delay: 30s
          - name: dev
            maxapplications: 5
            submitacl: 'ann devs'
          - name: tenants
            parent: true
            childtemplate:
              maxapplications: 3
";

    fn value_of(out: &Converted, name: &str) -> Option<String> {
        out.scheduler
            .get(&format!("yarn.scheduler.capacity.{name}"))
            .cloned()
    }

    #[test]
    fn guarantees_become_amounts_and_the_rest_weights() {
        let out = convert(FILE, "queues.yaml").unwrap();
        for (name, value) in [
            ("root.queues", "prod,dev,tenants"),
            ("root.prod.capacity", "[memory=65536,vcores=16]"),
            ("root.prod.maximum-capacity", "[memory=131072,vcores=32]"),
            ("root.prod.ordering-policy", "fair"),
            ("root.dev.capacity", "1w"),
            ("root.dev.max-parallel-apps", "5"),
            ("root.tenants.auto-queue-creation-v2.enabled", "true"),
            (
                "root.tenants.auto-queue-creation-v2.leaf-template.max-parallel-apps",
                "3",
            ),
        ] {
            assert_eq!(value_of(&out, name).as_deref(), Some(value), "{name}");
        }
        let lost: Vec<&str> = out.lost.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(lost, ["preemption.delay 30s", "tag"]);
        let monitor = "yarn.resourcemanager.scheduler.monitor.enable";
        assert_eq!(out.site.get(monitor).map(String::as_str), Some("true"));
        let report = capsched::config::check(
            &out.sources(&std::collections::BTreeMap::new()),
            &capsched::config::Options::default(),
        );
        assert!(!report.refuses(false), "{report}");
    }

    #[test]
    fn orders_are_inherited_and_rules_that_create_do_so_below_every_parent() {
        let file = "
partitions:
  - name: default
    placementrules: [{name: fixed, value: root.org, create: true}, {name: group}]
    queues:
      - name: root
        queues:
          - name: prod
            properties: {application.sort.policy: fair}
            queues:
              - name: api
              - name: batch
                properties: {application.sort.policy: fifo}
";
        let out = convert(file, "queues.yaml").unwrap();
        for (name, value) in [
            ("root.prod.api.ordering-policy", "fair"),
            ("root.prod.batch.ordering-policy", "fifo"),
            ("root.auto-queue-creation-v2.enabled", "true"),
            ("root.prod.auto-queue-creation-v2.enabled", "true"),
        ] {
            assert_eq!(value_of(&out, name).as_deref(), Some(value), "{name}");
        }
        let lost: Vec<_> = out.lost.iter().map(|one| (&*one.what, one.why)).collect();
        assert_eq!(lost, [("group", "there is no such rule")]);
        let report = capsched::config::check(
            &out.sources(&std::collections::BTreeMap::new()),
            &capsched::config::Options::default(),
        );
        assert!(!report.refuses(false), "{report}");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for file in [
            "",
            "partitions: []",
            "queues: 7",
            "partitions: [{name: x, queues: [{name: a.b}]}]",
        ] {
            let error = convert(file, "q.yaml").unwrap_err();
            assert!(
                error.is::<Problem>() && error.to_string().starts_with("q.yaml"),
                "{error}"
            );
        }
    }
}
