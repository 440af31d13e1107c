//! Encodings, and files of another kind (kinds 02 and 03).

use capsched::config::{self, Layer, Options};

use super::{check_bytes, configuration, first, one_leaf, source};

// Kind 02: encodings.

/// A file is refused as what it is, with what to do next.
fn is_named(bytes: &[u8], what: &str, next: &str) {
    let report = check_bytes(bytes);
    let error = first(&report);
    assert!(error.message.contains(what), "{what}: {error}");
    let help = error.help.as_deref().unwrap_or_default();
    assert!(help.contains(next), "{what}: {help}");
}

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
        is_named(bytes, what, next);
    }
}

#[test]
fn packed_files_and_other_sites_are_named_with_what_to_do_next() {
    let core = configuration(&[("fs.defaultFS", "hdfs://x")]);
    let queues = "<queues><queue><name>default</name></queue></queues>";
    let fair = configuration(&[("yarn.scheduler.fair.preemption", "true")]);
    let change =
        "<sched-conf><update-queue><queue-name>root.a</queue-name></update-queue></sched-conf>";
    let unfilled = "<configuration>{% for q in queues %}<property><name>{{ q }}</name><value>1</value></property>{% endfor %}</configuration>";
    let cases: [(&[u8], &str, &str); 18] = [
        (
            change.as_bytes(),
            "scheduler-conf",
            "capacity-scheduler.xml",
        ),
        (unfilled.as_bytes(), "template", "render"),
        (
            b"<configuration>\n<<<<<<< HEAD\n<property/>\n=======\n>>>>>>> other\n</configuration>",
            "conflicts",
            ">>>>>>>",
        ),
        (
            b"--- a/cs.xml\n+++ b/cs.xml\n@@ -1 +1 @@\n-<a/>\n",
            "patch",
            "apply",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "Git LFS",
            "git lfs pull",
        ),
        (
            b"HTTP/1.1 302 Found\nLocation: /login\n\n",
            "HTTP",
            "without `-i`",
        ),
        (b"\xff\xfe\0\0<\0\0\0", "UTF-32", "iconv -f UTF-32"),
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
        is_named(bytes, what, next);
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
