//! Placement rules of the Fair Scheduler as mapping rules in JSON.

use std::collections::BTreeMap;

use roxmltree::Node;
use serde_json::{Value, json};

use super::Converted;
use super::xml::{elements, line};

/// Rules whose queues stand below `root` in the form with weights.
const BELOW_ROOT: [&str; 5] = [
    "user",
    "primaryGroup",
    "primaryGroupUser",
    "secondaryGroup",
    "secondaryGroupUser",
];

/// Converts the policy of a file, or that of the site when the file has none.
// As QueuePlacementConverter and QueuePlacementPolicy.fromConfiguration.
pub(super) fn rules(
    top: Node<'_, '_>,
    site: &BTreeMap<String, String>,
    percentages: bool,
    out: &mut Converted,
) {
    let rules: Vec<Value> = match policy(top) {
        Some(policy) => elements(policy)
            .filter_map(|node| rule(node, percentages, out))
            .collect(),
        None => of_site(site, percentages),
    };
    if rules.is_empty() {
        return;
    }
    out.set("mapping-rule-format", "json");
    out.set("mapping-rule-json", json!({ "rules": rules }).to_string());
    out.set("queue-mappings-override.enable", "true");
}

fn made(policy: &str, create: bool, percentages: bool) -> Value {
    let mut rule = json!({
        "type": "user",
        "matches": "*",
        "policy": policy,
        "fallbackResult": "skip",
        "create": create,
    });
    if !percentages && BELOW_ROOT.contains(&policy) {
        rule["parentQueue"] = "root".into();
    }
    rule
}

fn of_site(site: &BTreeMap<String, String>, percentages: bool) -> Vec<Value> {
    let flag = |name: &str| {
        let value = site.get(&format!("yarn.scheduler.fair.{name}"));
        value.is_none_or(|value| value.trim() != "false")
    };
    let (create, by_user) = (
        flag("allow-undeclared-pools"),
        flag("user-as-default-queue"),
    );
    let mut rules = vec![made("specified", create, percentages)];
    if by_user {
        rules.push(made("user", create, percentages));
    }
    if !by_user || !create {
        rules.push(made("defaultQueue", true, percentages));
    }
    rules
}

/// The policy of a file: the last one holds.
pub(super) fn policy<'a, 'i>(top: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    let named = |one: &Node<'_, '_>| one.has_tag_name("queuePlacementPolicy");
    elements(top).filter(named).last()
}

/// Whether a rule creates queues: everything but `true` says no, and nothing says yes.
pub(super) fn create(node: Node<'_, '_>) -> bool {
    let text = node.attribute("create").filter(|text| !text.is_empty());
    text.is_none_or(|text| text.eq_ignore_ascii_case("true"))
}

/// The name of a rule: that of the element, or its attribute.
pub(super) fn name<'a>(node: Node<'a, '_>) -> &'a str {
    match node.tag_name().name() {
        "rule" => node.attribute("name").unwrap_or("").trim(),
        other => other,
    }
}

fn rule(node: Node<'_, '_>, percentages: bool, out: &mut Converted) -> Option<Value> {
    let create = create(node);
    let policy = match name(node) {
        "user" if elements(node).next().is_some() => return nested(node, create, percentages, out),
        "user" => "user",
        "specified" => "specified",
        "primaryGroup" => "primaryGroup",
        "secondaryGroupExistingQueue" => "secondaryGroup",
        "reject" => return Some(made("reject", false, percentages)),
        "default" => return Some(of_default(node, create, percentages)),
        "nestedUserQueue" => return nested(node, create, percentages, out),
        other => {
            let place = format!("line {}", line(node));
            out.lose(
                place,
                format!("placement rule {other}"),
                "there is no such rule",
            );
            return None;
        }
    };
    Some(made(policy, create, percentages))
}

fn of_default(node: Node<'_, '_>, create: bool, percentages: bool) -> Value {
    match full(node.attribute("queue")) {
        None => made("defaultQueue", create, percentages),
        Some(queue) if queue == "root.default" => made("defaultQueue", create, percentages),
        Some(queue) => {
            let mut rule = made("custom", create, percentages);
            rule["customPlacement"] = queue.into();
            rule
        }
    }
}

/// A queue by its full path.
fn full(queue: Option<&str>) -> Option<String> {
    let queue = queue.map(str::trim).filter(|queue| !queue.is_empty())?;
    match queue == "root" || queue.starts_with("root.") {
        true => Some(queue.to_owned()),
        false => Some(format!("root.{queue}")),
    }
}

fn nested(node: Node<'_, '_>, own: bool, percentages: bool, out: &mut Converted) -> Option<Value> {
    let place = format!("line {}", line(node));
    let Some(inner) = elements(node).last() else {
        out.lose(place, "nestedUserQueue", "it has no rule inside");
        return None;
    };
    let outer = create(inner);
    let Some(mut rule) = below(inner, own, percentages) else {
        let what = format!("nestedUserQueue of {}", name(inner));
        let why = "users are nested below groups or a fixed queue only";
        out.lose(place, what, why);
        return None;
    };
    if percentages && outer {
        let why = "parents are not created among percentages";
        out.lose(place, "create of the outer rule", why);
    } else if !percentages {
        rule["create"] = (own || outer).into();
        if own != outer {
            let why = "both levels are created, or none";
            out.lose(place, "different create flags of a nested rule", why);
        }
    }
    Some(rule)
}

/// The rule of a user's queue below that of another rule.
fn below(inner: Node<'_, '_>, create: bool, percentages: bool) -> Option<Value> {
    match name(inner) {
        "primaryGroup" => Some(made("primaryGroupUser", create, percentages)),
        "secondaryGroupExistingQueue" => Some(made("secondaryGroupUser", create, percentages)),
        "default" => {
            let mut rule = made("user", create, percentages);
            let parent = full(inner.attribute("queue"));
            rule["parentQueue"] = parent.unwrap_or_else(|| "root.default".to_owned()).into();
            Some(rule)
        }
        _ => None,
    }
}
