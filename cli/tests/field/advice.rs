//! Errors about files of another kind and values of another form say what is expected.

use std::fs;

use serde_json::Value;

use super::support::{folder, run};
use super::{configuration, written};

/// Codes, messages and advice of the errors and warnings about a file.
fn findings(args: &[&str]) -> Vec<(String, String, String)> {
    let (_, out, err) = run(&[&["check", "--json"], args].concat());
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let all = report["files"][0]["findings"].as_array().unwrap().iter();
    let all = all.filter(|finding| finding["severity"] != "hint");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    all.map(|of| (text(of, "code"), text(of, "message"), text(of, "help")))
        .collect()
}

// Kind 04: resource types.

#[test]
fn a_type_that_is_refused_has_its_fault_alone() {
    let folder = folder("field-refused-type");
    let conf = configuration(&folder, "conf.xml", "");
    let pair = |key: &str, value: &str| {
        format!("<property><name>{key}</name><value>{value}</value></property>")
    };
    for (name, key, value) in [
        ("disk", "units", "GB"),
        ("disk", "type", "COUNTABL"),
        ("yarn.io/gpu", "units", "G"),
    ] {
        let site = written(
            &folder,
            "site.xml",
            &[
                "<configuration>",
                &pair("yarn.resource-types", &format!("licence, {name}")),
                &pair(&format!("yarn.resource-types.{name}.{key}"), value),
                &pair("yarn.resource-types.tape.units", "Gi"),
                "</configuration>",
            ],
        );
        let found = findings(&[conf.to_str().unwrap(), "--site", site.to_str().unwrap()]);
        let of_type = |code: &str| found.iter().filter(|(found, ..)| found == code).count();
        assert_eq!(of_type("E_RESOURCE_TYPE"), 1, "{found:?}");
        // The type that no list declares is the only one without effect.
        assert_eq!(of_type("W_KEY_NO_EFFECT"), 1, "{found:?}");
        assert!(
            found
                .iter()
                .any(|(_, message, _)| message.contains("tape.units"))
        );
    }
}

// Kind 16: types that nodes or traces bring along.

#[test]
fn the_calculator_that_further_types_need_is_named() {
    let folder = folder("field-calculator");
    let conf = configuration(&folder, "conf.xml", "");
    let trace = written(
        &folder,
        "gpu.jsonl",
        &[
            r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores","yarn.io/gpu"]}"#,
            r#"{"node":{"host":"n1","rack":"/r1","size":[65536,32,4]}}"#,
        ],
    );
    let (trace, conf) = (trace.to_str().unwrap(), conf.to_str().unwrap());
    let (code, _, err) = run(&["replay", trace, "--conf", conf]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("3 resource types"), "{err}");
    let needed = "set `yarn.scheduler.capacity.resource-calculator` to \
                  `org.apache.hadoop.yarn.util.resource.DominantResourceCalculator`";
    assert!(err.contains(needed), "{err}");
}

// Kinds 06 and 03: values and files of another form.

#[test]
fn a_number_with_a_sign_of_percent_gets_the_advice_of_its_key() {
    let folder = folder("field-percent");
    for (key, value, advice) in [
        (
            "root.a.maximum-capacity",
            "40%",
            "write the percentage without `%`",
        ),
        (
            "root.a.minimum-user-limit-percent",
            "25%",
            "write the percentage without `%`",
        ),
        (
            "maximum-am-resource-percent",
            "20%",
            "it is a fraction: 0.1 is ten percent",
        ),
        (
            "node-locality-delay",
            "40%",
            "this is no percentage; write a plain number",
        ),
        (
            "root.a.user-limit-factor",
            "200%",
            "this is no percentage; write a plain number",
        ),
    ] {
        let key = format!("yarn.scheduler.capacity.{key}");
        let more = format!("<property><name>{key}</name><value>{value}</value></property>\n");
        let conf = configuration(&folder, "conf.xml", &more);
        let found = findings(&[conf.to_str().unwrap()]);
        let (code, _, help) = &found[0];
        assert_eq!((&**code, &**help), ("not_a_number", advice), "{key}");
    }
}

