//! Values that a trial tries for a setting, from the smallest change on.
#![expect(
    clippy::float_arithmetic,
    reason = "settings are written as decimal fractions"
)]

use super::settings_editor::SettingsEditor;
use crate::explain::Reason;

/// How the values of a setting grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ladder {
    /// A share of 1: `maximum-am-resource-percent`.
    Share,
    /// A factor without bound: `user-limit-factor`.
    Factor,
    /// Percent of the parent: `maximum-capacity`.
    Percent,
    /// A number of applications.
    Count,
    /// An amount.
    Doubling,
    /// One word.
    Word(&'static str),
}

impl Ladder {
    /// The value that holds where none is written.
    const fn default(self) -> Option<f64> {
        match self {
            Self::Share => Some(0.1),
            Self::Factor => Some(1.0),
            Self::Percent => Some(100.0),
            Self::Count | Self::Doubling | Self::Word(_) => None,
        }
    }

    fn above(self, now: f64) -> Vec<f64> {
        let values: Vec<f64> = match self {
            Self::Share => [0.05, 0.1, 0.2, 0.4, 0.6, 0.9].map(|by| now + by).to_vec(),
            Self::Factor => [1.5, 2.0, 3.0, 5.0, 10.0].map(|by| now * by).to_vec(),
            Self::Percent => [5.0, 10.0, 20.0, 40.0, 60.0, 90.0]
                .map(|by| now + by)
                .to_vec(),
            Self::Count => [1.0, 5.0, now].map(|by| now + by).to_vec(),
            Self::Doubling => [2.0, 4.0, 8.0, 16.0].map(|by| now * by).to_vec(),
            Self::Word(_) => Vec::new(),
        };
        let most = match self {
            Self::Share => 1.0,
            Self::Percent => 100.0,
            _ => f64::MAX,
        };
        let mut values: Vec<f64> = values.into_iter().map(|value| value.min(most)).collect();
        values.retain(|&value| value > now);
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }
}

/// Values that are tried for a property, by the reason that it stands for.
const fn ladder_of(reason: Reason) -> Option<Ladder> {
    Some(match reason {
        Reason::AmLimitQueue => Ladder::Share,
        Reason::AmLimitUser | Reason::UserLimit => Ladder::Factor,
        Reason::QueueMaxCapacity | Reason::ParentHeadroom | Reason::ExceedsQueueMax => {
            Ladder::Percent
        }
        Reason::MaxParallelApps | Reason::MaxApplications => Ladder::Count,
        Reason::LargerThanMaxAllocation => Ladder::Doubling,
        Reason::QueueStopped => Ladder::Word("RUNNING"),
        Reason::NodesReserved => Ladder::Word("true"),
        Reason::LabelNotAccessible => Ladder::Word("*"),
        _ => return None,
    })
}

/// The values to try for a property that stands for a reason, as they are written in a file. Nothing
/// where its value is no number that can be raised.
pub(super) fn values_above(
    reason: Reason,
    property: &str,
    editor: &dyn SettingsEditor,
) -> Vec<String> {
    let Some(ladder) = ladder_of(reason) else {
        return Vec::new();
    };
    if let Ladder::Word(word) = ladder {
        return vec![word.to_owned()];
    }
    let setting = property.rsplit('.').next().unwrap_or(property);
    let shared = format!("yarn.scheduler.capacity.{setting}");
    let written = editor.value(property).or_else(|| editor.value(&shared));
    let now = match written {
        Some(text) => text.trim().parse().ok(),
        None => ladder.default(),
    };
    let now = now.filter(|now: &f64| now.is_finite() && *now > 0.0);
    let Some(now) = now else {
        return Vec::new();
    };
    ladder.above(now).into_iter().map(written_as).collect()
}

/// A number with at most three decimals and no zeros at its end.
fn written_as(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_grow_from_the_smallest_change_to_the_bound() {
        assert_eq!(Ladder::Percent.above(60.0), [65.0, 70.0, 80.0, 100.0]);
        assert!(Ladder::Percent.above(100.0).is_empty());
        assert_eq!(Ladder::Count.above(3.0), [4.0, 6.0, 8.0]);
        let shares: Vec<String> = Ladder::Share
            .above(0.1)
            .into_iter()
            .map(written_as)
            .collect();
        assert_eq!(shares, ["0.15", "0.2", "0.3", "0.5", "0.7", "1"]);
    }
}
