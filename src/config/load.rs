//! From files or key-value pairs to the settings of a scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::queue::{Reference, TreeSettings};
use crate::rescheduler;
use crate::resource::{Calculator, MAX_TYPES, ResourceVector};

use super::advice;
use super::diagnostic::{Diagnostic, Report, SourceFile, clip};
use super::document::DocumentLimits;
use super::number;
use super::preemption;
use super::prefix::PREFIX;
use super::properties::{Layers, Look, Properties};
use super::queue::QueueContext;
use super::resource_types::TypeTable;
use super::scheduler;
use super::severity::Severity;
use super::templates::ConfiguredTemplates;
use super::tree::Builder;
use super::xml;

/// Which layer a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `yarn-site.xml`, `resource-types.xml`.
    Site,
    /// `capacity-scheduler.xml`; its values win.
    Scheduler,
}

/// A configuration file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSource {
    /// Path or another name, for messages.
    pub name: String,
    /// The bytes as they are.
    pub bytes: Vec<u8>,
    /// The layer.
    pub layer: Layer,
}

/// How a configuration is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Refuse what there are warnings about.
    pub strict: bool,
    /// Bounds of a file.
    pub limits: DocumentLimits,
    /// Environment variables that `${env.NAME}` may refer to.
    pub environment: BTreeMap<String, String>,
    /// Names of all resource types in vector order; read from `yarn.resource-types` when unset.
    pub resource_types: Option<Vec<String>>,
    /// The calculator of the scheduler that is refreshed: it never changes, whatever the new
    /// configuration says about it. A refresh reads the largest allocation of the cluster from the
    /// scheduler's file too, a start from the site alone.
    pub running: Option<Calculator>,
    /// Whether the files are for a refresh of a scheduler that runs in legacy mode.
    /// [`check`](super::check) then warns when they leave it.
    pub refreshes_legacy_mode: bool,
    /// The release whose defaults and verdicts hold.
    pub reference: Reference,
    /// An older release: hints of [`check`](super::check) say what changes for the files since then.
    pub upgrades_from: Option<Reference>,
}

/// A configuration that was accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// What a scheduler is started or refreshed with.
    pub settings: TreeSettings,
    /// What preemption is configured with.
    pub preemption: rescheduler::Settings,
    /// All properties, for what is read elsewhere (placement rules).
    pub properties: Arc<Properties>,
    /// Warnings and hints, and the files that they point into.
    pub report: Report,
}

/// Reads configuration files that are in memory.
///
/// # Errors
///
/// The report, when it has errors, or warnings in strict mode.
pub fn load(sources: &[ConfigSource], options: &Options) -> Result<Loaded, Report> {
    let mut layers = Layers::new(options.environment.clone());
    let mut report = Report::default();
    let mut broken = false;
    for site in [true, false] {
        for (file, source) in sources.iter().enumerate() {
            if (source.layer == Layer::Site) != site {
                continue;
            }
            match xml::read(&source.bytes, file, &options.limits) {
                Ok(document) => {
                    layers.document(&document, file, site);
                    layers.findings.extend(document.warnings);
                }
                Err(finding) => {
                    broken = true;
                    report.diagnostics.push(*finding);
                }
            }
        }
    }
    let file = |source: &ConfigSource| SourceFile {
        name: source.name.clone(),
        text: shown(&source.bytes),
    };
    report.files = sources.iter().map(file).collect();
    if broken {
        report.diagnostics.extend(layers.findings);
        return Err(report);
    }
    finish(layers, report, options)
}

/// The bytes as text of the same length: what is no UTF-8 becomes `?`, byte by byte, so that
/// places stay where they are.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}

/// Reads a configuration from key-value pairs: those of the site, and those of
/// `capacity-scheduler.xml`. `resource_types` names all types in vector order.
///
/// # Errors
///
/// The report, when it has errors; [`Report::first_error`] has the code that decides.
pub fn from_pairs(
    site: &BTreeMap<String, String>,
    capacity_scheduler: &BTreeMap<String, String>,
    resource_types: &[String],
) -> Result<Loaded, Report> {
    let options = Options {
        resource_types: Some(resource_types.to_vec()),
        ..Options::default()
    };
    load_pairs(site, capacity_scheduler, &options)
}

