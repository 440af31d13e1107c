//! The order of applications inside a leaf.

use std::cmp::Ordering;

use crate::queue::{App, AppOrder};
use crate::resource::share;

/// The order of applications that wait for room for their master: priority, then submission.
#[must_use]
pub fn compare_waiting(a: &App, b: &App) -> Ordering {
    b.priority.cmp(&a.priority).then(a.id.cmp(&b.id))
}

/// The order of active applications under a leaf's policy, on their cached figures.
#[must_use]
pub fn compare_active(order: &AppOrder, a: &App, b: &App) -> Ordering {
    match order {
        AppOrder::Fair { size_based_weight } => {
            let size = *size_based_weight;
            let (x, y) = (fair_key(a, size), fair_key(b, size));
            x.total_cmp(&y)
                .then(a.start.cmp(&b.start))
                .then(a.id.cmp(&b.id))
        }
        AppOrder::Fifo | AppOrder::FifoForPendingApps | AppOrder::FifoWithPartitions { .. } => {
            compare_waiting(a, b)
        }
    }
}

/// Magnitude of an application in the fair order, in MiB or weighted MiB.
#[must_use]
pub fn fair_key(app: &App, size_based_weight: bool) -> f64 {
    share::fair_magnitude(app.fair_used, app.fair_demand, size_based_weight)
}
