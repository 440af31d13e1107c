//! `perf phases`: where the time of a decision goes, what it costs to know, and the modes overlaid.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use capsched::api::{Latencies, Threaded};
use capsched::metrics::{Closed, Histogram, HistogramSet, Interval, Phase, write_hlog};
use capsched::time::{Clock, SystemClock};

use crate::output::{aside, say};
use crate::plot::{Chart, Series, svg};
use crate::rounds::{self, How};
use crate::shape::{Run, Shape};
use crate::stats::{Paired, Spread};
use crate::tally::Tally;
use crate::{HowArgs, ModeName, limits, open};

/// Arguments of `perf phases`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of a workload that fills a cluster.
    #[arg(default_value = "S1")]
    shape: String,
    #[command(flatten)]
    how: HowArgs,
    /// Fills new clusters, for `--seconds` at most (ten unless given), until every phase was measured so often: a
    /// fill has few publications.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    samples: u64,
    /// Log of histograms to write, for `capsched hist`.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measures with and without recording in turn, this many rounds each.
    #[arg(long, default_value_t = 0, value_parser = limits::more_rounds())]
    cost: usize,
}

/// Arguments of `perf percentiles`.
#[derive(clap::Args, Debug)]
pub(crate) struct PercentileArgs {
    /// Name of a workload whose run is open.
    #[arg(default_value = "S5-open")]
    shape: String,
    /// Asks a second.
    #[arg(long, default_value_t = 2_000, value_parser = limits::rate())]
    rate: u64,
    /// Length of each run.
    #[arg(long, default_value_t = 5, value_parser = limits::seconds())]
    seconds: u64,
    /// Folder of the drawing.
    #[arg(long, default_value = "perf/plots")]
    plots: PathBuf,
}

/// Runs `perf phases`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shape = Shape::named(&args.shape)?;
    ensure!(
        matches!(shape.run, Run::Fill { .. }),
        "{} does not fill a cluster",
        shape.name
    );
    let mut how = How::from(args.how);
    if how.threads == 0 || how.mode == ModeName::Heartbeat {
        bail!("phases are measured in engines with proposers: --mode global --threads 1");
    }
    how.latencies = Latencies::Sampled;
    let limit = Duration::from_secs(how.seconds.take().unwrap_or(SECONDS));
    let found = fills(&shape, how, args.samples, limit)?;
    let Fills {
        latencies,
        length,
        count,
    } = found;
    for (phase, histogram) in latencies.iter() {
        say!("{:12} {}", phase.name(), histogram.latency());
    }
    let rarest = rarest(&latencies);
    say!("{count} fills, {rarest} samples of the rarest phase");
    if rarest < args.samples {
        aside!(
            "the time was up before every phase had {}; --seconds gives it more",
            args.samples
        );
    }
    if let Some(path) = &args.out {
        write_log(path, latencies, length)?;
        say!("{}", path.display());
    }
    if args.cost > 0 {
        cost(&shape, how, args.cost)?;
    }
    Ok(())
}

/// How long fills are repeated by default.
const SECONDS: u64 = 10;

/// What some fills came to, one after the other.
struct Fills {
    latencies: HistogramSet<Phase>,
    /// Of all fills together, set-ups left out.
    length: Duration,
    count: u32,
}

/// Fills until every phase has so many samples or the time is up; at least one, and as many as were begun in time.
fn fills(shape: &Shape, how: How, samples: u64, limit: Duration) -> Result<Fills> {
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let mut all = Fills {
        latencies: HistogramSet::new(),
        length: Duration::ZERO,
        count: 0,
    };
    loop {
        let (latencies, length) = fill(shape, how)?;
        all.latencies.merge(&latencies);
        all.length += length;
        all.count += 1;
        let elapsed = Duration::from_nanos(clock.now_ns() - began);
        if rarest(&all.latencies) >= samples || elapsed >= limit {
            return Ok(all);
        }
    }
}

/// Samples of the phase that was measured least, of those that the mode has.
fn rarest(latencies: &HistogramSet<Phase>) -> u64 {
    let measured = latencies.iter().map(|(_, histogram)| histogram.len());
    measured.filter(|&n| n > 0).min().unwrap_or(0)
}

/// One fill; the latencies of its decisions.
fn fill(shape: &Shape, how: How) -> Result<(HistogramSet<Phase>, Duration)> {
    let engine = shape.engine(how.mode)?;
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let engine = Threaded::take_over(engine, how.engine_mode(), SystemClock::new(), how.running())?;
    let mut tally = Tally::new();
    while tally.placed() < u64::from(shape.target()) {
        ensure!(
            clock.now_ns() - began < how.patience_ns(),
            "out of time at {} containers",
            tally.placed()
        );
        std::thread::sleep(Duration::from_micros(200));
        tally.take(engine.take_events());
    }
    let length = Duration::from_nanos(clock.now_ns() - began);
    rounds::settle(&engine, &mut tally);
    Ok((engine.latencies(), length))
}

