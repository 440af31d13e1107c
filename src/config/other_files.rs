//! Files that are not a `capacity-scheduler.xml`: what they are, and what to do next.

use super::line_kinds::{is_base64, is_block, is_pair, is_table, is_yaml};

/// A kind of file that people give by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OtherFile {
    /// What it is, as the end of "the file is ...".
    pub(super) what: &'static str,
    /// What to do instead.
    pub(super) next: &'static str,
}

const fn other(what: &'static str, next: &'static str) -> OtherFile {
    OtherFile { what, next }
}

/// First bytes of packed files.
const PACKED: &[(&[u8], OtherFile)] = &[
    (
        &[0x1f, 0x8b],
        other("packed with gzip", "unpack it with `gunzip`"),
    ),
    (
        b"PK\x03\x04",
        other("a ZIP archive", "unpack it with `unzip`"),
    ),
    (
        b"BZh",
        other("packed with bzip2", "unpack it with `bunzip2`"),
    ),
    (
        &[0xfd, b'7', b'z', b'X', b'Z'],
        other("packed with xz", "unpack it with `unxz`"),
    ),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        other("packed with zstd", "unpack it with `unzstd`"),
    ),
    (b"%PDF", other("a PDF document", WRITE_XML)),
    (
        b"\x4c\x6f\xa7\x94\x93",
        other(
            "EBCDIC; only UTF-8 is read",
            "convert it with `iconv -f CP037 -t UTF-8`",
        ),
    ),
];

/// What a tar archive has at this place.
const TAR: (usize, &[u8]) = (257, b"ustar");

const WRITE_XML: &str = "give the `capacity-scheduler.xml` of the cluster: `<configuration>` with one \
                         `<property>` for each setting";

const CONF_JSON: OtherFile = other(
    "JSON of a resource manager's configuration",
    "ask the same address for XML: `/conf` without `format=json`, or \
     `/ws/v1/cluster/scheduler-conf` with `Accept: application/xml`",
);

const STATE_JSON: OtherFile = other(
    "JSON of a resource manager's state",
    "a configuration comes from `/ws/v1/cluster/scheduler-conf` with `Accept: application/xml`",
);

const JSON: OtherFile = other(
    "JSON, not XML",
    "give the `capacity-scheduler.xml`; traces and clusters in JSON belong to `capsched replay` and \
     `capsched simulate`",
);

const EMPTY: OtherFile = other("empty", WRITE_XML);

/// As blueprints of installers have the settings.
const SETTINGS_JSON: OtherFile = other(
    "JSON with settings of a scheduler, not XML",
    "write each setting as `<property><name>key</name><value>value</value></property>` inside \
     `<configuration>`",
);

const YAML: OtherFile = other("YAML, not XML", WRITE_XML);

const PROPERTIES: OtherFile = other(
    "a list of `key=value` lines, not XML",
    "write each line as `<property><name>key</name><value>value</value></property>` inside \
     `<configuration>`",
);

/// As files of Spark have them, and of Java with spaces or colons.
const WORDS: OtherFile = other(
    "a list of keys and values, not XML",
    "write each line as `<property><name>key</name><value>value</value></property>` inside \
     `<configuration>`",
);

const TABLE: OtherFile = other("a table of separated columns, not XML", WRITE_XML);

const BASE64: OtherFile = other("base64, not XML", "decode it with `base64 -d`");

const ENVIRONMENT: OtherFile = other(
    "a list of environment variables, not XML",
    "give the `capacity-scheduler.xml` that is made of them, as it stands in the container",
);

const SCRIPT: OtherFile = other("a script, not XML", WRITE_XML);

const HTML: OtherFile = other(
    "an HTML page",
    "save the configuration itself: `/conf` of the resource manager serves XML to `curl -H 'Accept: \
     application/xml'`",
);

/// A text with the marks of Jinja, Helm, ERB and their like.
pub(super) const TEMPLATE: OtherFile = other(
    "a template that is not filled in yet",
    "render it first, and give the result",
);

/// A file with the marks of a merge that did not end.
const CONFLICT: OtherFile = other(
    "one that a merge left with conflicts",
    "decide between the parts, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`",
);

const PATCH: OtherFile = other(
    "a patch, not XML",
    "apply it with `patch`, and give the file that it changes",
);

