//! The formats by name, and the recognition of a file by its content.

use std::fmt;
use std::str::FromStr;

use super::lines::column_name;
use super::source::Source;
use crate::simulator::workload::{TraceError, TraceErrorKind};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Alibaba's GPU cluster of 2023, CSV.
    Openb,
    /// Hadoop's load simulator, concatenated JSON objects.
    Sls,
    /// The generator settings of Hadoop's load simulator, one JSON object.
    Synth,
    /// Hadoop's job history as Rumen writes it, concatenated JSON objects.
    Rumen,
    /// The Facebook days of SWIM, tab separated.
    Swim,
    /// The Standard Workload Format of the Parallel Workloads Archive.
    Swf,
    /// LinkedIn's scale tester, JSON lines.
    Dynoyarn,
    /// Our own, JSON lines, usually packed with zstd.
    Native,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] = [
        Self::Openb,
        Self::Sls,
        Self::Synth,
        Self::Rumen,
        Self::Swim,
        Self::Swf,
        Self::Dynoyarn,
        Self::Native,
    ];

    /// The name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openb => "openb",
            Self::Sls => "sls",
            Self::Synth => "synth",
            Self::Rumen => "rumen",
            Self::Swim => "swim",
            Self::Swf => "swf",
            Self::Dynoyarn => "dynoyarn",
            Self::Native => "native",
        }
    }

    /// Fields of the trace that are used.
    #[must_use]
    pub const fn uses(self) -> &'static str {
        match self {
            Self::Openb => {
                "name cpu_milli memory_mib num_gpu gpu_milli qos creation_time deletion_time \
                 scheduled_time"
            }
            Self::Sls => {
                "am.type job.start.ms job.queue.name job.id job.user job.count job.label.expression \
                 am.<resource> job.tasks[count container.host container.duration.ms duration.ms \
                 container.start.ms container.end.ms container.priority container.type \
                 container.request.delay container.<resource>]"
            }
            Self::Synth => "all of workloads, job_classes, tasks (old and new keys), rand_seed",
            Self::Rumen => {
                "jobID user queue submitTime mapTasks reduceTasks attempts[hostName startTime \
                 finishTime]"
            }
            Self::Swim => "job submit input shuffle output",
            Self::Swf => "1 2 4 5 7 8 10 12 13 15 16",
            Self::Dynoyarn => {
                "appId appType queue user submitTime amResourceRequest applicationTags nodeLabel \
                 resourceRequestSpecs, every resource of them"
            }
            Self::Native => "everything",
        }
    }

    /// Fields that the rules of `--map` may use.
    #[must_use]
    pub const fn map_fields(self) -> &'static [&'static str] {
        match self {
            Self::Openb => &["name", "qos", "pod_phase", "gpu_spec", "num_gpu"],
            Self::Sls | Self::Dynoyarn => &["queue", "user", "type", "label", "id"],
            Self::Synth => &["queue", "user", "workload", "class", "type"],
            Self::Rumen => &["queue", "user", "name", "id"],
            Self::Swim => &["id", "size", "user"],
            Self::Swf => &["user", "group", "queue", "partition", "id"],
            Self::Native => &["queue", "user", "name"],
        }
    }

    /// Fields of the trace that are left aside.
    #[must_use]
    pub const fn ignores(self) -> &'static str {
        match self {
            Self::Openb => "gpu_spec pod_phase",
            Self::Sls => "every other key, by name in the account",
            Self::Synth => "every other key, by name in the account",
            Self::Rumen => "everything else, such as counters and distributions",
            Self::Swim => "gap, input path",
            Self::Swf => {
                "wait and status (outcomes of another scheduler), CPU time, requested time, \
                 executable, preceding job, think time"
            }
            Self::Dynoyarn => "every other key, by name in the account",
            Self::Native => "nothing",
        }
    }

    /// Recognises a source by its first 64 KiB.
    ///
    /// # Errors
    ///
    /// When they cannot be read or look like none of the formats.
    pub fn detect(source: &mut Source) -> Result<Self, TraceError> {
        let head = String::from_utf8_lossy(source.head()?).into_owned();
        let head = head.trim_start_matches('\u{feff}');
        of_text(head).ok_or_else(|| {
            let first = head.lines().next().unwrap_or_default();
            let message = match head.trim_start().strip_prefix('[') {
                Some(inner) => of_array(inner),
                None => of_table(first),
            };
            TraceError::new(TraceErrorKind::BadFile, &source.name, 1, message).with_value(first)
        })
    }
}

/// What is wrong with a file whose first line is none of a format.
fn of_table(first: &str) -> String {
    let separated = [';', '|'].into_iter().find(|sign| {
        let line = first.replace(*sign, ",");
        line != first && of_text(&line).is_some()
    });
    match separated {
        Some(sign) => format!("the columns are separated by `{sign}`; separate them by `,`"),
        None => "the format is not recognised; name it".to_owned(),
    }
}

