//! Tables of rules, submissions and where they go.

use std::collections::BTreeMap;

use super::*;
use crate::config::{DeclaredQueues, QueueEntryKind};

/// Queues of all kinds; `etl` stands in two places.
fn queues() -> DeclaredQueues {
    [
        ("root", QueueEntryKind::Parent),
        ("root.default", QueueEntryKind::Leaf),
        ("root.a", QueueEntryKind::Parent),
        ("root.a.etl", QueueEntryKind::Leaf),
        ("root.a.qa", QueueEntryKind::Leaf),
        ("root.a.ann", QueueEntryKind::Leaf),
        ("root.b", QueueEntryKind::Leaf),
        ("root.dev", QueueEntryKind::Leaf),
        ("root.users", QueueEntryKind::Parent),
        ("root.users.dan_dot_lee", QueueEntryKind::Leaf),
        ("root.users.etl", QueueEntryKind::Leaf),
        ("root.v1", QueueEntryKind::ManagedParent),
        ("root.v2", QueueEntryKind::CreatingParent),
    ]
    .into_iter()
    .collect()
}

/// Properties of the scheduler by the ends of their keys.
fn source(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let entries = entries.iter();
    entries
        .map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned()))
        .collect()
}

fn rules(entries: &[(&str, &str)]) -> (PlacementRules, DeclaredQueues) {
    let rules = PlacementRules::read(&source(entries)).unwrap();
    rules.validate(&queues()).unwrap();
    (rules, queues())
}

fn legacy(list: &str) -> (PlacementRules, DeclaredQueues) {
    rules(&[
        ("queue-mappings", list),
        ("queue-mappings-override.enable", "true"),
    ])
}

fn json(list: &str) -> (PlacementRules, DeclaredQueues) {
    rules(&[
        ("mapping-rule-format", "json"),
        ("mapping-rule-json", &format!("{{\"rules\":[{list}]}}")),
        ("queue-mappings-override.enable", "true"),
    ])
}

fn groups(user: &str) -> Vec<String> {
    let groups: &[&str] = match user {
        "ann" => &["staff", "dev", "qa"],
        "bob" => &["dev"],
        "cid" => &["ops", "etl", "dev"],
        "dan.lee" => &["g.one", "two.x"],
        _ => &[],
    };
    groups.iter().map(|&group| group.to_owned()).collect()
}

/// Where a submission goes: a path, `-` for no opinion, `!` for a refusal.
fn place(
    (rules, queues): &(PlacementRules, DeclaredQueues),
    user: &str,
    queue: &str,
    application: &str,
) -> String {
    let decision = rules.place(
        &PlacementQuery {
            user,
            groups: &groups(user),
            queue,
            application,
            recovered: false,
        },
        queues,
    );
    shown(&decision)
}

fn shown(decision: &Decision) -> String {
    match decision {
        Decision::NoOpinion => "-".to_owned(),
        Decision::Rejected { .. } => "!".to_owned(),
        Decision::Place(place) => place.path(),
    }
}

#[test]
fn legacy_rules_match_users_and_groups_and_the_first_one_decides() {
    for (list, user, want) in [
        ("u:ann:b", "ann", "root.b"),
        ("u:ann:b", "bob", "-"),
        ("u:%user:b", "bob", "root.b"),
        ("u:*:b", "bob", "-"),
        ("u:*:b", "*", "root.b"),
        ("g:staff:b", "ann", "root.b"),
        ("g:qa:b", "ann", "root.b"),
        ("g:qa:b", "gus", "-"),
        ("g:g.one:b", "dan.lee", "root.b"),
        ("u:ann:b,g:staff:dev", "ann", "root.b"),
        ("g:staff:dev,u:ann:b", "ann", "root.dev"),
        ("u:dan.lee:b", "dan.lee", "root.b"),
    ] {
        assert_eq!(
            place(&legacy(list), user, "default", "job"),
            want,
            "{list} {user}"
        );
    }
}

