//! Resource types of a site: names, units, kinds, and the smallest and largest allocation of each.
//!
//! The types are those of `yarn-site.xml` and `resource-types.xml`. `capacity-scheduler.xml` is read
//! a second time for the largest allocations alone, with every check of the first reading.

use std::sync::Arc;

use crate::resource::{MAX_TYPES, MAX_VALUE, ResourceUnit, ResourceVector, VCORES};

use super::diagnostic::{Diagnostic, clip, clip_key};
use super::number;
use super::properties::Look;

const LIST: &str = "yarn.resource-types";

/// Types that every cluster has; their names cannot be given to others.
const MANDATORY: [&str; 3] = ["memory", "memory-mb", "vcores"];

/// Types whose unit is fixed.
// As ResourceInformation.SPECIAL_RESOURCES.
const WITHOUT_UNIT: [&str; 2] = ["yarn.io/gpu", "yarn.io/fpga"];

/// A tag that takes a type out of every comparison.
const VOLUME: &str = "system:csi-volume";

/// One type with its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declared {
    name: Arc<str>,
    unit: ResourceUnit,
    minimum: i64,
    maximum: i64,
    /// Whether no file declares it: its name comes from the caller.
    assumed: bool,
}

/// The resource types of a cluster in vector order, `memory-mb` and `vcores` first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeTable(Vec<Declared>);

impl TypeTable {
    /// Reads the types; what is wrong with them is noted and left out.
    // As ResourceUtils.getResourceInformationMapFromConfig.
    pub(super) fn read(look: &Look<'_>) -> Self {
        let mut extra: Vec<Declared> = Vec::new();
        let list = look.text(LIST).unwrap_or_default();
        for name in number::trimmed_list(&list) {
            let Some(found) = declared(look, name) else {
                continue;
            };
            if extra.iter().any(|known| known.name == found.name) {
                let message = format!("the resource type `{}` stands twice", clip(name));
                let finding = Diagnostic::error("E_RESOURCE_TYPE", message)
                    .at(look.properties().span(LIST))
                    .help("name each type once");
                look.note(finding);
            } else if extra.len() + 2 == MAX_TYPES {
                look.fail(
                    "E_LIMIT",
                    LIST,
                    format!("more than {MAX_TYPES} resource types"),
                );
                break;
            } else {
                extra.push(found);
            }
        }
        let mut all = vec![
            mandatory(look, "memory-mb", "mb", [1024, 8192]),
            mandatory(look, "vcores", "vcores", [1, 4]),
        ];
        all.append(&mut extra);
        Self(all)
    }

    /// The same types in the order of `names`; a name that nothing declares gets no bounds.
    pub(super) fn in_order(&self, names: &[Arc<str>]) -> Self {
        let find = |name: &Arc<str>| {
            let known = self.0.iter().find(|declared| declared.name == *name);
            known.cloned().unwrap_or_else(|| Declared {
                name: Arc::clone(name),
                unit: ResourceUnit::ONE,
                minimum: 0,
                maximum: i64::MAX,
                assumed: true,
            })
        };
        Self(names.iter().map(find).collect())
    }

    /// Names in vector order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let names = self.0.iter().map(|declared| Arc::clone(&declared.name));
        names.collect()
    }

    /// Units in vector order.
    pub(super) fn units(&self) -> Vec<ResourceUnit> {
        self.0.iter().map(|declared| declared.unit).collect()
    }

    /// The smallest allocation of each type.
    pub(super) fn minimum(&self) -> ResourceVector {
        self.vector(|declared| declared.minimum)
    }

    /// The largest allocation of each type.
    pub(super) fn maximum(&self) -> ResourceVector {
        self.vector(|declared| declared.maximum)
    }

    /// The largest allocations that a second reading gives to the types of a first one: a type that
    /// it leaves out gets 0, and one that only it knows is an error.
    // As ResourceUtils.fetchMaximumAllocationFromConfig.
    pub(super) fn maximum_by(&self, again: &Self, look: &Look<'_>) -> ResourceVector {
        for other in &again.0 {
            if !self.0.iter().any(|known| known.name == other.name) {
                let name = clip(&other.name);
                let message = format!("the resource type `{name}` stands in this file alone");
                let finding = Diagnostic::error("E_RESOURCE_TYPE", message)
                    .at(look.properties().span(LIST))
                    .help("declare it in yarn-site.xml or resource-types.xml, and give that file with `--site`");
                look.note(finding);
            }
        }
        self.vector(|known| {
            let found = again.0.iter().find(|other| other.name == known.name);
            let missing = if known.assumed { known.maximum } else { 0 };
            found.map_or(missing, |other| other.maximum)
        })
    }

    /// Bounds as a vector; the number of vcores is an `int`.
    fn vector(&self, of: impl Fn(&Declared) -> i64) -> ResourceVector {
        let mut all = ResourceVector::NONE;
        for (i, declared) in self.0.iter().enumerate() {
            let most = if i == VCORES {
                i64::from(i32::MAX)
            } else {
                i64::MAX
            };
            all.set(i, of(declared).min(most));
        }
        all
    }
}

fn key(name: &str, part: &str) -> String {
    format!("{LIST}.{name}.{part}")
}

/// A type of the list, unless something about it is wrong.
fn declared(look: &Look<'_>, name: &str) -> Option<Declared> {
    let minimum = bound(look, name, "minimum-allocation", 0);
    let maximum = bound(look, name, "maximum-allocation", i64::MAX);
    let units = look.text(&key(name, "units")).unwrap_or_default();
    let fault = kind_fault(look, name)
        .or_else(|| unit_fault(name, &units))
        .or_else(|| name_fault(name))
        .or_else(|| tag_fault(look, name));
    if let Some(fault) = fault {
        let finding = Diagnostic::error(fault.code, fault.message)
            .at(look.properties().span(&fault.key))
            .help(fault.help);
        look.note(finding);
        return None;
    }
    Some(Declared {
        name: name.into(),
        unit: ResourceUnit::parse(&units)?,
        minimum,
        maximum,
        assumed: false,
    })
}

