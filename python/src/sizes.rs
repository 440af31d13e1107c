//! Amounts of resources as Python gives them.

use std::collections::BTreeMap;

use engine::api::{MAX_TYPES, ResourceVector};
use pyo3::prelude::*;

use crate::refusal;

/// Amounts in the order of the cluster's types, or by their names.
#[derive(FromPyObject)]
pub(crate) enum Size {
    /// By name: `{"memory-mb": 4096, "vcores": 1}`.
    Named(BTreeMap<String, i64>),
    /// In order: `(4096, 1)`.
    Ordered(Vec<i64>),
}

impl Size {
    /// The vector over the types of these names.
    ///
    /// # Errors
    ///
    /// When a type is unknown, or there are more amounts than types.
    pub(crate) fn over(&self, types: &[String]) -> PyResult<ResourceVector> {
        match self {
            Self::Ordered(amounts) if amounts.len() > types.len().min(MAX_TYPES) => {
                let (given, known) = (amounts.len(), types.join(", "));
                Err(refusal(format_args!(
                    "{given} amounts for the resource types {known}"
                )))
            }
            Self::Ordered(amounts) => Ok(ResourceVector::of(amounts)),
            Self::Named(amounts) => {
                let mut size = ResourceVector::NONE;
                for (name, amount) in amounts {
                    let at = types.iter().position(|known| known == name);
                    let at = at.ok_or_else(|| {
                        let (name, known) = (name.escape_debug(), types.join(", "));
                        refusal(format_args!(
                            "`{name}` is none of the resource types {known}"
                        ))
                    })?;
                    size.set(at, *amount);
                }
                Ok(size)
            }
        }
    }
}
