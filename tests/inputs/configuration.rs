//! Bad configuration files and values: each gets its code, at its place, and nothing panics.
//!
//! The names of the cases are the rows of the catalogue of bad inputs. Where the reference is
//! known to accept a row, it is accepted here too, with a warning.

use capsched::config::{self, ConfigSource, DocumentLimits, Layer, Options, Report, Severity};
use proptest::prelude::*;

const QUEUES: &str = "yarn.scheduler.capacity.root.queues";
const CAPACITY: &str = "yarn.scheduler.capacity.root.a.capacity";

fn check_bytes(bytes: &[u8], options: &Options) -> Report {
    let source = ConfigSource {
        name: "capacity-scheduler.xml".to_owned(),
        bytes: bytes.to_vec(),
        layer: Layer::Scheduler,
    };
    config::check(&[source], options)
}

fn check(text: &str) -> Report {
    check_bytes(text.as_bytes(), &Options::default())
}

fn property(name: &str, value: &str) -> String {
    format!("<property><name>{name}</name><value>{value}</value></property>\n")
}

/// One leaf `root.a` of 100 %, with more text inside the root element.
fn sound_with(more: &str) -> String {
    let queues = property(QUEUES, "a");
    let capacity = property(CAPACITY, "100");
    format!("<configuration>\n{queues}{capacity}{more}</configuration>\n")
}

fn sound() -> String {
    sound_with("")
}

/// The code of the first error, or nothing.
fn code(report: &Report) -> &'static str {
    report.first_error().map_or("", |error| error.code)
}

fn has_warning(report: &Report, code: &str) -> bool {
    let mut all = report.diagnostics.iter();
    all.any(|finding| finding.severity == Severity::Warning && finding.code == code)
}

/// Rows about entities and characters: name, text, code.
fn broken_characters() -> Vec<(&'static str, String, &'static str)> {
    let entity = |text: &str| format!("<!DOCTYPE c [{text}]><configuration>&x;</configuration>");
    let laughs: String = (0..10)
        .map(|i| format!("<!ENTITY x{i} \"&a;&a;&a;&a;\">"))
        .collect();
    let inside = |value: &str| sound_with(&property("x", value));
    vec![
        ("A01", String::new(), "E_XML_NO_ROOT"),
        ("A01", " \n ".into(), "E_XML_NO_ROOT"),
        ("A01", "<!-- only -->".into(), "E_XML_NO_ROOT"),
        ("A01", "<?xml version=\"1.0\"?>".into(), "E_XML_NO_ROOT"),
        ("A02", entity(&laughs), "E_XML_DOCTYPE"),
        (
            "A03",
            entity(&format!("<!ENTITY x \"{}\">", "y".repeat(1 << 20))),
            "E_XML_DOCTYPE",
        ),
        (
            "A04",
            entity("<!ENTITY x SYSTEM \"file:///etc/passwd\">"),
            "E_XML_DOCTYPE",
        ),
        (
            "A05",
            "<!DOCTYPE c SYSTEM \"http://h/c.dtd\"><configuration/>".into(),
            "E_XML_DOCTYPE",
        ),
        ("A06", inside("&foo;"), "E_XML_ENTITY"),
        ("A06", inside("a & b"), "E_XML_ENTITY"),
        ("A08", inside("&#0;"), "E_XML_CHARREF"),
        ("A08", inside("&#x1;"), "E_XML_CHARREF"),
        ("A08", inside("&#xD800;"), "E_XML_CHARREF"),
        ("A08", inside("&#x110000;"), "E_XML_CHARREF"),
        (
            "A09",
            sound_with("<xi:include xmlns:xi=\"i\" href=\"/etc/passwd\" parse=\"text\"/>"),
            "E_XML_INCLUDE",
        ),
    ]
}

