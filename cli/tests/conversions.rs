//! Conversions of the files of other schedulers, as a stranger runs them.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

#[expect(dead_code, reason = "these tests need no traces")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{folder, printed, run};

#[test]
fn converted_files_are_accepted_and_nothing_is_overwritten() {
    let folder = folder("desk-convert");
    let fair = folder.join("fair-scheduler.xml");
    let text = "<allocations><queue name='a'><weight>2</weight>\
                <maxResources>1024 mb, 1 vcores</maxResources></queue></allocations>";
    fs::write(&fair, text).unwrap();
    let out = folder.join("out");
    let [fair, out] = [&fair, &out].map(|path| path.to_str().unwrap());
    let (code, shown, err) = run(&["conf", "convert", fair, "--out", out]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("root.a, line 1: maxResources"), "{err}");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    let made = format!("{out}/capacity-scheduler.xml");
    printed(&["check", &made]);
    let (code, _, err) = run(&["conf", "convert", fair, "--out", out]);
    assert!(code == 2 && err.contains("--force"), "{err}");
    let (code, _, err) = run(&["conf", "convert", &made]);
    assert!(code == 1 && err.contains("allocations"), "{err}");
}

/// A value without what two writers of one number differ in.
fn normal(name: &str, value: &str) -> String {
    if name.ends_with("mapping-rule-json") {
        return json(value).to_string();
    }
    if name.ends_with(".queues") {
        // The order of a list means nothing.
        let mut names: Vec<&str> = value.split(',').collect();
        names.sort_unstable();
        return names.join(",");
    }
    let (number, unit) = match value.strip_suffix('w') {
        Some(number) => (number, "w"),
        None => (value, ""),
    };
    match number.parse::<f64>() {
        Ok(number) => format!("{number}{unit}"),
        Err(_) => value.trim().to_owned(),
    }
}

/// `perf/peers/hadoop/fs2cs.sh` makes the recordings, by `FSConfigToCSConfigConverterMain` of Hadoop 3.4.2.
#[test]
fn conversions_hold_everything_that_fs2cs_writes() {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fs2cs");
    let file = |name: &str| at.join(name).to_str().unwrap().to_owned();
    let recordings = fs::read_dir(&at).unwrap().map(|one| one.unwrap().path());
    let recordings: Vec<PathBuf> = recordings
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| path.file_stem().unwrap() != "verdicts")
        .collect();
    assert_eq!(recordings.len(), 23);
    for recorded in recordings {
        let name = recorded.file_stem().unwrap().to_str().unwrap();
        let (fair, more): (&str, &[&str]) = match name.strip_suffix("-percentages") {
            Some(fair) => (fair, &["--percentages"]),
            None => (name, &[]),
        };
        let (fair, site) = (file(&format!("{fair}.xml")), file("yarn-site.xml"));
        let args = ["conf", "convert", &fair, "--site", &site, "--json"];
        let (_, out, err) = run(&[&args[..], more].concat());
        let made = json(&out);
        let recorded = json(&fs::read_to_string(recorded).unwrap());
        for (name, value) in recorded.as_object().unwrap() {
            let found = &made["capacity_scheduler"][name];
            let found = found.as_str().or(made["yarn_site"][name].as_str());
            let parent = !recorded
                .get(name.replace(".fair.enable-size-based-weight", ""))
                .is_some_and(Value::is_string);
            // On a parent, and beside another order, the flag does nothing.
            if name.ends_with("enable-size-based-weight") && parent {
                continue;
            }
            let wanted = normal(name, value.as_str().unwrap());
            let found = found.map(|found| normal(name, found));
            assert_eq!(found, Some(wanted), "{fair} {more:?} {name}: {err}");
        }
        assert_eq!(made["accepted"], true, "{made}");
        assert_eq!(made["reference_refuses"], serde_json::json!([]), "{fair}");
    }
}

#[test]
fn a_conversion_is_checked_on_the_site_that_is_given() {
    let folder = folder("desk-site");
    let (fair, site) = (folder.join("fair.xml"), folder.join("yarn-site.xml"));
    let queue = "<queue name='a'><maxContainerAllocation>16384 mb, 8 vcores</maxContainerAllocation></queue>";
    fs::write(&fair, format!("<allocations>{queue}</allocations>")).unwrap();
    let most = |name: &str, value: &str| {
        format!(
            "<property><name>yarn.scheduler.maximum-allocation-{name}</name><value>{value}</value></property>"
        )
    };
    let both = most("mb", "32768") + &most("vcores", "16");
    fs::write(&site, format!("<configuration>{both}</configuration>")).unwrap();
    let args = ["conf", "convert", fair.to_str().unwrap(), "--json"];
    let (code, out, _) = run(&args);
    assert_eq!((code, &json(&out)["accepted"]), (1, &Value::Bool(false)));
    let (code, out, err) = run(&[&args[..], &["--site", site.to_str().unwrap()]].concat());
    assert_eq!(
        (code, &json(&out)["accepted"]),
        (0, &Value::Bool(true)),
        "{err}"
    );
}

/// `perf/peers/hadoop/fs2cs.sh` records the verdicts, by the same class.
#[test]
fn what_fs2cs_refuses_or_leaves_out_is_said() {
    let folder = folder("desk-verdicts");
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fs2cs/verdicts.json");
    let verdicts = json(&fs::read_to_string(at).unwrap());
    for (name, verdict) in verdicts.as_object().unwrap() {
        let file = folder.join("fair-scheduler.xml");
        fs::write(&file, verdict["file"].as_str().unwrap()).unwrap();
        let mut args = vec!["conf", "convert", file.to_str().unwrap(), "--json"];
        args.extend((verdict["percentages"] == true).then_some("--percentages"));
        let (code, out, err) = run(&args);
        if out.is_empty() {
            assert!(code == 1 && verdict["refusal"].is_string(), "{name}: {err}");
            assert!(err.contains("fair-scheduler.xml"), "{name}: {err}");
            continue;
        }
        let made = json(&out);
        let stops = made["reference_refuses"].as_array().unwrap();
        let (files, queues): (Vec<_>, Vec<_>) =
            stops.iter().partition(|stop| stop["scope"] == "file");
        assert_eq!(
            !files.is_empty(),
            verdict["refusal"].is_string(),
            "{name}: {err}"
        );
        assert_eq!(
            code == 1,
            !files.is_empty() || made["accepted"] == false,
            "{name}"
        );
        for stop in stops {
            let (place, what) = (
                stop["place"].as_str().unwrap(),
                stop["what"].as_str().unwrap(),
            );
            assert!(err.contains(&format!("{place}: {what}: ")), "{name}: {err}");
        }
        let left = queues.iter().map(|stop| {
            let what = stop["what"].as_str().unwrap();
            what.split_whitespace().next().unwrap()
        });
        let recorded = verdict["left_out"].as_array().unwrap();
        let recorded = recorded.iter().map(|one| one.as_str().unwrap());
        assert_eq!(
            left.collect::<Vec<_>>(),
            recorded.collect::<Vec<_>>(),
            "{name}"
        );
    }
}

/// A document that a command printed.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
