//! Kinds of faults that people's configuration files have: each rule on several cases of its kind.

use capsched::api::{NodeSpec, ResourceVector, Sequential, StateView};
use capsched::config::{self, ConfigSource, Diagnostic, Layer, Loaded, Options, Report};

const CAPACITY: &str = "yarn.scheduler.capacity.";

fn source(name: &str, bytes: &[u8], layer: Layer) -> ConfigSource {
    ConfigSource {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
        layer,
    }
}

fn configuration(pairs: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let properties: String = pairs.iter().map(property).collect();
    format!("<configuration>\n{properties}</configuration>\n")
}

/// A sound file with one leaf, and further keys of the scheduler.
fn one_leaf(more: &[(&str, &str)]) -> String {
    let base = [("root.queues", "default"), ("root.default.capacity", "100")];
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let pairs: Vec<(String, &str)> = base
        .iter()
        .chain(&[("resource-calculator", calculator)])
        .chain(more)
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, *v)).collect();
    configuration(&pairs)
}

fn check_bytes(bytes: &[u8]) -> Report {
    let file = source("capacity-scheduler.xml", bytes, Layer::Scheduler);
    config::check(&[file], &Options::default())
}

fn load(own: &str, site: &[(&str, &str)]) -> Result<Loaded, Report> {
    let sources = [
        source("capacity-scheduler.xml", own.as_bytes(), Layer::Scheduler),
        source("yarn-site.xml", configuration(site).as_bytes(), Layer::Site),
    ];
    config::load(&sources, &Options::default())
}

fn first(report: &Report) -> &Diagnostic {
    report.first_error().expect("the report has an error")
}

// Kind 01: what Hadoop ships is no oddity.

#[test]
fn files_as_hadoop_ships_them_give_no_warning() {
    let style = "<?xml-stylesheet type=\"text/xsl\" href=\"configuration.xsl\"?>";
    let empty = [
        ("queue-mappings", ""),
        ("workflow-priority-mappings", ""),
        ("queue-mappings-override.enable", "false"),
        ("maximum-applications", "10000"),
        ("root.default.acl_submit_applications", "*"),
        ("root.default.acl_application_max_priority", "*"),
        ("root.default.maximum-application-lifetime", "-1"),
        ("root.default.state", "RUNNING"),
        ("node-locality-delay", "40"),
        ("application.fail-fast", "false"),
    ];
    let own = format!("<?xml version=\"1.0\"?>\n{style}\n{}", one_leaf(&empty));
    let site = format!(
        "<?xml version=\"1.0\"?>\n{style}\n<!-- Site specific -->\n{}",
        configuration(&[
            ("yarn.resource-types", ""),
            ("yarn.nodemanager.aux-services", "")
        ])
    );
    let sources = [
        source("capacity-scheduler.xml", own.as_bytes(), Layer::Scheduler),
        source("yarn-site.xml", site.as_bytes(), Layer::Site),
    ];
    let report = config::check(&sources, &Options::default());
    assert!(!report.refuses(true), "{report}");
}

#[test]
fn what_distributions_write_into_their_files_gives_no_warning() {
    let plain = one_leaf(&[
        ("queue-mappings", " "),
        ("workflow-priority-mappings", "\n"),
    ]);
    let attributes = one_leaf(&[]).replace(
        "<configuration>",
        "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">",
    );
    let described = one_leaf(&[]).replace(
        "</value></property>",
        "</value><final>false</final><description>\n  Text.\n</description></property>",
    );
    let licence = format!(
        "<?xml version='1.0' encoding='utf-8'?>\n<!--\n  Licensed.\n-->\n\n{}",
        one_leaf(&[])
    );
    for text in [
        plain,
        attributes,
        described,
        licence,
        format!("\u{feff}{}", one_leaf(&[])),
    ] {
        let report = check_bytes(text.as_bytes());
        assert!(!report.refuses(true), "{text}\n{report}");
    }
}

// Kind 02: encodings.

#[test]
fn bytes_that_are_no_text_have_line_column_and_offset() {
    let text = one_leaf(&[]);
    for (encoding, code) in [
        ("UTF-8", "E_XML_UTF8"),
        ("GBK", "E_XML_ENCODING"),
        ("windows-1251", "E_XML_ENCODING"),
    ] {
        let start = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>\n<!-- ");
        let bytes = [start.as_bytes(), &[0xc4, 0xcf], b" -->\n", text.as_bytes()].concat();
        let report = check_bytes(&bytes);
        let error = first(&report);
        assert_eq!(error.code, code, "{encoding}");
        let span = error.span.clone().unwrap();
        assert_eq!(span.bytes, start.len()..start.len() + 1);
        assert_eq!(report.files[0].position(span.bytes.start), (2, 6));
        assert_eq!(report.files[0].text.len(), bytes.len(), "places stay");
        let offset = format!("0xC4 at offset {}", start.len());
        assert!(error.message.contains(&offset), "{error}");
    }
}