/// Rows about the shape of a file.
fn broken_shapes() -> Vec<(&'static str, String, &'static str)> {
    let inside = |value: &str| sound_with(&property("x", value));
    let attributes: String = (0..80_000).map(|i| format!(" a{i}=\"1\"")).collect();
    let spaces: String = (0..100_000).map(|i| format!(" xmlns:n{i}=\"u\"")).collect();
    vec![
        ("A10", "<a>".repeat(1_000_000), "E_XML_DEPTH"),
        ("A11", "<a><a><a>".into(), "E_XML_UNCLOSED"),
        ("A12", "<a><b></a></b>".into(), "E_XML_MISMATCH"),
        (
            "A14",
            format!("{}</configuration>", sound()),
            "E_XML_MISMATCH",
        ),
        (
            "A15",
            "<configuration/><configuration/>".into(),
            "E_XML_TRAILING",
        ),
        ("A16", format!("{}garbage", sound()), "E_XML_TRAILING"),
        ("A27", "<a k=\"1\" k=\"2\"/>".into(), "E_XML_ATTR"),
        ("A28", format!("<a{attributes}/>"), "E_XML_LIMIT"),
        ("A29", format!("<a{spaces}/>"), "E_XML_LIMIT"),
        ("A39", "{\"a\": 1}".into(), "E_XML_NO_ROOT"),
        (
            "A39",
            "<html><body><p>x<br></p></body></html>".into(),
            "E_XML_MISMATCH",
        ),
        (
            "",
            format!("\n<?xml version=\"1.0\"?>{}", sound()),
            "E_XML_SYNTAX",
        ),
        ("", inside("a ]]> b"), "E_XML_SYNTAX"),
        ("", inside("<!-- a -- b -->"), "E_XML_SYNTAX"),
        ("", "<1a/>".into(), "E_XML_SYNTAX"),
    ]
}

#[test]
fn broken_files_have_a_code_for_each_way_of_breaking() {
    let cases = broken_characters().into_iter().chain(broken_shapes());
    for (row, text, expected) in cases {
        let report = check(&text);
        let start: String = text.chars().take(60).collect();
        assert_eq!(code(&report), expected, "{row} {start}: {report}");
        let error = report.first_error().unwrap();
        assert!(error.span.is_some(), "{row}: every broken file has a place");
        assert!(config::explain_code(error.code).is_some(), "{}", error.code);
    }
}

#[test]
fn encodings_other_than_utf8_are_named() {
    let mut latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>".to_vec();
    latin.extend([0xe9]);
    latin.extend(b"</a>");
    let utf16: Vec<u8> = "<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &utf16].concat();
    let mut bad = sound().into_bytes();
    bad[40] = 0xff;
    let nul = sound().replace("100", "10\0");
    let cases: [(&str, &[u8], &str); 7] = [
        ("A19", &marked, "E_XML_ENCODING"),
        ("A20", &utf16, "E_XML_ENCODING"),
        ("A21", &latin, "E_XML_ENCODING"),
        ("A22", &bad, "E_XML_UTF8"),
        ("A23", nul.as_bytes(), "E_XML_CHAR"),
        ("A39", &[0x1f, 0x8b, 8, 0], "E_XML_SYNTAX"),
        (
            "A21",
            "<?xml version=\"1.0\" encoding=\"EBCDIC\"?><a/>".as_bytes(),
            "E_XML_ENCODING",
        ),
    ];
    for (row, bytes, expected) in cases {
        let report = check_bytes(bytes, &Options::default());
        assert_eq!(code(&report), expected, "{row}: {report}");
    }
    let at = check_bytes(&bad, &Options::default());
    assert_eq!(
        at.first_error().unwrap().span.as_ref().unwrap().bytes,
        40..41
    );
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let text = sound();
    let end = text.trim_end().len();
    for cut in 0..end {
        assert!(check(&text[..cut]).first_error().is_some(), "A13 at {cut}");
    }
    assert_eq!(code(&check(&text[..end])), "");
}

#[test]
fn odd_but_sound_files_are_accepted() {
    let crlf = sound().replace('\n', "\r\n");
    let cases = [
        ("A07", sound().replace("100", "&#49;0&#x30;"), ""),
        ("A17", sound().replace("configuration", "foo"), "W_XML_ROOT"),
        ("A18", format!("\u{feff}{}", sound()), ""),
        ("A24", sound().replace("100", "1<!-- x -->00"), ""),
        ("A25", sound().replace("100", "<![CDATA[100]]>"), ""),
        ("A26", format!("<?php x?>{}", sound()), "W_XML_INSTRUCTION"),
        (
            "A31",
            sound_with("<property><value>1</value></property>"),
            "W_XML_NAMELESS",
        ),
        (
            "A31",
            sound_with("<property><name>x</name></property>"),
            "W_VALUE_EMPTY",
        ),
        (
            "A31",
            sound_with("<property><foo/></property>"),
            "W_XML_ELEMENT",
        ),
        (
            "A32",
            sound_with(&property(CAPACITY, "100.0")),
            "W_KEY_TWICE",
        ),
        (
            "A34",
            sound().replace(QUEUES, &format!(" \n{QUEUES}\t")),
            "",
        ),
        (
            "A34",
            sound_with(&property(&format!("\u{a0}{CAPACITY}"), "7")),
            "W_KEY_SPACE",
        ),
        ("A35", sound().replace("100", " 100\n"), ""),
        (
            "A38",
            sound_with(&property("yarn.scheduler.capacity.root.b.capacity", "1")),
            "W_QUEUE_UNLISTED",
        ),
        ("A43", crlf, ""),
        (
            "",
            sound()
                .replace("<name>", "<x:name xmlns:x=\"u\">")
                .replace("</name>", "</x:name>"),
            "",
        ),
    ];
    for (row, text, warning) in cases {
        let report = check(&text);
        assert_eq!(code(&report), "", "{row}: {report}");
        if warning.is_empty() {
            assert!(!report.refuses(true), "{row}: {report}");
        } else {
            assert!(has_warning(&report, warning), "{row}: {report}");
            assert!(report.refuses(true), "{row}");
        }
    }
}

