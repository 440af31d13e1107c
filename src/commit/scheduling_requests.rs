//! Scheduling requests: what a key fixes, and how many containers of it are asked for.

use std::sync::Arc;

use super::asks::AskError;
use super::ledger::Ledger;
use crate::id::{AppSlot, NameId, PartitionId, SchedulerKey};
use crate::policy::parse_constraint;
use crate::queue::{ConstrainedAsk, ConstrainedKey, PlaceAsk};

/// A request that passed the checks: its key, what that fixes, and the number of containers.
pub(super) type CheckedRequest = (SchedulerKey, Arc<ConstrainedKey>, i32);

impl Ledger {
    /// Checks scheduling requests; returns them with the size after normalization.
    pub(super) fn check_constrained(
        &self,
        app: AppSlot,
        requests: &[ConstrainedAsk],
    ) -> Result<Vec<CheckedRequest>, AskError> {
        let (calculator, minimum) = (self.state.calculator, &self.state.minimum);
        let largest = self.largest_allocation(None);
        let mut checked = Vec::new();
        for request in requests {
            let key = SchedulerKey {
                priority: request.priority,
                request_id: request.request_id,
            };
            let mut tags: Vec<Arc<str>> = request.tags.iter().map(|t| t.as_str().into()).collect();
            tags.sort_unstable();
            let constraint = request.constraint.as_deref().map(parse_constraint);
            let constraint = constraint.transpose();
            let fixed = ConstrainedKey {
                size: calculator.normalize(&request.size, minimum, &largest, minimum),
                tags,
                constraint: constraint.map_err(|e| AskError::Constrained(e.to_string()))?,
            };
            self.check_count(&fixed.size, request.count)?;
            let known = self.state.apps[app].key(key);
            let known = known.filter(|asks| asks.known || asks.constrained.is_some());
            let changes =
                |asks: &crate::queue::KeyAsks| asks.constrained.as_deref() != Some(&fixed);
            if known.is_some_and(changes) {
                let reason = "only the number of containers may change".to_owned();
                return Err(AskError::Constrained(reason));
            }
            checked.push((key, Arc::new(fixed), request.count));
        }
        Ok(checked)
    }

    // As SingleConstraintAppPlacementAllocator.updatePendingAsk.
    pub(super) fn update_constrained(&mut self, app: AppSlot, requests: Vec<CheckedRequest>) {
        for (key, fixed, count) in requests {
            let asks = self.state.apps[app].key_mut(key);
            asks.known = true;
            asks.constrained.get_or_insert_with(|| Arc::clone(&fixed));
            let old = asks.at(NameId::ANY).copied();
            let new = PlaceAsk {
                place: NameId::ANY,
                size: fixed.size,
                count,
                relax: true,
                partition: Some(PartitionId::DEFAULT),
            };
            match asks.at_mut(NameId::ANY) {
                Some(place) => *place = new,
                None => asks.asks.push(new),
            }
            self.note_requested(app, PartitionId::DEFAULT);
            self.pending_changed(app, key, old, &new);
        }
    }
}
