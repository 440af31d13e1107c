//! `jobs.parquet`: the lines of `jobs.csv` in typed columns. Built with the feature `parquet` alone.

use std::fs::File;
use std::sync::Arc;

use anyhow::{Context, Result};
use capsched::simulator::JobLine;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// The columns. Times are virtual ms; what a job did not come to is null.
const SCHEMA: &str = "message jobs {
    required binary job (utf8);
    required binary application (utf8);
    required binary queue (utf8);
    required binary user (utf8);
    required int64 submitted_ms;
    optional int64 first_container_ms;
    optional int64 ended_ms;
    optional int64 waited_ms;
    required int64 containers_asked;
    required int64 containers_placed;
    required binary outcome (utf8);
    required binary why (utf8);
}";

/// Rows that are kept in memory and written together.
const ROWS: usize = 65_536;

/// The file, and the rows that are not in it yet.
pub(super) struct JobsParquet {
    writer: SerializedFileWriter<File>,
    rows: Vec<JobLine>,
    failed: Option<ParquetError>,
}

impl JobsParquet {
    /// A table in a new file; `made_with` stands in its metadata.
    pub(super) fn new(file: File, made_with: String) -> Result<Self> {
        let schema = parse_message_type(SCHEMA).context("the schema of jobs.parquet")?;
        let made_with = KeyValue::new("made_with".to_owned(), made_with);
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![made_with]));
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(file, Arc::new(schema), properties);
        Ok(Self {
            writer: writer.context("jobs.parquet")?,
            rows: Vec::new(),
            failed: None,
        })
    }

    /// Adds a row. A failure to write is kept for the end.
    pub(super) fn add(&mut self, job: &JobLine) {
        self.rows.push(job.clone());
        if self.rows.len() >= ROWS && self.failed.is_none() {
            self.failed = self.write_rows().err();
            self.rows.clear();
        }
    }

    /// Writes everything to the disk.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.failed.is_none() && !self.rows.is_empty() {
            self.failed = self.write_rows().err();
        }
        if let Some(error) = self.failed {
            return Err(error).context("jobs.parquet");
        }
        let file = self.writer.into_inner().context("jobs.parquet")?;
        file.sync_all().context("jobs.parquet")
    }

    fn write_rows(&mut self) -> Result<(), ParquetError> {
        let (jobs, mut rows) = (&self.rows, self.writer.next_row_group()?);
        let group = &mut rows;
        texts(group, jobs, |job| job.name.clone())?;
        texts(group, jobs, |job| job.app.to_string())?;
        texts(group, jobs, |job| job.queue.clone())?;
        texts(group, jobs, |job| job.user.clone())?;
        numbers(group, jobs, |job| job.submitted_ms)?;
        optional(group, jobs, |job| job.first_container_ms)?;
        optional(group, jobs, |job| job.ended_ms)?;
        optional(group, jobs, JobLine::waited_ms)?;
        numbers(group, jobs, |job| job.asked)?;
        numbers(group, jobs, |job| job.placed)?;
        texts(group, jobs, |job| job.outcome.name().to_owned())?;
        texts(group, jobs, |job| job.why.clone())?;
        rows.close().map(drop)
    }
}

type Group<'a> = SerializedRowGroupWriter<'a, File>;

fn texts(
    group: &mut Group<'_>,
    jobs: &[JobLine],
    of: impl Fn(&JobLine) -> String,
) -> Result<(), ParquetError> {
    let values: Vec<ByteArray> = jobs
        .iter()
        .map(|job| ByteArray::from(of(job).into_bytes()))
        .collect();
    put::<ByteArrayType>(group, &values, None)
}

fn numbers(
    group: &mut Group<'_>,
    jobs: &[JobLine],
    of: impl Fn(&JobLine) -> u64,
) -> Result<(), ParquetError> {
    let values: Vec<i64> = jobs.iter().map(|job| signed(of(job))).collect();
    put::<Int64Type>(group, &values, None)
}

fn optional(
    group: &mut Group<'_>,
    jobs: &[JobLine],
    of: impl Fn(&JobLine) -> Option<u64>,
) -> Result<(), ParquetError> {
    let values: Vec<i64> = jobs.iter().filter_map(&of).map(signed).collect();
    let levels: Vec<i16> = jobs
        .iter()
        .map(|job| i16::from(of(job).is_some()))
        .collect();
    put::<Int64Type>(group, &values, Some(&levels))
}

/// Writes the next column. `levels`: 1 where a row has a value, 0 where it has none.
fn put<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("no further column".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Times and counts of runs are far below the limit.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capsched::api::ApplicationId;
    use capsched::simulator::JobOutcome;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn rows_come_back_as_they_were_and_what_is_missing_is_null() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.parquet");
        let mut table =
            JobsParquet::new(File::create_new(&path).unwrap(), "here".to_owned()).unwrap();
        let job = |number: u32, first_container_ms: Option<u64>| JobLine {
            name: format!("job-{number}"),
            app: ApplicationId::new(number),
            user: "u".to_owned(),
            queue: "root.a".to_owned(),
            submitted_ms: 5,
            first_container_ms,
            ended_ms: None,
            asked: 3,
            placed: 2,
            outcome: JobOutcome::Unfinished,
            why: String::new(),
        };
        table.add(&job(1, None));
        table.add(&job(2, Some(12)));
        table.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_string(0).unwrap(), "job-2");
        assert_eq!(rows[1].get_long(7).unwrap(), 7);
        assert!(rows[0].get_long(5).is_err() && rows[1].get_long(6).is_err());
        assert_eq!(rows[0].get_string(10).unwrap(), "unfinished");
    }
}
