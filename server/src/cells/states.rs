//! Which cells are up: the health of each address, asked for regularly and lost with the first call that fails.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use capsched::sync::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::task::JoinSet;

use super::client::{CellClient, CellRequest};
use super::names::{CellAddress, CellName};
use super::policy::Policy;

/// Question about the health of a resource manager.
const READY: &str = "/health/ready";

/// One address of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct AddressState {
    pub(super) address: CellAddress,
    /// Why it is down; nothing: it is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) down: Option<String>,
    /// Since when it is up or down, in ms since the Unix epoch.
    pub(super) since_ms: u64,
}

/// The cells of a policy with the states of their addresses.
#[derive(Debug, Default)]
pub struct CellStates {
    cells: Mutex<BTreeMap<CellName, Vec<AddressState>>>,
}

impl CellStates {
    fn cells(&self) -> MutexGuard<'_, BTreeMap<CellName, Vec<AddressState>>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the addresses of a policy. One that is known keeps its state; another one is down until it is asked.
    pub(super) fn follow(&self, policy: &Policy, now_ms: u64) {
        let mut cells = self.cells();
        let before = std::mem::take(&mut *cells);
        let known = |address: &CellAddress| {
            let mut all = before.values().flatten();
            all.find(|state| state.address == *address).cloned()
        };
        let state = |address: &CellAddress| {
            known(address).unwrap_or_else(|| AddressState {
                address: address.clone(),
                down: Some("it was not asked yet".to_owned()),
                since_ms: now_ms,
            })
        };
        *cells = policy
            .cells()
            .map(|(name, addresses)| (name.clone(), addresses.iter().map(state).collect()))
            .collect();
    }

    /// Address of a cell that is up; else why none is.
    pub(super) fn active(&self, cell: &CellName) -> Result<CellAddress, String> {
        let cells = self.cells();
        let Some(addresses) = cells.get(cell) else {
            return Err("the policy has no such cell".to_owned());
        };
        match addresses.iter().find(|state| state.down.is_none()) {
            Some(state) => Ok(state.address.clone()),
            None => Err(reasons(addresses)),
        }
    }

    /// Whether an address of a cell is up.
    #[must_use]
    pub fn is_up(&self, cell: &CellName) -> bool {
        let cells = self.cells();
        let addresses = cells.get(cell);
        addresses.is_some_and(|all| all.iter().any(|state| state.down.is_none()))
    }

    /// Names of all cells in order, and whether each is up.
    #[must_use]
    pub fn all(&self) -> Vec<(CellName, bool)> {
        let up = |states: &[AddressState]| states.iter().any(|state| state.down.is_none());
        let cells = self.cells();
        cells
            .iter()
            .map(|(name, states)| (name.clone(), up(states)))
            .collect()
    }

    /// The addresses of all cells.
    pub(super) fn shown(&self) -> BTreeMap<CellName, Vec<AddressState>> {
        self.cells().clone()
    }

    /// Enters what was found at an address.
    pub(super) fn enter(&self, address: &CellAddress, down: Option<String>, now_ms: u64) {
        let mut cells = self.cells();
        for (name, states) in cells.iter_mut() {
            for state in states.iter_mut().filter(|state| state.address == *address) {
                if state.down.is_some() != down.is_some() {
                    state.since_ms = now_ms;
                    match &down {
                        Some(why) => {
                            tracing::warn!(cell = %name, %address, %why, "an address is down")
                        }
                        None => tracing::info!(cell = %name, %address, "an address is up"),
                    }
                }
                state.down.clone_from(&down);
            }
        }
    }

    /// Asks all addresses at once, and returns when each has answered or its time is over.
    pub(super) async fn ask(
        self: &Arc<Self>,
        client: &CellClient,
        patience: Duration,
        now_ms: impl Fn() -> u64,
    ) {
        let addresses = self.shown().into_values().flatten();
        let mut asked = JoinSet::new();
        for state in addresses {
            let client = client.clone();
            asked.spawn(async move {
                let request = CellRequest::plain(Method::GET, READY);
                let found = client.call(&state.address, &request, patience).await;
                let down = match found {
                    Ok(answer) if answer.status == StatusCode::OK => None,
                    Ok(answer) => Some(format!("its health answers {}", answer.status)),
                    Err(error) => Some(error.to_string()),
                };
                (state.address, down)
            });
        }
        while let Some(found) = asked.join_next().await {
            if let Ok((address, down)) = found {
                self.enter(&address, down, now_ms());
            }
        }
    }
}

fn reasons(addresses: &[AddressState]) -> String {
    let each = addresses.iter().map(|state| {
        let why = state.down.as_deref().unwrap_or("it is up");
        format!("{}: {why}", state.address)
    });
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(cells: serde_json::Value) -> Policy {
        let queues = serde_json::json!([{"queue": "root", "home": "a"}]);
        let text = serde_json::json!({"cells": cells, "queues": queues});
        Policy::read(text.to_string().as_bytes()).unwrap()
    }

    fn name(text: &str) -> CellName {
        CellName::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_cell_is_up_while_one_of_its_addresses_is() {
        let states = CellStates::default();
        let addresses = ["http://127.0.0.1:1", "http://127.0.0.1:2"];
        states.follow(
            &policy(serde_json::json!([{"name": "a", "addresses": addresses}])),
            5,
        );
        let [first, second] = addresses.map(|text| CellAddress::try_from(text.to_owned()).unwrap());
        assert!(!states.is_up(&name("a")), "nothing was asked yet");
        states.enter(&second, None, 7);
        assert_eq!(states.active(&name("a")), Ok(second.clone()));
        states.enter(&second, Some("it is gone".to_owned()), 8);
        let why = states.active(&name("a")).unwrap_err();
        assert!(
            why.contains("127.0.0.1:1") && why.contains("it is gone"),
            "{why}"
        );
        states.enter(&first, None, 9);
        assert_eq!(states.active(&name("a")), Ok(first));
    }

    #[test]
    fn a_change_of_the_policy_keeps_what_is_known_of_an_address() {
        let states = CellStates::default();
        let one = serde_json::json!({"name": "a", "addresses": ["http://127.0.0.1:1"]});
        states.follow(&policy(serde_json::json!([one])), 0);
        let address = CellAddress::try_from("http://127.0.0.1:1".to_owned()).unwrap();
        states.enter(&address, None, 3);
        let other = serde_json::json!({"name": "b", "addresses": ["http://127.0.0.1:2"]});
        states.follow(&policy(serde_json::json!([one, other])), 4);
        assert_eq!(states.all(), [(name("a"), true), (name("b"), false)]);
        assert_eq!(states.shown()[&name("a")][0].since_ms, 3);
        assert!(states.active(&name("c")).is_err());
    }
}