#[test]
fn any_encoding_that_holds_ascii_is_read_as_ascii() {
    let declare = |encoding: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"{encoding}\"?>\n{}",
            one_leaf(&[])
        )
    };
    for encoding in [
        "GB2312",
        "gbk",
        "Shift_JIS",
        "KOI8-R",
        "ISO-8859-15",
        "windows-1252",
        "ascii",
    ] {
        let report = check_bytes(declare(encoding).as_bytes());
        assert!(!report.refuses(true), "{encoding}: {report}");
    }
    for encoding in ["IBM037", "UTF-16", "no-such-encoding", "cp1251"] {
        let report = check_bytes(declare(encoding).as_bytes());
        assert_eq!(first(&report).code, "E_XML_ENCODING", "{encoding}");
    }
}

#[test]
fn broken_text_is_named_in_any_file_after_any_text() {
    // An e with an accent in one byte, a text that ends inside a character, half of a surrogate
    // pair, and a NUL in two bytes. Columns count characters.
    for (before, broken, column) in [
        ("<!-- \u{961f}\u{5217} caf", &[0xe9_u8][..], 12),
        ("<!-- ", &[0xe4, 0xbd], 6),
        ("<!-- \u{e9}\u{1f600}", &[0xed, 0xa0, 0x80], 8),
        ("<!-- a", &[0xc0, 0x80], 7),
    ] {
        for layer in [Layer::Scheduler, Layer::Site] {
            let start = configuration(&[("x.y", "1")]).replace("</configuration>\n", before);
            let bytes = [start.as_bytes(), broken].concat();
            let sound = source("capacity-scheduler.xml", one_leaf(&[]).as_bytes(), layer);
            let file = source("named.xml", &bytes, layer);
            let report = config::check(&[sound, file], &Options::default());
            let error = first(&report);
            assert_eq!(error.code, "E_XML_UTF8", "{broken:?}");
            let span = error.span.clone().expect("the byte has a place");
            assert_eq!(report.files[span.file].name, "named.xml");
            assert_eq!(span.bytes.start, start.len());
            let place = report.files[span.file].position(span.bytes.start);
            assert_eq!(place, (3, column), "{before}");
        }
    }
}

#[test]
fn a_declaration_is_found_behind_a_mark_in_other_quotes_and_with_more_parts() {
    for (declaration, code) in [
        ("\u{feff}<?xml version=\"1.0\" encoding=\"EUC-KR\"?>", None),
        (
            "<?xml version='1.0' encoding='big5' standalone='yes'?>",
            None,
        ),
        ("<?xml version='1.0'\n  encoding = 'TIS-620' ?>", None),
        (
            "<?xml version='1.0' encoding='cp037'?>",
            Some("E_XML_ENCODING"),
        ),
        (
            "<?xml version='1.0' encoding='UTF-32'?>",
            Some("E_XML_ENCODING"),
        ),
    ] {
        let report = check_bytes(format!("{declaration}\n{}", one_leaf(&[])).as_bytes());
        let found = report.first_error().map(|error| error.code);
        assert_eq!(found, code, "{declaration}");
    }
}

// Kind 03: files of another kind.