/// Reads a configuration from key-value pairs with options, as [`from_pairs`] does with the
/// default ones.
///
/// # Errors
///
/// As [`from_pairs`].
pub fn load_pairs(
    site: &BTreeMap<String, String>,
    capacity_scheduler: &BTreeMap<String, String>,
    options: &Options,
) -> Result<Loaded, Report> {
    let mut layers = Layers::new(options.environment.clone());
    layers.pairs(site, true);
    layers.pairs(capacity_scheduler, false);
    finish(layers, Report::default(), options)
}

/// Reads a configuration again with some values changed: those of `capacity-scheduler.xml`, by full name.
///
/// # Errors
///
/// As [`from_pairs`].
pub fn with_changes(
    properties: &Properties,
    changes: &[(String, String)],
    options: &Options,
) -> Result<Loaded, Report> {
    let [site, own] = properties.pairs_with(changes);
    load_pairs(&site, &own, options)
}

/// Paths whose `state` key says stopped, whether or not a list names the queue.
fn stopped_queues(properties: &Properties) -> BTreeSet<Arc<str>> {
    let states = properties.keys_below(PREFIX).filter_map(|key| {
        let path = key.strip_prefix(PREFIX)?.strip_suffix(".state")?;
        let value = properties.text(key).ok()??;
        value.eq_ignore_ascii_case("stopped").then(|| path.into())
    });
    states.collect()
}

/// Reads a file of a layer from the disk.
///
/// # Errors
///
/// `E_IO`, when the file is missing, no regular file, unreadable, or larger than the limit.
pub fn read_source(
    path: &Path,
    layer: Layer,
    limits: &DocumentLimits,
) -> Result<ConfigSource, Box<Diagnostic>> {
    let name = path.display().to_string();
    // Whole: the end of a path says which file it is.
    let refuse = |text: String| {
        let message = format!("{}: {text}", name.escape_debug());
        Box::new(Diagnostic::error("E_IO", message))
    };
    let data = std::fs::metadata(path).map_err(|e| refuse(e.to_string()))?;
    if !data.is_file() {
        return Err(refuse("not a regular file".to_owned()));
    }
    if data.len() > limits.bytes as u64 {
        return Err(refuse(format!("more than {} bytes", limits.bytes)));
    }
    let bytes = std::fs::read(path).map_err(|e| refuse(e.to_string()))?;
    Ok(ConfigSource { name, bytes, layer })
}

/// The resource types of the site in vector order.
fn types_of(site: &Look<'_>, options: &Options) -> TypeTable {
    let found = TypeTable::read(site);
    let Some(names) = &options.resource_types else {
        return found;
    };
    if names.len() > MAX_TYPES || names.len() < 2 {
        let message = format!("{} resource types; there are 2 to {MAX_TYPES}", names.len());
        site.note(Diagnostic::error("E_LIMIT", message));
        return found;
    }
    let names: Vec<Arc<str>> = names.iter().map(|name| name.as_str().into()).collect();
    found.in_order(&names)
}

/// The store that the configuration is kept in.
// As CapacityScheduler.getCsConfProvider.
fn check_store(site: &Look<'_>) {
    let key = "yarn.scheduler.configuration.store.class";
    let store = site.text(key).unwrap_or_else(|| "file".to_owned());
    if !matches!(&*store, "file" | "memory" | "leveldb" | "zk" | "fs") {
        let finding = Diagnostic::error("E_STORE", format!("no store `{}`", clip(&store)))
            .at(site.properties().span(key))
            .help("use `file`, `memory`, `leveldb`, `zk` or `fs`");
        site.note(finding);
    }
}