/// Target, user, submitted queue, application, and where it goes.
const VARIABLES: &[(&str, &str, &str, &str, &str)] = &[
    (
        "root.users.%user",
        "dan.lee",
        "default",
        "j",
        "root.users.dan_dot_lee",
    ),
    ("root.v2.%user", "ann", "default", "j", "root.v2.ann"),
    ("%user", "dev", "default", "j", "root.dev"),
    ("%primary_group", "bob", "default", "j", "root.dev"),
    (
        "root.v2.%primary_group",
        "dan.lee",
        "default",
        "j",
        "root.v2.g_dot_one",
    ),
    (
        "root.v2.%primary_group",
        "gus",
        "default",
        "j",
        "root.v2.%primary_group",
    ),
    (
        "%primary_group.%user",
        "gus",
        "default",
        "j",
        "root.default",
    ),
    (
        "root.a.%secondary_group",
        "ann",
        "default",
        "j",
        "root.a.qa",
    ),
    (
        "root.a.%secondary_group",
        "cid",
        "default",
        "j",
        "root.a.etl",
    ),
    ("%secondary_group", "cid", "default", "j", "root.dev"),
    (
        "root.a.%secondary_group",
        "bob",
        "default",
        "j",
        "root.default",
    ),
    (
        "root.v2.%secondary_group",
        "gus",
        "default",
        "j",
        "root.v2.%secondary_group",
    ),
    (
        "root.v2.groups.%secondary_group",
        "bob",
        "default",
        "j",
        "root.default",
    ),
    ("%application", "ann", "default", "b", "root.b"),
    ("%application", "ann", "default", "a.qa", "root.a.qa"),
    ("root.a.%application", "ann", "default", "", "root.default"),
    ("%specified", "ann", "root.a.qa", "j", "root.a.qa"),
    ("%specified", "ann", "a.qa", "j", "root.a.qa"),
    ("%specified", "ann", "default", "j", "root.default"),
    ("%default", "ann", "b", "j", "root.default"),
    ("root.v2.x%user", "ann", "b", "j", "root.v2.x%user"),
];

#[test]
fn variables_are_replaced_and_dots_do_not_make_paths() {
    for (target, user, queue, application, want) in VARIABLES {
        let list = format!("u:%user:{target}");
        let source = source(&[
            ("queue-mappings", &list),
            ("queue-mappings-override.enable", "true"),
        ]);
        let rules = PlacementRules::read(&source).unwrap();
        let found = place(&(rules, queues()), user, queue, application);
        assert_eq!(found, *want, "{target} {user} {queue} {application}");
    }
}

#[test]
fn a_legacy_rule_that_cannot_place_goes_to_the_default_queue() {
    for (target, user, want) in [
        ("root.a.%user", "ann", "root.a.ann"),
        ("root.a.%user", "bob", "root.default"),
        ("%user", "etl", "root.default"),
        ("%user", "users", "root.default"),
        ("root.%user", "a", "root.default"),
        ("%user", "nowhere", "root.default"),
        ("root.v1.%user", "bob", "root.v1.bob"),
        ("root.v1.%primary_group.%user", "bob", "root.default"),
        ("root.v2.%user", "bob", "root.v2.bob"),
        ("root.v2.%primary_group.%user", "bob", "root.v2.dev.bob"),
        ("root.v2.%user.%user.%user", "bob", "root.default"),
        ("v2.%user", "bob", "root.v2.bob"),
    ] {
        let rules = legacy(&format!("u:%user:{target}"));
        assert_eq!(
            place(&rules, user, "default", "job"),
            want,
            "{target} {user}"
        );
    }
}

#[test]
fn only_default_is_mapped_unless_rules_override() {
    let with = |value: &str| {
        rules(&[
            ("queue-mappings", "u:%user:b"),
            ("queue-mappings-override.enable", value),
        ])
    };
    for (value, queue, want) in [
        ("false", "default", "root.b"),
        ("false", "root.default", "-"),
        ("false", "dev", "-"),
        ("true", "root.default", "root.b"),
        ("true", "dev", "root.b"),
    ] {
        assert_eq!(
            place(&with(value), "ann", queue, "j"),
            want,
            "{value} {queue}"
        );
    }
}

#[test]
fn a_recovered_application_stays_in_its_leaf() {
    let (rules, queues) = rules(&[("queue-mappings", "u:%user:root.a.qa")]);
    for (queue, want) in [
        ("root.a.qa", "root.a.qa"),
        ("qa", "root.a.qa"),
        ("root.b", "-"),
        ("default", "-"),
    ] {
        let decision = rules.place(
            &PlacementQuery {
                user: "ann",
                groups: &[],
                queue,
                application: "j",
                recovered: true,
            },
            &queues,
        );
        assert_eq!(shown(&decision), want, "{queue}");
    }
}

