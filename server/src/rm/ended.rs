//! Applications that ended: the last of them are known by name, the others are counted.
// As RMAppManager.checkAppNumCompletedLimit.

use std::collections::{BTreeMap, VecDeque};

use capsched::api::ApplicationId;
use capsched::config::Properties;

use super::application::{AppState, Application};

/// `yarn.resourcemanager.max-completed-applications`, where no configuration says otherwise.
const MOST: usize = 1000;

/// How many applications that ended are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedLimits {
    /// In memory: `yarn.resourcemanager.max-completed-applications`.
    pub known: usize,
    /// In a store: `yarn.resourcemanager.state-store.max-completed-applications`, at most as many as in memory.
    pub stored: usize,
}

impl EndedLimits {
    /// Reads the limits of a configuration.
    ///
    /// # Errors
    ///
    /// The key and the value, where a value is no number from 0.
    pub fn read(properties: &Properties) -> Result<Self, String> {
        let read = |name: &str| {
            let key = format!("yarn.resourcemanager.{name}max-completed-applications");
            let text = properties.text(&key).ok().flatten();
            text.map(|text| match text.trim().parse::<usize>() {
                Ok(most) => Ok(most),
                Err(_) => Err(format!("`{text}` of `{key}` is no number from 0")),
            })
            .transpose()
        };
        let known = read("")?.unwrap_or(MOST);
        let stored = read("state-store.")?.unwrap_or(known);
        Ok(Self {
            known,
            stored: stored.min(known),
        })
    }
}

/// The applications that ended, in the order of their ends.
#[derive(Debug)]
pub(super) struct EndedApps {
    order: VecDeque<ApplicationId>,
    most: usize,
    forgotten: BTreeMap<AppState, usize>,
}

impl Default for EndedApps {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl EndedApps {
    /// So many are known at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            order: VecDeque::new(),
            most,
            forgotten: BTreeMap::new(),
        }
    }

    /// Adds an application that ended now, and removes from `apps` those that ended first.
    pub(super) fn add(
        &mut self,
        id: ApplicationId,
        apps: &mut BTreeMap<ApplicationId, Application>,
    ) {
        self.order.push_back(id);
        while self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            let Some(app) = apps.remove(&oldest) else {
                continue;
            };
            // One that the scheduler never had does not count in its metrics.
            if !app.attempts.is_empty() {
                *self.forgotten.entry(app.state).or_default() += 1;
            }
        }
    }

    /// How many applications that the scheduler accepted ended in a state and are not known any more.
    pub(super) fn forgotten(&self, state: AppState) -> usize {
        self.forgotten.get(&state).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(pairs: &[(&str, &str)]) -> Result<EndedLimits, String> {
        let own = |(name, value): &(&str, &str)| {
            let key = format!("yarn.resourcemanager.{name}max-completed-applications");
            (key, (*value).to_owned())
        };
        let site = pairs.iter().map(own).collect();
        let scheduler = [("root.queues", "a"), ("root.a.capacity", "100")];
        let scheduler = scheduler
            .map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
        let scheduler = BTreeMap::from(scheduler);
        let loaded =
            capsched::config::load_pairs(&site, &scheduler, &capsched::config::Options::default());
        EndedLimits::read(&loaded.unwrap().properties)
    }

    #[test]
    fn a_store_keeps_no_more_than_memory() {
        for (pairs, known, stored) in [
            (&[][..], 1000, 1000),
            (&[("", "7")], 7, 7),
            (&[("", "7"), ("state-store.", "5")], 7, 5),
            (&[("", "7"), ("state-store.", "9")], 7, 7),
            (&[("state-store.", "0")], 1000, 0),
        ] {
            let found = limits(pairs).unwrap();
            assert_eq!((found.known, found.stored), (known, stored), "{pairs:?}");
        }
    }

    #[test]
    fn a_limit_that_is_no_number_is_named() {
        for wrong in ["-1", "many", "1.5"] {
            let error = limits(&[("", wrong)]).unwrap_err();
            assert!(error.contains(wrong), "{error}");
            assert!(error.contains("max-completed-applications"), "{error}");
        }
    }
}
