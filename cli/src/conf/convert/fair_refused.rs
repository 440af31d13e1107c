//! What the Fair Scheduler, and so `yarn fs2cs`, refuses in an allocation file.
//!
//! The conversion goes on where the meaning of a file is clear, and names what stops the reference.

use roxmltree::Node;

use super::fair::{is_queue, last_text, policy_name};
use super::fair_placement::{create, name};
use super::xml::{elements, line, text};
use super::{Stop, fair_placement, quantity};

/// Rules that a `queuePlacementPolicy` may have.
const RULES: [&str; 7] = [
    "user",
    "specified",
    "primaryGroup",
    "secondaryGroupExistingQueue",
    "nestedUserQueue",
    "default",
    "reject",
];

/// What the reference refuses, in the order of the file.
pub(super) fn stops(top: Node<'_, '_>) -> Vec<Stop> {
    let mut found = Stops(Vec::new());
    found.file(top);
    let mut stops = found.0;
    // What is left out of a file shows only where the file is taken.
    if stops.iter().any(|stop| stop.file) {
        stops.retain(|stop| stop.file);
    }
    stops
}

struct Stops(Vec<Stop>);

impl Stops {
    fn add(&mut self, node: Node<'_, '_>, what: String, why: &'static str, file: bool) {
        self.0.push(Stop {
            place: format!("line {}", line(node)),
            what,
            why,
            file,
        });
    }

    fn refuse(&mut self, node: Node<'_, '_>, what: impl Into<String>, why: &'static str) {
        self.add(node, what.into(), why, true);
    }

    // As AllocationFileParser.
    fn file(&mut self, top: Node<'_, '_>) {
        self.beside_root(top);
        let default = default_policy(top);
        for node in elements(top) {
            match node.tag_name().name() {
                "queue" | "pool" => self.top_queue(node, &default),
                "user" => elements(node)
                    .filter(|one| one.has_tag_name("maxRunningApps"))
                    .for_each(|one| self.value(one, "a user")),
                "queuePlacementPolicy" => {}
                _ => self.value(node, "the file"),
            }
        }
        if let Some(policy) = fair_placement::policy(top) {
            self.placement(policy);
        }
    }

    fn beside_root(&mut self, top: Node<'_, '_>) {
        let is_root = |node: &Node<'_, '_>| {
            let name = node.attribute("name").unwrap_or_default();
            name.eq_ignore_ascii_case("root")
        };
        if elements(top).filter(is_queue).count() < 2 {
            return;
        }
        if let Some(root) = elements(top).filter(is_queue).find(is_root) {
            let why = "where the file has root, all other queues must stand in it";
            self.refuse(root, "queues beside the queue root", why);
        }
    }

    fn top_queue(&mut self, node: Node<'_, '_>, default: &str) {
        let name = node.attribute("name").unwrap_or_default().trim();
        match name {
            "root" => self.queue(node, "root", None, default),
            name => self.queue(node, &format!("root.{name}"), Some(default), default),
        }
    }

    /// A queue and those below it; `above` is the policy of its parent.
    // As AllocationFileQueueParser and QueueManager.canCreateQueue.
    fn queue(&mut self, node: Node<'_, '_>, path: &str, above: Option<&str>, default: &str) {
        let children = elements(node).filter(is_queue).count() > 0;
        let parent = children || node.attribute("type") == Some("parent");
        for one in elements(node).filter(|one| !is_queue(one)) {
            self.value(one, path);
            let why = match one.tag_name().name() {
                "maxAMShare" if parent => "only queues without queues below them have one",
                "reservation" if parent => "only queues without queues below them are reservable",
                _ => continue,
            };
            let shown = format!("{} {}", one.tag_name().name(), text(one));
            self.refuse(one, format!("{} of {path}", shown.trim_end()), why);
        }
        let own = own_policy(node).unwrap_or_else(|| default.to_owned());
        if let Some(why) = left_out(&own, above, parent) {
            self.add(node, format!("{path} with order {own}"), why, false);
            return;
        }
        for child in elements(node).filter(is_queue) {
            let name = child.attribute("name").unwrap_or_default().trim();
            self.queue(child, &format!("{path}.{name}"), Some(&own), default);
        }
    }

    /// An element with a value; `of` is what it belongs to.
    fn value(&mut self, node: Node<'_, '_>, of: &str) {
        let name = node.tag_name().name();
        let Some(form) = Form::of(name) else { return };
        let empty = !node.children().any(|child| child.is_text());
        let value = text(node);
        let why = match form {
            _ if empty => "an element without a text",
            Form::Text => return,
            Form::Whole if value.parse::<i32>().is_ok() => return,
            Form::Whole => "no whole number of 32 bits",
            Form::Long if value.parse::<i64>().is_ok() => return,
            Form::Long => "no whole number of 64 bits",
            Form::Fraction if fraction(&value) => return,
            Form::Fraction => "no number",
            Form::Amounts if quantity::readable(&value) => return,
            Form::Amounts => "neither amounts nor percentages of resources",
            Form::Order if known(&value) => return self.default_order(node, &value),
            Form::Order => "there is no such order",
        };
        self.refuse(node, format!("{name} `{value}` of {of}"), why);
    }

