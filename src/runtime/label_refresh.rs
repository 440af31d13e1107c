//! Settings and the labels of the cluster, taken over together or not at all.
//!
//! 1. Both are checked. Nothing changed until here.
//! 2. New labels are added, and the settings are taken over; both were worked out on a copy where that is possible.
//! 3. Labels that are not named are removed in parts, their nodes first. That is not refused any more.
//!
//! Tests: `tests/runtime/front_door.rs`, `tests/runtime/refresh_turns.rs`, `tests/runtime/turns.rs`.

use super::ledger_change::Writes;
use super::long_changes::RemoveLabel;
use super::{Sequential, Threaded};
use crate::commit::{PartitionSpec, PreparedRefresh, RefreshError};
use crate::fast_path::FastPath;
use crate::queue::TreeSettings;

/// Settings and labels that are to be taken over.
#[derive(Debug)]
pub(super) struct LabelRefresh {
    /// Until they are taken over.
    settings: Option<NewSettings>,
    labels: Vec<PartitionSpec>,
    removing: Vec<RemoveLabel>,
    /// What a prepared refresh replaced.
    replaced: Option<Box<PreparedRefresh>>,
}

/// Settings that are to be taken over with labels.
#[derive(Debug)]
enum NewSettings {
    Plain(Box<TreeSettings>),
    /// They were worked out on a copy of the queues, with the labels.
    Prepared(Box<PreparedRefresh>),
}

impl LabelRefresh {
    pub(super) fn of(settings: Box<TreeSettings>, labels: Vec<PartitionSpec>) -> Self {
        Self {
            settings: Some(NewSettings::Plain(settings)),
            labels,
            removing: Vec::new(),
            replaced: None,
        }
    }

    /// The same with settings that were prepared.
    pub(super) fn prepared(prepared: Box<PreparedRefresh>, labels: Vec<PartitionSpec>) -> Self {
        Self {
            settings: Some(NewSettings::Prepared(prepared)),
            labels,
            removing: Vec::new(),
            replaced: None,
        }
    }

    /// Takes what a prepared refresh replaced, to be dropped by the thread of the caller.
    fn take_replaced(&mut self) -> Option<Box<PreparedRefresh>> {
        self.replaced.take()
    }

    /// Goes on; what it came to once all holds, or nothing of it.
    pub(super) fn go_on(
        &mut self,
        engine: &mut Sequential,
        budget: &mut usize,
    ) -> Option<Result<(), RefreshError>> {
        if let Some(settings) = self.settings.take() {
            if let Err(refused) = self.begin(engine, settings) {
                return Some(Err(refused));
            }
            // The whole tree was worked on.
            *budget = budget.saturating_sub(engine.ledger().state().queues.len());
        }
        while let Some(next) = self.removing.last_mut() {
            // A label that somebody removed meanwhile is gone, as it should.
            let _gone = next.go_on(engine, budget)?;
            self.removing.pop();
        }
        Some(Ok(()))
    }

    /// Checks everything, and takes over what is not removed.
    fn begin(
        &mut self,
        engine: &mut Sequential,
        settings: NewSettings,
    ) -> Result<(), RefreshError> {
        let ledger = engine.ledger();
        ledger.labels().check(&self.labels)?;
        let beside = ledger.labels().beside(&self.labels);
        let removing = beside.iter().map(|name| RemoveLabel::of(name)).collect();
        let settings = match settings {
            NewSettings::Plain(settings) => settings,
            NewSettings::Prepared(mut prepared) => {
                let Some(result) = engine.install(&mut prepared) else {
                    return self.begin(engine, NewSettings::Plain(prepared.into_settings()));
                };
                self.replaced = Some(prepared);
                self.removing = removing;
                return result;
            }
        };
        ledger.check_refresh(&settings)?;
        self.removing = removing;
        for label in &self.labels {
            engine.add_label(label);
        }
        engine.reconfigure(*settings)
    }
}

impl Sequential {
    /// Takes over a new configuration with the labels that the cluster knows from then on, as a whole or not at all.
    /// Nodes of labels that are not named come to the default partition.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`]; nothing changed then.
    pub fn reconfigure_with_labels(
        &mut self,
        settings: TreeSettings,
        labels: &[PartitionSpec],
    ) -> Result<(), RefreshError> {
        let mut refresh = LabelRefresh::of(Box::new(settings), labels.to_vec());
        loop {
            if let Some(result) = refresh.go_on(self, &mut { usize::MAX }) {
                return result;
            }
        }
    }
}

impl Threaded {
    /// As [`Sequential::reconfigure_with_labels`].
    ///
    /// # Errors
    ///
    /// As [`RefreshError`]; nothing changed then.
    pub fn reconfigure_with_labels(
        &self,
        settings: TreeSettings,
        labels: Vec<PartitionSpec>,
    ) -> Result<(), RefreshError> {
        // Must equal [`Sequential::reconfigure_with_labels`].
        let settings = Box::new(settings);
        let mut refresh = if FastPath::PreparedRefresh.is_taken() {
            let copy = self.copy_tree()?.with_labels(labels.clone());
            match copy.prepare(settings) {
                Ok(prepared) => LabelRefresh::prepared(prepared, labels),
                Err(as_a_whole) => LabelRefresh::of(as_a_whole, labels),
            }
        } else {
            LabelRefresh::of(settings, labels)
        };
        let (result, _replaced) = self.change_in_phases(move |engine, budget| {
            // Labels are removed from one node after the other.
            let result = refresh.go_on(engine, budget).ok_or(Writes::Named)?;
            Ok((result, refresh.take_replaced()))
        })?;
        result
    }
}