/// The types of the site, and the largest allocation that queues are measured by.
fn resources(look: &Look<'_>, options: &Options) -> (TypeTable, ResourceVector) {
    let site = look.properties().site_only();
    let site = Look::new(&site);
    let table = types_of(&site, options);
    check_store(&site);
    site.take()
        .into_iter()
        .for_each(|finding| look.note(finding));
    scheduler::check_limits(look);
    let largest = table.maximum_by(&TypeTable::read(look), look);
    (table, largest)
}

fn finish(layers: Layers, mut report: Report, options: &Options) -> Result<Loaded, Report> {
    let (properties, findings) = layers.finish();
    let properties = Arc::new(properties);
    let look = Look::new(&properties);
    let (table, largest) = resources(&look, options);
    let types = table.names();
    let calculator = options
        .running
        .unwrap_or_else(|| scheduler::calculator(&look, types.len()));
    let legacy = look.flag(&scheduler::key("legacy-queue-mode.enabled"), true);
    let mut rules = options.reference.rules();
    rules.vectors_without_memory |= scheduler::mends(&look).vectors_without_memory;
    let templates = ConfiguredTemplates {
        properties: Arc::clone(&properties),
        types: types.clone(),
        calculator,
        legacy,
        largest,
        priority: look.int("yarn.cluster.max-application-priority", 0),
        rules,
    };
    let context = QueueContext {
        look: &look,
        types: &types,
        calculator,
        legacy,
        largest: templates.largest,
        priority: templates.priority,
        rules,
    };
    let queues = Builder::new(context).build();
    let preemption = preemption::settings(&look, &queues);
    check_mapping_format(&look);
    check_placement_rules(&look);
    let mut scheduler = scheduler::scheduler(&look, &table, calculator, rules);
    if options.running.is_some() {
        // As CapacityScheduler.reinitialize.
        scheduler.maximum_allocation = templates.largest;
    }
    let settings = TreeSettings {
        scheduler,
        queues,
        stopped: stopped_queues(&properties),
        templates: Arc::new(templates),
    };
    let mut found = look.take();
    dedupe(&mut found);
    found.extend(findings);
    report.further = advice::warnings(&properties, &settings, &mut found);
    list_in_order(found, &mut report);
    if report.refuses(options.strict) {
        return Err(report);
    }
    Ok(Loaded {
        settings,
        preemption,
        properties,
        report,
    })
}

/// Lists errors, at most 100 of them, before the rest. They keep their order: the first one is the
/// reference's. The other errors are counted by kind.
fn list_in_order(mut found: Vec<Diagnostic>, report: &mut Report) {
    found.sort_by_key(|finding| finding.severity);
    let error = |finding: &&Diagnostic| finding.severity == Severity::Error;
    let errors = found.iter().filter(error).count();
    for finding in found.drain(errors.min(100)..errors) {
        let kind = (finding.severity, finding.code);
        *report.further.entry(kind).or_default() += 1;
    }
    report.diagnostics.append(&mut found);
}

/// A value that several settings read is one finding.
fn dedupe(findings: &mut Vec<Diagnostic>) {
    let mut seen = std::collections::BTreeSet::new();
    findings.retain(|finding| seen.insert((finding.code, finding.message.clone())));
}

/// The format of placement rules; the rules themselves are read where they are used.
fn check_mapping_format(look: &Look<'_>) {
    let key = scheduler::key("mapping-rule-format");
    let Some(format) = look.text(&key) else {
        return;
    };
    if format != "legacy" && format != "json" {
        let message = format!("no format of placement rules `{}`", clip(&format));
        let finding = Diagnostic::error("mapping_format", message)
            .at(look.properties().span(&key))
            .help("use `legacy` or `json`");
        look.note(finding);
    }
}

