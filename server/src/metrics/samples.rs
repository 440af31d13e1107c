//! Samples with labels, written as one family each.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Unit;

/// What a store says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreFigures {
    /// Whether changes are not kept any more.
    pub failed: bool,
    /// Entries that were appended and do not survive a crash yet.
    pub lag_entries: u64,
    /// Version of the scheduler's configuration.
    pub configuration_version: u64,
    /// Changes of the configuration that were refused or failed.
    pub configuration_refused: u64,
}

/// Labels of a sample, in order.
pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

/// A value of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// A whole number that may be negative.
    Whole(i64),
    /// A part of something, or seconds.
    Real(f64),
    /// A count that only grows.
    Count(u64),
}

/// A name with its help and unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) unit: Option<&'static Unit>,
}

impl Family {
    pub(super) const fn of(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            unit: None,
        }
    }

    pub(super) const fn in_unit(self, unit: &'static Unit) -> Self {
        Self {
            unit: Some(unit),
            ..self
        }
    }

    /// Writes a family of values that go up and down.
    pub(super) fn gauges<'a>(
        self,
        encoder: &mut DescriptorEncoder<'_>,
        samples: impl IntoIterator<Item = (Labels<'a>, Value)>,
    ) -> fmt::Result {
        self.write(encoder, MetricType::Gauge, samples)
    }

    /// Writes a family of counts.
    pub(super) fn counters<'a>(
        self,
        encoder: &mut DescriptorEncoder<'_>,
        samples: impl IntoIterator<Item = (Labels<'a>, u64)>,
    ) -> fmt::Result {
        let samples = samples.into_iter();
        let samples = samples.map(|(labels, count)| (labels, Value::Count(count)));
        self.write(encoder, MetricType::Counter, samples)
    }

    fn write<'a>(
        self,
        encoder: &mut DescriptorEncoder<'_>,
        kind: MetricType,
        samples: impl IntoIterator<Item = (Labels<'a>, Value)>,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, self.help, self.unit, kind)?;
        for (labels, value) in samples {
            if labels.is_empty() {
                sample(&mut family, value)?;
                continue;
            }
            let labels = labels.as_slice();
            sample(&mut family.encode_family(&labels)?, value)?;
        }
        Ok(())
    }
}

fn sample(encoder: &mut MetricEncoder<'_>, value: Value) -> fmt::Result {
    match value {
        Value::Whole(value) => encoder.encode_gauge(&value),
        Value::Real(value) => encoder.encode_gauge(&value),
        Value::Count(value) => {
            let none: Option<&Exemplar<Vec<(String, String)>, f64>> = None;
            encoder.encode_counter(&value, none)
        }
    }
}
