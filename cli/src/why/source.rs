//! What is explained: a recorded run, which is repeated, or a snapshot, whose calls are made again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use capsched::api::{NodeName, SettingsEditor, Stepped};
use capsched::config::Loaded;
use capsched::simulator::journal::{Call, StateSnapshot};

use super::jobs::Jobs;
use crate::output::Problem;
use crate::play::{Editor, Onlooker, Origin, Watched};
use crate::recipe::{Recorded, Staged};
use crate::snapshot;

/// Something that holds the past of an engine.
#[derive(Debug)]
pub(crate) enum Source {
    /// A recorded run.
    Run(Recorded),
    /// A snapshot and its file.
    Snapshot(PathBuf, Box<StateSnapshot>),
}

/// The same, ready to be looked at.
#[derive(Debug)]
pub(crate) enum Stage {
    /// What repeats a run.
    Run(Box<Staged>),
    /// A snapshot, its file and its settings.
    Snapshot(PathBuf, Box<StateSnapshot>, Box<Loaded>),
}

impl Source {
    /// A folder is a run, and a file a snapshot.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path.is_file() {
            let snapshot = Box::new(snapshot::read(path)?);
            return Ok(Self::Snapshot(path.to_owned(), snapshot));
        }
        Ok(Self::Run(Recorded::open(path)?))
    }

    /// The applications.
    pub(crate) fn jobs(&self) -> Result<Jobs> {
        match self {
            Self::Run(recorded) => Jobs::read(&recorded.path),
            Self::Snapshot(_, snapshot) => Ok(Jobs::of_calls(&snapshot.calls)),
        }
    }

    /// Reads what is needed to look.
    pub(crate) fn stage(self) -> Result<Stage> {
        Ok(match self {
            Self::Run(recorded) => Stage::Run(Box::new(recorded.stage()?)),
            Self::Snapshot(path, snapshot) => {
                let loaded = snapshot.head.loaded();
                let loaded = loaded.map_err(|error| snapshot::refused(&path, &error))?;
                Stage::Snapshot(path, snapshot, Box::new(loaded))
            }
        })
    }
}

impl Stage {
    /// Where properties stand.
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::Run(staged) => staged.cluster.origin.clone(),
            Self::Snapshot(_, _, loaded) => Origin::of_properties(loaded.as_ref().clone()),
        }
    }

    /// Names of the resource types.
    pub(crate) fn types(&self) -> Vec<Arc<str>> {
        match self {
            Self::Run(staged) => {
                let names = staged.cluster.types.names().iter();
                names.map(|name| name.as_str().into()).collect()
            }
            Self::Snapshot(_, _, loaded) => loaded.settings.scheduler.resource_types.clone(),
        }
    }

    /// The node that a text means among those that the cluster ever has: by its name, or by its host alone.
    pub(crate) fn node(&self, text: &str) -> Result<NodeName> {
        let named: BTreeSet<NodeName> = match self {
            Self::Run(staged) => {
                let nodes = staged.cluster.nodes.iter();
                nodes
                    .filter_map(|node| NodeName::new(&node.host, 0).ok())
                    .collect()
            }
            Self::Snapshot(_, snapshot, _) => {
                let added = snapshot.calls.iter().filter_map(|call| match call {
                    Call::AddNode { node, .. } => node.parse().ok(),
                    Call::RegisterNode(call) => call.node.parse().ok(),
                    _ => None,
                });
                added.collect()
            }
        };
        let problem = match NodeName::meant(text, &named).as_slice() {
            [node] => return Ok((*node).clone()),
            [] => {
                let some: Vec<_> = named.iter().take(3).map(ToString::to_string).collect();
                let (shown, some) = (text.escape_debug(), some.join(", "));
                format!("the cluster has no node {shown}; it has {some} ...")
            }
            several => format!(
                "{} nodes have the host {}; name the port: {}",
                several.len(),
                text.escape_debug(),
                several[0]
            ),
        };
        Err(anyhow::Error::new(Problem(problem)))
    }

    /// What edits the configuration for trials.
    pub(crate) fn editor(&self) -> Box<dyn SettingsEditor + '_> {
        match self {
            Self::Run(staged) => Box::new(Editor {
                cluster: &staged.cluster,
                row: staged.row,
            }),
            Self::Snapshot(_, _, loaded) => Box::new(loaded.as_ref().clone()),
        }
    }

    /// Plays up to a moment, or to the end; `end` sees the engine then.
    pub(crate) fn observe<T>(
        &self,
        until_ms: Option<u64>,
        onlooker: &mut dyn Onlooker,
        end: impl FnOnce(u64, &Stepped) -> T,
    ) -> Result<T> {
        match self {
            Self::Run(staged) => {
                let seen = staged
                    .row
                    .observe(&staged.scene(), until_ms, onlooker, end)?;
                Ok(seen.0)
            }
            Self::Snapshot(path, snapshot, _) => {
                let engine = snapshot.head.engine();
                let engine = engine.map_err(|error| snapshot::refused(path, &error))?;
                let mut watched = Watched::new(engine, onlooker);
                let until_ms = until_ms.unwrap_or(u64::MAX);
                for call in &snapshot.calls {
                    if matches!(call, Call::Advance { to_ms } if *to_ms > until_ms) {
                        break;
                    }
                    call.make(&mut watched);
                }
                let at_ms = snapshot.head.at_ms.min(until_ms);
                watched.end(at_ms);
                Ok(end(at_ms, watched.engine()))
            }
        }
    }
}