#[test]
fn a_final_property_cannot_be_overridden() {
    let first = format!(
        "<property><name>{CAPACITY}</name><value>100</value><final>true</final></property>"
    );
    let text = format!(
        "<configuration>{}{first}{}</configuration>",
        property(QUEUES, "a"),
        property(CAPACITY, "abc")
    );
    let report = check(&text);
    assert_eq!(code(&report), "", "A33: {report}");
    assert!(has_warning(&report, "W_FINAL"));
    let spaced = text.replace("<final>true", "<final> true");
    assert_eq!(code(&check(&spaced)), "not_a_number");
}

#[test]
fn properties_may_be_attributes() {
    let text = format!(
        "<configuration><property name=\"{QUEUES}\" value=\"a\"/>\
         <property name=\"{CAPACITY}\" value=\"name\"/></configuration>"
    );
    let report = check(&text);
    let error = report.first_error().unwrap();
    assert_eq!(error.code, "not_a_number");
    let span = error.span.as_ref().unwrap();
    assert_eq!(&text[span.bytes.clone()], "name");
    assert_eq!(span.bytes.start, text.rfind("name").unwrap());
}

#[test]
fn substitution_stops() {
    let chain = |last: &str| {
        let mut more = String::new();
        for i in 0..25 {
            more += &property(&format!("k{i}"), &format!("${{k{}}}", i + 1));
        }
        more += &property("k25", last);
        sound_with(&more)
    };
    let with = |value: &str| sound().replace(">100<", &format!(">{value}<"));
    let cycle = with("${x}").replace(
        "</configuration>",
        &(property("x", "${y}") + &property("y", "${x}") + "</configuration>"),
    );
    let cases = [
        ("a cycle", cycle, "substitution_cycle"),
        (
            "a long chain",
            chain("100").replace(">100<", ">${k0}<"),
            "substitution_cycle",
        ),
        (
            "a short chain",
            chain("100").replacen(">100<", ">${k10}<", 1),
            "",
        ),
        ("itself", with(&format!("${{{CAPACITY}}}")), "not_a_number"),
        ("an unknown name", with("${x}"), "not_a_number"),
        ("a default", with("${env.NOTHING:-100}"), ""),
        (
            "a growing value",
            with("${x}").replace(
                "</configuration>",
                &(property("x", "${y}${y}")
                    + &property("y", &"z".repeat(700_000))
                    + "</configuration>"),
            ),
            "substitution_cycle",
        ),
    ];
    for (what, text, expected) in cases {
        let report = check(&text);
        assert_eq!(
            code(&report),
            expected,
            "A36 {what}: {:?}",
            report.first_error().map(|e| &e.message)
        );
    }
}

#[test]
fn near_misses_of_keys_are_pointed_out() {
    let report = check(&sound_with(&property(
        "yarn.scheduler.capacity.root.a.capactiy",
        "1",
    )));
    let finding = &report.diagnostics[0];
    assert_eq!((finding.code, code(&report)), ("W_KEY_UNKNOWN", ""));
    let help = finding.help.as_deref().unwrap();
    assert!(
        help.contains("yarn.scheduler.capacity.root.a.capacity"),
        "A37: {help}"
    );
}