    fn default_order(&mut self, node: Node<'_, '_>, value: &str) {
        let name = node.tag_name().name();
        if name.starts_with("defaultQueue") && value.eq_ignore_ascii_case("fifo") {
            let why = "queues with queues below them, root among them, cannot have it";
            self.refuse(node, format!("{name} `{value}`"), why);
        }
    }

    // As QueuePlacementPolicy.
    fn placement(&mut self, policy: Node<'_, '_>) {
        let rules: Vec<Node<'_, '_>> = elements(policy).collect();
        let Some(last) = rules.last() else {
            return self.refuse(policy, "queuePlacementPolicy", "it has no rules");
        };
        for rule in &rules {
            self.rule(*rule);
        }
        let ends = rules.iter().position(|rule| terminal(*rule));
        match ends {
            None => {
                let why = "it is the last rule and may leave an application without a queue";
                self.refuse(*last, format!("rule {}", name(*last)), why);
            }
            Some(at) if at + 1 < rules.len() => {
                let next = rules[at + 1];
                let what = format!("rule {} behind rule {}", name(next), name(rules[at]));
                self.refuse(next, what, "it is never reached");
            }
            Some(_) => {}
        }
    }

    fn rule(&mut self, rule: Node<'_, '_>) {
        let own = name(rule);
        let inner = elements(rule).last();
        let within = inner.map(name);
        let why = match (own, within) {
            (own, _) if !RULES.contains(&own) => "there is no such rule",
            ("nestedUserQueue", None) => "it needs a rule inside",
            (_, None) => return,
            ("specified" | "default" | "reject", Some(_)) => "it takes no rule inside",
            (_, Some("nestedUserQueue" | "reject")) => "such a rule cannot stand inside another",
            ("nestedUserQueue" | "user", Some("user")) => "user rules do not nest",
            ("nestedUserQueue" | "user", Some("specified")) => {
                "`yarn fs2cs` converts no users below specified queues"
            }
            (_, Some(within)) if !RULES.contains(&within) => "there is no such rule inside",
            _ => return,
        };
        let what = match within {
            Some(within) => format!("rule {own} with {within} inside"),
            None => format!("rule `{own}`"),
        };
        self.refuse(rule, what, why);
    }
}

/// How the value of an element is read.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Whole,
    Long,
    Fraction,
    Amounts,
    Order,
}

impl Form {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "maxRunningApps" | "queueMaxAppsDefault" | "userMaxAppsDefault" => Self::Whole,
            "minSharePreemptionTimeout"
            | "fairSharePreemptionTimeout"
            | "defaultMinSharePreemptionTimeout"
            | "defaultFairSharePreemptionTimeout" => Self::Long,
            "weight"
            | "maxAMShare"
            | "queueMaxAMShareDefault"
            | "fairSharePreemptionThreshold"
            | "defaultFairSharePreemptionThreshold" => Self::Fraction,
            "minResources"
            | "maxResources"
            | "maxChildResources"
            | "maxContainerAllocation"
            | "queueMaxResourcesDefault" => Self::Amounts,
            "schedulingPolicy"
            | "schedulingMode"
            | "defaultQueueSchedulingPolicy"
            | "defaultQueueSchedulingMode" => Self::Order,
            "aclSubmitApps"
            | "aclAdministerApps"
            | "aclAdministerReservations"
            | "aclListReservations"
            | "aclSubmitReservations"
            | "allowPreemptionFrom"
            | "reservation-agent"
            | "reservation-policy"
            | "reservation-planner" => Self::Text,
            _ => return None,
        })
    }
}

/// Whether Java reads a number: a trailing `f` or `d` is part of one.
fn fraction(text: &str) -> bool {
    let digits = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let number = digits.bytes().any(|byte| byte.is_ascii_digit());
    matches!(text, "NaN" | "Infinity" | "-Infinity")
        || (number && digits.parse::<f64>().is_ok_and(f64::is_finite))
}

/// Whether there is such an order. A class of somebody else may exist.
fn known(text: &str) -> bool {
    matches!(policy_name(text).as_str(), "fair" | "fifo" | "drf") || text.contains('.')
}

/// The order of queues that name none.
pub(super) fn default_policy(top: Node<'_, '_>) -> String {
    let names = ["defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode"];
    last_text(top, &names).map_or_else(|| "fair".to_owned(), |text| policy_name(&text))
}

/// The order that a queue names.
pub(super) fn own_policy(queue: Node<'_, '_>) -> Option<String> {
    last_text(queue, &["schedulingPolicy", "schedulingMode"]).map(|text| policy_name(&text))
}

/// Why the reference leaves out a queue, with those below it.
fn left_out(own: &str, above: Option<&str>, parent: bool) -> Option<&'static str> {
    match (own, above) {
        (_, Some("fifo")) => Some("no queue stands below one with the order fifo"),
        ("drf", Some("fair")) => Some("drf does not stand below fair"),
        ("fifo", Some(_)) if parent => Some("fifo is for queues without queues below them"),
        _ => None,
    }
}

/// Whether a rule gives every application a queue, or rejects it.
fn terminal(rule: Node<'_, '_>) -> bool {
    match name(rule) {
        "reject" => true,
        "user" | "primaryGroup" | "default" | "nestedUserQueue" => {
            create(rule) && elements(rule).last().is_none_or(terminal)
        }
        _ => false,
    }
}
