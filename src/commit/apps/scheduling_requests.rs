//! Scheduling requests: what a key fixes, and how many containers of it are asked for.
//!
//! Tests: `tests/commit/scheduling_requests.rs`.

use std::sync::Arc;

use super::ask_error::AskError;
use crate::commit::apps::asks::check_count;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, ApplicationId, NameId, PartitionId, QueueSlot, SchedulerKey};
use crate::policy::parse_constraint;
use crate::queue::{ConstrainedAsk, ConstrainedKey, Constraint, KeyAsks, PlaceAsk, Target};

/// A request that passed the checks: its key, what that fixes, and the number of containers.
pub(in crate::commit) type CheckedRequest = (SchedulerKey, Arc<ConstrainedKey>, i32);

/// Reads a constraint of a request or of a source tag.
fn parsed(text: &str) -> Result<Constraint, AskError> {
    parse_constraint(text).map_err(|wrong| AskError::Constrained(wrong.to_string()))
}

impl Ledger {
    /// Checks scheduling requests; returns them with the size after normalization.
    pub(in crate::commit) fn check_constrained(
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
            let text = request.constraint.as_deref();
            let constraint = text.map(|text| parsed(text).map(Arc::new)).transpose()?;
            let id = self.state.apps[app].id;
            let effective = self
                .tags
                .constraints()
                .effective(id, &tags, constraint.as_ref());
            let fixed = ConstrainedKey {
                size: calculator.normalize(&request.size, minimum, &largest, minimum),
                tags,
                constraint,
                effective,
            };
            check_count(&self.state, &fixed.size, request.count)?;
            checked.push((key, Arc::new(fixed), request.count));
        }
        Ok(checked)
    }

    /// Takes over scheduling requests, one after another; whether one changed its number. A key
    /// that is in use for something else ends it: what came before stays.
    // As AppSchedulingInfo.addSchedulingRequests with SingleConstraintAppPlacementAllocator.
    pub(in crate::commit) fn update_constrained(
        &mut self,
        app: AppSlot,
        requests: Vec<CheckedRequest>,
    ) -> Result<bool, AskError> {
        let mut changed = false;
        let leaf = self.state.apps[app].leaf;
        for (key, fixed, count) in requests {
            let target = self.target_partition(leaf, fixed.constraint.as_deref())?;
            let asks = self.state.apps[app].key_mut(key);
            let of_another = |asks: &KeyAsks| {
                let before = asks.constrained.as_deref();
                before.is_none_or(|before| !before.is_same(&fixed))
            };
            if asks.known && of_another(asks) {
                let reason = "only the number of containers may change".to_owned();
                return Err(AskError::Constrained(reason));
            }
            asks.known = true;
            if asks.constrained.is_none() {
                asks.constrained = Some(Arc::clone(&fixed));
                asks.partition = target;
            }
            let new = PlaceAsk {
                place: NameId::ANY,
                size: fixed.size.into(),
                count,
                relax: true,
                partition: Some(asks.partition),
            };
            let old = asks.put(new.clone());
            // The same number once more changes nothing, not even at 0: the key stays.
            if old.as_ref().is_none_or(|old| old.count != count) {
                self.pending_changed(app, key, old, &new);
                changed = true;
            }
        }
        Ok(changed)
    }

    /// The partition of a scheduling request: the one that its own constraint names, where that is
    /// a single one.
    // As SingleConstraintAppPlacementAllocator.validateAndGetTargetNodePartition; differs: a label
    // that the cluster does not know is refused, where the reference asks for it without end.
    fn target_partition(
        &self,
        leaf: QueueSlot,
        constraint: Option<&Constraint>,
    ) -> Result<PartitionId, AskError> {
        let single = match constraint {
            Some(Constraint::Single(single)) => single.targets.as_slice(),
            _ => &[],
        };
        let named = single.iter().find_map(|target| match target {
            Target::Partition(names) if !names.is_empty() => Some(names.as_slice()),
            _ => None,
        });
        match named {
            None => Ok(self.default_partition(leaf).unwrap_or(PartitionId::DEFAULT)),
            Some([name]) => {
                let known = self.partition(name);
                known
                    .filter(|&id| self.state.partitions[id].exists)
                    .ok_or_else(|| AskError::LabelAccess(name.to_string()))
            }
            Some(names) => {
                let reason = format!("one partition at most, not {}", names.join(", "));
                Err(AskError::Constrained(reason))
            }
        }
    }

    /// The partition of asks that name none.
    pub(in crate::commit) fn default_partition(&self, leaf: QueueSlot) -> Option<PartitionId> {
        let settings = &self.state.queues[leaf].settings;
        let label = settings.default_partition.as_deref();
        label.and_then(|label| self.partition(label))
    }

    /// Registers the constraints of an application, each for the requests with one source tag.
    ///
    /// # Errors
    ///
    /// When the application is unknown or has registered before, or a constraint is malformed;
    /// then nothing changed.
    // As MemoryPlacementConstraintManager.registerApplication.
    pub fn constrain_app(
        &mut self,
        id: ApplicationId,
        constraints: &[(String, String)],
    ) -> Result<(), AskError> {
        if self.app(id).is_none() {
            return Err(AskError::UnknownApplication(id));
        }
        let read = |(tag, text): &(String, String)| Ok((vec![tag.clone()], parsed(text)?));
        let constraints: Vec<_> = constraints.iter().map(read).collect::<Result<_, _>>()?;
        let registered = self
            .tags
            .constraints_mut()
            .register_application(id, constraints);
        registered.map_err(|error| AskError::Constrained(error.to_string()))?;
        self.combine_constraints();
        Ok(())
    }

    /// Sets the constraint of the whole cluster for the requests with one source tag; without a
    /// text there is none any more.
    ///
    /// # Errors
    ///
    /// When the constraint is malformed; then nothing changed.
    pub fn constrain_tag(&mut self, tag: &str, text: Option<&str>) -> Result<(), AskError> {
        match text {
            Some(text) => {
                let tags = vec![tag.to_owned()];
                let stored = self
                    .tags
                    .constraints_mut()
                    .add_global(tags, parsed(text)?, true);
                stored.map_err(|error| AskError::Constrained(error.to_string()))?;
            }
            None => self.tags.constraints_mut().remove_global(tag),
        }
        self.combine_constraints();
        Ok(())
    }

    /// Works out anew what holds for the requests that wait.
    fn combine_constraints(&mut self) {
        for (_, app) in self.registry.apps_by_id() {
            let id = self.state.apps[app].id;
            for i in 0..self.state.apps[app].keys.len() {
                let Some(fixed) = self.state.apps[app].keys[i].constrained.clone() else {
                    continue;
                };
                let own = fixed.constraint.as_ref();
                let effective = self.tags.constraints().effective(id, &fixed.tags, own);
                if effective != fixed.effective {
                    let fixed = ConstrainedKey {
                        effective,
                        ..ConstrainedKey::clone(&fixed)
                    };
                    self.state.apps[app].keys[i].constrained = Some(Arc::new(fixed));
                }
            }
        }
    }
}
