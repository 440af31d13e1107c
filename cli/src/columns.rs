//! The columns of a comparison: configurations, clusters, seeds, loads, modes, threads and costs, and
//! how they are played.

use anyhow::{Result, bail};
use capsched::api::Reference;
use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::play::{Cluster, NamedCosts, Outcome, Row, RunFolder, Scene, Timing, Trace, progress};

/// A cluster with its trace, and what differs from others.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// The trace, read with the resource types of the cluster.
    pub(crate) trace: Trace,
    /// Seed that the order of nodes is drawn from.
    pub(crate) seed: Option<u64>,
    /// The release of Hadoop that the cluster follows.
    pub(crate) reference: Reference,
    /// How many times faster than given the jobs come.
    pub(crate) load: u64,
    /// Kinds and names of what differs from the other settings.
    pub(crate) differs: Vec<(&'static str, String)>,
}

/// One column: a setting in a mode, under costs.
#[derive(Clone, Debug)]
pub(crate) struct Side<'a> {
    /// Cluster and trace.
    pub(crate) setting: &'a Setting,
    /// Mode and engine.
    pub(crate) row: Row,
    /// What the scheduler's work costs.
    pub(crate) costs: &'a NamedCosts,
    /// Kinds and names of what differs from the other columns, its mode left out.
    pub(crate) differs: Vec<(&'static str, String)>,
}

impl Side<'_> {
    /// A name that no other column has.
    pub(crate) fn name(&self) -> String {
        let mut name = self.row.to_string();
        for (kind, value) in &self.differs {
            let value = if *kind == "load" {
                format!("x{value}")
            } else {
                value.clone()
            };
            name = format!("{name}, {value}");
        }
        name
    }

    /// The name of its folder.
    pub(crate) fn folder(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.name().chars().map(plain).collect();
        let parts = name.split('-').filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }

    fn scene(&self, timing: Timing, tries: bool) -> Scene<'_> {
        Scene {
            cluster: &self.setting.cluster,
            trace: &self.setting.trace,
            timing,
            costs: self.costs.costs(),
            tries,
            says_end: true,
        }
    }
}

/// All columns: each setting in each mode with each number of threads under each of the costs.
pub(crate) fn sides<'a>(
    settings: &'a [Setting],
    rows: &[Row],
    costs: &'a [NamedCosts],
) -> Result<Vec<Side<'a>>> {
    let mut sides = Vec::new();
    for setting in settings {
        for &row in rows {
            for costs_of_row in costs {
                if costs_of_row.costs().is_some() && !row.sequential {
                    bail!("--costs are of virtual time; leave --threads out");
                }
                let mut differs = setting.differs.clone();
                if costs.len() > 1 {
                    differs.push(("costs", costs_of_row.to_string()));
                }
                sides.push(Side {
                    setting,
                    row: row.under(setting.reference),
                    costs: costs_of_row,
                    differs,
                });
            }
        }
    }
    Ok(sides)
}

/// How columns are played.
pub(crate) struct Stage<'a> {
    /// Periods of virtual time; a sweep leaves the end to the trace.
    pub(crate) timing: Timing,
    /// Whether steps are tried for the work that is left.
    pub(crate) tries: bool,
    /// Where the files of every column go.
    pub(crate) folder: Option<&'a RunFolder>,
    /// Plays a column into its folder.
    pub(crate) record: &'a Recording<'a>,
}

/// Plays a column and writes its files.
pub(crate) type Recording<'a> =
    dyn Fn(&Side<'_>, &Scene<'_>, &RunFolder, &ProgressBar) -> Result<Outcome> + Sync + 'a;

impl Stage<'_> {
    /// Plays every column: side by side on all cores, but one after the other when threads are
    /// measured, so that no run disturbs another one's clock.
    pub(crate) fn play(&self, sides: &[Side<'_>]) -> Result<Vec<Outcome>> {
        if sides.iter().any(|side| !side.row.sequential) || sides.len() == 1 {
            let shown = |side: &Side<'_>| {
                let jobs = side.setting.trace.facts.jobs;
                self.one(side, &progress(jobs, side.row.mode.name()))
            };
            return sides.iter().map(shown).collect();
        }
        let all: Vec<Result<Outcome>> = sides
            .par_iter()
            .map(|side| self.one(side, &ProgressBar::hidden()))
            .collect();
        all.into_iter().collect()
    }

    fn one(&self, side: &Side<'_>, bar: &ProgressBar) -> Result<Outcome> {
        let scene = side.scene(self.timing, self.tries);
        let outcome = match self.folder {
            None => side.row.play(&scene, bar, &mut ()),
            Some(folder) => {
                let own = folder.within(&side.folder())?;
                (self.record)(side, &scene, &own, bar)
            }
        };
        bar.finish_and_clear();
        let mut outcome = outcome?;
        outcome.name = side.name();
        outcome.differs.clone_from(&side.differs);
        Ok(outcome)
    }
}
