//! From a caller's options to a started engine, or to what one is refreshed with.

use std::time::Duration;

use capsched::api::{Engine, HandOut, Mode, PartitionSpec, Reference};
use capsched::config::{self, Admission, ConfigSource, Layer, Options};

use crate::abi::{self, OptionsRecord};
use crate::fault::{Answer, Fault};
use crate::memory::Memory;

/// Threads that propose at most.
const THREADS: u32 = 1024;

/// What the options say about files.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) sources: Vec<ConfigSource>,
    pub(crate) options: Options,
    pub(crate) daemon: String,
}

fn flag(value: u32, what: &str) -> Answer<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Fault::invalid(
            what,
            format_args!("{value} is neither 0 nor 1"),
        )),
    }
}

fn none_of(what: &str, value: u32) -> Fault {
    Fault::invalid(what, format_args!("there is no value {value}"))
}

fn mode(options: &OptionsRecord) -> Answer<Mode> {
    if options.threads > THREADS {
        let text = format_args!("{} is above {THREADS}", options.threads);
        return Err(Fault::invalid("threads", text));
    }
    let threads = usize::try_from(options.threads.max(1)).unwrap_or(1);
    match options.mode {
        abi::CAPSCHED_MODE_HEARTBEAT => Ok(Mode::Heartbeat),
        abi::CAPSCHED_MODE_ASYNCHRONOUS => Ok(Mode::Asynchronous { threads }),
        abi::CAPSCHED_MODE_GLOBAL => Ok(Mode::Global { threads }),
        other => Err(none_of("mode", other)),
    }
}

fn hand_out(options: &OptionsRecord) -> Answer<HandOut> {
    match options.hand_out {
        abi::CAPSCHED_HAND_OUT_REPLY => Ok(HandOut::Reply),
        abi::CAPSCHED_HAND_OUT_EVENT => Ok(HandOut::Event),
        other => Err(none_of("hand_out", other)),
    }
}

fn reference(options: &OptionsRecord) -> Answer<Reference> {
    match options.hadoop {
        abi::CAPSCHED_HADOOP_DEFAULT => Ok(Reference::default()),
        abi::CAPSCHED_HADOOP_3_4 => Ok(Reference::Hadoop34),
        abi::CAPSCHED_HADOOP_3_5 => Ok(Reference::Hadoop35),
        other => Err(none_of("hadoop", other)),
    }
}

/// The configuration files of the options.
pub(crate) fn files(memory: Memory, options: &OptionsRecord) -> Answer<Files> {
    let given = memory.read_all(options.sources, options.source_count)?;
    let source = |source: abi::SourceRecord| {
        Ok(ConfigSource {
            name: memory.text(source.name, "the name of a source")?,
            bytes: memory.raw(source.bytes, "the bytes of a source")?,
            layer: match source.layer {
                abi::CAPSCHED_LAYER_SITE => Layer::Site,
                abi::CAPSCHED_LAYER_SCHEDULER => Layer::Scheduler,
                other => return Err(none_of("layer", other)),
            },
        })
    };
    let sources = given.into_iter().map(source).collect::<Answer<_>>()?;
    let daemon = memory.text(options.daemon, "daemon")?;
    Ok(Files {
        sources,
        options: Options {
            reference: reference(options)?,
            ..Options::default()
        },
        daemon: if daemon.is_empty() {
            "yarn".to_owned()
        } else {
            daemon
        },
    })
}

/// The node labels of the options.
pub(crate) fn partitions(memory: Memory, options: &OptionsRecord) -> Answer<Vec<PartitionSpec>> {
    let partitions = memory.read_all(options.partitions, options.partition_count)?;
    let partition = |one: abi::PartitionRecord| {
        Ok(PartitionSpec {
            name: memory.text(one.name, "the name of a partition")?,
            exclusive: flag(one.exclusive, "exclusive")?,
        })
    };
    partitions.into_iter().map(partition).collect()
}

/// Starts the engine that the options describe.
pub(crate) fn start(memory: Memory, options: &OptionsRecord) -> Answer<Engine> {
    let (mode, hand_out) = (mode(options)?, hand_out(options)?);
    let recovering = flag(options.recovering, "recovering")?;
    let files = files(memory, options)?;
    let partitions = partitions(memory, options)?;
    let loaded = config::load(&files.sources, &files.options)?;
    let rules = Admission::read(&loaded, &files.daemon).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Fault::new(abi::CAPSCHED_ERR_CONFIG, "rules", texts.join("\n"))
    })?;
    let mut builder = Engine::builder(loaded.settings)
        .preemption(loaded.preemption)
        .partitions(partitions)
        .mode(mode)
        .hand_out(hand_out)
        .admission(rules);
    if options.allocation_expiry_ms > 0 {
        builder = builder.allocation_expiry(Duration::from_millis(options.allocation_expiry_ms));
    }
    if recovering {
        builder = builder.recovering();
    }
    Ok(builder.start()?)
}
