//! Kinds of faults that people's configuration files have: each rule on several cases of its kind.
//!
//! | kind | rule | tests |
//! | --- | --- | --- |
//! | 01 | what Hadoop ships is no oddity | `shipped::files_as_hadoop_ships_them_give_no_warning`, `shipped::what_distributions_write_into_their_files_gives_no_warning` |
//! | 02 | bytes that are no text have a place; encodings that hold ASCII are read | `texts::bytes_that_are_no_text_have_line_column_and_offset`, `texts::any_encoding_that_holds_ascii_is_read_as_ascii`, `texts::broken_text_is_named_in_any_file_after_any_text`, `texts::a_declaration_is_found_behind_a_mark_in_other_quotes_and_with_more_parts` |
//! | 03 | a file of another kind is named with what to do next | `texts::files_of_another_kind_are_named_with_what_to_do_next`, `texts::packed_files_and_other_sites_are_named_with_what_to_do_next`, `texts::a_template_inside_sound_xml_is_named_at_its_value` |
//! | 04 | resource types are judged and applied as `ResourceUtils` does | `resource_types::resource_types_are_judged_by_name_kind_and_unit`, `resource_types::further_resource_types_are_judged_as_the_reference_does`, `resource_types::keys_of_resource_types_that_nothing_reads_are_named`, `resource_types::bounds_of_resource_types_win`, `resource_types::the_schedulers_file_adds_no_resource_type` |
//! | 05 | amounts are converted to the unit of their type outside legacy mode | `resource_types::amounts_are_converted_to_the_unit_of_their_type_outside_legacy_mode` |
//! | 06 | a maximum of another kind than the capacity | `settings::a_maximum_of_another_kind_than_the_capacity_is_named`, `settings::further_maximums_that_nothing_reads_are_named` |
//! | 07 | creation that can never happen | `settings::creation_that_can_never_happen_is_named`, `settings::templates_that_no_queue_comes_out_of_are_named`, `settings::templates_of_queues_that_create_nothing_are_named` |
//! | 09 | lists of names, priorities, sites and keys that do nothing or something else | `settings::priorities_that_no_order_looks_at_are_named`, `settings::lists_with_a_space_after_a_comma_are_named`, `settings::lists_with_names_that_nobody_has_are_named`, `settings::lists_that_nothing_looks_at_are_named`, `settings::a_site_that_does_not_read_the_file_is_named`, `settings::near_misses_of_keys_are_named_in_every_file` |
//!
//! Kinds 14 to 19 are those of traces (`cli/tests/field.rs`), and 20 is `cli/tests/liveness.rs`.

mod resource_types;
mod settings;
mod shipped;
mod texts;

use capsched::config::{self, ConfigSource, Diagnostic, Layer, Loaded, Options, Report};

const CAPACITY: &str = "yarn.scheduler.capacity.";

fn source(name: &str, bytes: &[u8], layer: Layer) -> ConfigSource {
    ConfigSource {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
        layer,
    }
}

fn configuration(pairs: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let properties: String = pairs.iter().map(property).collect();
    format!("<configuration>\n{properties}</configuration>\n")
}

/// A sound file with one leaf, and further keys of the scheduler.
fn one_leaf(more: &[(&str, &str)]) -> String {
    let base = [("root.queues", "default"), ("root.default.capacity", "100")];
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let pairs: Vec<(String, &str)> = base
        .iter()
        .chain(&[("resource-calculator", calculator)])
        .chain(more)
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, *v)).collect();
    configuration(&pairs)
}

fn check_bytes(bytes: &[u8]) -> Report {
    let file = source("capacity-scheduler.xml", bytes, Layer::Scheduler);
    config::check(&[file], &Options::default())
}

fn load(own: &str, site: &[(&str, &str)]) -> Result<Loaded, Report> {
    let sources = [
        source("capacity-scheduler.xml", own.as_bytes(), Layer::Scheduler),
        source("yarn-site.xml", configuration(site).as_bytes(), Layer::Site),
    ];
    config::load(&sources, &Options::default())
}

fn first(report: &Report) -> &Diagnostic {
    report.first_error().expect("the report has an error")
}

/// Findings of a code, for keys of the scheduler without the prefix and a site.
fn found(own: &[(&str, &str)], site: &[(&str, &str)], code: &str) -> Vec<(String, String, String)> {
    let pairs: Vec<(String, &str)> = own
        .iter()
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, *v)).collect();
    let mut sources = vec![source(
        "capacity-scheduler.xml",
        configuration(&pairs).as_bytes(),
        Layer::Scheduler,
    )];
    if !site.is_empty() {
        let text = configuration(site);
        sources.push(source("yarn-site.xml", text.as_bytes(), Layer::Site));
    }
    let report = config::check(&sources, &Options::default());
    assert!(report.first_error().is_none(), "{report}");
    assert!(config::explain_code(code).is_some(), "{code}");
    let all = report.diagnostics.iter().filter(|one| one.code == code);
    all.map(|one| {
        let span = one.span.clone().expect("a warning has a place");
        let place = report.files[span.file].text[span.bytes].to_owned();
        (
            place,
            one.message.clone(),
            one.help.clone().unwrap_or_default(),
        )
    })
    .collect()
}

/// Two leaves under percentages, and more.
fn two<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let base = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
    ];
    base.into_iter().chain(more.iter().copied()).collect()
}