#[test]
fn sizes_are_bounded() {
    let options = Options {
        limits: DocumentLimits {
            bytes: 4096,
            properties: 3,
            ..DocumentLimits::default()
        },
        ..Options::default()
    };
    let long = sound_with(&property("x", &"y".repeat(5000)));
    assert_eq!(
        code(&check_bytes(long.as_bytes(), &options)),
        "E_LIMIT",
        "A30"
    );
    let many = sound_with(&(property("x", "1") + &property("y", "1")));
    assert_eq!(
        code(&check_bytes(many.as_bytes(), &options)),
        "E_LIMIT",
        "A42"
    );
    let limits = DocumentLimits::default();
    let deep = format!("/nowhere/{}capacity-scheduler.xml", "folder/".repeat(40));
    for path in ["/dev/zero", "/", "/nowhere/capacity-scheduler.xml", &deep] {
        let refused = config::read_source(path.as_ref(), Layer::Scheduler, &limits).unwrap_err();
        assert_eq!(refused.code, "E_IO", "A40 {path}");
        assert!(refused.message.starts_with(path), "A40 {refused}");
    }
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let prefix = "yarn.scheduler.capacity.root";
    let one = |list: &str| format!("<configuration>{}</configuration>", property(QUEUES, list));
    let mut deep = String::from("<configuration>");
    let mut path = prefix.to_owned();
    for _ in 0..100 {
        deep += &property(&format!("{path}.queues"), "a");
        deep += &property(&format!("{path}.a.capacity"), "100");
        path += ".a";
    }
    deep += "</configuration>";
    let wide: Vec<String> = (0..100_001).map(|i| format!("q{i}")).collect();
    let weights = |list: &str| {
        let capacity = property(CAPACITY, "1w");
        format!(
            "<configuration>{}{capacity}</configuration>",
            property(QUEUES, list)
        )
    };
    let cases = [
        (
            "B01",
            "<configuration/>".to_owned(),
            "root_without_children",
        ),
        ("B01", one(","), "root_without_children"),
        ("B02", weights("a,a"), "E_QUEUE_DUP"),
        ("B02", sound().replace(">a<", ">a,a<"), "capacity_sum"),
        ("B04", weights("a,b.c"), "E_QUEUE_NAME"),
        ("B09", deep, "E_QUEUE_DEPTH"),
        ("B10", one(&wide.join(",")), "E_LIMIT"),
        ("B16", weights(&format!("a,{}", "x".repeat(257))), "E_LIMIT"),
    ];
    for (row, text, expected) in cases {
        assert_eq!(code(&check(&text)), expected, "{row}");
    }
    for list in ["a,", ",a", " a ", "a,,"] {
        assert_eq!(code(&check(&weights(list))), "", "B02 {list:?}");
    }
    assert!(has_warning(&check(&weights("a,A")), "W_QUEUE_NAME"), "B05");
    assert!(
        has_warning(&check(&weights("a,b\u{202e}c")), "W_QUEUE_NAME"),
        "B15"
    );
    assert_eq!(
        code(&check(&weights("a,\u{961f}\u{5217},caf\u{e9}"))),
        "",
        "B13"
    );
}

