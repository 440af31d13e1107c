//! What an application asks for, changes and learns, as Python's own values.

use engine::api::{
    Ask, AskReply, Closeness, ContainerChange, ContainerUpdate, GangAsk, ResourceVector,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::refusal;
use crate::sizes::Size;

/// Containers of one size at one place.
#[derive(FromPyObject)]
pub(crate) struct AskDict {
    #[pyo3(item)]
    size: Size,
    #[pyo3(item, default = 1)]
    count: i32,
    #[pyo3(item, default = "*".to_owned())]
    place: String,
    #[pyo3(item, default = 1)]
    priority: i32,
    #[pyo3(item, default)]
    request_id: i64,
    #[pyo3(item, default = true)]
    relax_locality: bool,
    #[pyo3(item, default)]
    partition: Option<String>,
}

impl AskDict {
    /// # Errors
    ///
    /// When its size is none over the resource types of these names.
    pub(crate) fn over(&self, types: &[String]) -> PyResult<Ask> {
        Ok(Ask {
            priority: self.priority,
            request_id: self.request_id,
            place: self.place.clone(),
            size: self.size.over(types)?,
            count: self.count,
            relax_locality: self.relax_locality,
            partition: self.partition.clone(),
        })
    }
}

/// A change of one container.
#[derive(FromPyObject)]
pub(crate) struct UpdateDict {
    #[pyo3(item)]
    container: u32,
    #[pyo3(item, default)]
    version: u32,
    #[pyo3(item)]
    change: String,
    #[pyo3(item, default)]
    size: Option<Size>,
}

impl UpdateDict {
    /// # Errors
    ///
    /// When the change is no known one, or has no size where it needs one, or one where it has none.
    pub(crate) fn over(&self, types: &[String]) -> PyResult<ContainerUpdate> {
        let size = self.size.as_ref().map(|size| size.over(types)).transpose()?;
        let change = match (self.change.as_str(), size) {
            ("increase", Some(size)) => ContainerChange::Increase(size),
            ("decrease", Some(size)) => ContainerChange::Decrease(size),
            ("promote", None) => ContainerChange::Promote,
            ("demote", None) => ContainerChange::Demote,
            (sized @ ("increase" | "decrease"), None) => {
                return Err(refusal(format_args!("{sized}: the size is missing")));
            }
            (plain @ ("promote" | "demote"), Some(_)) => {
                return Err(refusal(format_args!("{plain}: it has no size")));
            }
            (other, _) => {
                let other = other.escape_debug();
                return Err(refusal(format_args!(
                    "change: `{other}` is none of increase, decrease, promote, demote"
                )));
            }
        };
        Ok(ContainerUpdate {
            container: self.container,
            version: self.version,
            change,
        })
    }
}

/// How close together a gang is to be: `rack`, the name of an attribute as `prefix/name`, or nothing.
fn closeness(close: Option<&str>) -> Closeness {
    match close {
        None => Closeness::Anywhere,
        Some("rack") => Closeness::Rack,
        Some(attribute) => Closeness::Attribute(attribute.to_owned()),
    }
}

/// A gang.
#[derive(FromPyObject)]
pub(crate) struct GangDict {
    #[pyo3(item)]
    size: Size,
    #[pyo3(item)]
    minimum: u32,
    #[pyo3(item)]
    within_ms: u64,
    #[pyo3(item, default)]
    elastic: u32,
    #[pyo3(item, default = 1)]
    priority: i32,
    #[pyo3(item, default)]
    request_id: i64,
    #[pyo3(item, default)]
    close: Option<String>,
    #[pyo3(item, default)]
    partition: Option<String>,
}

impl GangDict {
    /// # Errors
    ///
    /// When its size is none over the resource types of these names.
    pub(crate) fn over(&self, types: &[String]) -> PyResult<GangAsk> {
        let size = self.size.over(types)?;
        Ok(GangAsk {
            priority: self.priority,
            request_id: self.request_id,
            elastic: self.elastic,
            close: closeness(self.close.as_deref()),
            partition: self.partition.clone(),
            ..GangAsk::of(self.minimum, size, self.within_ms)
        })
    }
}

/// The reply to a call of an application, with amounts of the first `types` resource types.
pub(crate) fn reply<'py>(
    py: Python<'py>,
    reply: &AskReply,
    types: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let amounts = |size: &ResourceVector| size.values(types).to_vec();
    let mut allocated = Vec::new();
    for one in &reply.allocated {
        let of = PyDict::new(py);
        of.set_item("container", one.container.to_string())?;
        of.set_item("node", one.node.to_string())?;
        of.set_item("size", amounts(&one.size))?;
        of.set_item("priority", one.priority)?;
        of.set_item("request_id", one.request_id)?;
        of.set_item("opportunistic", one.opportunistic)?;
        allocated.push(of);
    }
    let mut updated = Vec::new();
    for one in &reply.updated {
        let of = PyDict::new(py);
        of.set_item("container", one.container.to_string())?;
        of.set_item("node", one.node.to_string())?;
        of.set_item("change", one.kind.name())?;
        of.set_item("size", amounts(&one.size))?;
        of.set_item("version", one.version)?;
        updated.push(of);
    }
    let mut errors = Vec::new();
    for one in &reply.update_errors {
        let of = PyDict::new(py);
        of.set_item("container", one.update.container)?;
        of.set_item("change", one.update.change.kind().name())?;
        of.set_item("reason", one.refusal.name())?;
        of.set_item("version", one.version)?;
        errors.push(of);
    }
    let of = PyDict::new(py);
    of.set_item("allocated", allocated)?;
    let finished = reply.finished.iter();
    let finished: Vec<_> = finished.map(|one| (one.number, one.cause.name())).collect();
    of.set_item("finished", finished)?;
    of.set_item("asked_back", reply.asked_back.clone())?;
    of.set_item("unknown", reply.unknown.clone())?;
    of.set_item("headroom", amounts(&reply.headroom))?;
    of.set_item("updated", updated)?;
    of.set_item("update_errors", errors)?;
    Ok(of)
}