/// The list of placement rules: whatever of it is named, the mappings are the only rule there is.
// As CapacityScheduler.updatePlacementRules, with names that are not trimmed.
fn check_placement_rules(look: &Look<'_>) {
    let key = "yarn.scheduler.queue-placement-rules";
    let text = look.text(key).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let message = if !seen.insert(name) {
            format!("the placement rule `{}` stands twice", clip(name))
        } else if !PLACEMENT_RULES.contains(&name) {
            format!("no placement rule `{}`", clip(name))
        } else {
            continue;
        };
        let finding = Diagnostic::error("E_PLACEMENT_RULES", message)
            .at(look.properties().span(key))
            .help("use `user-group` and `app-name`, once each and without white space");
        look.note(finding);
    }
}

/// The rules that a list may name.
const PLACEMENT_RULES: [&str; 3] = [
    "user-group",
    "app-name",
    "org.apache.hadoop.yarn.server.resourcemanager.placement.CSMappingPlacementRule",
];

/// The strings that placement rules are made of, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingStrings {
    /// Whether `mapping-rule-format` is `json`.
    pub json_format: bool,
    /// `queue-mappings`.
    pub queue_mappings: String,
    /// `yarn.scheduler.queue-placement-rules.app-name`.
    pub app_mappings: String,
    /// `mapping-rule-json`.
    pub json: String,
    /// `mapping-rule-json-file`.
    pub json_file: String,
    /// `queue-mappings-override.enable`.
    pub override_queue: bool,
    /// `workflow-priority-mappings`.
    pub workflow_priorities: String,
    /// `workflow-priority-mappings-override.enable`.
    pub override_priority: bool,
}

impl MappingStrings {
    /// The strings of a configuration; variables are replaced, and what still has some is empty.
    #[must_use]
    pub fn of(properties: &Properties) -> Self {
        let text = |key: &str| properties.text(key).ok().flatten().unwrap_or_default();
        let own = |name: &str| text(&scheduler::key(name));
        let flag = |name: &str| number::boolean(&own(name)).unwrap_or(false);
        Self {
            json_format: own("mapping-rule-format") == "json",
            queue_mappings: own("queue-mappings"),
            app_mappings: text("yarn.scheduler.queue-placement-rules.app-name"),
            json: own("mapping-rule-json"),
            json_file: own("mapping-rule-json-file"),
            override_queue: flag("queue-mappings-override.enable"),
            workflow_priorities: own("workflow-priority-mappings"),
            override_priority: flag("workflow-priority-mappings-override.enable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Accessible, ConfiguredState, LegacyCapacity};

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(pair).collect()
    }

    fn read_pairs(site: &[(&str, &str)], own: &[(&str, &str)]) -> Result<Loaded, Report> {
        let key = |(name, value): &(&str, &str)| {
            (
                format!("yarn.scheduler.capacity.{name}"),
                (*value).to_owned(),
            )
        };
        let own: BTreeMap<String, String> = own.iter().map(key).collect();
        from_pairs(&pairs(site), &own, &["memory-mb".into(), "vcores".into()])
    }

    const TWO: [(&str, &str); 3] = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "70"),
        ("root.b.capacity", "30"),
    ];

    #[test]
    fn queues_come_in_the_order_of_the_tree() {
        let mut own = TWO.to_vec();
        own.extend([("root.a.queues", "y,x"), ("root.a.x.capacity", "100")]);
        let loaded = read_pairs(&[], &own).unwrap();
        let queues = loaded.settings.queues.iter();
        let paths: Vec<&str> = queues.map(|queue| &*queue.path).collect();
        assert_eq!(paths, ["root", "root.a", "root.a.y", "root.a.x", "root.b"]);
    }

    #[test]
    fn the_site_is_overridden_and_referred_to() {
        let site = [
            ("share", "70"),
            ("yarn.scheduler.capacity.root.b.capacity", "1"),
            ("yarn.cluster.max-application-priority", "10"),
        ];
        let mut own = TWO.to_vec();
        own[1].1 = "${share}";
        let loaded = read_pairs(&site, &own).unwrap();
        assert_eq!(loaded.settings.scheduler.maximum_application_priority, 10);
        let capacity = &loaded.settings.queues[1].partitions[""].capacity;
        assert_eq!(capacity.legacy, LegacyCapacity::Percent(70.0));
    }