const POINTER: OtherFile = other(
    "a pointer of Git LFS, not the file itself",
    "fetch the file with `git lfs pull`",
);

const ANSWER: OtherFile = other(
    "an answer of HTTP with its head",
    "save the body alone: `curl` without `-i`",
);

/// A change for the resource manager's interface.
const CHANGE: OtherFile = other(
    "a change for `/ws/v1/cluster/scheduler-conf`",
    "give the `capacity-scheduler.xml` that it changes",
);

/// The allocation file of the Fair Scheduler.
const FAIR: OtherFile = other(
    "an allocation file of the Fair Scheduler",
    "convert it with `yarn fs2cs -f fair-scheduler.xml -y yarn-site.xml -o DIR`, and give the \
     `capacity-scheduler.xml` that it writes",
);

/// Keys of the Capacity Scheduler of Hadoop 1.
const HADOOP_1: OtherFile = other(
    "a configuration of Hadoop 1",
    "write `yarn.scheduler.capacity.root.queues` with the names of the queues, and \
     `yarn.scheduler.capacity.root.<queue>.capacity` instead of \
     `mapred.capacity-scheduler.queue.<queue>.capacity`",
);

/// The queue list of MapReduce.
const MAPRED_QUEUES: OtherFile = other(
    "a `mapred-queues.xml`",
    "list the queues in `yarn.scheduler.capacity.root.queues` of a `capacity-scheduler.xml`",
);

const SITES: &[(&str, OtherFile)] = &[
    ("mapred.capacity-scheduler.", HADOOP_1),
    (
        "yarn.",
        other(
            "a `yarn-site.xml` or `resource-types.xml`",
            "give the `capacity-scheduler.xml`, and this file below it with `--site`",
        ),
    ),
    ("dfs.", other("an `hdfs-site.xml`", WRITE_XML)),
    ("mapred", other("a `mapred-site.xml`", WRITE_XML)),
    ("fs.", other("a `core-site.xml`", WRITE_XML)),
    ("hadoop.", other("a `core-site.xml`", WRITE_XML)),
];

/// What a file with these keys is, when none of them is the Capacity Scheduler's: the kind that
/// most of them belong to, and Hadoop 1 whenever one does.
pub(super) fn of_keys<'a>(keys: impl Iterator<Item = &'a str>) -> Option<OtherFile> {
    let mut counts = [0usize; SITES.len()];
    for key in keys {
        let found = SITES.iter().position(|(start, _)| key.starts_with(start));
        if let Some(at) = found {
            counts[at] += 1;
        }
    }
    if counts[0] > 0 {
        return Some(HADOOP_1);
    }
    let most = counts.into_iter().max().filter(|most| *most > 0)?;
    let at = counts.iter().position(|count| *count == most)?;
    Some(SITES[at].1)
}

/// What packed bytes are.
pub(super) fn of_bytes(bytes: &[u8]) -> Option<OtherFile> {
    if bytes
        .get(TAR.0..)
        .is_some_and(|rest| rest.starts_with(TAR.1))
    {
        return Some(other("a tar archive", "unpack it with `tar -xf`"));
    }
    let mut kinds = PACKED.iter();
    let found = kinds.find(|(start, _)| bytes.starts_with(start));
    found.map(|(_, kind)| *kind)
}

/// What a file with this root element is.
pub(super) fn of_root(name: &str) -> Option<OtherFile> {
    match name {
        "allocations" => Some(FAIR),
        "queues" => Some(MAPRED_QUEUES),
        "sched-conf" => Some(CHANGE),
        "project" => Some(other("a `pom.xml` of Maven", WRITE_XML)),
        _ if is_html(name) => Some(HTML),
        _ => None,
    }
}

/// Elements that parts of pages begin with.
fn is_html(name: &str) -> bool {
    let all = ["html", "head", "body", "div", "table", "p", "pre"];
    all.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// What a text is that is no XML, or broken XML.
pub(super) fn of_text(text: &str) -> Option<OtherFile> {
    let start = text.trim_start();
    if start.is_empty() {
        return Some(EMPTY);
    }
    if is_conflict(text) {
        return Some(CONFLICT);
    }
    if is_template(text) {
        return Some(TEMPLATE);
    }
    let lower: String = start
        .chars()
        .take(64)
        .flat_map(char::to_lowercase)
        .collect();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return Some(HTML);
    }
    if start.starts_with('<') {
        return None;
    }
    if is_json(start) {
        return Some(json(start));
    }
    if start.starts_with("#!") {
        return Some(SCRIPT);
    }
    if start.starts_with("version https://git-lfs") {
        return Some(POINTER);
    }
    if start.starts_with("HTTP/") {
        return Some(ANSWER);
    }
    if is_patch(start) {
        return Some(PATCH);
    }
    of_lines(start)
}