#[test]
fn values_are_judged_as_the_reference_does() {
    let with = |key: &str, value: &str| {
        let key = format!("yarn.scheduler.capacity.{key}");
        code(&check(&sound_with(&property(&key, value))))
    };
    let capacity = |value: &str| code(&check(&sound().replace(">100<", &format!(">{value}<"))));
    let cases = [
        ("B18", capacity("NaN"), "E_NAN"),
        ("B18", with("root.a.maximum-capacity", "NaN"), "E_NAN"),
        ("B19", capacity("Infinity"), "capacity_out_of_range"),
        ("B19", capacity("1e400"), "capacity_out_of_range"),
        ("B20", capacity("-1"), "capacity_out_of_range"),
        ("B20", capacity("100.0001"), "capacity_out_of_range"),
        ("B21", capacity("100f"), ""),
        ("B21", capacity("0x1.9p6"), ""),
        ("B21", capacity("1_00"), "not_a_number"),
        ("B21", capacity("\u{ff11}\u{ff10}\u{ff10}"), "not_a_number"),
        ("B21", capacity("100,0"), "not_a_number"),
        ("B22", capacity("100%"), "not_a_number"),
        ("B24", capacity("99.96"), ""),
        ("B24", capacity("99.94"), "capacity_sum"),
        ("B28", with("root.a.maximum-capacity", "50"), ""),
        ("B32", capacity("[memory=-1]"), "E_RANGE"),
        ("B32", capacity("[]"), "not_a_number"),
        ("B32", capacity("[memory=1.5]"), "not_a_number"),
        ("B33", capacity("[memory=99999999999P]"), "not_a_number"),
        ("B34", capacity("10001w"), "capacity_out_of_range"),
        ("B34", capacity("w"), "not_a_number"),
        ("B34", capacity("NaNw"), "E_NAN"),
        ("B34", capacity("0w"), ""),
        ("B36", with("root.a.minimum-user-limit-percent", "101"), ""),
        ("B38", with("root.a.maximum-applications", "0x10"), ""),
        (
            "B38",
            with("root.a.maximum-applications", "2147483648"),
            "not_a_number",
        ),
        ("B40", with("root.a.state", "running"), ""),
        ("B40", with("root.a.state", "Stoped"), "state_unknown"),
        (
            "B41",
            with("root.a.ordering-policy", "fiar"),
            "ordering_policy",
        ),
        (
            "B42",
            with("resource-calculator", "x.Calculator"),
            "calculator_class",
        ),
        (
            "B44",
            with("root.a.accessible-node-labels.x.capacity", "5"),
            "capacity_sum",
        ),
        (
            "B54",
            with("multi-node-sorting.policy.names", "p"),
            "multi_node_policy",
        ),
    ];
    for (row, found, expected) in cases {
        assert_eq!(found, expected, "{row}");
    }
    let zero = property("yarn.scheduler.minimum-allocation-mb", "0");
    assert_eq!(
        code(&check(&sound_with(&zero))),
        "scheduler_allocation_limits",
        "B55"
    );
    let types = property("yarn.resource-types", "gpu,memory");
    assert_eq!(code(&check(&sound_with(&types))), "E_RESOURCE_TYPE", "B56");
}

#[test]
fn a_file_is_read_once() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("a41.xml");
    std::fs::write(&path, sound()).unwrap();
    let options = Options::default();
    let source = config::read_source(&path, config::Layer::Scheduler, &options.limits).unwrap();
    std::fs::write(&path, "<configuration>").unwrap();
    let report = config::check(&[source], &options);
    assert_eq!(code(&report), "", "A41: what was read is judged: {report}");
    let source = config::read_source(&path, config::Layer::Scheduler, &options.limits).unwrap();
    assert_eq!(code(&config::check(&[source], &options)), "E_XML_UNCLOSED");
}

#[test]
fn all_errors_are_reported_at_once() {
    let more = property("yarn.scheduler.capacity.root.a.state", "x")
        + &property("yarn.scheduler.capacity.root.a.user-limit-factor", "y")
        + &property("yarn.scheduler.capacity.mapping-rule-format", "z");
    let report = check(&sound_with(&more));
    let codes: Vec<&str> = report.errors().map(|error| error.code).collect();
    assert_eq!(codes, ["state_unknown", "not_a_number", "mapping_format"]);
}

#[test]
fn values_that_cannot_be_meant_are_warned_about() {
    let with = |key: &str, value: &str| {
        let key = format!("yarn.scheduler.capacity.{key}");
        check(&sound_with(&property(&key, value)))
    };
    let cases = [
        ("root.a.maximum-capacity", "50", "W_MAXIMUM_BELOW"),
        ("root.a.maximum-capacity", "101", "W_MAXIMUM_RANGE"),
        ("root.a.maximum-capacity", "0", "W_CAPACITY_ZERO"),
        (
            "root.a.maximum-capacity",
            "[memory=50%]",
            "W_CAPACITY_UNSET",
        ),
        ("root.a.maximum-am-resource-percent", "0", "W_MASTER_SHARE"),
        (
            "root.a.maximum-am-resource-percent",
            "NaN",
            "W_MASTER_SHARE",
        ),
        ("maximum-am-resource-percent", "10", "W_MASTER_SHARE"),
        ("root.a.minimum-user-limit-percent", "101", "W_USER_LIMIT"),
        ("root.a.user-limit-factor", "0", "W_USER_LIMIT"),
        ("root.a.user-limit-factor", "-5", "W_USER_LIMIT"),
        ("root.a.maximum-applications", "0", "W_MAX_APPS"),
        ("root.a.max-parallel-apps", "0", "W_MAX_APPS"),
        ("maximum-applications", "-5", "W_MAX_APPS"),
        ("root.user-limit-factor", "2", "W_KEY_NO_EFFECT"),
        ("root.capacity", "50", "W_KEY_NO_EFFECT"),
        ("root.a.allow-zero-capacity-sum", "true", "W_KEY_NO_EFFECT"),
        ("user.max-parallel-apps", "x", "W_VALUE_IGNORED"),
        ("rot.a.capacity", "5", "W_KEY_UNKNOWN"),
    ];
    for (key, value, expected) in cases {
        let report = with(key, value);
        assert_eq!(code(&report), "", "{key} {value}: {report}");
        assert!(has_warning(&report, expected), "{key} {value}: {report}");
        let mut all = report.diagnostics.iter();
        let finding = all.find(|finding| finding.code == expected).unwrap();
        assert!(finding.span.is_some(), "{key} {value}");
    }
    for (key, value) in [
        ("root.a.user-limit-factor", "-1"),
        ("root.a.maximum-capacity", "-1"),
    ] {
        assert!(!with(key, value).refuses(true), "{key} {value}");
    }
}