    #[test]
    fn settings_are_inherited() {
        let mut own = TWO.to_vec();
        own.extend([
            ("root.a.queues", "x"),
            ("root.a.x.capacity", "100"),
            ("root.a.accessible-node-labels", "l"),
            ("root.a.default-node-label-expression", "l"),
            ("root.a.user-settings.ann.weight", "0.5"),
            ("root.a.maximum-allocation-mb", "4096"),
            ("root.a.maximum-application-lifetime", "100"),
            ("root.a.default-application-lifetime", "60"),
            ("root.a.ordering-policy", "priority-utilization"),
            ("root.a.state", "STOPPED"),
        ]);
        let loaded = read_pairs(&[], &own).unwrap();
        let leaf = &loaded.settings.queues[2];
        assert_eq!(&*leaf.path, "root.a.x");
        assert_eq!(leaf.accessible, Accessible::Only(["l".into()].into()));
        assert_eq!(leaf.default_partition.as_deref(), Some("l"));
        assert_eq!(leaf.user_weights, BTreeMap::from([("ann".to_owned(), 0.5)]));
        assert_eq!(leaf.maximum_allocation.values(2), [4096, 4]);
        assert_eq!(
            (leaf.lifetime.maximum_s, leaf.lifetime.default_s),
            (100, 60)
        );
        assert_eq!(leaf.state, None, "the tree follows the parent");
        assert_eq!(
            loaded.settings.queues[1].state,
            Some(ConfiguredState::Stopped)
        );
    }

    #[test]
    fn rules_of_labels_hold_below_root() {
        let mut own = TWO.to_vec();
        own.extend([
            ("root.a.queues", "x"),
            ("root.a.x.capacity", "100"),
            ("root.a.accessible-node-labels", "l"),
            ("root.a.x.accessible-node-labels", "l,m"),
        ]);
        let refused = read_pairs(&[], &own).unwrap_err();
        assert_eq!(refused.first_error().unwrap().code, "label_not_in_parent");
        let mut own = TWO.to_vec();
        own.extend([
            ("root.a.accessible-node-labels", "l"),
            ("root.a.default-node-label-expression", "m"),
        ]);
        let refused = read_pairs(&[], &own).unwrap_err();
        assert_eq!(refused.first_error().unwrap().code, "default_label");
    }

    /// One queue and a further property, as a file of the scheduler.
    fn one_queue_and(key: &str, value: &str) -> [ConfigSource; 1] {
        let text = format!(
            "<configuration><property name=\"yarn.scheduler.capacity.root.queues\" value=\"a\"/>\
             <property name=\"yarn.scheduler.capacity.root.a.capacity\" value=\"100\"/>\
             <property name=\"yarn.scheduler.{key}\" value=\"{value}\"/></configuration>"
        );
        [ConfigSource {
            name: "cs".into(),
            bytes: text.into(),
            layer: Layer::Scheduler,
        }]
    }

    #[test]
    fn a_refresh_takes_the_largest_allocation_of_the_schedulers_file() {
        let sources = one_queue_and("maximum-allocation-mb", "16384");
        for (running, want) in [
            (None, [8192, 4]),
            (Some(Calculator::MemoryOnly { types: 2 }), [16384, 4]),
        ] {
            let options = Options {
                running,
                ..Options::default()
            };
            let settings = load(&sources, &options).unwrap().settings;
            assert_eq!(settings.scheduler.maximum_allocation.values(2), want);
        }
    }

    #[test]
    fn a_refresh_keeps_the_calculator() {
        let sources = one_queue_and("capacity.resource-calculator", "x");
        let mut options = Options::default();
        assert!(load(&sources, &options).is_err());
        options.running = Some(Calculator::Dominant { types: 2 });
        let loaded = load(&sources, &options).unwrap();
        let calculator = loaded.settings.scheduler.calculator;
        assert_eq!(calculator, Calculator::Dominant { types: 2 });
    }

