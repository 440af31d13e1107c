//! Resource types and the units of amounts (kinds 04 and 05).

use capsched::api::{NodeSpec, ResourceVector, Sequential, StateView};

use super::{CAPACITY, configuration, first, found, load, one_leaf, two};

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
        ("vcores.units", "W_KEY_NO_EFFECT", "remove the key"),
        ("memory-mb.type", "W_KEY_NO_EFFECT", "remove the key"),
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
