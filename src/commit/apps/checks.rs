//! Checks of asks and of masters' containers: sizes, labels, and the largest allocation.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::sync::Arc;

use super::ask_error::{AskError, MAX_COUNT, OutOfRange};
use super::ask_order::key_of;
use crate::commit::apps::tags::PlacementTags;
use crate::commit::leaves::demand::Checked;
use crate::commit::nodes::history::NodeHistory;
use crate::commit::registry::Registry;
use crate::id::{AppSlot, NameId, PartitionId, QueueSlot, SchedulerKey};
use crate::policy::parse_constraint;
use crate::queue::{AppSpec, Ask, ConstrainedAsk, ConstrainedKey, Constraint, PlaceAsk, Target};
use crate::resource::{MAX_VALUE, ResourceVector};
use crate::snapshot::State;

/// A request that passed the checks: its key, what that fixes, and the number of containers.
pub(super) type CheckedRequest = (SchedulerKey, Arc<ConstrainedKey>, i32);

/// What is known of the master's container before the application exists.
pub(in crate::commit) struct Master {
    pub(super) size: ResourceVector,
    pub(in crate::commit) label: Option<PartitionId>,
}

/// What checks read of a ledger.
pub(in crate::commit) struct Checks<'a> {
    state: &'a State,
    registry: &'a Registry,
    history: &'a NodeHistory,
    tags: &'a PlacementTags,
}

impl<'a> Checks<'a> {
    /// Checks against the parts of a ledger.
    pub(in crate::commit) fn new(
        state: &'a State,
        registry: &'a Registry,
        history: &'a NodeHistory,
        tags: &'a PlacementTags,
    ) -> Self {
        Self {
            state,
            registry,
            history,
            tags,
        }
    }

    /// Largest allocation: the configured one, bounded by the largest node once there is one, and
    /// by the queue's own.
    // As ClusterNodeTracker.getMaxAllowedAllocation.
    pub(super) fn largest_allocation(&self, queue: Option<QueueSlot>) -> ResourceVector {
        let mut largest = self.state.settings.maximum_allocation;
        if self.registry.node_count() > 0 {
            largest = largest.component_min(&self.biggest_node());
        }
        match queue {
            Some(queue) => {
                largest.component_min(&self.state.queues[queue].settings.maximum_allocation)
            }
            None => largest,
        }
    }

    /// The component-wise largest total of the nodes.
    fn biggest_node(&self) -> ResourceVector {
        let nodes = || self.registry.nodes();
        let total = |node| self.state.nodes[node].total.get();
        let largest = self.history.largest().get(nodes().map(total));
        debug_assert_eq!(
            largest,
            nodes()
                .map(total)
                .fold(ResourceVector::NONE, |a, b| a.component_max(&b)),
            "every node that comes, leaves or gets another total is counted"
        );
        largest
    }

    /// Checks size and label of an ask; returns the partition after defaults.
    // As SchedulerUtils.normalizeAndValidateRequest.
    pub(super) fn check_ask(
        &self,
        queue: Option<QueueSlot>,
        size: &ResourceVector,
        place: &str,
        label: Option<&str>,
        largest: &ResourceVector,
    ) -> Result<Option<PartitionId>, AskError> {
        let anywhere = place == "*";
        let settings = queue.map(|queue| &self.state.queues[queue].settings);
        let default = settings.and_then(|settings| settings.default_partition.as_deref());
        let label = match label {
            None if anywhere => default.or(settings.map(|_| "")),
            label => label,
        };
        if !ResourceVector::NONE.fits_in(size) || !size.fits_in(largest) {
            return Err(AskError::OutOfRange(Box::new(OutOfRange {
                size: *size,
                largest: *largest,
            })));
        }
        let Some(label) = label else { return Ok(None) };
        if label.is_empty() {
            return Ok(Some(PartitionId::DEFAULT));
        }
        if !anywhere {
            return Err(AskError::LabelOnPlace(label.to_owned()));
        }
        if label.contains("&&") {
            return Err(AskError::LabelExpression(label.to_owned()));
        }
        let known = self.registry.partition(label);
        let known = known.filter(|&id| self.state.partitions[id].exists);
        let accessible = settings.is_none_or(|settings| settings.accessible.contains(label));
        match known {
            Some(id) if accessible => Ok(Some(id)),
            _ => Err(AskError::LabelAccess(label.to_owned())),
        }
    }