/// What is wrong with a JSON array whose inside begins like this.
fn of_array(inner: &str) -> String {
    if inner.trim_start().starts_with(']') {
        return "an empty JSON array".to_owned();
    }
    let of = match of_text(inner.trim_start()) {
        Some(format) if inner.trim_start().starts_with('{') => format!("{format} objects"),
        _ if ["{\"node\"", "{\"job\""]
            .iter()
            .any(|own| dense(inner).starts_with(own)) =>
        {
            "native objects".to_owned()
        }
        _ if inner.contains("\"nodes\"") => "lists of nodes".to_owned(),
        _ => "objects of no known format".to_owned(),
    };
    format!("a JSON array of {of}; they have to follow each other without brackets and commas")
}

/// The beginning of a text without blanks.
fn dense(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace())
        .take(16)
        .collect()
}

fn of_text(head: &str) -> Option<Format> {
    let Some(line) = head.lines().find(|line| !line.trim().is_empty()) else {
        // Without a line it is a trace without a job in any format; this one needs no header.
        return Some(Format::Swf);
    };
    let has = |key: &str| head.contains(key);
    if line.trim_start().starts_with(['{', '/']) {
        return if has("\"capsched\"") {
            Some(Format::Native)
        } else if has("\"job_classes\"") || has("\"rand_seed\"") {
            Some(Format::Synth)
        } else if has("\"resourceRequestSpecs\"") {
            Some(Format::Dynoyarn)
        } else if has("\"jobID\"") {
            Some(Format::Rumen)
        } else if has("\"job.tasks\"") || has("\"num.nodes\"") || has("\"job.start.ms\"") {
            Some(Format::Sls)
        } else {
            None
        };
    }
    if line.trim_start().starts_with(';') {
        return Some(Format::Swf);
    }
    let columns: Vec<&str> = line.split(',').map(column_name).collect();
    if columns.contains(&"cpu_milli") && columns.contains(&"num_gpu") {
        return Some(Format::Openb);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &&str| word.parse::<f64>().is_ok();
    if words.len() >= 18 && words.iter().take(18).all(number) {
        return Some(Format::Swf);
    }
    (line.split('\t').count() >= 6 && !line.contains(' ')).then_some(Format::Swim)
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        write!(
            f,
            "`{}` is no format; there are {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(crate::simulator::workload::clip(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_content() {
        for (text, expected) in [
            (
                "{\"capsched\":\"trace\",\"version\":1}",
                Some(Format::Native),
            ),
            ("// x\n{\"num.nodes\": 3}", Some(Format::Sls)),
            (
                "{\"workloads\":[{\"job_classes\":[]}]}",
                Some(Format::Synth),
            ),
            ("{\"jobID\":\"job_1\"}", Some(Format::Rumen)),
            (
                "{\"appId\":\"a\",\"resourceRequestSpecs\":[]}",
                Some(Format::Dynoyarn),
            ),
            (
                "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n",
                Some(Format::Openb),
            ),
            ("job0\t49\t49\t1\t2\t3\n", Some(Format::Swim)),
            ("\"name\",\"cpu_milli\",\"num_gpu\"\n", Some(Format::Openb)),
            ("; Version: 2\n", Some(Format::Swf)),
            ("  ; Version: 2\n", Some(Format::Swf)),
            (
                "1\t0\t-1\t83\t1\t-1\t-1\t-1\t1200\t-1\t-1\t1\t1\t-1\t-1\t1\t-1\t-1\n",
                Some(Format::Swf),
            ),
            (
                " 1 0 -1 83 1 -1 -1 -1 1200 -1 -1 1 1 -1 -1 1 -1 -1\n",
                Some(Format::Swf),
            ),
            ("hello\n", None),
            ("", Some(Format::Swf)),
            ("{\"a\":1}", None),
            ("[{\"job.tasks\":[]}]", None),
        ] {
            let got = Format::detect(&mut Source::text("t", text)).ok();
            assert_eq!(got, expected, "{text}");
        }
    }

    #[test]
    fn an_array_is_named_with_what_it_holds() {
        for (text, of) in [
            ("[{\"job.tasks\":[]}]", "sls objects"),
            ("\n[\n {\"jobID\":1}]", "rumen objects"),
            ("[{\"rack\":1,\"nodes\":[]}]", "lists of nodes"),
            ("[{\"capsched\":\"trace\"}]", "native objects"),
            ("[ { \"node\" : {}}]", "native objects"),
            ("[1, 2]", "objects of no known format"),
        ] {
            let error = Format::detect(&mut Source::text("t", text)).unwrap_err();
            assert!(error.message.contains("JSON array of"), "{error}");
            assert!(error.message.contains(of), "{error}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "sl".parse::<Format>().unwrap_err();
        assert!(error.to_string().contains("openb, sls"));
    }
}