#[test]
fn application_rules_come_after_those_of_users() {
    let rules = rules(&[("queue-mappings", "u:ann:root.a.ann")]);
    assert_eq!(place(&rules, "bob", "default", "sort"), "-");
    let mut source = source(&[("queue-mappings", "u:ann:root.a.ann")]);
    let key = "yarn.scheduler.queue-placement-rules.app-name";
    source.insert(
        key.to_owned(),
        "sort:b,%application:%application".to_owned(),
    );
    let rules = (PlacementRules::read(&source).unwrap(), queues());
    for (user, application, want) in [
        ("ann", "sort", "root.a.ann"),
        ("bob", "sort", "root.b"),
        ("bob", "dev", "root.dev"),
        ("bob", "x.y", "root.default"),
        ("bob", "", "root.default"),
    ] {
        assert_eq!(
            place(&rules, user, "default", application),
            want,
            "{user} {application}"
        );
    }
}

#[test]
fn json_matchers_compare_names_as_they_are() {
    for (kind, matches, user, application, want) in [
        ("user", "*", "ann", "j", "root.b"),
        ("user", "ann", "ann", "j", "root.b"),
        ("user", "ann", "bob", "j", "-"),
        ("user", "%user", "ann", "j", "root.b"),
        ("user", "%user", "dan.lee", "j", "-"),
        ("group", "qa", "ann", "j", "root.b"),
        ("group", "%primary_group", "ann", "j", "root.b"),
        ("group", "%primary_group", "dan.lee", "j", "-"),
        ("group", "%primary_group", "gus", "j", "-"),
        ("application", "sort", "ann", "sort", "root.b"),
        ("application", "sort", "ann", "Sort", "-"),
        ("application", "*", "ann", "sort", "-"),
        ("application", "%user", "ann", "ann", "root.b"),
        ("application", "run-%user-x", "ann", "run-ann-x", "root.b"),
    ] {
        let rule = format!(
            r#"{{"type":"{kind}","matches":"{matches}","policy":"custom","customPlacement":"b"}}"#
        );
        let found = place(&json(&rule), user, "default", application);
        assert_eq!(found, want, "{kind} {matches} {user} {application}");
    }
}

