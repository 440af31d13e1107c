//! Amounts of resources.

use capsched::queue::SchedulerSettings;
use capsched::resource::ResourceVector;

use crate::rest::tree::Object;

/// The bounds that stand beside each amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rest) enum Bounds {
    /// From 0 without end, as amounts that are computed have.
    Open,
    /// Those of one allocation, as amounts that a configuration names have.
    Allocation,
}

/// An amount of every resource type.
// As ResourceInfo.
pub(in crate::rest) fn resource(
    settings: &SchedulerSettings,
    amount: &ResourceVector,
    bounds: Bounds,
) -> Object {
    let types = settings.resource_types.len();
    let values = amount.values(types);
    let (least, most) = match bounds {
        Bounds::Open => (ResourceVector::NONE, None),
        Bounds::Allocation => (
            settings.minimum_allocation,
            Some(settings.maximum_allocation),
        ),
    };
    let one = |i: usize| {
        let most = most.as_ref();
        let most = most.map_or(i64::MAX, |most| most.values(types)[i]);
        let units = settings
            .resource_units
            .get(i)
            .map_or("", |unit| unit.name());
        Object::new()
            .with_map::<&str, &str>("attributes", [])
            .with("maximumAllocation", most)
            .with("minimumAllocation", least.values(types)[i])
            .with("name", &*settings.resource_types[i])
            .with("resourceType", "COUNTABLE")
            .with("units", units)
            .with("value", values[i])
    };
    let all = Object::new().with_many("resourceInformation", (0..types).map(one));
    Object::new()
        .with("memory", amount.memory())
        .with("vCores", amount.vcores())
        .with("resourceInformations", all)
}

/// An amount that is computed.
pub(in crate::rest) fn open(settings: &SchedulerSettings, amount: &ResourceVector) -> Object {
    resource(settings, amount, Bounds::Open)
}