    /// Checks an ask; returns it with its size normalized. Its place is named later.
    pub(in crate::commit) fn checked(
        &self,
        queue: Option<QueueSlot>,
        ask: &Ask,
        default: Option<&str>,
        largest: &ResourceVector,
    ) -> Result<Checked, AskError> {
        check_place(&ask.place)?;
        let anywhere = ask.place == "*";
        let label = ask.partition.as_deref().or(default.filter(|_| anywhere));
        let partition = self.check_ask(queue, &ask.size, &ask.place, label, largest)?;
        let (calculator, minimum) = (self.state.calculator, &self.state.minimum);
        let mut size = calculator.normalize(&ask.size, minimum, largest, minimum);
        // Asked once more with the cluster's maximum, as on the reference's way into the scheduler;
        // the same one a second time changes nothing.
        let cluster = self.largest_allocation(None);
        if cluster != *largest {
            size = calculator.normalize(&size, minimum, &cluster, minimum);
        }
        check_count(self.state, &size, ask.count)?;
        let key = key_of(ask);
        let ask = PlaceAsk {
            place: NameId::ANY,
            size: size.into(),
            count: ask.count,
            relax: ask.relax_locality,
            partition,
        };
        Ok(Checked { key, ask })
    }

    /// Checks the request for the master's container and normalizes it.
    pub(in crate::commit) fn check_master(
        &self,
        spec: &AppSpec,
        queue: Option<QueueSlot>,
    ) -> Result<Master, AskError> {
        let Some(size) = &spec.master else {
            return Ok(Master {
                size: self.state.minimum,
                label: None,
            });
        };
        let largest = self.largest_allocation(queue);
        // As RMAppManager.validateAndCreateResourceRequest, to which an empty one is none.
        let own = spec.master_partition.as_ref();
        let own = own.filter(|label| !label.is_empty());
        let label = own.or(spec.partition.as_ref());
        let label = self.check_ask(queue, size, "*", label.map(String::as_str), &largest)?;
        let minimum = &self.state.minimum;
        let size = self
            .state
            .calculator
            .normalize(size, minimum, &largest, minimum);
        Ok(Master { size, label })
    }

    /// Checks a scheduling request; returns it with the size after normalization.
    pub(super) fn check_constrained(
        &self,
        app: AppSlot,
        request: &ConstrainedAsk,
    ) -> Result<CheckedRequest, AskError> {
        let (calculator, minimum) = (self.state.calculator, &self.state.minimum);
        let largest = self.largest_allocation(None);
        let key = SchedulerKey::new(request.priority, request.request_id);
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
        check_count(self.state, &fixed.size, request.count)?;
        Ok((key, Arc::new(fixed), request.count))
    }

    /// The partition of a scheduling request: the one that its own constraint names, where that is
    /// a single one.
    // As SingleConstraintAppPlacementAllocator.validateAndGetTargetNodePartition; differs: a label
    // that the cluster does not know is refused, where the reference asks for it without end.
    pub(super) fn target_partition(
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
                let known = self.registry.partition(name);
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
    pub(super) fn default_partition(&self, leaf: QueueSlot) -> Option<PartitionId> {
        let settings = &self.state.queues[leaf].settings;
        let label = settings.default_partition.as_deref();
        label.and_then(|label| self.registry.partition(label))
    }
}

/// Reads a constraint of a request or of a source tag.
pub(super) fn parsed(text: &str) -> Result<Constraint, AskError> {
    parse_constraint(text).map_err(|wrong| AskError::Constrained(wrong.to_string()))
}

/// Checks the name of a host or rack, or `*`.
pub(super) fn check_place(place: &str) -> Result<(), AskError> {
    let bad = place.is_empty() || place.len() > 256 || place.contains(char::is_control);
    if place != "*" && bad {
        let clipped = place.chars().take(64).flat_map(char::escape_debug);
        return Err(AskError::Place(clipped.collect()));
    }
    Ok(())
}

/// Whether the demand of an ask stays within what figures hold.
fn check_count(state: &State, size: &ResourceVector, count: i32) -> Result<(), AskError> {
    let out_of_range = AskError::Count(i64::from(count));
    if !(0..=MAX_COUNT).contains(&count) {
        return Err(out_of_range);
    }
    let root = &state.queues[State::ROOT];
    let room = ResourceVector::build(|_| MAX_VALUE << 8);
    let sum = size
        .checked_times(i64::from(count))
        .map(|size| root.part(PartitionId::DEFAULT).pending.get() + size);
    match sum {
        Some(sum) if sum.fits_in(&room) => Ok(()),
        _ => Err(out_of_range),
    }
}