/// Policy, parent queue, further fields, user, and where it goes; without an answer the next rule
/// places into `root.dev`.
const POLICIES: &[(&str, &str, &str, &str, &str)] = &[
    ("specified", "", "", "ann", "root.b"),
    ("defaultQueue", "", "", "ann", "root.default"),
    ("user", "root.a", "", "ann", "root.a.ann"),
    ("user", "root.a", "", "bob", "root.dev"),
    (
        "user",
        "root.a",
        r#","fallbackResult":"skip""#,
        "bob",
        "root.dev",
    ),
    (
        "user",
        "root.a",
        r#","fallbackResult":"reject""#,
        "bob",
        "!",
    ),
    (
        "user",
        "root.a",
        r#","fallbackResult":"placeDefault""#,
        "bob",
        "root.default",
    ),
    ("user", "root.v2", "", "ann", "root.v2.ann"),
    ("user", "root.v2", r#","create":false"#, "ann", "root.dev"),
    ("user", "root.v1", r#","create":false"#, "ann", "root.dev"),
    ("user", "root.a", r#","create":false"#, "ann", "root.a.ann"),
    ("primaryGroup", "", "", "bob", "root.dev"),
    ("primaryGroupUser", "root.v2", "", "bob", "root.v2.dev.bob"),
    ("secondaryGroup", "root.a", "", "ann", "root.a.qa"),
    ("secondaryGroupUser", "root", "", "ann", "root.dev"),
    ("applicationName", "root.a", "", "ann", "root.a.etl"),
    ("reject", "", "", "ann", "!"),
];

#[test]
fn json_policies_place_and_fall_back() {
    let last = r#"{"type":"user","matches":"*","policy":"custom","customPlacement":"dev"}"#;
    for (policy, parent, more, user, want) in POLICIES {
        let parent = match *parent {
            "" => String::new(),
            parent => format!(r#","parentQueue":"{parent}""#),
        };
        let fields = format!(r#""type":"user","matches":"*","policy":"{policy}"{parent}{more}"#);
        let rules = json(&format!("{{{fields}}},{last}"));
        assert_eq!(place(&rules, user, "b", "etl"), *want, "{fields} {user}");
    }
}

#[test]
fn set_default_queue_changes_the_default_and_goes_on() {
    let with = |value: &str| {
        json(&format!(
            r#"{{"type":"user","matches":"zed","policy":"setDefaultQueue","value":"{value}"}},
               {{"type":"user","matches":"gus","policy":"defaultQueue","fallbackResult":"reject"}},
               {{"type":"user","matches":"*","policy":"user","fallbackResult":"placeDefault"}}"#
        ))
    };
    for (value, user, want) in [
        ("root.b", "zed", "root.b"),
        ("b", "zed", "root.b"),
        ("root.b", "gus", "root.default"),
        ("root.b", "ann", "root.a.ann"),
        ("root.b", "bob", "root.default"),
        ("nowhere", "zed", "!"),
        ("root.a", "zed", "!"),
        ("root.v2.new", "zed", "!"),
        ("root.a.%application", "zed", "root.a.qa"),
        ("%specified", "zed", "!"),
    ] {
        assert_eq!(
            place(&with(value), user, "default", "qa"),
            want,
            "{value} {user}"
        );
    }
}

#[test]
fn the_recorded_queue_keeps_the_submitted_name_of_the_leaf() {
    let place = PlacedLeaf {
        leaf: "default".to_owned(),
        parent: "root".to_owned(),
    };
    assert_eq!(place.recorded_queue("default"), "default");
    assert_eq!(place.recorded_queue("DeFault"), "DeFault");
    assert_eq!(place.recorded_queue("defaults"), "root.default");
    assert_eq!(place.recorded_queue("b"), "root.default");
}

#[test]
fn case_is_looked_at_letter_by_letter() {
    for (one, other, want) in [
        ("\u{e9}T\u{c9}", "\u{c9}t\u{e9}", true),
        ("\u{df}", "ss", false),
        ("\u{df}", "SS", false),
        ("\u{1fb3}", "\u{1fbc}", true),
        ("\u{3c2}", "\u{3c3}", true),
        ("k", "\u{212a}", true),
        ("a", "ab", false),
        ("", "", true),
    ] {
        assert_eq!(same_but_for_case(one, other), want, "{one} {other}");
        assert_eq!(same_but_for_case(other, one), want, "{other} {one}");
    }
}

#[test]
fn an_unknown_format_is_refused() {
    for format in ["JSON", "xml", " legacy"] {
        let source = BTreeMap::from([(format!("{PREFIX}mapping-rule-format"), format.to_owned())]);
        let errors = PlacementRules::read(&source).unwrap_err();
        assert_eq!(errors[0].code(), "mapping_format", "{format}");
    }
    let empty = BTreeMap::from([(format!("{PREFIX}mapping-rule-format"), String::new())]);
    assert!(PlacementRules::read(&empty).unwrap().is_empty());
}

#[test]
fn every_rule_with_an_impossible_target_is_named() {
    let list = "u:ann:nowhere,u:bob:b,g:qa:root.a,u:cid:etl";
    let rules = PlacementRules::read(&source(&[("queue-mappings", list)])).unwrap();
    assert_eq!(rules.len(), 4);
    let errors = rules.validate(&queues()).unwrap_err();
    let codes: Vec<&str> = errors.iter().map(MappingError::code).collect();
    assert_eq!(codes, ["mapping_target"; 3]);
    assert!(errors[1].to_string().contains("group qa to root.a"));
}

#[test]
fn names_that_no_queue_can_have_are_not_created() {
    let long = "x".repeat(257);
    for (application, want) in [
        ("new", "root.v2.new"),
        (" new ", "root.v2.new"),
        ("with space/and:more*", "root.v2.with space/and:more*"),
        ("a .b", "root.v2.a.b"),
        (" a.b", "root.default"),
        ("a\tb", "root.default"),
        ("a\u{0}", "root.default"),
        (long.as_str(), "root.default"),
        ("", "root.default"),
        (".", "root.default"),
        ("a..b", "root.default"),
    ] {
        let rules = legacy("u:%user:root.v2.%application");
        let found = place(&rules, "ann", "default", application);
        assert_eq!(found, want, "{application:?}");
    }
}

#[test]
fn very_many_rules_are_read_and_the_last_one_is_found() {
    let mut list = String::new();
    for user in 0..100_000 {
        list.push_str(&format!("u:user{user}:root.b,"));
    }
    let rules = legacy(&list);
    assert_eq!(rules.0.len(), 100_000);
    assert_eq!(place(&rules, "user99999", "default", "j"), "root.b");
    assert_eq!(place(&rules, "user100000", "default", "j"), "-");
}
