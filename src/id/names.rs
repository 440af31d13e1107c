//! Names that cross the edge: applications, containers, nodes, scheduler keys.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use ecow::EcoString;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::java_order;

/// An application: the start time of the cluster and a sequence number
/// (`application_<timestamp>_<sequence>`). Order is by both, older first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ApplicationId {
    /// Start of the resource manager that gave the number, in ms; any constant serves.
    pub cluster: u64,
    /// Sequence number within the cluster.
    pub sequence: u32,
}

impl ApplicationId {
    /// An application of the cluster with start time 1.
    #[must_use]
    pub const fn new(sequence: u32) -> Self {
        Self {
            cluster: 1,
            sequence,
        }
    }
}

impl fmt::Display for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "application_{}_{:04}", self.cluster, self.sequence)
    }
}

/// A container: its application, the attempt of it that has the container, and a number counted from
/// 1 in order of first allocation or reservation within the attempt. A reserved container keeps its
/// number when it is allocated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContainerId {
    /// The application.
    pub app: ApplicationId,
    /// Attempt of the application, from 1.
    pub attempt: u32,
    /// Number within the attempt, from 1.
    pub number: u32,
}

impl ContainerId {
    /// A container of the first attempt of an application.
    #[must_use]
    pub const fn new(app: ApplicationId, number: u32) -> Self {
        Self {
            app,
            attempt: 1,
            number,
        }
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "container_{}_{:04}_{:02}_{:06}",
            self.app.cluster, self.app.sequence, self.attempt, self.number
        )
    }
}

/// A node: host and port. Order is by host, then port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeName {
    /// Hosts of up to 15 bytes stand in place: events and answers copy the name of their node, and threads that count
    /// one shared text wait for each other.
    host: EcoString,
    port: u16,
}

impl NodeName {
    /// A node's name from its parts.
    ///
    /// # Errors
    ///
    /// When the host is empty, longer than 255 bytes, holds white space, a control character, `/`
    /// or `:`, or is `*`, which means anywhere.
    pub fn new(host: &str, port: u16) -> Result<Self, NodeNameError> {
        let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | ':');
        if host.is_empty() || host.len() > 255 || host.contains(bad) || host == "*" {
            return Err(NodeNameError(clip(host)));
        }
        Ok(Self {
            host: host.into(),
            port,
        })
    }

    /// The host, by which asks name the node.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of the node manager.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The nodes that a text may mean: the one of that name, or else all with that host.
    ///
    /// ```
    /// use capsched::id::NodeName;
    ///
    /// let nodes = [NodeName::new("n1", 8041)?, NodeName::new("n2", 1)?, NodeName::new("n2", 2)?];
    /// assert_eq!(NodeName::meant("n1", &nodes), [&nodes[0]]);
    /// assert_eq!(NodeName::meant("n2", &nodes), [&nodes[1], &nodes[2]]);
    /// assert_eq!(NodeName::meant("n2:2", &nodes), [&nodes[2]]);
    /// assert!(NodeName::meant("n3", &nodes).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn meant<'a>(text: &str, among: impl IntoIterator<Item = &'a Self>) -> Vec<&'a Self> {
        let name: Option<Self> = text.parse().ok();
        let among = among.into_iter();
        let mut of_host: Vec<&Self> = among
            .filter(|node| node.host() == text || Some(*node) == name.as_ref())
            .collect();
        let exact = of_host.iter().find(|node| Some(**node) == name.as_ref());
        if let Some(&exact) = exact {
            of_host = vec![exact];
        }
        of_host
    }

    /// `NodeId.hashCode`, for orders that the reference takes from hash maps.
    #[must_use]
    pub fn java_hash(&self) -> i32 {
        java_order::node_hash(&self.host, self.port)
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for NodeName {
    type Err = NodeNameError;

    /// Reads `host:port`; without a port it is 0.
    fn from_str(text: &str) -> Result<Self, NodeNameError> {
        match text.rsplit_once(':') {
            Some((host, port)) => {
                let port = port.parse().map_err(|_| NodeNameError(clip(text)))?;
                Self::new(host, port)
            }
            None => Self::new(text, 0),
        }
    }
}

/// A node name that is not `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeNameError(String);

impl fmt::Display for NodeNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a node name of the form host:port", self.0)
    }
}

impl std::error::Error for NodeNameError {}

/// An offending value for a message: at most 64 characters, control characters escaped.
fn clip(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// The name of an application or container that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdError {
    text: String,
    form: &'static str,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not of the form {}", self.text, self.form)
    }
}

impl std::error::Error for IdError {}

/// The numbers of an id behind its first word.
fn numbers<const N: usize>(text: &str, word: &str) -> Option<[u64; N]> {
    let mut parts = text.split('_');
    if parts.next() != Some(word) {
        return None;
    }
    let mut numbers = [0; N];
    for number in &mut numbers {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| digits)?;
    }
    parts.next().is_none().then_some(numbers)
}

impl FromStr for ApplicationId {
    type Err = IdError;

