//! Bounds on the priority of applications, by leaf and user.

use std::collections::BTreeMap;
use std::fmt;

use super::PREFIX;
use super::list::{AccessList, Caller};
use crate::config::source::PropertySource;

/// The priority groups of all leaves that have some.
// As AppPriorityACLsManager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorityAccess {
    enabled: bool,
    cluster_maximum: i32,
    by_leaf: BTreeMap<String, Vec<PriorityGroup>>,
}

/// One bracket of `acl_application_max_priority`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PriorityGroup {
    members: AccessList,
    maximum: i32,
    default: Option<i32>,
}

/// A bracket that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityAclError {
    /// The queue.
    pub queue: String,
    /// The text between the brackets.
    pub group: String,
    /// What is wrong with it.
    pub detail: String,
}

impl PriorityAclError {
    /// A stable word for the fault.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "priority_acl"
    }
}

impl fmt::Display for PriorityAclError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.acl_application_max_priority: [{}]: {}",
            self.queue, self.group, self.detail
        )
    }
}

impl std::error::Error for PriorityAclError {}

/// Why a submission is refused for its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityRefusal {
    /// No group of the user reaches up to this priority.
    TooHigh {
        /// The priority that was asked for or is the default, capped to the cluster's maximum.
        priority: i32,
    },
    /// The submission names no priority, and the user's group has no default.
    NoDefault,
}

impl PriorityRefusal {
    /// A stable word for the refusal.
    #[must_use]
    pub const fn code(self) -> &'static str {
        "priority_acl"
    }
}

impl fmt::Display for PriorityRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooHigh { priority } => {
                write!(f, "the user has no permission for priority {priority}")
            }
            Self::NoDefault => {
                f.write_str("no priority is asked for, and the user's group has no default")
            }
        }
    }
}

impl std::error::Error for PriorityRefusal {}

impl PriorityAccess {
    /// Reads the groups of the leaves at these paths.
    ///
    /// # Errors
    ///
    /// Every bracket that cannot be used.
    pub fn read<'a>(
        source: &impl PropertySource,
        leaves: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Vec<PriorityAclError>> {
        let maximum = source.filled("yarn.cluster.max-application-priority");
        let maximum = maximum.and_then(|text| text.trim().parse().ok());
        let mut access = Self {
            enabled: source.flag("yarn.acl.enable", false),
            cluster_maximum: maximum.unwrap_or(0),
            by_leaf: BTreeMap::new(),
        };
        let mut errors = Vec::new();
        for leaf in leaves {
            let key = format!("{PREFIX}{leaf}.acl_application_max_priority");
            let text = source.filled(&key).unwrap_or_default();
            match groups(&text, access.cluster_maximum) {
                Ok(groups) if groups.is_empty() => {}
                Ok(groups) => {
                    access.by_leaf.insert(leaf.to_owned(), groups);
                }
                Err((group, detail)) => errors.push(PriorityAclError {
                    queue: leaf.to_owned(),
                    group,
                    detail,
                }),
            }
        }
        if errors.is_empty() {
            Ok(access)
        } else {
            Err(errors)
        }
    }

    /// The priority of an application in a leaf: the one asked for, else the default of the user's
    /// group, else `queue_default`; capped to the cluster's maximum.
    ///
    /// # Errors
    ///
    /// When no group of the user reaches up to the priority, or the group has no default where one
    /// is needed.
    // As CapacityScheduler.checkAndGetApplicationPriority.
    pub fn effective(
        &self,
        caller: &Caller<'_>,
        leaf: &str,
        asked: Option<i32>,
        queue_default: i32,
    ) -> Result<i32, PriorityRefusal> {
        let groups = self.by_leaf.get(leaf).filter(|_| self.enabled);
        let wanted = match (asked, groups) {
            (Some(asked), _) => asked,
            (None, None) => queue_default,
            (None, Some(groups)) => {
                let mut of_user = groups.iter().filter(|group| group.members.admits(caller));
                match of_user.next_back() {
                    Some(group) => group.default.ok_or(PriorityRefusal::NoDefault)?,
                    None => queue_default,
                }
            }
        };
        let priority = wanted.min(self.cluster_maximum);
        let permitted = groups.is_none_or(|groups| {
            groups
                .iter()
                .any(|group| group.members.admits(caller) && priority <= group.maximum)
        });
        if permitted {
            Ok(priority)
        } else {
            Err(PriorityRefusal::TooHigh { priority })
        }
    }
}

/// Reads all brackets, the lowest maximum first; of a faulty one its text and the fault.
// As AppPriorityACLConfigurationParser.getPriorityAcl.
fn groups(text: &str, cluster_maximum: i32) -> Result<Vec<PriorityGroup>, (String, String)> {
    let mut groups = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let inside = &rest[open + 1..];
        let end = inside.find(']').unwrap_or(inside.len());
        let (words, after) = inside.split_at(end);
        if !words.trim().is_empty() {
            let read = group(words, cluster_maximum);
            groups.push(read.map_err(|detail| (words.trim().to_owned(), detail))?);
        }
        rest = after;
    }
    groups.sort_by_key(|group| group.maximum);
    Ok(groups)
}

fn group(words: &str, cluster_maximum: i32) -> Result<PriorityGroup, String> {
    let mut maximum = None;
    let mut default = None;
    let mut names: Vec<&str> = Vec::new();
    for word in words.split_whitespace() {
        let mut sides = word.split('=').filter(|side| !side.is_empty());
        let (Some(key), Some(value)) = (sides.next(), sides.next()) else {
            continue;
        };
        let number = || {
            let number = value.parse::<i32>();
            number.map_err(|_| format!("`{value}` is not a whole number"))
        };
        match key.to_ascii_lowercase().as_str() {
            "user" | "group" => names.push(value),
            "max_priority" => maximum = Some(number()?),
            "default_priority" => default = Some(number()?.max(0)),
            _ => return Err(format!("`{key}` is unknown")),
        }
    }
    let maximum = maximum.ok_or("max_priority is not set")?;
    Ok(PriorityGroup {
        members: members(&names)?,
        maximum: maximum.min(cluster_maximum),
        default,
    })
}

/// The first list that is given stands for users and the second for groups, whatever they are
/// called: a group without users is read as users, as in the original.
fn members(names: &[&str]) -> Result<AccessList, String> {
    match names {
        [] => Err("neither user nor group is set".to_owned()),
        ["*", ..] => Ok(AccessList::everybody()),
        [users] => Ok(AccessList::parse(users)),
        [users, groups, ..] => Ok(AccessList::parse(&format!("{users} {groups}"))),
    }
}
