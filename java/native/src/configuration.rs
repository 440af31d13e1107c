//! What an engine is started or refreshed with: the properties of the ResourceManager as two files in memory.

use capsched::api::{Engine, EngineBuilder, Mode, PartitionSpec, Reference};
use capsched::config::{self, Admission, ConfigSource, Layer, Options, Report, Severity};

use crate::wire::{Malformed, Reader};

/// The properties of the ResourceManager.
#[derive(Debug)]
pub struct Files {
    sources: [ConfigSource; 2],
    /// The user that the ResourceManager runs as.
    pub daemon: String,
}

impl Files {
    /// The daemon's user, the properties of the site, and those of the scheduler, each as an XML file.
    ///
    /// # Errors
    ///
    /// When the request is malformed.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let daemon = reader.text()?;
        let mut source = |name: &str, layer| -> Result<ConfigSource, Malformed> {
            Ok(ConfigSource {
                name: name.to_owned(),
                bytes: reader.bytes()?.to_vec(),
                layer,
            })
        };
        let site = source("yarn-site.xml", Layer::Site)?;
        let scheduler = source("capacity-scheduler.xml", Layer::Scheduler)?;
        Ok(Self {
            sources: [site, scheduler],
            daemon,
        })
    }

    /// The files.
    #[must_use]
    pub const fn sources(&self) -> &[ConfigSource] {
        &self.sources
    }
}

/// What an engine is started with.
#[derive(Debug)]
pub struct Start {
    files: Files,
    options: Options,
    mode: Mode,
    partitions: Vec<PartitionSpec>,
}

/// An engine that may start, and what belongs to it.
#[derive(Debug)]
pub struct Prepared {
    /// The engine.
    pub builder: EngineBuilder,
    /// How its configuration is read again.
    pub options: Options,
    /// Number of resource types.
    pub types: usize,
    /// Warnings of the configuration.
    pub warnings: Vec<String>,
}

impl Start {
    /// The release of Hadoop, the mode and its threads, the names of the resource types, labels, then [`Files`].
    ///
    /// # Errors
    ///
    /// When the request is malformed, or the release or mode is unknown.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let release = reader.text()?;
        let Some(reference) = Reference::of_release(&release) else {
            let text = format!(
                "Hadoop {} is not known; there are 3.4 and 3.5",
                release.escape_debug()
            );
            return Err(reader.fault(text));
        };
        let (mode, threads) = (reader.text()?, reader.count()? as usize);
        let mode = match &*mode {
            "heartbeat" => Mode::Heartbeat,
            "asynchronous" => Mode::Asynchronous { threads },
            "global" => Mode::Global { threads },
            other => {
                let other = other.escape_debug();
                let text = format!("mode `{other}`; there are heartbeat, asynchronous and global");
                return Err(reader.fault(text));
            }
        };
        let types = reader.list(Reader::text)?;
        let partitions = reader.list(|reader| {
            Ok(PartitionSpec {
                name: reader.text()?,
                exclusive: reader.flag()?,
            })
        })?;
        Ok(Self {
            files: Files::read(reader)?,
            options: Options {
                resource_types: Some(types),
                reference,
                ..Options::default()
            },
            mode,
            partitions,
        })
    }

    /// Reads the configuration.
    ///
    /// # Errors
    ///
    /// The errors of the configuration.
    pub fn prepare(self) -> Result<Prepared, String> {
        let loaded = config::load(self.files.sources(), &self.options).map_err(|report| {
            let errors = lines(&report, Severity::Error);
            errors.join("\n")
        })?;
        let rules = Admission::read(&loaded, &self.files.daemon).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            errors.join("\n")
        })?;
        let types = self.options.resource_types.as_ref().map_or(2, Vec::len);
        let options = Options {
            running: Some(loaded.settings.scheduler.calculator),
            ..self.options
        };
        Ok(Prepared {
            warnings: lines(&loaded.report, Severity::Warning),
            builder: Engine::builder(loaded.settings)
                .mode(self.mode)
                .partitions(self.partitions)
                .preemption(loaded.preemption)
                .admission(rules),
            options,
            types,
        })
    }
}

/// Findings of one severity, a line each.
#[must_use]
pub fn lines(report: &Report, severity: Severity) -> Vec<String> {
    let of_it = report
        .diagnostics
        .iter()
        .filter(|one| one.severity == severity);
    of_it.map(ToString::to_string).collect()
}
