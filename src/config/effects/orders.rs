//! Options of an order of applications that the queue does not have.

use super::{Effects, key};
use crate::config::diagnostic::{Diagnostic, clip};
use crate::queue::{AppOrder, QueueKind, QueueSettings};

/// Each option below `ordering-policy.`, and the order that reads it.
const OPTIONS: [(&str, &str); 2] = [
    ("fair.enable-size-based-weight", "fair"),
    ("exclusive-enforced-partitions", "fifo-with-partitions"),
];

impl Effects<'_> {
    /// Options that no order reads.
    // As AbstractLeafQueue.setupQueueConfigs: a policy is configured with the options of its queue alone.
    pub(super) fn order_options(&self) -> Vec<Diagnostic> {
        let queues = self.settings.queues.iter();
        queues
            .flat_map(|queue| {
                OPTIONS.map(|(option, order)| self.order_option(queue, option, order))
            })
            .flatten()
            .collect()
    }

    fn order_option(&self, queue: &QueueSettings, option: &str, order: &str) -> Option<Diagnostic> {
        let option = format!("ordering-policy.{option}");
        let place = key(&queue.path, &option);
        self.properties.raw(&place)?;
        let path = clip(&queue.path);
        let (what, help) = if queue.kind == QueueKind::Leaf {
            let has = name(&queue.leaf.app_order);
            if has == order {
                return None;
            }
            let policy = key(&queue.path, "ordering-policy");
            let help = format!("set `{policy}` to `{order}`, or remove the key");
            (format!("whose order is `{has}`"), help)
        } else {
            let help = "give it to the leaves below, or remove the key".to_owned();
            ("which is a parent".to_owned(), help)
        };
        let message = format!("`{option}` has no effect on `{path}`, {what}");
        Some(self.warning("W_ORDER_OPTION", &place, message, help))
    }
}

const fn name(order: &AppOrder) -> &'static str {
    match order {
        AppOrder::Fifo => "fifo",
        AppOrder::Fair { .. } => "fair",
        AppOrder::FifoForPendingApps => "fifo-for-pending-apps",
        AppOrder::FifoWithPartitions { .. } => "fifo-with-partitions",
    }
}
