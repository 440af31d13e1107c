//! A trace replayed on the simulator in virtual time, without threads and the same every time.
//!
//! `cargo run --example replay_trace` draws a trace from a seed; a file given as argument, in any
//! of the formats of `capsched::simulator::import`, is replayed instead.
#![expect(clippy::print_stdout, reason = "the example shows what happened")]

use std::collections::BTreeMap;
use std::error::Error;

use capsched::api::{Engine, ModeKind, ResourceVector, Stepped};
use capsched::config;
use capsched::simulator::import::{ImportOptions, open};
use capsched::simulator::{
    Driver, DriverSettings, OrderSettings, Synthetic, SyntheticSettings, Workload, equal_nodes,
};

/// The queues of the synthetic trace and their shares in percent.
const SHARES: [(&str, u32); 7] = [
    ("adhoc", 20),
    ("preferred", 10),
    ("ml", 10),
    ("dashboard", 10),
    ("exploration", 10),
    ("batch", 30),
    ("service", 10),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", replay()?);
    Ok(())
}

fn replay() -> Result<capsched::simulator::RunReport, Box<dyn Error>> {
    let engine = Engine::builder(settings()?).sequential()?;
    let scheduler = Stepped::new(engine, ModeKind::Heartbeat);
    let mut driver = Driver::new(scheduler, DriverSettings::default());
    driver.add_nodes(&equal_nodes(50, 10, ResourceVector::of(&[65_536, 32])))?;
    Ok(driver.run(&mut *trace()?, &mut ())?)
}

/// An hour of sixty jobs, or the file of the command line.
fn trace() -> Result<Box<dyn Workload>, Box<dyn Error>> {
    if let Some(path) = std::env::args_os().nth(1) {
        let options = ImportOptions::default();
        let order = OrderSettings::default();
        return Ok(open(&[path.into()], None, &options, &order)?);
    }
    Ok(Box::new(Synthetic::new(SyntheticSettings {
        seed: 7,
        jobs: 60,
        span_ms: 3_600_000,
        services: 2,
        scale_permille: 200,
        ..SyntheticSettings::default()
    })))
}

fn settings() -> Result<capsched::api::TreeSettings, Box<dyn Error>> {
    let p = "yarn.scheduler.capacity";
    let names: Vec<&str> = SHARES.iter().map(|(name, _)| *name).collect();
    let mut pairs = BTreeMap::from([(format!("{p}.root.queues"), names.join(","))]);
    for (name, percent) in SHARES {
        pairs.insert(format!("{p}.root.{name}.capacity"), percent.to_string());
        pairs.insert(
            format!("{p}.root.{name}.user-limit-factor"),
            "10".to_owned(),
        );
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let site = [("mb", "65536"), ("vcores", "32")].map(|(unit, most)| {
        let key = format!("yarn.scheduler.maximum-allocation-{unit}");
        (key, most.to_owned())
    });
    let loaded = config::from_pairs(&BTreeMap::from(site), &pairs, &types);
    Ok(loaded?.settings)
}