#[test]
fn files_of_another_kind_are_named_with_what_to_do_next() {
    let fair = "<?xml version=\"1.0\"?>\n<allocations><queue name=\"a\"/></allocations>";
    let hadoop1 = configuration(&[
        ("mapred.capacity-scheduler.queue.default.capacity", "100"),
        ("mapred.capacity-scheduler.maximum-system-jobs", "3000"),
    ]);
    let site = configuration(&[
        ("yarn.resourcemanager.hostname", "h"),
        ("yarn.acl.enable", "true"),
    ]);
    let packed: &[u8] = &[0x1f, 0x8b, 8, 0, 1, 2];
    let cases: [(&[u8], &str, &str); 11] = [
        (
            br#"{"property":[{"name":"yarn.scheduler.capacity.root.queues","value":"a"}]}"#,
            "JSON of a resource manager",
            "application/xml",
        ),
        (
            br#"{"scheduler":{"schedulerInfo":{"type":"x"}}}"#,
            "state",
            "scheduler-conf",
        ),
        (br#"[{"job":1}]"#, "JSON", "replay"),
        (
            b"---\nroot:\n  queues: [a]\n",
            "YAML",
            "capacity-scheduler.xml",
        ),
        (
            b"# x\nyarn.scheduler.capacity.root.queues=a\n",
            "key=value",
            "<property>",
        ),
        (
            b"YARN-SITE.XML_yarn.acl.enable=false\n",
            "environment",
            "container",
        ),
        (b"<!DOCTYPE html>\n<html><body/></html>", "HTML", "curl"),
        (
            b"{{ range .Values.queues }}\n<property/>\n{{ end }}",
            "template",
            "render",
        ),
        (fair.as_bytes(), "Fair Scheduler", "fs2cs"),
        (hadoop1.as_bytes(), "Hadoop 1", "root.queues"),
        (site.as_bytes(), "yarn-site.xml", "--site"),
    ];
    for (bytes, what, next) in cases.into_iter().chain([(packed, "gzip", "gunzip")]) {
        let report = check_bytes(bytes);
        let error = first(&report);
        assert!(error.message.contains(what), "{what}: {error}");
        let help = error.help.as_deref().unwrap_or_default();
        assert!(help.contains(next), "{what}: {help}");
    }
}

#[test]
fn packed_files_and_other_sites_are_named_with_what_to_do_next() {
    let core = configuration(&[("fs.defaultFS", "hdfs://x")]);
    let queues = "<queues><queue><name>default</name></queue></queues>";
    let fair = configuration(&[("yarn.scheduler.fair.preemption", "true")]);
    let cases: [(&[u8], &str, &str); 11] = [
        (b"PK\x03\x04aaaa", "ZIP", "unzip"),
        (b"BZh91AY&SY", "bzip2", "bunzip2"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd", "unzstd"),
        (b"\xfd7zXZ\x00", "xz", "unxz"),
        (b"\xff\xfe<\x00c\x00", "UTF-16", "iconv"),
        (b"[scheduler]\nqueues = \"a\"\n", "key=value", "<property>"),
        (b"export CAPACITY_XML=1\n", "environment", "container"),
        (
            b"{%- if x %}\n<configuration/>\n{% endif %}",
            "template",
            "render",
        ),
        (core.as_bytes(), "core-site.xml", "capacity-scheduler.xml"),
        (queues.as_bytes(), "mapred-queues.xml", "root.queues"),
        (fair.as_bytes(), "yarn-site.xml", "--site"),
    ];
    for (bytes, what, next) in cases {
        let report = check_bytes(bytes);
        let error = first(&report);
        assert!(error.message.contains(what), "{what}: {error}");
        let help = error.help.as_deref().unwrap_or_default();
        assert!(help.contains(next), "{what}: {help}");
    }
}

#[test]
fn a_template_inside_sound_xml_is_named_at_its_value() {
    let text = one_leaf(&[]).replace(">100<", ">{{ default_capacity }}<");
    let report = check_bytes(text.as_bytes());
    let error = first(&report);
    assert_eq!(error.code, "not_a_number");
    assert!(
        error
            .help
            .as_deref()
            .unwrap_or_default()
            .contains("template")
    );
}

// Kind 04: resource types.

#[test]
fn resource_types_are_judged_by_name_kind_and_unit() {
    let key = |rest: &str| format!("yarn.resource-types.{rest}");
    let cases = [
        ("2gpu", None, true),
        ("gpu", None, false),
        ("yarn.io/gpu", None, false),
        ("a/b/c", None, true),
        ("vcores", None, true),
        ("memory", None, true),
        ("memory-mb", None, true),
        ("gpu,gpu", None, true),
        ("gpu,,fpga", None, true),
        ("gpu,", None, false),
        ("gpu", Some(("gpu.units", "GB")), true),
        ("gpu", Some(("gpu.units", "Gi")), false),
        ("yarn.io/gpu", Some(("yarn.io/gpu.units", "G")), true),
        ("gpu", Some(("gpu.type", "COUNTABLE")), false),
        ("gpu", Some(("gpu.type", "countable")), true),
        ("gpu", Some(("gpu.maximum-allocation", "8")), false),
    ];
    for (list, more, refused) in cases {
        let more = more.map(|(name, value)| (key(name), value));
        let mut site = vec![("yarn.resource-types", list)];
        site.extend(more.iter().map(|(name, value)| (&**name, *value)));
        let found = load(&one_leaf(&[]), &site);
        let code = found.as_ref().err().map(|report| first(report).code);
        assert_eq!(code, refused.then_some("E_RESOURCE_TYPE"), "{site:?}");
        if let Err(report) = found {
            let error = first(&report);
            assert_eq!(error.word(), "other");
            assert!(error.span.is_some() && error.help.is_some(), "{error}");
        }
    }
    let bad = [
        ("yarn.resource-types", "gpu"),
        ("yarn.resource-types.gpu.maximum-allocation", "4 cards"),
    ];
    assert_eq!(
        first(&load(&one_leaf(&[]), &bad).unwrap_err()).code,
        "not_a_number"
    );
}

/// Each verdict was asked of 3.4.2.
#[test]
fn further_resource_types_are_judged_as_the_reference_does() {
    for (list, refused) in [
        ("yarn.io/2gpu", true),
        ("a_b/c", true),
        ("a..b/c", true),
        ("-a.b/c", true),
        ("gpu;fpga", true),
        ("gpu gpu2", true),
        ("gpu\u{e9}", true),
        (",gpu", true),
        (",", false),
        ("A.B/c", false),
        ("Memory,VCORES,memory_mb", false),
        ("gpu,GPU", false),
        ("gpu.", false),
        (" gpu , nvidia.com/gpu ", false),
    ] {
        let found = load(&one_leaf(&[]), &[("yarn.resource-types", list)]);
        let code = found.err().map(|report| first(&report).code);
        assert_eq!(code, refused.then_some("E_RESOURCE_TYPE"), "{list}");
    }
    let own = |part: &str| format!("yarn.resource-types.lic.{part}");
    for (part, value, code) in [
        ("units", "u", None),
        ("units", "Pi", None),
        ("units", "E", Some("E_RESOURCE_TYPE")),
        ("units", " G ", Some("E_RESOURCE_TYPE")),
        ("units", "K", Some("E_RESOURCE_TYPE")),
        ("type", " COUNTABLE ", Some("E_RESOURCE_TYPE")),
        ("minimum-allocation", " 7 ", None),
        ("minimum-allocation", "0x10", None),
        ("minimum-allocation", "1.5", Some("not_a_number")),
        ("maximum-allocation", "1k", Some("not_a_number")),
        ("tags", "a,b", None),
    ] {
        let key = own(part);
        let found = load(
            &one_leaf(&[]),
            &[("yarn.resource-types", "lic"), (&*key, value)],
        );
        assert_eq!(
            found.err().map(|report| first(&report).code),
            code,
            "{part} {value}"
        );
    }
}

#[test]
fn keys_of_resource_types_that_nothing_reads_are_named() {
    let lic = ("yarn.resource-types", "lic,yarn.io/gpu");
    for (key, code, help) in [
        (
            "lic.unit",
            "W_KEY_UNKNOWN",
            "yarn.resource-types.lic.units`",
        ),
        (
            "yarn.io/gpu.min-allocation",
            "W_KEY_UNKNOWN",
            "yarn.io/gpu.minimum-allocation`",
        ),
        (
            "memory-mb.max",
            "W_KEY_UNKNOWN",
            "memory-mb.maximum-allocation`",
        ),
        (
            "memory.maximum-allocation",
            "W_KEY_NO_EFFECT",
            "yarn.resource-types.memory-mb.maximum-allocation`",
        ),
        ("fpga.units", "W_KEY_NO_EFFECT", "add `fpga`"),
    ] {
        let name = format!("yarn.resource-types.{key}");
        let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        let own = two(&[("resource-calculator", calculator)]);
        let one = found(&own, &[lic, (&name, "1")], code);
        assert_eq!(one.len(), 1, "{key}");
        assert!(one[0].2.contains(help), "{}", one[0].2);
    }
    let quiet = [
        lic,
        ("yarn.resource-types.lic.units", "G"),
        ("yarn.resource-types.yarn.io/gpu.maximum-allocation", "4"),
        ("yarn.resource-types.vcores.increment-allocation", "1"),
    ];
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let own = two(&[("resource-calculator", calculator)]);
    for code in ["W_KEY_UNKNOWN", "W_KEY_NO_EFFECT"] {
        assert_eq!(found(&own, &quiet, code), []);
    }
}

#[test]
fn bounds_of_resource_types_win() {
    let site = [
        ("yarn.resource-types", "gpu"),
        ("yarn.resource-types.memory-mb.minimum-allocation", "2048"),
        ("yarn.resource-types.memory-mb.maximum-allocation", "4096"),
        ("yarn.resource-types.vcores.maximum-allocation", "0x10"),
        ("yarn.resource-types.gpu.minimum-allocation", "1"),
        ("yarn.scheduler.minimum-allocation-mb", "512"),
    ];
    let scheduler = load(&one_leaf(&[]), &site).unwrap().settings.scheduler;
    assert_eq!(scheduler.minimum_allocation.values(3), [2048, 1, 1]);
    assert_eq!(scheduler.maximum_allocation.values(3), [4096, 16, i64::MAX]);
    let queue = one_leaf(&[("root.default.maximum-allocation-mb", "8192")]);
    let report = load(&queue, &site).unwrap_err();
    assert_eq!(first(&report).code, "maximum_allocation");
}

#[test]
fn the_schedulers_file_adds_no_resource_type() {
    let own = one_leaf(&[]).replace(
        "</configuration>",
        "<property><name>yarn.resource-types</name><value>gpu</value></property></configuration>",
    );
    let report = load(&own, &[]).unwrap_err();
    assert_eq!(first(&report).code, "E_RESOURCE_TYPE");
    assert!(load(&own, &[("yarn.resource-types", "gpu")]).is_ok());
}

// Kind 05: units of amounts.

/// What leaf `a` is guaranteed of a type with a unit, on a node with 100,000 of it.
#[expect(clippy::unwrap_used, reason = "test code")]
fn guaranteed(legacy: bool, unit: &str, amount: &str) -> i64 {
    let capacity = format!("[memory=4Gi,vcores=4,lic={amount}]");
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let own = [
        (
            "legacy-queue-mode.enabled",
            if legacy { "true" } else { "false" },
        ),
        ("resource-calculator", calculator),
        ("root.queues", "a,b"),
        ("root.a.capacity", &capacity),
        ("root.b.capacity", "[memory=1024,vcores=1]"),
    ];
    let own: Vec<(String, &str)> = own
        .iter()
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let own: Vec<(&str, &str)> = own.iter().map(|(name, value)| (&**name, *value)).collect();
    let units = ("yarn.resource-types.lic.units", unit);
    let mut site = vec![("yarn.resource-types", "lic")];
    site.extend((!unit.is_empty()).then_some(units));
    let loaded = load(&configuration(&own), &site).unwrap();
    let mut engine = Sequential::new(loaded.settings, &[]).unwrap();
    let total = ResourceVector::of(&[16_384, 16, 100_000]);
    engine
        .add_node(&NodeSpec::new("h1:1".parse().unwrap(), total))
        .unwrap();
    let state = serde_json::to_value(StateView::of(engine.ledger())).unwrap();
    let queues = state["queues"].as_array().unwrap();
    let leaf = queues.iter().find(|queue| queue["path"] == "root.a");
    leaf.unwrap()["labels"][""]["eff_min"][2].as_i64().unwrap()
}

/// Recorded with 3.4.2; in legacy mode the unit of the type means nothing.
#[test]
fn amounts_are_converted_to_the_unit_of_their_type_outside_legacy_mode() {
    for (unit, amount, legacy, vectors) in [
        ("G", "10", 10, 0),
        ("", "10", 10, 10),
        ("k", "3G", 2861, 100_000),
        ("Ki", "3G", 2861, 100_000),
        ("m", "3G", 2861, 2),
        ("p", "3G", 2861, 0),
        ("m", "1500m", 0, 0),
    ] {
        assert_eq!(guaranteed(true, unit, amount), legacy, "{amount} of {unit}");
        assert_eq!(
            guaranteed(false, unit, amount),
            vectors,
            "{amount} of {unit}"
        );
    }
}

// Kinds 06, 07 and 09: settings that do nothing, or other than they read.

/// Findings of a code, for keys of the scheduler without the prefix and a site.
fn found(own: &[(&str, &str)], site: &[(&str, &str)], code: &str) -> Vec<(String, String, String)> {
    let pairs: Vec<(String, &str)> = own
        .iter()
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, *v)).collect();
    let mut sources = vec![source(
        "capacity-scheduler.xml",
        configuration(&pairs).as_bytes(),
        Layer::Scheduler,
    )];
    if !site.is_empty() {
        let text = configuration(site);
        sources.push(source("yarn-site.xml", text.as_bytes(), Layer::Site));
    }
    let report = config::check(&sources, &Options::default());
    assert!(report.first_error().is_none(), "{report}");
    assert!(config::explain_code(code).is_some(), "{code}");
    let all = report.diagnostics.iter().filter(|one| one.code == code);
    all.map(|one| {
        let span = one.span.clone().expect("a warning has a place");
        let place = report.files[span.file].text[span.bytes].to_owned();
        (
            place,
            one.message.clone(),
            one.help.clone().unwrap_or_default(),
        )
    })
    .collect()
}