fn write_log(path: &Path, latencies: HistogramSet<Phase>, length: Duration) -> Result<()> {
    let mut text = Vec::new();
    let began_ms = SystemClock::new().now_ms();
    let interval = Interval {
        start: Duration::ZERO,
        length,
        latencies,
    };
    write_hlog(&mut text, began_ms, [interval])?;
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// Rounds with and without recording in turn, now the one first and now the other.
fn cost(shape: &Shape, how: How, count: usize) -> Result<()> {
    let rate = |latencies| {
        Ok::<_, anyhow::Error>(rounds::whole(shape, How { latencies, ..how })?.per_second())
    };
    rate(Latencies::Off)?;
    let mut pairs = Vec::with_capacity(count);
    for number in 0..count {
        pairs.push(if number % 2 == 0 {
            let on = rate(Latencies::Sampled)?;
            (on, rate(Latencies::Off)?)
        } else {
            let off = rate(Latencies::Off)?;
            (rate(Latencies::Sampled)?, off)
        });
    }
    let (on, off): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
    let [on, off] = [on, off].map(|rates| Spread::of(&rates).unwrap_or_default());
    let paired = Paired::percent(&pairs).unwrap_or_default();
    say!(
        "recorded {}/s ({} to {}), not recorded {}/s ({} to {})",
        on.median,
        on.min,
        on.max,
        off.median,
        off.min,
        off.max,
    );
    say!(
        "of {count} pairs in turn: recorded is {} % of not recorded, likely {} to {} %",
        paired.median,
        paired.low,
        paired.high
    );
    Ok(())
}

/// Runs `perf percentiles`: one open run in each mode, drawn over each other.
pub(crate) fn percentiles(args: &PercentileArgs) -> Result<()> {
    let shape = Shape::named(&args.shape)?;
    let mut series = Vec::new();
    for mode in [
        ModeName::Heartbeat,
        ModeName::Asynchronous,
        ModeName::Global,
    ] {
        let how = How {
            seconds: Some(args.seconds),
            latencies: Latencies::Off,
            ..How::of(mode, usize::from(mode != ModeName::Heartbeat))
        };
        let (_, histogram) = open::measure(&shape, how, args.rate, args.seconds)?;
        say!("{:12} {}", mode.name(), histogram.latency());
        series.push(Series {
            name: mode.name().to_owned(),
            points: distribution(&histogram)?,
        });
    }
    let tick = |(nines, name): (u32, &str)| (f64::from(nines), name.to_owned());
    let names = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"];
    let chart = Chart {
        title: format!("{} at {} asks/s", shape.name, args.rate),
        x_label: "percentile".to_owned(),
        y_label: "us from the moment the ask was due".to_owned(),
        x_ticks: (0..).zip(names).map(tick).collect(),
        log_y: true,
        series,
        ideal: None,
    };
    fs::create_dir_all(&args.plots).with_context(|| args.plots.display().to_string())?;
    let path = args.plots.join(format!("percentiles-{}.svg", shape.name));
    fs::write(&path, svg(&[chart])).with_context(|| path.display().to_string())?;
    say!("{}", path.display());
    Ok(())
}

/// Points of a percentile plot: nines on one axis, microseconds on the other.
#[expect(
    clippy::float_arithmetic,
    reason = "positions on a drawing; nothing is decided by them"
)]
fn distribution(histogram: &Histogram) -> Result<Vec<(f64, f64)>> {
    const STEPS: u32 = 10;
    let point = |step: u32| -> Result<(f64, f64)> {
        let nines = f64::from(step) / f64::from(STEPS);
        let ns = histogram.quantile(1.0 - 10_f64.powf(-nines));
        Ok((nines, f64::from(u32::try_from(ns)?) / 1e3))
    };
    (0..=4 * STEPS).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_plot_rises_from_the_least_to_the_tail() {
        let mut histogram = Histogram::new();
        for us in 1..=1_000 {
            histogram.record(us * 1_000);
        }
        let points = distribution(&histogram).unwrap();
        let (first, last) = (points[0], points[points.len() - 1]);
        assert!((first.0, last.0) == (0.0, 4.0) && first.1 < 2.0 && last.1 > 998.0);
        assert!(points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn a_log_of_a_fill_names_the_phases_of_its_decisions() {
        let mut shape = Shape::named("S1").unwrap();
        shape.cluster.nodes = 64;
        let how = How::of(ModeName::Asynchronous, 1);
        let (latencies, _) = fill(&shape, how).unwrap();
        for phase in [Phase::QueueOrder, Phase::NodePick, Phase::Publish] {
            assert!(latencies.get(phase).is_some(), "{}", phase.name());
        }
    }

    #[test]
    fn fills_are_repeated_until_the_rarest_phase_has_its_samples() {
        let mut shape = Shape::named("S1").unwrap();
        shape.cluster.nodes = 16;
        let how = How::of(ModeName::Asynchronous, 1);
        let day = Duration::from_secs(86_400);
        let one = fills(&shape, how, 1, day).unwrap();
        assert_eq!(one.count, 1);
        let wanted = 4 * rarest(&one.latencies);
        let more = fills(&shape, how, wanted, day).unwrap();
        assert!(more.count > 1 && rarest(&more.latencies) >= wanted);
        // Without any time there is one all the same.
        assert_eq!(
            fills(&shape, how, u64::MAX, Duration::ZERO).unwrap().count,
            1
        );
    }
}
