//! `perf callers`: how long each call of the API holds others.
//!
//! One caller makes a call of its largest size again and again. Another one only fetches, at moments that are fixed
//! beforehand. Its latencies run from those moments, so that a call that holds it for long is charged to every fetch that
//! fell due meanwhile. Only fetches that fell due during a call count.
//!
//! The committer serves nobody else within a part of a call, but carries fetches out in its pauses, from one stretch to the
//! next. About the longest part and stretch of most calls are shown, in processor time. A fetch waits for two stretches at
//! most, besides its own work and the wait for a core.
//!
//! The first scene has no other call, the second one another caller that fetches, and the third one a caller that
//! computes. What they show is the machine and its neighbours.

mod hold;
mod of_apps;
mod of_asks;
mod of_containers;
mod of_life;
mod of_nodes;
mod of_preemption;
mod of_queues;
mod processor_clock;
mod site;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::output::say;
use crate::record::{Origin, Percentiles};
use crate::stats::grouped;
use crate::{ModeName, limits, results};

use hold::{Held, Holds};
use site::Sizes;

/// What no call may hold others for in one of a thousand fetches, in ns.
const LIMIT_NS: u64 = 1_000_000;

/// Arguments of `perf callers`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only scenes whose name has this text.
    #[arg(long, default_value = "")]
    scene: String,
    /// How long each scene takes at least, in seconds; a call that began ends.
    #[arg(long, default_value_t = 5, value_parser = limits::seconds())]
    seconds: u64,
    /// Fetches a second.
    #[arg(long, default_value_t = 5_000, value_parser = limits::rate())]
    rate: u64,
    /// When decisions are made; with one proposer thread but in heartbeat mode.
    #[arg(long, value_enum, default_value = "heartbeat")]
    mode: ModeName,
    /// Sizes are a hundredth of the largest ones.
    #[arg(long)]
    small: bool,
    /// Prints one JSON object a scene.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
}

/// One call of the API: its name, how large it is, and what makes it.
struct Scene {
    call: &'static str,
    size: fn(&Sizes) -> String,
    make: fn(&Sizes, &mut Holds) -> Result<()>,
}

/// What a scene came to.
#[derive(Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    mode: &'static str,
    call: &'static str,
    size: String,
    /// How often the call was made.
    calls: usize,
    /// How long the longest of them took.
    longest_call_ns: u64,
    fetches_per_second: u64,
    /// Of fetches that fell due during a call.
    fetch_latency_ns: Percentiles,
    /// About the longest part of most calls, in processor time: while nobody else is served, but for fetches.
    long_part_ns: u64,
    /// Of all parts.
    part_ns: Percentiles,
    /// About the longest stretch of most calls: from one pause for fetches to the next.
    long_stretch_ns: u64,
    /// Of all stretches.
    stretch_ns: Percentiles,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let sizes = Sizes::of(args.small, args.mode.with_threads(1));
    let named = |scene: &&Scene| scene.call.contains(&args.scene);
    let scenes: Vec<&Scene> = scenes(args.mode).filter(named).collect();
    ensure!(
        !scenes.is_empty(),
        "no scene has `{}` in its name",
        args.scene
    );
    if !args.json {
        print_head();
    }
    let mut above = Vec::new();
    for scene in scenes {
        let mut holds = Holds::new(args.rate, args.seconds);
        (scene.make)(&sizes, &mut holds)?;
        let held = holds.into_held();
        if held.latency.quantile(0.999) > LIMIT_NS {
            above.push(scene.call);
        }
        print(args, scene, &sizes, &held)?;
    }
    if !args.json {
        say!(
            "{} above {} us at p99.9: {}",
            above.len(),
            LIMIT_NS / 1000,
            above.join(", ")
        );
    }
    Ok(())
}

fn print_head() {
    say!(
        "{:<22} {:<34} {:>6} {:>12} {:>9} {:>9} {:>10} {:>11} {:>9} {:>10}",
        "call",
        "size",
        "calls",
        "longest us",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "max us",
        "part us",
        "stretch us"
    );
}