/// What sound XML is whose properties say nothing of queues.
pub(super) fn of_sound_text(text: &str) -> Option<OtherFile> {
    is_template(text).then_some(TEMPLATE)
}

/// Whether lines begin with the marks of a merge, in their order.
fn is_conflict(text: &str) -> bool {
    let mut marks = ["<<<<<<< ", "=======", ">>>>>>> "].into_iter().peekable();
    for line in text.lines() {
        if marks.peek().is_some_and(|mark| line.starts_with(mark)) {
            marks.next();
        }
    }
    marks.peek().is_none()
}

/// Whether a text begins as `diff` writes it.
fn is_patch(start: &str) -> bool {
    let mut lines = start.lines().skip_while(|line| {
        ["diff ", "index ", "Index: ", "==="]
            .iter()
            .any(|begin| line.starts_with(begin))
    });
    let pair = (lines.next(), lines.next());
    matches!(pair, (Some(old), Some(new)) if old.starts_with("--- ") && new.starts_with("+++ "))
}

/// Advice about a value with the marks of a template.
pub(super) const RENDER: &str = "the file is a template; render it first";

/// Marks of Jinja, Helm, ERB and their like.
pub(super) fn is_template(text: &str) -> bool {
    [("{{", "}}"), ("{%", "%}"), ("<%", "%>")]
        .iter()
        .any(|(open, close)| {
            let at = text.find(open);
            at.is_some_and(|at| text[at..].contains(close))
        })
}

fn is_json(start: &str) -> bool {
    let mut signs = start.chars().filter(|c| !c.is_whitespace());
    match (signs.next(), signs.next()) {
        (Some('{'), Some('"' | '}')) => true,
        (Some('['), Some(next)) => matches!(next, '{' | '[' | ']' | '"') || next.is_ascii_digit(),
        _ => false,
    }
}

fn json(text: &str) -> OtherFile {
    let has = |word: &str| text.contains(&format!("\"{word}\""));
    if has("schedulerInfo") || has("clusterInfo") {
        STATE_JSON
    } else if (has("property") || has("properties")) && has("name") && has("value") {
        CONF_JSON
    } else if text.contains("\"yarn.scheduler.capacity.") {
        SETTINGS_JSON
    } else {
        JSON
    }
}

