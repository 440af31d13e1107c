//! What is under way to end a wait: a reservation, containers that others give back, a proposal that is repeated.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::evidence::Evidence;
use super::finding::Finding;
use super::holders::{HOLDERS, Holder, Holders};
use super::reason::Reason;
use super::waiting::WaitExplainer;
use crate::id::{AppSlot, ApplicationId};
use crate::queue::KeyAsks;
use crate::rescheduler::{AppVerdict, WhyNot};
use crate::resource::ResourceVector;

impl WaitExplainer<'_> {
    /// What is under way for a key: a reservation, or containers that others give back.
    pub(super) fn on_its_way(
        &mut self,
        app: AppSlot,
        asks: &KeyAsks,
        size: &ResourceVector,
    ) -> Option<Finding> {
        let state = self.state();
        if let Some(reservation) = asks.reserved.first() {
            let node = &state.nodes[reservation.node];
            let detail = format!("{} is reserved for it", node.name);
            let (total, used) = (node.total.get(), node.allocated.get());
            let shown = Evidence::of_limit(state, (&total, &used, size));
            let found = Finding::new(Reason::ReservedOnNode, detail).shown_by(shown);
            // Otherwise the application takes any other node and gives the reservation up.
            let binds = !state.settings.continue_looking;
            return Some(if binds {
                found.by_setting("yarn.scheduler.capacity.reservations-continue-look-all-nodes")
            } else {
                found
            });
        }
        let verdict = self.verdict(state.apps[app].id)?.clone();
        let (n, from) = (verdict.containers.len(), verdict.queues.join(", "));
        let detail = match verdict.reason {
            WhyNot::AwaitingDeadline => format!("{n} containers of {from} are asked back"),
            WhyNot::Killable => format!("{n} containers of {from} may be killed for it"),
            _ => return None,
        };
        let found = Finding::new(Reason::PreemptionInProgress, detail);
        Some(found.shown_by(victims(self.holders(), &verdict)))
    }
}

/// How many containers preemption takes, and of whom.
fn victims(known: &mut Holders<'_>, verdict: &AppVerdict) -> Evidence {
    let state = known.state();
    let mut by_app: BTreeMap<ApplicationId, i64> = BTreeMap::new();
    for of in &verdict.containers {
        *by_app.entry(of.container.app).or_default() += 1;
    }
    let holder = |(app, amount): (ApplicationId, i64)| {
        let row = &state.apps[known.slot(app)?];
        Some(Holder {
            app,
            user: Arc::clone(&row.submission.user_name),
            queue: state.queues[row.leaf].settings.path.clone(),
            amount,
        })
    };
    let mut holders: Vec<Holder> = by_app.into_iter().filter_map(holder).collect();
    holders.sort_by_key(|holder| (Reverse(holder.amount), holder.app));
    holders.truncate(HOLDERS);
    Evidence {
        holders,
        ..Evidence::of_number("containers", verdict.containers.len())
    }
}
