//! Histogram files that the usual tools open: `.hgrm` for one histogram, `.hlog` for a course.

#![expect(
    clippy::float_arithmetic,
    reason = "the columns of the formats are decimal fractions"
)]

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use crate::metrics::{Closed, Histogram, HistogramSet, TaggedInterval};

/// Lines per halving of the distance to 100 %, as the format's own tools use.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// Writes the percentile distribution of one histogram, in microseconds.
///
/// # Errors
///
/// Those of the output.
pub fn write_hgrm(out: &mut impl io::Write, histogram: &Histogram) -> io::Result<()> {
    let inner = histogram.inner();
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut total = 0;
    for line in inner.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        total += line.count_since_last_iteration();
        let (value, share) = (us(line.value_iterated_to()), line.quantile_iterated_to());
        write!(out, "{value:12.3} {share:2.12} {total:10}")?;
        if share < 1.0 {
            writeln!(out, " {:14.2}", 1.0 / (1.0 - share))?;
        } else {
            writeln!(out)?;
        }
    }
    let (mean, deviation) = (inner.mean() / 1e3, inner.stdev() / 1e3);
    writeln!(
        out,
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]"
    )?;
    let (max, n) = (us(inner.max()), histogram.len());
    writeln!(out, "#[Max     = {max:12.3}, Total count    = {n:12}]")?;
    let (buckets, cells) = (inner.buckets(), inner.distinct_values());
    let sub_buckets = 2 * cells / (usize::from(buckets) + 1);
    writeln!(
        out,
        "#[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]"
    )
}

fn us(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64() * 1e6
}

/// The latencies of a stretch of a run.
#[derive(Clone, Debug)]
pub struct Interval<P> {
    /// Its beginning since that of the log.
    pub start: Duration,
    /// How long it was.
    pub length: Duration,
    /// What was recorded in it.
    pub latencies: HistogramSet<P>,
}

/// Writes a log of intervals, one line for each variant that has latencies, tagged by its name.
///
/// Values are nanoseconds; the column of maxima shows milliseconds. `began_ms` is the beginning of
/// the log in milliseconds since the Unix epoch.
///
/// # Errors
///
/// Those of the output.
pub fn write_hlog<P: Closed>(
    out: &mut impl io::Write,
    began_ms: u64,
    intervals: impl IntoIterator<Item = Interval<P>>,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let began = UNIX_EPOCH + Duration::from_millis(began_ms);
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(1e6)
        .begin_log_with(out, &mut serializer)?;
    for interval in intervals {
        for (phase, histogram) in interval.latencies.iter() {
            let tag = Tag::new(phase.name());
            log.write_histogram(histogram.inner(), interval.start, interval.length, tag)
                .map_err(into_io)?;
        }
    }
    Ok(())
}

/// Writes a log whose intervals bear any tag, as [`write_hlog`].
///
/// # Errors
///
/// Those of the output, and of a tag that the format does not allow.
pub fn write_tagged_hlog(
    out: &mut impl io::Write,
    began_ms: u64,
    intervals: &[TaggedInterval],
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let began = UNIX_EPOCH + Duration::from_millis(began_ms);
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(1e6)
        .begin_log_with(out, &mut serializer)?;
    for interval in intervals {
        let tag = Tag::new(&interval.tag);
        log.write_histogram(
            interval.latencies.inner(),
            interval.start,
            interval.length,
            tag,
        )
        .map_err(into_io)?;
    }
    Ok(())
}

/// Writes one line for each percentile of a histogram: tag, percentile, microseconds, count up to
/// there. The header is the caller's: `tag,percentile,us,count`.
///
/// # Errors
///
/// Those of the output.
pub fn write_csv(out: &mut impl io::Write, tag: &str, histogram: &Histogram) -> io::Result<()> {
    let mut total = 0;
    for line in histogram.inner().iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        total += line.count_since_last_iteration();
        let (value, share) = (us(line.value_iterated_to()), line.quantile_iterated_to());
        writeln!(out, "{tag},{:.6},{value:.3},{total}", share * 100.0)?;
    }
    Ok(())
}

fn into_io<E: std::error::Error + Send + Sync + 'static>(
    error: IntervalLogWriterError<E>,
) -> io::Error {
    match error {
        IntervalLogWriterError::IoError(error) => error,
        IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Phase;
    use crate::metrics::read_hlog;

    fn interval(start_s: u64, ns: u64, n: u64) -> Interval<Phase> {
        let mut latencies = HistogramSet::new();
        latencies.record_n(Phase::Apply, ns, n);
        Interval {
            start: Duration::from_secs(start_s),
            length: Duration::from_secs(1),
            latencies,
        }
    }

    #[test]
    fn a_log_is_read_back_as_it_was_recorded() {
        let mut file = Vec::new();
        let intervals = [interval(0, 1_000, 3), interval(1, 2_000, 5)];
        write_hlog(&mut file, 1_500, intervals).unwrap();
        let text = String::from_utf8(file).unwrap();
        let read: Vec<_> = read_hlog(&text)
            .unwrap()
            .into_iter()
            .map(|one| {
                assert_eq!(one.tag, "apply");
                (one.start.as_secs(), one.latencies.len())
            })
            .collect();
        assert_eq!(read, [(0, 3), (1, 5)]);
    }

    #[test]
    fn the_last_line_of_a_table_is_the_maximum() {
        let mut histogram = Histogram::new();
        histogram.record_n(2_000, 4);
        let mut file = Vec::new();
        write_csv(&mut file, "apply", &histogram).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert_eq!(text.lines().last(), Some("apply,100.000000,2.000,4"));
    }

    #[test]
    fn a_distribution_ends_with_everything_below_the_maximum() {
        let mut histogram = Histogram::new();
        for ns in [1_000, 2_000, 3_000, 64_000] {
            histogram.record(ns);
        }
        let mut file = Vec::new();
        write_hgrm(&mut file, &histogram).unwrap();
        let text = String::from_utf8(file).unwrap();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().trim().starts_with("Value"));
        let last = text.lines().rfind(|line| !line.starts_with('#')).unwrap();
        let columns: Vec<_> = last.split_whitespace().collect();
        assert_eq!(columns[1..], ["1.000000000000", "4"]);
        assert!(text.contains("SubBuckets     =         2048]"), "{text}");
    }
}
