//! Capacities that the configuration gives as amounts.

use crate::resource::ResourceVector;

/// The absolute capacity and maximum of a queue on a partition. Most queues have none, and take no memory for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfiguredAmounts(Option<Box<AbsoluteLimits>>);

#[derive(Clone, Debug, PartialEq)]
struct AbsoluteLimits {
    minimum: ResourceVector,
    maximum: ResourceVector,
}

impl ConfiguredAmounts {
    /// Both; nothing where they are none.
    #[must_use]
    pub fn of(minimum: ResourceVector, maximum: ResourceVector) -> Self {
        let any = !minimum.is_none() || !maximum.is_none();
        Self(any.then(|| Box::new(AbsoluteLimits { minimum, maximum })))
    }

    /// Absolute capacity; nothing in other modes.
    #[must_use]
    pub fn minimum(&self) -> ResourceVector {
        let amounts = self.0.as_ref();
        amounts.map_or(ResourceVector::NONE, |amounts| amounts.minimum)
    }

    /// Adds the absolute capacity, if there is any, to a sum.
    #[inline]
    pub fn add_minimum_to(&self, sum: &mut ResourceVector) {
        if let Some(amounts) = &self.0 {
            *sum += amounts.minimum;
        }
    }

    /// Absolute maximum, or that of the parent below an absolute capacity without one; nothing in other modes.
    #[must_use]
    pub fn maximum(&self) -> ResourceVector {
        let amounts = self.0.as_ref();
        amounts.map_or(ResourceVector::NONE, |amounts| amounts.maximum)
    }
}
