//! Scheduling requests: what a key fixes, and how many containers of it are asked for.
//!
//! Tests: `tests/commit/scheduling_requests.rs`.

use std::sync::Arc;

use super::ask_error::AskError;
use super::checks::{CheckedRequest, parsed};
use crate::commit::apps::tags::PlacementTags;
use crate::commit::ledger::Ledger;
use crate::commit::registry::Registry;
use crate::id::{AppSlot, ApplicationId, NameId};
use crate::queue::{ConstrainedKey, KeyAsks, PlaceAsk};
use crate::snapshot::State;

impl Ledger {
    /// Takes over a scheduling request; whether it changed its number. A key that is in use for something else
    /// is refused.
    // As AppSchedulingInfo.addSchedulingRequests with SingleConstraintAppPlacementAllocator.
    pub(in crate::commit) fn update_constrained(
        &mut self,
        app: AppSlot,
        (key, fixed, count): &CheckedRequest,
    ) -> Result<bool, AskError> {
        let (key, count) = (*key, *count);
        let leaf = self.state.apps[app].leaf;
        let named = fixed.constraint.as_deref();
        let target = self.checks().target_partition(leaf, named)?;
        let row = &mut self.state.apps[app];
        let at = row.add_key(key);
        let asks = &mut row.keys[at];
        let of_another = |asks: &KeyAsks| {
            let before = asks.constrained.as_deref();
            before.is_none_or(|before| !before.is_same(fixed))
        };
        if asks.known && of_another(asks) {
            let reason = "only the number of containers may change".to_owned();
            return Err(AskError::Constrained(reason));
        }
        asks.known = true;
        if asks.constrained.is_none() {
            asks.constrained = Some(Arc::clone(fixed));
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
        let changed = old.as_ref().is_none_or(|old| old.count != count);
        if changed {
            self.leaves
                .pending_changed(&mut self.state, (app, at), old, &new);
        }
        Ok(changed)
    }

    /// Constraints of applications and of the whole cluster.
    #[must_use]
    pub fn registered_constraints(&self) -> usize {
        self.tags.constraints().count()
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
        let constraints = constraints.iter().map(read);
        let constraints: Vec<_> = constraints.collect::<Result<_, AskError>>()?;
        let registered = self
            .tags
            .constraints_mut()
            .register_application(id, constraints);
        registered.map_err(|error| AskError::Constrained(error.to_string()))?;
        combine_constraints(&self.registry, &self.tags, &mut self.state);
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
        combine_constraints(&self.registry, &self.tags, &mut self.state);
        Ok(())
    }
}

/// Works out anew what holds for the requests that wait.
fn combine_constraints(registry: &Registry, tags: &PlacementTags, state: &mut State) {
    for (_, app) in registry.apps_by_id() {
        let id = state.apps[app].id;
        for i in 0..state.apps[app].keys.len() {
            let Some(fixed) = state.apps[app].keys[i].constrained.clone() else {
                continue;
            };
            let own = fixed.constraint.as_ref();
            let effective = tags.constraints().effective(id, &fixed.tags, own);
            if effective != fixed.effective {
                let fixed = ConstrainedKey {
                    effective,
                    ..ConstrainedKey::clone(&fixed)
                };
                state.apps[app].keys[i].constrained = Some(Arc::new(fixed));
            }
        }
    }
}
