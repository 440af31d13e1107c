//! Kinds of faults that people's files and traces have: each rule on several cases of its kind.
//!
//! | kind | rule | tests |
//! | --- | --- | --- |
//! | 01 | what Hadoop ships is no oddity | `tests/config_field/shipped.rs` |
//! | 02 | bytes that are no text have line, column and offset, in JSON too | `tests/config_field/texts.rs`; `cases::bytes_that_are_no_text_have_a_place_in_json_too` |
//! | 03 | files of another known kind are named with what to do next | `tests/config_field/texts.rs`; `advice::an_empty_file_and_settings_in_json_are_named`; `advice::marks_of_a_template_in_a_list_of_queues_get_the_advice_of_a_value` |
//! | 04, 05 | resource types, their bounds and units as ResourceUtils has them | `tests/config_field/resource_types.rs`; `advice::a_type_that_is_refused_has_its_fault_alone` |
//! | 06, 07, 09 | settings that do nothing, or other than they read, are warnings at their place | `tests/config_field/settings.rs`; `advice::a_number_with_a_sign_of_percent_gets_the_advice_of_its_key`, `advice::options_of_another_order_of_applications_have_no_effect` |
//! | 14 | figures cover the run; a window without length has no rate | `cases::jobs_that_all_come_at_once_have_use_and_no_rate`, `variants::at_once_in_other_formats_and_in_columns_there_is_no_rate_either`, `variants::a_window_with_a_length_has_the_rate_of_that_window` |
//! | 15 | refused work is offered, named, and ends with 1 | `cases::refused_work_counts_as_offered_and_has_a_row_with_its_job`, `variants::work_is_refused_for_other_reasons_and_in_columns`, `variants::a_refused_job_of_another_format_has_its_row` |
//! | 16 | types of a trace are the cluster's; conversions lose nothing unsaid | `cases::types_that_a_trace_declares_are_those_of_the_cluster`, `formats::types_that_a_header_cannot_name_are_named_with_its_line`, `formats::files_that_are_merged_keep_the_nodes_of_each`, `formats::a_pipe_is_converted_as_its_file_is`, `formats::a_broken_list_of_nodes_is_no_trace_without_nodes`, `advice::the_calculator_that_further_types_need_is_named` |
//! | 17 | unused keys and filled-in sizes are named | `cases::every_unused_key_and_every_size_filled_in_is_named`, `formats::columns_and_keys_that_nobody_uses_are_named_in_further_formats` |
//! | 18 | arrays, repeated names, standard input | `cases::arrays_and_repeated_names_are_named_with_the_option_made_for_them`, `cases::a_dash_reads_standard_input_in_every_command_that_takes_a_trace`, `formats::arrays_of_every_kind_are_named_in_every_command`, `formats::standard_input_is_read_once`, `advice::columns_that_are_separated_otherwise_are_named`, `advice::a_value_of_another_kind_is_named_with_its_member` |
//! | 19 | what waits has its reason and the place of its setting, as `why` shows it | `cases::work_that_still_waits_has_its_reason_and_what_would_help`, `variants::a_reason_names_the_key_that_the_file_has_and_its_place` |
//! | 20 | small work goes on beside what never fits | `cli/tests/liveness.rs`; `variants::small_work_goes_on_beside_what_a_further_resource_stops` |
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

mod advice;
mod cases;
mod formats;
#[expect(dead_code, reason = "these tests make their own traces")]
#[path = "../support/mod.rs"]
mod support;
mod variants;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use support::{captured, command, run};

const NATIVE: &str = r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores"]}"#;
const NODE: &str = r#"{"node":{"host":"h1","rack":"/r","size":[8192,8]}}"#;

fn written(folder: &Path, name: &str, lines: &[&str]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// A file with one queue and further properties.
fn configuration(folder: &Path, name: &str, more: &str) -> PathBuf {
    let property = |(key, value): &(&str, &str)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        format!("<property><name>{key}</name><value>{value}</value></property>\n")
    };
    let own = [("root.queues", "a"), ("root.a.capacity", "100")];
    let own: String = own.iter().map(property).collect();
    written(
        folder,
        name,
        &[&format!("<configuration>\n{own}{more}</configuration>")],
    )
}

/// A job of one queue; `size` is that of its tasks, which run for a minute.
fn job(name: &str, queue: &str, size: &str, count: u32) -> String {
    format!(
        r#"{{"job":{{"at_ms":0,"name":"{name}","user":"u","queue":"{queue}","tasks":[{{"size":{size},"count":{count},"priority":20,"run":{{"same":60000}}}}]}}}}"#
    )
}

/// The report of a replay, its exit code, and what it said besides.
fn replayed(trace: &Path, more: &[&str]) -> (i32, Value, String) {
    let args = [&["replay", "--json", trace.to_str().unwrap()], more].concat();
    let (code, out, err) = run(&args);
    (code, serde_json::from_str(&out).unwrap_or_default(), err)
}

fn types(list: &str) -> String {
    format!(r#"{{"capsched":"trace","version":1,"types":[{list}]}}"#)
}

/// A job of the load simulator with one task that runs for a minute.
fn sls(id: &str, queue: &str, start_ms: u64) -> String {
    format!(
        r#"{{"am.type":"mapreduce","job.start.ms":{start_ms},"job.end.ms":9,"job.queue.name":"{queue}","job.id":"{id}","job.user":"u","job.tasks":[{{"container.host":"/r/n1","container.start.ms":{start_ms},"container.end.ms":{},"container.priority":20,"container.type":"map"}}]}}"#,
        start_ms + 60_000
    )
}

/// A file of the capacity scheduler with two queues of half the cluster each.
fn halves(folder: &Path, name: &str, more: &[(&str, &str)]) -> PathBuf {
    let own = [
        ("root.queues", "q,r"),
        ("root.q.capacity", "50"),
        ("root.r.capacity", "50"),
    ];
    let property = |(key, value): &(&str, &str)| {
        let prefix = if key.starts_with("capsched.") {
            ""
        } else {
            "yarn.scheduler.capacity."
        };
        format!("<property><name>{prefix}{key}</name><value>{value}</value></property>")
    };
    let all: Vec<String> = own.iter().chain(more).map(property).collect();
    let lines = [
        &["<configuration>"],
        &*all.iter().map(String::as_str).collect::<Vec<_>>(),
        &["</configuration>"],
    ];
    written(folder, name, &lines.concat())
}

/// A command that reads a text from standard input.
fn piped(args: &[&str], input: &str) -> (i32, String, String) {
    let mut child = command(args);
    let child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    // A command that refuses its arguments reads nothing.
    let _closed = child.stdin.take().unwrap().write_all(input.as_bytes());
    captured(&child.wait_with_output().unwrap())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