#[test]
fn an_empty_file_and_settings_in_json_are_named() {
    let folder = folder("field-empty");
    let blueprint = r#"{"properties":{"yarn.scheduler.capacity.root.queues":"a"}}"#;
    for (text, what, next) in [
        ("", "the file is empty", "capacity-scheduler.xml"),
        ("\n \n", "the file is empty", "capacity-scheduler.xml"),
        (
            blueprint,
            "the file is JSON with settings of a scheduler, not XML",
            "<property>",
        ),
        (r#"{"a":1}"#, "the file is JSON, not XML", "capsched replay"),
    ] {
        let path = folder.join("other.xml");
        fs::write(&path, text).unwrap();
        let found = findings(&[path.to_str().unwrap()]);
        let (code, message, help) = &found[0];
        assert_eq!((&**code, &**message), ("E_XML_NO_ROOT", what));
        assert!(help.contains(next), "{help}");
    }
}

// Kind 18: variants of traces.

#[test]
fn columns_that_are_separated_otherwise_are_named() {
    let folder = folder("field-columns");
    let head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
                deletion_time,scheduled_time";
    let row = "p1,4000,8192,0,0,,LS,Running,0,100,10";
    for (sign, shown) in [(";", "`;`"), ("|", "`|`")] {
        let lines = [head, row].map(|line| line.replace(',', sign));
        let lines = lines.each_ref().map(String::as_str);
        let path = written(&folder, "pods.csv", &lines);
        let (code, _, err) = run(&[
            "replay",
            path.to_str().unwrap(),
            "--nodes",
            "1x8GiB,8vcores",
        ]);
        assert_eq!(code, 1, "{err}");
        let said = format!("the columns are separated by {shown}; separate them by `,`");
        assert!(err.contains(&said), "{err}");
    }
}

// Kind 03: files that are not what they are to be.

#[test]
fn marks_of_a_template_in_a_list_of_queues_get_the_advice_of_a_value() {
    let folder = folder("field-template");
    let render = "the file is a template; render it first";
    for (list, code) in [
        // One name, whose capacity is missing.
        ("{{ queues }}", "capacity_sum"),
        // A name with a separator in it.
        ("a,{{ item.queues }}", "E_QUEUE_NAME"),
        ("<% for q in queues %>", "capacity_sum"),
        ("{% for q in queues %}{{ q }},{% endfor %}", "capacity_sum"),
    ] {
        let list = list.replace('<', "&lt;");
        let list = format!("<value>{list}</value>");
        let lines = [
            "<configuration>",
            "<property><name>yarn.scheduler.capacity.root.queues</name>",
            &list,
            "</property></configuration>",
        ];
        let path = written(&folder, "cs.xml", &lines);
        let found = findings(&[path.to_str().unwrap()]);
        assert_eq!((&*found[0].0, &*found[0].2), (code, render), "{found:?}");
    }
    // Accepted, and still a template.
    let more = "<property><name>yarn.scheduler.capacity.root.a.queues</name>\
                <value>{{ teams }}</value></property>\
                <property><name>yarn.scheduler.capacity.root.a.{{ teams }}.capacity</name>\
                <value>100</value></property>";
    let path = configuration(&folder, "accepted.xml", more);
    let found = findings(&[path.to_str().unwrap()]);
    let (code, _, help) = &found[0];
    assert_eq!((&**code, &**help), ("W_QUEUE_NAME", render), "{found:?}");
}

// Kind 06: settings that do nothing.

#[test]
fn options_of_another_order_of_applications_have_no_effect() {
    let folder = folder("field-order-options");
    let property = |key: &str, value: &str| {
        format!(
            "<property><name>yarn.scheduler.capacity.root.{key}</name><value>{value}</value></property>"
        )
    };
    let (fair, labels) = (
        "a.ordering-policy.fair.enable-size-based-weight",
        "a.ordering-policy.exclusive-enforced-partitions",
    );
    let policy = "yarn.scheduler.capacity.root.a.ordering-policy";
    let with_partitions = "fifo-with-partitions";
    for (order, option, has, needs) in [
        (None, fair, "fifo", "fair"),
        (
            Some("fifo-for-pending-apps"),
            fair,
            "fifo-for-pending-apps",
            "fair",
        ),
        (Some("fair"), labels, "fair", with_partitions),
    ] {
        let order = order.map(|order| property("a.ordering-policy", order));
        let more = property(option, "true") + &order.unwrap_or_default();
        let path = configuration(&folder, "cs.xml", &more);
        let found = findings(&[path.to_str().unwrap()]);
        let [(code, message, help)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(code, "W_ORDER_OPTION");
        assert!(
            message.ends_with(&format!("whose order is `{has}`")),
            "{message}"
        );
        let change = format!("set `{policy}` to `{needs}`, or remove the key");
        assert_eq!(help, &change);
    }
    for (order, option) in [("fair", fair), (with_partitions, labels)] {
        let more = property(option, "true") + &property("a.ordering-policy", order);
        let path = configuration(&folder, "cs.xml", &more);
        assert_eq!(findings(&[path.to_str().unwrap()]), [], "{order}");
    }
    // A parent orders queues.
    let more = property("ordering-policy.fair.enable-size-based-weight", "true");
    let path = configuration(&folder, "cs.xml", &more);
    let found = findings(&[path.to_str().unwrap()]);
    assert_eq!(found[0].0, "W_ORDER_OPTION", "{found:?}");
    assert!(found[0].1.ends_with("which is a parent"), "{found:?}");
}

// Kind 18: values of another kind in traces and files of settings.

#[test]
fn a_value_of_another_kind_is_named_with_its_member() {
    let folder = folder("field-kinds");
    let job = |count: &str, at_ms: &str| {
        format!(
            r#"{{"job":{{"at_ms":{at_ms},"name":"j","user":"u","queue":"a","tasks":[{{"size":[1024,1],"count":{count},"priority":20,"run":{{"same":1}}}}]}}}}"#
        )
    };
    for (line, said) in [
        (
            job("\"ten\"", "0"),
            "`job.tasks[0].count`: a whole number from 0 is expected, not the text \"ten\"",
        ),
        (
            job("-5", "0"),
            "`job.tasks[0].count`: a whole number from 0 is expected, not the number `-5`",
        ),
        (
            job("1", "null"),
            "`job.at_ms`: a whole number from 0 is expected, not `null`",
        ),
    ] {
        let path = written(&folder, "trace.jsonl", &[super::NATIVE, super::NODE, &line]);
        let (code, _, err) = run(&["replay", path.to_str().unwrap()]);
        assert_eq!(code, 1, "{err}");
        let place = "trace.jsonl:3:";
        assert!(err.contains(place) && err.contains(said), "{said}: {err}");
    }
    // A report that a simulation wrote.
    let path = written(&folder, "report.json", &[r#"{"invariant": 5}"#]);
    let (_, _, err) = run(&["simulate", "--replay", path.to_str().unwrap()]);
    let said = "report.json:1:15: a text in quotes is expected, not the number `5`";
    assert!(err.contains(said), "{err}");
}