fn print(args: &Args, scene: &Scene, sizes: &Sizes, held: &Held) -> Result<()> {
    let line = Line {
        origin: Origin::now(),
        kind: "callers",
        mode: args.mode.name(),
        call: scene.call,
        size: (scene.size)(sizes),
        calls: held.calls,
        longest_call_ns: held.longest_ns,
        fetches_per_second: args.rate,
        fetch_latency_ns: Percentiles::of(&held.latency),
        long_part_ns: held.long_ns(&held.worked.parts),
        part_ns: Percentiles::of(&held.worked.parts),
        long_stretch_ns: held.long_ns(&held.worked.stretches),
        stretch_ns: Percentiles::of(&held.worked.stretches),
    };
    if args.record {
        results::append(&results::of_this_machine(), &line)?;
    }
    if args.json {
        say!("{}", serde_json::to_string(&line)?);
        return Ok(());
    }
    let us = |ns: u64| grouped(ns.div_ceil(1000));
    let at = |share: f64| us(held.latency.quantile(share));
    say!(
        "{:<22} {:<34} {:>6} {:>12} {:>9} {:>9} {:>10} {:>11} {:>9} {:>10}",
        line.call,
        line.size,
        line.calls,
        us(line.longest_call_ns),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        us(line.long_part_ns),
        us(line.long_stretch_ns)
    );
    Ok(())
}

/// The scenes in which the engine has no long call.
const QUIET: &[Scene] = &[
    Scene {
        call: "nothing",
        size: |_| "the machine alone".to_owned(),
        make: of_apps::nothing,
    },
    Scene {
        call: "a fetch",
        size: |_| "another caller that fetches".to_owned(),
        make: of_apps::fetch,
    },
    Scene {
        call: "a computation",
        size: |_| "another thread that computes".to_owned(),
        make: of_apps::compute,
    },
];

/// All scenes of a mode, the quiet ones first.
fn scenes(mode: ModeName) -> impl Iterator<Item = &'static Scene> {
    let by_heartbeats = match mode {
        ModeName::Heartbeat => of_asks::OF_HEARTBEATS,
        ModeName::Asynchronous | ModeName::Global => &[],
    };
    let all = [
        QUIET,
        of_asks::SCENES,
        by_heartbeats,
        of_containers::SCENES,
        of_apps::SCENES,
        of_life::SCENES,
        of_nodes::SCENES,
        of_queues::SCENES,
        of_preemption::SCENES,
    ];
    all.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that send the command of another one.
    const ALIKE: [(&str, &str); 5] = [
        ("ask_async", "ask"),
        ("submit_async", "submit"),
        ("finish_app_async", "finish_app"),
        ("heartbeat_async", "heartbeat"),
        // The caller's thread sorts.
        ("sort_nodes", "snapshot"),
    ];

    /// Calls by the tables of `docs/ARCHITECTURE.md`, which have every call of a running engine. Those of which the
    /// committer carries out nothing are left out.
    fn calls() -> Vec<String> {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ARCHITECTURE.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        let (_, rest) = page
            .split_once("### How long a call holds others")
            .expect("the section begins");
        let (section, _) = rest.split_once("\n## ").expect("the section ends");
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let rows = rows.filter_map(|row| row.trim_start_matches("| ").split_once(" | "));
        let carried_out = rows.filter(|(_, how)| {
            let idle = ["nothing;", "the committer takes no part"];
            idle.iter().all(|idle| !how.starts_with(idle))
        });
        let names = carried_out.flat_map(|(names, _)| names.split('`').skip(1).step_by(2));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn every_call_that_the_committer_carries_out_has_a_scene() {
        let names = scenes(ModeName::Heartbeat).flat_map(|scene| scene.call.split(", "));
        let names: Vec<_> = names
            .map(|name| name.split(':').next().unwrap_or(name))
            .collect();
        let calls = calls();
        assert!(calls.len() > 40, "{calls:?}");
        let alike = |call: &str| ALIKE.iter().find(|(name, _)| *name == call);
        let missing = calls.iter().filter(|call| {
            let name = alike(call).map_or(call.as_str(), |(_, other)| other);
            !names.contains(&name)
        });
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
    }

    /// A scene that refuses its call, or that nobody waits beside, measures nothing.
    #[test]
    fn every_scene_makes_its_call_beside_fetches() {
        for mode in [ModeName::Heartbeat, ModeName::Global] {
            let sizes = Sizes::of(true, mode.with_threads(1));
            for scene in scenes(mode) {
                let mut holds = Holds::new(5_000, 0);
                (scene.make)(&sizes, &mut holds)
                    .unwrap_or_else(|error| panic!("{}, {mode:?}: {error}", scene.call));
                assert!(holds.into_held().calls > 0, "{}", scene.call);
            }
        }
    }

    #[test]
    fn scenes_have_names_of_their_own() {
        let mut names: Vec<_> = scenes(ModeName::Heartbeat)
            .map(|scene| scene.call)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
