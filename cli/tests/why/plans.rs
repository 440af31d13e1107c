//! What a plan means for the applications of a snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{printed, run};
use crate::{CONF, job, recorded_jobs, recorded_with, site_of_full_rounds};

/// A snapshot at 10 s, in which the first application runs and two wait for masters.
fn saved(name: &str, more: &[&str]) -> (PathBuf, String) {
    let (out, _) = recorded_with(name, more);
    let folder = out.parent().unwrap().to_owned();
    let file = folder.join("moment.snap").to_str().unwrap().to_owned();
    let run = out.to_str().unwrap();
    printed(&["snapshot", "save", run, "--at", "10s", "-o", &file]);
    (folder, file)
}

/// What a plan from the present file to a changed one says of the snapshot; its exit code.
fn planned(folder: &Path, snapshot: &str, new: &str) -> (i32, Value) {
    let after = folder.join("new.xml");
    fs::write(&after, new).unwrap();
    let before = folder.join("capacity-scheduler.xml");
    let [before, after] = [&before, &after].map(|path| path.to_str().unwrap());
    let args = [
        "conf",
        "plan",
        before,
        after,
        "--snapshot",
        snapshot,
        "--json",
    ];
    let (code, out, err) = run(&args);
    let document: Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    let (_, text, _) = run(&args[..6]);
    let running = document["running"].clone();
    for effect in running["effects"].as_array().unwrap() {
        let token = effect["effect"].as_str().unwrap();
        assert!(text.contains(token), "{token} in {text}");
    }
    (code, running)
}

/// Effects of one kind: queue and applications.
fn effects(running: &Value, kind: &str) -> Vec<(String, Vec<String>)> {
    let all = running["effects"].as_array().unwrap().iter();
    let of_kind = all.filter(|one| one["effect"] == kind);
    let pair = |one: &Value| {
        let apps = one["applications"].as_array().unwrap().iter();
        let apps = apps.map(|app| app.as_str().unwrap().to_owned());
        (one["queue"].as_str().unwrap().to_owned(), apps.collect())
    };
    of_kind.map(pair).collect()
}

fn apps(numbers: &[u32]) -> Vec<String> {
    let name = |n: &u32| format!("application_1_{n:04}");
    numbers.iter().map(name).collect()
}

fn shares(prod: &str, dev: &str, most: &str) -> String {
    let of = |queue: &str, value: &str| {
        (
            format!("root.{queue}.capacity</name><value>50<"),
            format!("root.{queue}.capacity</name><value>{value}<"),
        )
    };
    let mut text = CONF.replace("<value>60</value>", &format!("<value>{most}</value>"));
    for (old, new) in [of("prod", prod), of("dev", dev)] {
        assert!(text.contains(&old));
        text = text.replace(&old, &new);
    }
    text
}

#[test]
fn limits_that_are_exceeded_behind_a_refresh_are_named_in_every_mode() {
    for mode in ["heartbeat", "async", "global"] {
        let (folder, file) = saved(&format!("plan-limits-{mode}"), &["--mode", mode]);
        let (code, same) = planned(&folder, &file, CONF);
        assert_eq!(
            (code, &same["applications"]),
            (0, &Value::from(3)),
            "{same}"
        );
        assert_eq!(same["under_present_configuration"], true, "{same}");
        assert_eq!(same["effects"], Value::from(Vec::<Value>::new()));
        let (code, running) = planned(&folder, &file, &shares("90", "10", "20"));
        assert_eq!(code, 0, "{running}");
        let all = apps(&[1, 2, 3]);
        for kind in ["ABOVE_MAXIMUM", "ABOVE_AM_LIMIT"] {
            let wanted = vec![("root.dev".to_owned(), all.clone())];
            assert_eq!(effects(&running, kind), wanted, "{running}");
        }
        let used = running["effects"].as_array().unwrap().iter();
        let mut used = used.filter(|one| one["effect"] == "ABOVE_MAXIMUM");
        let limit = &used.next().unwrap()["limit"];
        assert_eq!(limit["before"]["memory-mb"], 12_288);
        assert_eq!(limit["after"]["memory-mb"], 4_096);
        assert!(limit["used"]["memory-mb"].as_i64().unwrap() > 4_096);
    }
}