/// Two leaves under percentages, and more.
fn two<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let base = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
    ];
    base.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_maximum_of_another_kind_than_the_capacity_is_named() {
    let amounts = "[memory=4096,vcores=4]";
    let absolute = [
        ("root.queues", "a,b"),
        ("root.a.capacity", amounts),
        ("root.b.capacity", amounts),
        ("root.a.maximum-capacity", "50"),
    ];
    let code = "W_MAXIMUM_KIND";
    let one = found(&absolute, &[], code);
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].0, "50");
    assert!(one[0].2.contains("root.a.maximum-capacity"), "{}", one[0].2);
    for more in [
        ("root.a.maximum-capacity", amounts),
        ("root.b.maximum-capacity", "[memory=9000]"),
        (
            "root.a.leaf-queue-template.maximum-capacity",
            "[memory=9000,vcores=1]",
        ),
    ] {
        let found = found(&two(&[more]), &[], code);
        assert_eq!(found.len(), 1, "{more:?}");
        assert_eq!(found[0].0, more.1);
    }
    for quiet in [
        two(&[("root.a.maximum-capacity", "80")]),
        two(&[
            ("root.a.maximum-capacity", amounts),
            ("legacy-queue-mode.enabled", "false"),
        ]),
        absolute[..3]
            .iter()
            .copied()
            .chain([("root.a.maximum-capacity", "100")])
            .collect(),
        absolute[..3]
            .iter()
            .copied()
            .chain([("root.a.maximum-capacity", amounts)])
            .collect(),
    ] {
        assert_eq!(found(&quiet, &[], code), [], "{quiet:?}");
    }
}