    #[test]
    fn mapping_strings_are_kept_as_written() {
        let mut own = TWO.to_vec();
        own.extend([
            ("queue-mappings", "u:ann:a"),
            ("mapping-rule-format", "json"),
            ("queue-mappings-override.enable", "true"),
        ]);
        let loaded = read_pairs(&[], &own).unwrap();
        let strings = MappingStrings::of(&loaded.properties);
        assert_eq!(strings.queue_mappings, "u:ann:a");
        assert!(strings.json_format && strings.override_queue);
        assert_eq!(strings.json_file, "");
    }

    #[test]
    fn lifetimes_follow_the_published_example() {
        // policies D.17 example 11
        let own = [
            ("root.queues", "a,b,c"),
            ("root.a.capacity", "1w"),
            ("root.b.capacity", "1w"),
            ("root.c.capacity", "1w"),
            ("root.maximum-application-lifetime", "1000"),
            ("root.default-application-lifetime", "500"),
            ("root.b.maximum-application-lifetime", "0"),
            ("root.c.maximum-application-lifetime", "300"),
        ];
        let loaded = read_pairs(&[], &own).unwrap();
        let of = |at: usize| {
            let lifetime = loaded.settings.queues[at].lifetime;
            (lifetime.maximum_s, lifetime.default_s)
        };
        assert_eq!([of(0), of(1)], [(1000, 500), (1000, 500)]);
        assert_eq!([of(2), of(3)], [(0, 0), (300, 300)]);
    }

    #[test]
    fn preemption_is_inherited_once_monitors_run() {
        let monitors = ("yarn.resourcemanager.scheduler.monitor.enable", "true");
        let mut own = TWO.to_vec();
        own.extend([
            ("root.a.queues", "x,y"),
            ("root.a.x.capacity", "100"),
            ("root.a.disable_preemption", "true"),
            ("root.a.y.disable_preemption", "false"),
        ]);
        let flags = |site: &[(&str, &str)]| {
            let loaded = read_pairs(site, &own).unwrap();
            let queues = loaded.settings.queues.iter();
            queues.map(|q| q.preemption_disabled).collect::<Vec<bool>>()
        };
        assert_eq!(flags(&[]), [true; 5]);
        let order = [false, true, true, false, false];
        assert_eq!(flags(&[monitors]), order, "root, a, x, y, b");
    }

    #[test]
    fn placement_rules_are_known_names_each_once() {
        let read = |list: &str| {
            let site = [("yarn.scheduler.queue-placement-rules", list)];
            let report = read_pairs(&site, &TWO).err()?;
            report.first_error().map(|error| error.code)
        };
        for list in [
            "",
            ",",
            "user-group,",
            "app-name,user-group",
            PLACEMENT_RULES[2],
        ] {
            assert_eq!(read(list), None, "{list}");
        }
        for list in [
            " ",
            "x",
            "APP-NAME",
            "user-group, app-name",
            "app-name,app-name",
        ] {
            assert_eq!(read(list), Some("E_PLACEMENT_RULES"), "{list}");
        }
    }

    #[test]
    fn strict_mode_refuses_warnings() {
        let text = "<configuration><property name=\"yarn.scheduler.capacity.root.queues\" \
                    value=\"a\"/><property name=\"yarn.scheduler.capacity.root.a.capacity\" \
                    value=\"100\"/><odd/></configuration>";
        let source = ConfigSource {
            name: "cs".into(),
            bytes: text.into(),
            layer: Layer::Scheduler,
        };
        let mut options = Options::default();
        assert!(load(std::slice::from_ref(&source), &options).is_ok());
        options.strict = true;
        let report = load(&[source], &options).unwrap_err();
        assert_eq!(report.first_error(), None);
        assert_eq!(report.diagnostics[0].code, "W_XML_ELEMENT");
    }
}
