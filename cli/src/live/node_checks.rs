//! What a server answers about a node and an application that waits.

use std::sync::Arc;

use anyhow::Result;
use capsched::api::{KeyOnNode, NodeCheck, NodeName, ResourceVector};
use serde::Deserialize;

use crate::output::Problem;

/// What a node of a server lacks for an application.
#[derive(Clone, Debug)]
pub(crate) struct ServedWhyNot {
    /// The node, with its port.
    pub(crate) node: NodeName,
    pub(crate) keys: Vec<KeyOnNode>,
    /// Names of the resource types.
    pub(crate) types: Vec<Arc<str>>,
}

#[derive(Deserialize)]
pub(super) struct WhyNotAnswer {
    node: String,
    types: Vec<String>,
    keys: Vec<KeyAnswer>,
}

#[derive(Deserialize)]
struct KeyAnswer {
    priority: i32,
    request_id: i64,
    containers: u64,
    size: Vec<i64>,
    checks: Vec<CheckAnswer>,
}

#[derive(Deserialize)]
struct CheckAnswer {
    what: String,
    holds: bool,
    detail: String,
}

impl WhyNotAnswer {
    pub(super) fn read(self) -> Result<ServedWhyNot> {
        let keys: Result<Vec<_>> = self.keys.into_iter().map(KeyAnswer::read).collect();
        Ok(ServedWhyNot {
            node: self.node.parse()?,
            keys: keys?,
            types: self.types.into_iter().map(Into::into).collect(),
        })
    }
}

impl KeyAnswer {
    fn read(self) -> Result<KeyOnNode> {
        let checks: Result<Vec<_>> = self.checks.into_iter().map(CheckAnswer::read).collect();
        let size = self.size;
        Ok(KeyOnNode {
            priority: self.priority,
            request_id: self.request_id,
            containers: self.containers,
            size: ResourceVector::build(|index| size.get(index).copied().unwrap_or(0)),
            checks: checks?,
        })
    }
}

impl CheckAnswer {
    fn read(self) -> Result<NodeCheck> {
        let mut words = NodeCheck::WORDS.into_iter();
        let what = words.find(|word| *word == self.what).ok_or_else(|| {
            let shown = self.what.escape_debug();
            anyhow::Error::new(Problem(format!(
                "the server has a condition that this version does not know: {shown}"
            )))
        })?;
        Ok(NodeCheck {
            what,
            holds: self.holds,
            detail: self.detail,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(what: &str) -> WhyNotAnswer {
        let check = json!({"what": what, "holds": false, "detail": "has free 1; 2 asked"});
        let document: Value = json!({"app": "application_7_0002", "node": "n1:8041", "types": ["memory-mb"],
            "keys": [{"priority": 1, "request_id": 0, "containers": 3, "size": [1024], "fits": false,
                "checks": [check]}]});
        serde_json::from_value(document).expect("an answer")
    }

    #[test]
    fn conditions_are_read_by_their_words() {
        let read = answer("room").read().expect("readable");
        assert_eq!(read.node.to_string(), "n1:8041");
        assert_eq!((read.keys[0].containers, read.keys[0].fits()), (3, false));
        assert!(answer("mood").read().is_err());
    }
}
