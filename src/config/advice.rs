//! Warnings about configurations that are accepted.

use crate::queue::TreeSettings;

use super::diagnostic::Diagnostic;
use super::properties::Properties;

/// Adds the warnings about a configuration.
pub(super) fn warnings(_: &Properties, _: &TreeSettings, _: &mut Vec<Diagnostic>) {}