/// With and without each of these maximums 3.4.2 comes to the same resources.
#[test]
fn further_maximums_that_nothing_reads_are_named() {
    let labels = [
        ("root.accessible-node-labels", "*"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.b.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "60"),
        ("root.b.accessible-node-labels.x.capacity", "40"),
    ];
    let with = |more: (&'static str, &'static str)| -> Vec<(&str, &str)> {
        two(&labels).into_iter().chain([more]).collect()
    };
    let code = "W_MAXIMUM_KIND";
    let key = "root.a.accessible-node-labels.x.maximum-capacity";
    for value in ["3w", "[memory=9000]", "[memory=80%,vcores=9]"] {
        let one = found(&with((key, value)), &[], code);
        assert_eq!((one.len(), &*one[0].0), (1, value));
        assert!(one[0].2.contains(key), "{}", one[0].2);
    }
    for quiet in ["80", "100"] {
        assert_eq!(found(&with((key, quiet)), &[], code), [], "{quiet}");
    }
    let weights = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "1w"),
        ("root.b.capacity", "2w"),
        ("root.a.queues", "k"),
        ("root.a.k.capacity", "100"),
        ("root.a.maximum-capacity", "[memory=9000,vcores=9]"),
    ];
    assert_eq!(found(&weights, &[], code).len(), 1);
}