#[test]
fn a_queue_that_goes_names_the_applications_that_must_end() {
    let (folder, file) = saved("plan-goes", &[]);
    let (code, running) = planned(
        &folder,
        &file,
        "<configuration>\
         <property><name>yarn.scheduler.capacity.root.queues</name><value>prod</value></property>\
         <property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>100</value></property>\
         </configuration>",
    );
    assert_eq!((code, &running["accepted"]), (1, &Value::from(false)));
    assert_eq!(running["code"], "queue_not_stopped", "{running}");
    let wanted = vec![("root.dev".to_owned(), apps(&[1, 2, 3]))];
    assert_eq!(effects(&running, "QUEUE_GOES"), wanted);
}

#[test]
fn what_would_be_refused_is_tried_with_submissions_and_asks_anew() {
    let (folder, file) = saved("plan-refused", &[]);
    let with = |name: &str, value: &str| {
        let property = format!(
            "<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>\
             </configuration>"
        );
        CONF.replace("</configuration>", &property)
    };
    let (code, running) = planned(&folder, &file, &with("root.dev.state", "STOPPED"));
    assert_eq!(code, 0, "{running}");
    let all = vec![("root.dev".to_owned(), apps(&[1, 2, 3]))];
    assert_eq!(effects(&running, "QUEUE_STOPS"), all, "{running}");
    assert_eq!(effects(&running, "SUBMISSION_REFUSED"), all, "{running}");
    let few = with("root.dev.maximum-applications", "1");
    let (_, running) = planned(&folder, &file, &few);
    let last = vec![("root.dev".to_owned(), apps(&[2, 3]))];
    assert_eq!(effects(&running, "SUBMISSION_REFUSED"), last, "{running}");
    let factor = CONF.replace(
        "user-limit-factor</name><value>10<",
        "user-limit-factor</name><value>0.2<",
    );
    let (_, running) = planned(&folder, &file, &factor);
    let of_user = effects(&running, "ABOVE_USER_LIMIT");
    assert_eq!(of_user.len(), 1, "{running}");
    let masters = CONF.replace("<value>0.1<", "<value>0.9<");
    let (_, running) = planned(&folder, &file, &masters);
    let let_in = effects(&running, "ACTIVATED");
    assert_eq!(
        let_in,
        vec![("root.dev".to_owned(), apps(&[2, 3]))],
        "{running}"
    );
}

#[test]
fn preemption_that_a_plan_brings_about_is_tried_on_a_copy() {
    let site = site_of_full_rounds("plan-preemption-site");
    let jobs = [
        job("dev", 0, "root.dev", 8, 100),
        job("prod", 1, "root.prod", 20, 100),
    ];
    let site = site.to_str().unwrap();
    let more = ["--preemption", "observe", "--site", site];
    let (out, _) = recorded_jobs("plan-preemption", &jobs, &more);
    let folder = out.parent().unwrap();
    let file = folder.join("moment.snap").to_str().unwrap().to_owned();
    let shown = out.to_str().unwrap();
    printed(&["snapshot", "save", shown, "--at", "10s", "-o", &file]);
    let (_, same) = planned(folder, &file, CONF);
    assert_eq!(effects(&same, "ASKED_BACK").len(), 0, "{same}");
    let (_, running) = planned(folder, &file, &shares("90", "10", "60"));
    let dev = vec![("root.dev".to_owned(), apps(&[1]))];
    assert_eq!(effects(&running, "ABOVE_GUARANTEE"), dev, "{running}");
    assert_eq!(effects(&running, "ASKED_BACK"), dev, "{running}");
    assert!(
        running.to_string().contains("by the rule over-guarantee"),
        "{running}"
    );
}

#[test]
fn what_is_no_snapshot_is_refused_and_another_present_file_is_noted() {
    let (folder, file) = saved("plan-foreign", &[]);
    let other = folder.join("other.xml");
    fs::write(&other, shares("40", "60", "60")).unwrap();
    let before = folder.join("capacity-scheduler.xml");
    let [other, before] = [&other, &before].map(|path| path.to_str().unwrap());
    let plan = ["conf", "plan", other, before, "--snapshot"];
    let text = printed(&[&plan[..], &[&file]].concat());
    assert!(text.contains("under another configuration"), "{text}");
    for (bad, code) in [(other, 1), ("missing.snap", 2)] {
        let (found, _, err) = run(&[&plan[..], &[bad]].concat());
        assert!(found == code && err.contains(bad), "{found} {err}");
    }
}
