//! Configurations and modes as Python gives them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::api::{ModeKind, Reference};
use engine::config::{self, ConfigSource, Layer, Loaded, Options};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::refusal;

/// What every setting of `capacity-scheduler.xml` begins with.
const SCHEDULER: &str = "yarn.scheduler.capacity.";

/// The file of the scheduler's layer.
const SCHEDULER_FILE: &str = "capacity-scheduler.xml";

/// Files of the site's layer, where a folder has them.
const SITE_FILES: [&str; 2] = ["resource-types.xml", "yarn-site.xml"];

/// A configuration: settings by name, or the path of a file or a folder.
#[derive(FromPyObject)]
pub(crate) enum Conf<'py> {
    /// `capacity-scheduler.xml`, or a folder with it and with those of the site.
    Path(PathBuf),
    /// Settings by their full names.
    Pairs(BTreeMap<String, Bound<'py, PyAny>>),
}

impl Conf<'_> {
    /// Reads the configuration.
    ///
    /// # Errors
    ///
    /// The report, when it is refused.
    pub(crate) fn load(&self, options: &Options) -> PyResult<Loaded> {
        match self {
            Self::Path(path) => config::load(&sources(path)?, options).map_err(refusal),
            Self::Pairs(pairs) => {
                let (mut site, mut own) = (BTreeMap::new(), BTreeMap::new());
                for (key, value) in pairs {
                    let layer = if key.starts_with(SCHEDULER) {
                        &mut own
                    } else {
                        &mut site
                    };
                    layer.insert(key.clone(), text_of(value)?);
                }
                config::load_pairs(&site, &own, options).map_err(refusal)
            }
        }
    }
}

/// A value as a file would have it.
fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.str()?.to_string();
    Ok(if value.is_instance_of::<PyBool>() {
        text.to_lowercase()
    } else {
        text
    })
}

fn sources(path: &Path) -> PyResult<Vec<ConfigSource>> {
    let limits = Options::default().limits;
    let read = |path: &Path, layer| {
        config::read_source(path, layer, &limits).map_err(|finding| refusal(&finding.message))
    };
    if !path.is_dir() {
        return Ok(vec![read(path, Layer::Scheduler)?]);
    }
    let mut sources = vec![read(&path.join(SCHEDULER_FILE), Layer::Scheduler)?];
    for file in SITE_FILES {
        let path = path.join(file);
        if path.exists() {
            sources.push(read(&path, Layer::Site)?);
        }
    }
    Ok(sources)
}

/// A mode by its name.
pub(crate) fn mode(name: &str) -> PyResult<ModeKind> {
    let all = [
        ModeKind::Heartbeat,
        ModeKind::Asynchronous,
        ModeKind::Global,
    ];
    all.into_iter()
        .find(|mode| mode.name() == name)
        .ok_or_else(|| {
            let name = name.escape_debug();
            refusal(format_args!(
                "mode: `{name}` is none of heartbeat, asynchronous and global"
            ))
        })
}

/// How a configuration is read under the rules of a release of Hadoop.
pub(crate) fn options(hadoop: &str) -> PyResult<Options> {
    let reference = Reference::of_release(hadoop).ok_or_else(|| {
        let known = Reference::ALL.map(Reference::name).join(" and ");
        let hadoop = hadoop.escape_debug();
        refusal(format_args!("hadoop: `{hadoop}` is none of {known}"))
    })?;
    Ok(Options {
        reference,
        ..Options::default()
    })
}
