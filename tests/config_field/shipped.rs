//! What Hadoop and its distributions ship (kind 01).

use capsched::config::{self, Layer, Options};

use super::{check_bytes, configuration, one_leaf, source};

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
