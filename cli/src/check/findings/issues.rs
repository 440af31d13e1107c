//! Findings in the form of the reference's validation of a configuration: issues by queue and
//! property.

use capsched::config::{self, Issue};
use serde_json::{Value, json};

use crate::check::Checked;

/// `{"valid": …, "issues": [{queuePath, propertyKey, ruleId, severity, message}]}`. What belongs to
/// no queue has `root`, what belongs to no property has a null key.
pub(in crate::check) fn issues(results: &[Checked<'_>], strict: bool) -> Value {
    let mut all = Vec::new();
    let mut valid = true;
    for checked in results {
        match &checked.report {
            Ok(report) => {
                valid &= !report.refuses(strict);
                all.extend(config::issues(report));
            }
            Err(message) => {
                valid = false;
                all.push(Issue::error("E_IO", message));
            }
        }
    }
    json!({"valid": valid, "issues": all})
}