    /// Reads `application_<timestamp>_<sequence>`.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let read = numbers(text, "application").and_then(|[cluster, sequence]| {
            let sequence = u32::try_from(sequence).ok()?;
            Some(Self { cluster, sequence })
        });
        read.ok_or_else(|| IdError {
            text: clip(text),
            form: "application_<timestamp>_<sequence>",
        })
    }
}

impl FromStr for ContainerId {
    type Err = IdError;

    /// Reads `container_<timestamp>_<sequence>_<attempt>_<number>`.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let read = numbers(text, "container").and_then(|[cluster, rest @ ..]: [u64; 4]| {
            let [sequence, attempt, number] = rest.map(u32::try_from);
            Some(Self {
                app: ApplicationId {
                    cluster,
                    sequence: sequence.ok()?,
                },
                attempt: attempt.ok()?,
                number: number.ok()?,
            })
        });
        read.ok_or_else(|| IdError {
            text: clip(text),
            form: "container_<timestamp>_<sequence>_<attempt>_<number>",
        })
    }
}

/// Ids are written as their text.
macro_rules! as_text {
    ($($id:ident),*) => {
        $(impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        })*
    };
}

as_text!(ApplicationId, ContainerId, NodeName);

/// What asks are grouped by within an application: request priority (smaller is more important)
/// and allocation request id; the increase of a container has a key of its own. Order is that of
/// `SchedulerRequestKey`: increases come last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SchedulerKey {
    /// Request priority: a smaller number is more important.
    pub priority: i32,
    /// Number of the container that grows by what is asked; nothing for new containers.
    pub updates: Option<NonZeroU32>,
    /// Allocation request id, chosen by the application.
    pub request_id: i64,
}

/// As a map with what asks say of it.
impl Serialize for SchedulerKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("SchedulerKey", 3)?;
        fields.serialize_field("priority", &self.priority)?;
        fields.serialize_field("request_id", &self.request_id)?;
        fields.serialize_field("increases", &self.increases())?;
        fields.end()
    }
}

impl SchedulerKey {
    /// The key of the ask for an application master.
    pub const MASTER: Self = Self::new(0, -1);

    /// The first of all keys.
    pub const FIRST: Self = Self::new(i32::MIN, i64::MIN);

    /// The key of asks for new containers.
    #[inline]
    #[must_use]
    pub const fn new(priority: i32, request_id: i64) -> Self {
        Self {
            priority,
            updates: None,
            request_id,
        }
    }

    /// The key of the increase of a container that was asked under this key.
    #[must_use]
    pub const fn increasing(self, container: u32) -> Self {
        Self {
            updates: NonZeroU32::new(container),
            ..self
        }
    }

    /// Number of the container that grows by what is asked; nothing for new containers.
    #[inline]
    #[must_use]
    pub fn increases(self) -> Option<u32> {
        self.updates.map(NonZeroU32::get)
    }
}

// As SchedulerRequestKey.compareTo, whose comment says the opposite of increases.
impl Ord for SchedulerKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let of = |key: &Self| (key.updates.is_some(), key.priority, key.request_id);
        let container = || self.updates.cmp(&other.updates);
        of(self).cmp(&of(other)).then_with(container)
    }
}

impl PartialOrd for SchedulerKey {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_names_are_host_and_port() {
        let name: NodeName = "h3:8041".parse().unwrap();
        assert_eq!((name.host(), name.port()), ("h3", 8041));
        assert_eq!(name.to_string(), "h3:8041");
        for bad in ["", ":1", "a b:1", "h:99999", "h:x", "h\u{7}:1", "*:1"] {
            assert!(bad.parse::<NodeName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ids_are_read_back_from_their_text() {
        let app = ApplicationId {
            cluster: 1_700_000_000_000,
            sequence: 12_345,
        };
        assert_eq!(app.to_string().parse(), Ok(app));
        let container = ContainerId {
            app,
            attempt: 2,
            number: 1_234_567,
        };
        assert_eq!(container.to_string().parse(), Ok(container));
        for bad in [
            "",
            "application",
            "application_1",
            "application_1_2_3",
            "application_1_+2",
            "application_1_4294967296",
            "app_1_2",
        ] {
            let error = bad.parse::<ApplicationId>().unwrap_err();
            assert!(error.to_string().contains("application_<"), "{error}");
        }
        for bad in ["container_1_1_01", "container_1_1_01_x", "container_1_1__1"] {
            assert!(bad.parse::<ContainerId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_are_ordered_by_priority_then_request_id() {
        let key = SchedulerKey::new;
        assert!(SchedulerKey::FIRST < SchedulerKey::MASTER && SchedulerKey::MASTER < key(0, 0));
        assert!(key(0, 9) < key(1, 0));
        assert!(key(9, 9) < key(0, 0).increasing(1), "increases come last");
        assert!(key(0, 0).increasing(7) < key(0, 1).increasing(1));
        assert!(key(0, 0).increasing(1) < key(0, 0).increasing(2));
    }
}