/// What the first lines with something on them look like.
fn of_lines(text: &str) -> Option<OtherFile> {
    let lines = text.lines().map(str::trim);
    let filled = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '!', ';']));
    // A block of YAML holds anything.
    let mut block = false;
    let filled = filled.take_while(|line| {
        let before = std::mem::replace(&mut block, is_block(line));
        !before
    });
    let first: Vec<&str> = filled.take(8).collect();
    let all = |holds: fn(&str) -> bool| !first.is_empty() && first.iter().all(|line| holds(line));
    let environment = |line: &str| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let name = line.split('=').next().unwrap_or_default();
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let made_of = name.contains(".XML_") || name.contains("-SITE_");
        line.contains('=') && (made_of || (!name.is_empty() && name.chars().all(upper)))
    };
    if all(is_base64) {
        Some(BASE64)
    } else if all(environment) {
        Some(ENVIRONMENT)
    } else if all(is_pair) {
        Some(WORDS)
    } else if text.starts_with("---") || all(is_yaml) {
        Some(YAML)
    } else if all(|line| line.contains('=') || line.starts_with('[')) {
        Some(PROPERTIES)
    } else if is_table(&first) {
        Some(TABLE)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_named_as_what_they_are() {
        for (text, kind) in [
            ("", EMPTY),
            (" \n", EMPTY),
            (
                "{\"property\":[{\"name\":\"a\",\"value\":\"b\"}]}",
                CONF_JSON,
            ),
            (
                " {\n \"properties\": [ {\"name\": 1, \"value\": 2} ] }",
                CONF_JSON,
            ),
            ("{\"scheduler\":{\"schedulerInfo\":{}}}", STATE_JSON),
            ("[{\"am.type\":\"mapreduce\"}]", JSON),
            ("---\nqueues: []\n", YAML),
            ("# comment\nyarn:\n  queues:\n  - default\n", YAML),
            (
                "# comment\nyarn.scheduler.capacity.root.queues=default\na = b\n",
                PROPERTIES,
            ),
            (
                "CAPACITY-SCHEDULER.XML_yarn.scheduler.capacity.root.queues=default\n",
                ENVIRONMENT,
            ),
            (
                "export HADOOP_HOME=/opt\nexport YARN_OPTS=-Xmx1g\n",
                ENVIRONMENT,
            ),
            ("#!/bin/sh\nexit 0\n", SCRIPT),
            ("<!DOCTYPE HTML>\n<html></html>", HTML),
            ("{% for q in queues %}<property/>{% endfor %}", TEMPLATE),
            (
                "{{- if .Values.x }}\n<configuration/>\n{{- end }}",
                TEMPLATE,
            ),
            ("<configuration><% if x %></configuration>", TEMPLATE),
            (
                "<configuration>\n<<<<<<< HEAD\n=======\n>>>>>>> x\n",
                CONFLICT,
            ),
            (
                "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n",
                PATCH,
            ),
            ("--- x.xml\n+++ y.xml\n@@ -1 +1 @@\n", PATCH),
            (
                "version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
                POINTER,
            ),
            (
                "HTTP/1.1 200 OK\nContent-Type: application/xml\n\n<configuration/>",
                ANSWER,
            ),
            (
                "apiVersion: v1\ndata:\n  x.xml: |\n    <configuration/>\n",
                YAML,
            ),
        ] {
            assert_eq!(of_text(text), Some(kind), "{text}");
        }
        let ruled = "<a>\n=======\n</a>";
        let words = "one, two\nthree four";
        for none in [
            "<configuration>",
            "words without form",
            "<a>{ {",
            ruled,
            words,
        ] {
            assert_eq!(of_text(none), None, "{none}");
        }
    }

    #[test]
    fn lines_are_named_as_what_they_are() {
        for (text, kind) in [
            ("# x\nspark.yarn.queue  default\nspark.a\t1\n", WORDS),
            ("! x\nyarn.scheduler.capacity.root.queues : a\n", WORDS),
            ("queue,capacity\na,60\nb,40\n", TABLE),
            ("queue;capacity\na;60\n", TABLE),
            ("PGNvbmZpZ3VyYXRpb24+PC9jb25maWd1cmF0aW9uPg==\n", BASE64),
        ] {
            assert_eq!(of_text(text), Some(kind), "{text}");
        }
    }

    #[test]
    fn packed_files_and_other_roots_are_named() {
        assert_eq!(
            of_bytes(&[0x1f, 0x8b, 8]).map(|k| k.what),
            Some("packed with gzip")
        );
        assert_eq!(of_bytes(b"<configuration/>"), None);
        assert_eq!(of_root("allocations"), Some(FAIR));
        assert_eq!(of_root("sched-conf"), Some(CHANGE));
        assert_eq!(of_root("configuration"), None);
        assert_eq!(of_root("DIV"), Some(HTML));
        let mut tar = vec![b'x'; 257];
        assert_eq!(of_bytes(&tar), None);
        tar.extend(b"ustar\0");
        assert_eq!(of_bytes(&tar).map(|kind| kind.what), Some("a tar archive"));
        assert!(of_bytes(b"\x4c\x6f\xa7\x94\x93\x40").is_some());
        let keys = [
            "mapred.capacity-scheduler.queue.a.capacity",
            "dfs.x",
            "dfs.y",
        ];
        assert_eq!(of_keys(keys.into_iter()), Some(HADOOP_1));
        let keys = ["yarn.acl.enable", "dfs.x", "dfs.y"];
        let kind = of_keys(keys.into_iter()).map(|kind| kind.what);
        assert_eq!(kind, Some("an `hdfs-site.xml`"));
        assert_eq!(of_keys(["a"].into_iter()), None);
    }
}
