//! Settings that only leaf queues use.

use std::sync::Arc;

use crate::queue::{AppOrder, LeafSettings, QueueSettings};

use super::access;
use super::diagnostic::{Diagnostic, clip};
use super::number;
use super::queue::QueueContext;
use super::scheduler;

const APP_ORDERS: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.";

impl QueueContext<'_> {
    /// The percent and the factor of the user limit in a queue.
    pub(super) fn user_limits(&self, path: &str) -> (f32, f32) {
        let read = |name: &str, default: f32| {
            let general = self.look.float(&scheduler::key(name), default);
            self.look.float(&Self::key(path, name), general)
        };
        let percent = read("minimum-user-limit-percent", 100.0);
        (percent, read("user-limit-factor", 1.0))
    }

    pub(super) fn leaf(&self, path: &str, leaf: bool) -> LeafSettings {
        let look = self.look;
        let key = |name: &str| Self::key(path, name);
        let general = |name: &str| scheduler::key(name);
        let maximum = |value: i32| (value >= 0).then_some(value);
        if !leaf {
            return LeafSettings {
                user_limit_percent: 100.0,
                user_limit_factor: 1.0,
                maximum_applications: None,
                app_order: AppOrder::Fifo,
                default_priority: 0,
                node_locality_delay: 40,
                rack_locality_additional_delay: -1,
                rack_locality_full_reset: true,
            };
        }
        let app_order = self.app_order(path);
        let (user_limit_percent, user_limit_factor) = self.user_limits(path);
        LeafSettings {
            app_order,
            user_limit_percent,
            user_limit_factor,
            maximum_applications: maximum(look.int(&key("maximum-applications"), -1)),
            default_priority: look.int(&key("default-application-priority"), 0),
            node_locality_delay: look.int(&general("node-locality-delay"), 40),
            rack_locality_additional_delay: look
                .int(&general("rack-locality-additional-delay"), -1),
            rack_locality_full_reset: look.flag(&general("rack-locality-full-reset"), true),
        }
    }

    fn app_order(&self, path: &str) -> AppOrder {
        let key = Self::key(path, "ordering-policy");
        let text = self.look.text(&key);
        let text = text.as_deref().unwrap_or("fifo");
        let option = |name: &str| self.look.text(&format!("{key}.{name}"));
        match number::trim(text) {
            "fifo" => return AppOrder::Fifo,
            "fair" => return fair(option("fair.enable-size-based-weight")),
            "fifo-with-partitions" => {
                return exclusive(option("exclusive-enforced-partitions"));
            }
            "fifo-for-pending-apps" => return AppOrder::FifoForPendingApps,
            _ => {}
        }
        match text.strip_prefix(APP_ORDERS) {
            Some("FifoOrderingPolicy") => AppOrder::Fifo,
            Some("FairOrderingPolicy") => fair(option("fair.enable-size-based-weight")),
            Some("FifoOrderingPolicyWithExclusivePartitions") => {
                exclusive(option("exclusive-enforced-partitions"))
            }
            Some("FifoOrderingPolicyForPendingApps") => AppOrder::FifoForPendingApps,
            _ => {
                let message = format!("no order of applications `{}`", clip(text));
                let finding = Diagnostic::error("ordering_policy", message)
                    .at(self.look.properties().span(&key))
                    .help("a leaf has `fifo`, `fair`, `fifo-with-partitions` or `fifo-for-pending-apps`");
                self.look.note(finding);
                AppOrder::Fifo
            }
        }
    }

    /// What only leaves are checked for, after everything else.
    pub(super) fn check_leaf(&self, queue: &mut QueueSettings) {
        let path = queue.path.clone();
        let key = Self::key(&path, "acl_application_max_priority");
        if let Some(text) = self.look.text(&key) {
            match access::priorities(&text, self.priority) {
                Ok(priorities) => queue.access.priorities = priorities,
                Err(access::BadPriorities::Number(value)) => self.look.no_number(&key, &value),
                Err(access::BadPriorities::Key(name)) => {
                    let message = format!("no key `{}` in a priority list", clip(&name));
                    self.look.fail("priority_acl", &key, message);
                }
                Err(access::BadPriorities::Nobody) => {
                    let message = "a bracket of a priority list names neither user nor group";
                    self.look.fail("priority_acl", &key, message);
                }
                Err(access::BadPriorities::NoMaximum) => {
                    let message = "a bracket of a priority list has no `max_priority`";
                    self.look.fail("priority_acl", &key, message);
                }
            }
        }
        if let Some(expression) = &queue.default_partition {
            let mut labels = expression.split("&&").map(number::trim);
            let outside =
                labels.find(|label| !label.is_empty() && !queue.accessible.contains(label));
            if let Some(label) = outside {
                let message = format!(
                    "the default label `{}` of `{}` is not accessible to it",
                    clip(label),
                    clip(&path)
                );
                let key = Self::key(&path, "default-node-label-expression");
                self.look.fail("default_label", &key, message);
            }
        }
        self.check_weights(queue);
    }

    fn check_weights(&self, queue: &QueueSettings) {
        let (wrong, most) = queue.wrong_user_weights();
        for (user, weight) in wrong {
            let message = format!(
                "the weight {weight} of the user `{}` in `{}` is not within 0 and {most}",
                clip(user),
                clip(&queue.path)
            );
            let key = Self::key(&queue.path, &format!("user-settings.{user}.weight"));
            let finding = Diagnostic::error("user_weight", message)
                .at(self.look.properties().span(&key))
                .help("the limit is 100 divided by minimum-user-limit-percent");
            self.look.note(finding);
        }
    }
}

fn fair(flag: Option<String>) -> AppOrder {
    AppOrder::Fair {
        size_based_weight: flag.is_some_and(|text| text.eq_ignore_ascii_case("true")),
    }
}

fn exclusive(list: Option<String>) -> AppOrder {
    let list = list.unwrap_or_default();
    let names = number::trimmed_list(&list).into_iter();
    AppOrder::FifoWithPartitions {
        exclusive: names
            .filter(|name| !name.is_empty())
            .map(Arc::from)
            .collect(),
    }
}
