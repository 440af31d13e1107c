//! What a call that was read must hold so that it can be made as it stands.

use super::ask_lines::ChangeLine;
use super::call::{AppCall, Call};
use crate::api::{MAX_TYPES, NodeName};

impl Call {
    /// Refuses a call that no journal writes: [`Call::make`] would pass over a node whose name is
    /// none, and over what a size has behind the last type.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(node) = self.node() {
            let named: Result<NodeName, _> = node.parse();
            named.map_err(|error| format!("node: {error}"))?;
        }
        let most = self.sizes().map(<[i64]>::len).max().unwrap_or(0);
        if most > MAX_TYPES {
            return Err(format!(
                "size: {most} amounts, and there are at most {MAX_TYPES} resource types"
            ));
        }
        match self {
            Self::RegisterNode(call) => call.check(),
            Self::RecoverApp(call) => call.check(),
            _ => Ok(()),
        }
    }

    /// Every size that the call names.
    fn sizes(&self) -> Box<dyn Iterator<Item = &[i64]> + '_> {
        match self {
            Self::AddNode { size, .. } => Box::new(std::iter::once(&**size)),
            Self::RegisterNode(call) => Box::new(call.sizes()),
            Self::RecoverApp(call) => Box::new(call.submission.master.as_deref().into_iter()),
            Self::Submit(app) => Box::new(app.master.as_deref().into_iter()),
            Self::Ask(call) => Box::new(call.sizes()),
            Self::Opportunistic(call) => Box::new(call.asks.iter().map(|ask| &*ask.size)),
            Self::Gang(gang) => Box::new(std::iter::once(&*gang.size)),
            _ => Box::new(std::iter::empty()),
        }
    }
}

impl AppCall {
    fn sizes(&self) -> impl Iterator<Item = &[i64]> {
        let asks = self.asks.iter().map(|ask| &*ask.size);
        let constrained = self.constrained.iter().map(|ask| &*ask.size);
        let changed = self
            .updates
            .iter()
            .filter_map(|update| match &update.change {
                ChangeLine::Increase(size) | ChangeLine::Decrease(size) => Some(&**size),
                ChangeLine::Promote | ChangeLine::Demote => None,
            });
        asks.chain(constrained).chain(changed)
    }
}
