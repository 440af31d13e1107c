//! Settings that do nothing, or other than they read (kinds 06, 07 and 09).

use super::{CAPACITY, first, found, load, one_leaf, two};

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
fn templates_of_queues_that_create_nothing_are_named() {
    let code = "W_KEY_NO_EFFECT";
    for (key, switch) in [
        ("leaf-queue-template.capacity", "auto-create-child-queue"),
        (
            "auto-queue-creation-v2.template.capacity",
            "auto-queue-creation-v2",
        ),
        (
            "auto-queue-creation-v2.leaf-template.state",
            "auto-queue-creation-v2",
        ),
        (
            "auto-queue-creation-v2.parent-template.capacity",
            "auto-queue-creation-v2",
        ),
    ] {
        let name = format!("root.a.{key}");
        let one = found(&two(&[(&name, "1")]), &[], code);
        assert_eq!(one.len(), 1, "{key}");
        let wanted = format!("root.a.{switch}.enabled` to true");
        assert!(one[0].2.contains(&wanted), "{}", one[0].2);
    }
    // Those of all queues wait for any that creates.
    let all = ("root.*.auto-queue-creation-v2.template.capacity", "1w");
    assert_eq!(found(&two(&[all]), &[], code), []);
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
fn reservations_that_are_never_given_up_are_named() {
    let key = "reservations-continue-look-all-nodes";
    for (value, warned) in [(None, false), (Some("true"), false), (Some("false"), true)] {
        let more: Vec<(&str, &str)> = value.map(|value| (key, value)).into_iter().collect();
        let loaded = load(&one_leaf(&more), &[]).expect("the file is accepted");
        let mut found = loaded.report.diagnostics.iter();
        let found = found.find(|finding| finding.code == "W_NO_CONTINUE_LOOKING");
        assert_eq!(found.is_some(), warned, "{value:?}: {found:?}");
    }
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

#[test]
fn leaves_of_the_same_names_are_one_hint_that_lists_the_first_names() {
    let hints = |leaves: &str| {
        let mut own = vec![("root.queues".to_owned(), "a,b".to_owned())];
        for parent in ["root.a", "root.b"] {
            own.push((format!("{parent}.queues"), leaves.to_owned()));
            let below = leaves.split(',').map(|leaf| format!("{parent}.{leaf}"));
            let all = below.chain([parent.to_owned()]);
            own.extend(all.map(|queue| (format!("{queue}.capacity"), "1w".to_owned())));
        }
        let own: Vec<(&str, &str)> = own.iter().map(|(k, v)| (&**k, &**v)).collect();
        let hints = found(&own, &[], "H_QUEUE_NAMESAKE").into_iter();
        hints.map(|(_, message, _)| message).collect::<Vec<_>>()
    };
    let first = "several leaves are called `k`: root.a.k, root.b.k";
    assert_eq!(hints("k"), [first]);
    let two = format!("{first}; the same holds for `l`, `m`");
    assert_eq!(hints("m,l,k"), [two]);
    let many = format!("{first}; the same holds for `l`, `m`, `n`, `o` and 2 more");
    assert_eq!(hints("k,l,m,n,o,p,q"), [many]);
}
