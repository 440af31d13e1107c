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