/// Each was played on 3.4.2: no submission to a queue that would be created is accepted.
#[test]
fn templates_that_no_queue_comes_out_of_are_named() {
    let code = "W_CREATION_NEVER";
    let enabled = ("root.a.auto-queue-creation-v2.enabled", "true");
    let leaf = |name: &str| format!("root.a.auto-queue-creation-v2.leaf-template.{name}");
    for (name, value, help) in [
        ("capacity", "50", "to a weight"),
        ("capacity", "[memory=1024,vcores=1]", "to a weight"),
        ("maximum-allocation-mb", "99999", "correct the keys below"),
        ("capacity", "0w", "leave room"),
    ] {
        let key = leaf(name);
        let one = found(&two(&[enabled, (&key, value)]), &[], code);
        assert_eq!(one.len(), 1, "{name} {value}");
        assert!(one[0].2.contains(help), "{}", one[0].2);
    }
    let stopped = ("root.a.auto-queue-creation-v2.template.state", "STOPPED");
    assert_eq!(found(&two(&[enabled, stopped]), &[], code).len(), 1);
    let managed = [
        ("root.a.auto-create-child-queue.enabled", "true"),
        ("root.a.leaf-queue-template.capacity", "10"),
        ("root.a.leaf-queue-template.state", "STOPPED"),
    ];
    assert_eq!(found(&two(&managed), &[], code).len(), 1);
    // Outside legacy mode nothing is left beside percentages of 100.
    let full = [
        ("legacy-queue-mode.enabled", "false"),
        ("root.auto-queue-creation-v2.enabled", "true"),
    ];
    let one = found(&two(&full), &[], code);
    assert_eq!(one.len(), 1);
    assert!(one[0].1.contains("share would be 0"), "{}", one[0].1);
    let both = [enabled, ("root.a.auto-create-child-queue.enabled", "true")];
    assert!(found(&two(&both), &[], code)[0].1.contains("version 2"));
}

#[test]
fn templates_that_a_queue_comes_out_of_give_no_warning() {
    let code = "W_CREATION_NEVER";
    let enabled = ("root.a.auto-queue-creation-v2.enabled", "true");
    let leaf = |name: &str| format!("root.a.auto-queue-creation-v2.leaf-template.{name}");
    let (capacity, state) = (leaf("capacity"), leaf("state"));
    let applications = (
        "root.auto-queue-creation-v2.leaf-template.maximum-applications",
        "5",
    );
    for more in [
        vec![enabled, (&*capacity, "5w")],
        vec![enabled, (&*capacity, "100")],
        // A leaf below a created parent runs.
        vec![enabled, (&*state, "STOPPED")],
        // A queue with keys of its own.
        vec![enabled, (&*capacity, "50"), ("root.a.ann.capacity", "2w")],
        vec![
            ("root.auto-queue-creation-v2.enabled", "true"),
            ("legacy-queue-mode.enabled", "false"),
            applications,
        ],
    ] {
        assert_eq!(found(&two(&more), &[], code), [], "{more:?}");
    }
}

