//! Recorded runs that are explained, saved as snapshots, and played with changes; what people do from end to end,
//! and the forms and pictures of the documents.
#![expect(clippy::unwrap_used, reason = "test code")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "../support/conf_files.rs"]
mod conf_files;
mod explained;
mod hints;
mod journeys;
mod json_forms;
mod left;
mod pictures;
mod plans;
mod questions;
mod screens;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
mod whatif;

use std::fs;
use std::path::PathBuf;

use support::{folder, run};

pub(crate) const CONF: &str = "<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,dev</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>50</value></property>
<property>
  <name>yarn.scheduler.capacity.root.dev.maximum-capacity</name><value>60</value>
</property>
<property><name>yarn.scheduler.capacity.root.dev.user-limit-factor</name><value>10</value></property>
<property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.1</value></property>
</configuration>
";

/// One job of our own format: a master of 2 GiB and containers of 1 GiB.
pub(crate) fn job(name: &str, at_s: u64, queue: &str, count: u32, run_s: u64) -> String {
    format!(
        "{{\"job\":{{\"at_ms\":{},\"name\":\"{name}\",\"queue\":\"{queue}\",\"user\":\"ann\",\
         \"master\":[2048,1],\"tasks\":[{{\"size\":[1024,1],\"count\":{count},\"priority\":20,\
         \"run\":{{\"same\":{}}}}}]}}}}\n",
        at_s * 1000,
        run_s * 1000
    )
}

/// A run in which jobs of root.dev wait for masters, then for the maximum of their queue.
pub(crate) fn recorded(name: &str) -> (PathBuf, PathBuf) {
    recorded_with(name, &[])
}

/// The same with further arguments of `replay`.
pub(crate) fn recorded_with(name: &str, more: &[&str]) -> (PathBuf, PathBuf) {
    let jobs = [
        job("first", 0, "root.dev", 11, 100),
        job("second", 5, "root.dev", 4, 50),
        job("stuck", 6, "root.dev", 4, 50),
    ];
    recorded_jobs(name, &jobs, more)
}

/// A site under which a round of preemption asks for all that is missing.
pub(crate) fn site_of_full_rounds(name: &str) -> PathBuf {
    let site = support::folder(name).join("yarn-site.xml");
    let key = "yarn.resourcemanager.monitor.capacity.preemption";
    let property = |name: &str, value: &str| {
        format!("<property><name>{key}.{name}</name><value>{value}</value></property>")
    };
    let text = [
        property("total_preemption_per_round", "1.0"),
        property("natural_termination_factor", "1.0"),
    ];
    let text = format!("<configuration>{}</configuration>", text.concat());
    fs::write(&site, text).unwrap();
    site
}

/// A run of jobs on two nodes under the configuration of these tests.
pub(crate) fn recorded_jobs(name: &str, jobs: &[String], more: &[&str]) -> (PathBuf, PathBuf) {
    recorded_under(name, CONF, (jobs, more))
}

/// The same under another configuration.
pub(crate) fn recorded_under(
    name: &str,
    text: &str,
    (jobs, more): (&[String], &[&str]),
) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let (conf, trace) = (
        folder.join("capacity-scheduler.xml"),
        folder.join("trace.jsonl"),
    );
    fs::write(&conf, text).unwrap();
    let head = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    fs::write(&trace, format!("{head}{}", jobs.concat())).unwrap();
    let out = folder.join("run");
    let args = ["--nodes", "2x10GiB,10vcores", "--allow-unfinished", "--out"];
    let all = [
        &[
            "replay",
            trace.to_str().unwrap(),
            "--conf",
            conf.to_str().unwrap(),
        ][..],
        more,
        &args[..],
        &[out.to_str().unwrap()],
    ];
    let (code, _, err) = run(&all.concat());
    assert_eq!(code, 0, "{err}");
    (out, trace)
}