/// What is wrong with a type, and at which key.
struct Fault {
    code: &'static str,
    key: String,
    message: String,
    help: String,
}

impl Fault {
    fn of(key: String, message: String, help: &str) -> Self {
        Self {
            code: "E_RESOURCE_TYPE",
            key,
            message,
            help: help.to_owned(),
        }
    }
}

fn kind_fault(look: &Look<'_>, name: &str) -> Option<Fault> {
    let key = key(name, "type");
    let kind = look.text(&key).filter(|kind| kind != "COUNTABLE")?;
    let message = format!(
        "no kind of resource `{}`, for `{}`",
        clip(&kind),
        clip(name)
    );
    let help = "the only kind is `COUNTABLE`, without white space";
    Some(Fault::of(key, message, help))
}

fn unit_fault(name: &str, units: &str) -> Option<Fault> {
    let key = key(name, "units");
    if WITHOUT_UNIT.contains(&name) && !units.is_empty() {
        let message = format!("the resource type `{name}` has no unit");
        return Some(Fault::of(key, message, "remove the key"));
    }
    if ResourceUnit::parse(units).is_some() {
        return None;
    }
    let message = format!(
        "no unit `{}`, for the resource type `{}`",
        clip(units),
        clip(name)
    );
    let known: Vec<&str> = ResourceUnit::names().filter(|n| !n.is_empty()).collect();
    let help = format!("use one of {}, or leave it out", known.join(", "));
    Some(Fault::of(key, message, &help))
}

fn name_fault(name: &str) -> Option<Fault> {
    let (message, help) = if name.is_empty() {
        let message = "a resource type without a name".to_owned();
        (message, "remove the surplus comma")
    } else if MANDATORY.contains(&name) {
        let message = format!("the resource type `{name}` exists on every cluster");
        (
            message,
            "remove it from the list; its bounds need no declaration",
        )
    } else if is_type_name(name) {
        return None;
    } else {
        let message = format!("`{}` cannot be the name of a resource type", clip(name));
        let help = "a name is a letter, then letters, digits, `.`, `_` or `-`; a name space with \
                    a `/` may stand before it";
        (message, help)
    };
    Some(Fault::of(LIST.to_owned(), message, help))
}

fn tag_fault(look: &Look<'_>, name: &str) -> Option<Fault> {
    let key = key(name, "tags");
    let tags = look.text(&key)?;
    number::trimmed_list(&tags)
        .contains(&VOLUME)
        .then(|| Fault {
            code: "E_RESOURCE_TAG",
            ..Fault::of(
                key,
                format!("resource types with the tag `{VOLUME}` are not supported"),
                "remove the type or the tag",
            )
        })
}

/// A bound of a type of the list. A negative one is refused: rounding to it means nothing.
fn bound(look: &Look<'_>, name: &str, part: &str, default: i64) -> i64 {
    let key = key(name, part);
    sound_bound(look, &key, look.long(&key, default))
}

fn sound_bound(look: &Look<'_>, key: &str, value: i64) -> i64 {
    let most = if key.ends_with("minimum-allocation") {
        MAX_VALUE
    } else {
        i64::MAX
    };
    if (0..=most).contains(&value) {
        return value;
    }
    let message = format!("`{}` is {value}, not within 0 and {most}", clip_key(key));
    look.fail("E_RANGE", key, message);
    value.clamp(0, most)
}

/// Memory or vcores: the bounds of the resource type win over those of `yarn.scheduler`.
// As ResourceUtils.setAllocationForMandatoryResources.
fn mandatory(look: &Look<'_>, name: &str, short: &str, defaults: [i64; 2]) -> Declared {
    let bound = |side: &str, default| {
        let own = key(name, &format!("{side}-allocation"));
        match look.long(&own, -1) {
            -1 => look.long(
                &format!("yarn.scheduler.{side}-allocation-{short}"),
                default,
            ),
            value => sound_bound(look, &own, value),
        }
    };
    Declared {
        name: name.into(),
        unit: if name == "memory-mb" {
            ResourceUnit::MEBI
        } else {
            ResourceUnit::ONE
        },
        minimum: bound("minimum", defaults[0]),
        maximum: bound("maximum", defaults[1]),
        assumed: false,
    }
}

/// Whether a resource type may have the name.
// As ResourceUtils.RESOURCE_NAME_PATTERN.
#[must_use]
pub fn is_type_name(name: &str) -> bool {
    let (space, own) = match name.split_once('/') {
        Some((space, own)) => (Some(space), own),
        None => (None, name),
    };
    let group = |part: &str| {
        let sound = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !part.is_empty()
            && part.chars().all(sound)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    let letter = own.starts_with(|c: char| c.is_ascii_alphabetic());
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    letter && own.chars().all(part) && space.is_none_or(|space| space.split('.').all(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_name_space() {
        for sound in [
            "gpu",
            "yarn.io/gpu",
            "a-b.c_d",
            "x.y-z.1/Gpu9",
            "1/a",
            "gpu-",
        ] {
            assert!(is_type_name(sound), "{sound}");
        }
        for not in [
            "2gpu", "", "a/b/c", "-a/b", "a-/b", "a..b/c", "/a", "a/", "a b", "_a", "ä", "a/2b",
        ] {
            assert!(!is_type_name(not), "{not}");
        }
    }
}