#[test]
fn creation_that_can_never_happen_is_named() {
    let enabled = ("root.auto-queue-creation-v2.enabled", "true");
    let code = "W_CREATION_NEVER";
    let weights = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "1w"),
        ("root.b.capacity", "2w"),
    ];
    let with = |more: &[(&'static str, &'static str)]| -> Vec<(&str, &str)> {
        weights.iter().chain(more).copied().collect()
    };
    for (own, help) in [
        (two(&[enabled]), "root.a.capacity` to `60w`"),
        (
            with(&[enabled, ("root.auto-queue-creation-v2.max-queues", "2")]),
            "to 3 or more",
        ),
        (
            with(&[
                enabled,
                ("root.auto-queue-creation-v2.maximum-queue-depth", "0"),
            ]),
            "depth",
        ),
        (
            with(&[enabled, ("auto-queue-creation-v2.maximum-queue-depth", "0")]),
            "depth",
        ),
        (
            with(&[
                ("root.a.auto-create-child-queue.enabled", "true"),
                ("root.a.auto-create-child-queue.max-queues", "0"),
            ]),
            "max-queues",
        ),
    ] {
        let one = found(&own, &[], code);
        assert_eq!(one.len(), 1, "{own:?}");
        assert_eq!(one[0].0, "true");
        assert!(one[0].2.contains(help), "{}", one[0].2);
    }
    for quiet in [
        with(&[enabled]),
        with(&[enabled, ("legacy-queue-mode.enabled", "false")]),
        two(&[("root.a.auto-queue-creation-v2.enabled", "true")]),
    ] {
        assert_eq!(found(&quiet, &[], code), [], "{quiet:?}");
    }
}

#[test]
fn priorities_that_no_order_looks_at_are_named() {
    let code = "W_PRIORITY_UNUSED";
    let one = found(&two(&[("root.a.priority", "7")]), &[], code);
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].0, "7");
    assert!(
        one[0]
            .2
            .contains("root.ordering-policy` to `priority-utilization`")
    );
    let order = ("root.ordering-policy", "priority-utilization");
    for quiet in [
        vec![("root.a.priority", "7"), order],
        vec![("root.a.priority", "0")],
    ] {
        assert_eq!(found(&two(&quiet), &[], code), []);
    }
}

#[test]
fn lists_with_a_space_after_a_comma_are_named() {
    let code = "W_ACL_GROUP";
    for (list, written) in [
        ("alice, bob", "alice,bob"),
        ("alice , bob", "alice,bob"),
        ("alice,bob, carol dev", "alice,bob,carol dev"),
    ] {
        for name in [
            "root.a.acl_submit_applications",
            "root.acl_administer_queue",
        ] {
            let one = found(&two(&[(name, list)]), &[], code);
            assert_eq!(one.len(), 1, "{name} {list}");
            assert_eq!(one[0].0, list);
            assert!(one[0].2.contains(&format!("`{written}`")), "{}", one[0].2);
        }
    }
    for list in ["alice,bob", "alice,bob dev,ops", " dev", "*", "alice,bob "] {
        assert_eq!(
            found(&two(&[("root.a.acl_submit_applications", list)]), &[], code),
            []
        );
    }
}

#[test]
fn lists_with_names_that_nobody_has_are_named() {
    let code = "W_ACL_GROUP";
    for (list, help) in [
        ("alice bob carol", "`alice,bob,carol`"),
        ("alice,*", "`*` alone"),
        ("*,alice", "`*` alone"),
        ("alice;bob dev", "`alice,bob dev`"),
        (" dev ops", "`dev,ops`"),
    ] {
        for name in [
            "root.b.acl_administer_queue",
            "root.a.auto-queue-creation-v2.leaf-template.acl_submit_applications",
        ] {
            let one = found(&two(&[(name, list)]), &[], code);
            assert_eq!(one.len(), 1, "{name} {list}");
            assert!(one[0].2.contains(help), "{}", one[0].2);
        }
    }
    let site = [("yarn.admin.acl", "yarn, hadoop")];
    assert_eq!(found(&two(&[]), &site, code).len(), 1);
    for list in [
        "* ",
        " *",
        "alice bob",
        "alice,bob dev, ops",
        "alice,\tbob",
        " , dev",
    ] {
        let key = "root.a.acl_submit_applications";
        assert_eq!(found(&two(&[(key, list)]), &[], code), [], "{list}");
    }
}

#[test]
fn lists_that_nothing_looks_at_are_named() {
    let list = ("root.a.acl_submit_applications", "ann");
    let on = [("yarn.acl.enable", "true")];
    let open = "W_ACL_OPEN";
    let one = found(&two(&[list]), &on, open);
    assert_eq!((one.len(), &*one[0].0), (1, "ann"));
    assert!(
        one[0].2.contains("root.acl_submit_applications"),
        "{}",
        one[0].2
    );
    let shut = [
        ("root.acl_submit_applications", " "),
        ("root.acl_administer_queue", " "),
    ];
    let shut: Vec<_> = shut.into_iter().chain([list]).collect();
    assert_eq!(found(&two(&shut), &on, open), []);
    assert_eq!(
        found(&two(&[("root.a.acl_submit_applications", "*")]), &on, open),
        []
    );
    let off = "W_ACL_OFF";
    for site in [
        [("yarn.acl.enable", "false")],
        [("yarn.resourcemanager.hostname", "h")],
    ] {
        let one = found(&two(&shut), &site, off);
        assert_eq!(one.len(), 1, "{site:?}");
        assert!(one[0].2.contains("yarn.acl.enable"));
        assert_eq!(found(&two(&shut), &site, open), []);
    }
    let priorities = (
        "root.a.acl_application_max_priority",
        "[user=ann max_priority=3]",
    );
    assert_eq!(
        found(&two(&[priorities]), &[("yarn.acl.enable", "false")], off).len(),
        1
    );
    // Lists of queues that are yet to be created.
    for name in [
        "root.a.leaf-queue-template.acl_submit_applications",
        "root.a.auto-queue-creation-v2.template.acl_administer_queue",
        "root.a.auto-queue-creation-v2.leaf-template.acl_submit_applications",
        "root.a.auto-queue-creation-v2.parent-template.acl_submit_applications",
    ] {
        let site = [("yarn.acl.enable", "false")];
        assert_eq!(found(&two(&[(name, "ann")]), &site, off).len(), 1, "{name}");
        assert_eq!(found(&two(&[(name, "*")]), &site, off), [], "{name}");
        assert_eq!(found(&two(&[(name, "ann")]), &on, off), [], "{name}");
    }
    assert_eq!(found(&two(&shut), &on, off), []);
    assert_eq!(found(&two(&shut), &[], off), []);
    assert_eq!(found(&two(&[]), &[("yarn.acl.enable", "false")], off), []);
}