#[test]
fn labels_that_a_queue_may_not_use_are_warned_about() {
    let start = "yarn.scheduler.capacity.root.a.accessible-node-labels";
    let more = property(start, "y") + &property(&format!("{start}.x.capacity"), "100");
    let report = check(&sound_with(&more));
    assert_eq!(code(&report), "", "{report}");
    assert!(has_warning(&report, "W_LABEL_UNUSED"), "{report}");
}

#[test]
fn an_unreadable_capacity_is_one_error_and_not_a_wrong_sum_too() {
    let report = check(&sound().replace(">100<", ">1OO<"));
    let codes: Vec<&str> = report.errors().map(|error| error.code).collect();
    assert_eq!(codes, ["not_a_number"]);
}

/// A text of the kind that breaks readers of configurations.
fn nasty() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "<property>",
        "</property>",
        "<name>",
        "</name>",
        "<value>",
        "</value>",
        "<configuration>",
        "</configuration>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?xml ?>",
        "&amp;",
        "&#0;",
        "&",
        "<",
        "${",
        "}",
        "${env.",
        "yarn.scheduler.capacity.",
        "root",
        ".queues",
        ".capacity",
        ".a",
        "a,b",
        "[memory=",
        "vcores=1]",
        "%",
        "w",
        "NaN",
        "-1",
        "0x1p-149",
        "99999999999999999999",
        "\u{202e}",
        "\u{961f}",
        "\r\n",
        " ",
        "=",
        "\"",
        ".accessible-node-labels.",
        "user-settings.",
        ".weight",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in nasty()) {
        let report = check(&text);
        prop_assert!(report.diagnostics.len() < 10_000);
    }

    #[test]
    fn no_value_makes_the_tree_panic(key in nasty(), value in nasty()) {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        let first = property(&format!("yarn.scheduler.capacity.root.a.{}", escape(&key)), &escape(&value));
        let second = property(CAPACITY, &escape(&value));
        let report = check(&sound_with(&(first + &second)));
        for finding in &report.diagnostics {
            prop_assert!(config::explain_code(finding.code).is_some(), "{}", finding.code);
        }
    }

    #[test]
    fn one_changed_byte_never_panics(at in 0usize..200, byte in any::<u8>()) {
        let mut bytes = sound().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let report = check_bytes(&bytes, &Options::default());
        prop_assert!(report.to_string().len() < 100_000);
    }
}

#[test]
fn a_number_that_is_none_has_what_to_write_instead() {
    let help = |key: &str, value: &str| {
        let key = format!("yarn.scheduler.capacity.{key}");
        let report = check(&sound_with(&property(&key, value)));
        let finding = report.first_error().expect("an error");
        assert_eq!(finding.code, "not_a_number", "{value}");
        finding.help.clone().unwrap_or_default()
    };
    for (key, value, part) in [
        ("root.a.maximum-capacity", "50%", "without `%`"),
        ("root.a.maximum-capacity", "50,5", "a point"),
        ("root.a.maximum-capacity", "[memory=10", "in brackets"),
        (
            "root.a.maximum-applications",
            "99999999999",
            "out of the range",
        ),
        (
            "root.a.maximum-applications",
            "-99999999999",
            "out of the range",
        ),
        ("root.a.maximum-applications", "many", ""),
    ] {
        let found = help(key, value);
        assert_eq!(found.is_empty(), part.is_empty(), "{value}: {found}");
        assert!(found.contains(part), "{value}: {found}");
    }
}