#[test]
fn a_site_that_does_not_read_the_file_is_named() {
    let class = "yarn.resourcemanager.scheduler.class";
    let package = "org.apache.hadoop.yarn.server.resourcemanager.scheduler";
    let fair = format!("{package}.fair.FairScheduler");
    let capacity = format!("{package}.capacity.CapacityScheduler");
    let code = "W_OTHER_SCHEDULER";
    let one = found(&two(&[]), &[(class, &fair)], code);
    assert_eq!((one.len(), &*one[0].0), (1, &*fair));
    assert!(one[0].2.contains(&capacity));
    assert_eq!(found(&two(&[]), &[(class, &capacity)], code), []);
    let store = "yarn.scheduler.configuration.store.class";
    for (name, named) in [
        ("zk", 1),
        ("leveldb", 1),
        ("fs", 1),
        ("memory", 1),
        ("file", 0),
    ] {
        assert_eq!(
            found(&two(&[]), &[(store, name)], "W_OTHER_STORE").len(),
            named,
            "{name}"
        );
    }
    let unknown = load(&one_leaf(&[]), &[(store, "ZK")]).unwrap_err();
    assert_eq!(first(&unknown).code, "E_STORE");
}

#[test]
fn near_misses_of_keys_are_named_in_every_file() {
    let code = "W_KEY_UNKNOWN";
    for (key, meant) in [
        ("root.a.max-capacity", "root.a.maximum-capacity"),
        ("root.a.maximumCapacity", "root.a.maximum-capacity"),
        ("root.a.user-limit-facter", "root.a.user-limit-factor"),
        ("max-applications", "maximum-applications"),
    ] {
        let one = found(&two(&[(key, "50")]), &[], code);
        assert_eq!(one.len(), 1, "{key}");
        assert!(
            one[0].2.contains(&format!("`{CAPACITY}{meant}`")),
            "{}",
            one[0].2
        );
        assert!(one[0].0.ends_with(key));
    }
    for (key, meant) in [
        ("yarn.acl.enabled", "yarn.acl.enable"),
        (
            "yarn.scheduler.min-allocation-mb",
            "yarn.scheduler.minimum-allocation-mb",
        ),
    ] {
        let one = found(&two(&[]), &[(key, "1")], code);
        assert_eq!(one.len(), 1, "{key}");
        assert!(one[0].2.contains(&format!("`{meant}`")), "{}", one[0].2);
    }
    let others = [
        ("yarn.nodemanager.aux-services", "x"),
        ("fs.defaultFS", "y"),
        ("own.key", "z"),
    ];
    assert_eq!(found(&two(&[]), &others, code), []);
}

#[test]
fn each_way_to_propose_what_others_reserved_for_ever_is_named() {
    let skip = "skip-allocate-on-nodes-with-reserved-containers";
    let multi = ("multi-node-placement-enabled", "true");
    let mend = "capsched.mend.reserved-last-node";
    for (more, site, named) in [
        (&[multi][..], None, Some(skip)),
        (&[multi][..], Some("true"), Some(skip)),
        (&[multi, (skip, "true")][..], None, Some(mend)),
        (&[multi, (skip, "true")][..], Some("true"), None),
        (&[(skip, "false")][..], None, None),
    ] {
        let site: Vec<(&str, &str)> = site.map(|value| (mend, value)).into_iter().collect();
        let loaded = load(&one_leaf(more), &site).expect("the files are accepted");
        let mut found = loaded.report.diagnostics.iter();
        let found = found.find(|finding| finding.code == "W_RESERVED_NODES");
        let message = found.map(|finding| finding.message.as_str());
        let names = message.map(|text| named.is_some_and(|named| text.contains(named)));
        assert_eq!(names, named.map(|_| true), "{more:?}: {message:?}");
    }
}
