//! What all importers share: options, the report, queue and user, numbers within their range.

use serde_json::{Map, Value};

use crate::api::{MAX_VALUE, ResourceVector};
use crate::simulator::workload::{
    Job, MapRules, MappingReport, ResourceTypes, Run, TaskGroup, TraceError, Workload, clip,
};

/// Latest time of a trace in ms (3,170 years): beyond it a number is not a time.
pub(super) const MAX_MS: u64 = 100_000_000_000_000;

/// Most containers of one job.
pub(super) const MAX_CONTAINERS: u64 = 1_000_000;

/// How rows become jobs.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Resource types of the cluster. GPUs of a trace are counted in thousandths when there is a
    /// type `gpu-milli`, else in whole devices of a type `yarn.io/gpu`, else they are ignored.
    pub types: ResourceTypes,
    /// Rules for queue and user.
    pub map: MapRules,
    /// Queue where neither a rule nor the trace names one.
    pub queue: String,
    /// User where neither a rule nor the trace names one.
    pub user: String,
    /// Size of a container where the trace gives none.
    pub task: ResourceVector,
    /// Size of an application master where the trace gives none.
    pub master: ResourceVector,
    /// Size of a node where the list of nodes gives none.
    pub node: ResourceVector,
    /// Whether hosts and racks that the trace names are asked for.
    pub locality: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            types: ResourceTypes::default(),
            map: MapRules::default(),
            queue: "root.default".to_owned(),
            user: "default".to_owned(),
            // The defaults of Hadoop's load simulator.
            task: ResourceVector::of(&[1024, 1]),
            master: ResourceVector::of(&[1024, 1]),
            node: ResourceVector::of(&[10_240, 10]),
            locality: true,
        }
    }
}

/// Options and report of one import.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) options: ImportOptions,
    pub(super) report: MappingReport,
}

impl Context {
    pub(super) fn new(format: &str, options: &ImportOptions) -> Self {
        let mut report = MappingReport::new(format);
        report.rules = options.map.before_rows();
        Self {
            options: options.clone(),
            report,
        }
    }

    /// Queue and user by the rules, else as given, else the defaults of the options with a count.
    pub(super) fn place(
        &mut self,
        fields: &[(&str, &str)],
        queue: Option<&str>,
        user: Option<&str>,
    ) -> (String, String) {
        let rules = &mut self.report.rules;
        let (by_rule_queue, by_rule_user) = self.options.map.counted(fields, rules);
        let given = |text: Option<&str>| text.filter(|t| !t.is_empty()).map(str::to_owned);
        let queue = by_rule_queue.or_else(|| given(queue)).unwrap_or_else(|| {
            self.report.guess("default queue");
            self.options.queue.clone()
        });
        let user = by_rule_user.or_else(|| given(user)).unwrap_or_else(|| {
            self.report.guess("default user");
            self.options.user.clone()
        });
        (queue, user)
    }

    /// The sizes named `prefix<resource>` in a JSON object over the values of `size`. Amounts under
    /// keys with the prefix that are neither among `others` nor types of the cluster are counted as
    /// lost; memory and vcores that the object does not give are counted as chosen.
    pub(super) fn sized(
        &mut self,
        object: &Map<String, Value>,
        prefix: &str,
        others: &[&str],
        mut size: ResourceVector,
    ) -> Result<ResourceVector, String> {
        for (key, value) in object {
            let name = key.strip_prefix(prefix);
            let name = name.filter(|name| !others.contains(name));
            if name.is_some_and(|name| self.options.types.index_of(name).is_none()) {
                if is_amount(value) {
                    self.report.lose(&format!("{key} (no type of the cluster)"));
                } else {
                    self.report.ignore(&format!("key {key}"));
                }
            }
        }
        for index in 0..self.options.types.names().len() {
            let key = format!("{prefix}{}", self.options.types.names()[index]);
            let old = format!("{prefix}memory");
            let value = object
                .get(&key)
                .or_else(|| if index == 0 { object.get(&old) } else { None });
            if let Some(value) = value {
                size.set(index, amount(json_whole(value, &key)?, &key)?);
            } else if index < 2 {
                self.report
                    .guess(&format!("{key} {}, not given", size[index]));
            }
        }
        Ok(size)
    }

    /// Counts the keys of a JSON object that nothing here uses. Those with the prefix are left to
    /// [`sized`](Self::sized).
    pub(super) fn unused(&mut self, object: &Map<String, Value>, used: &[&str], sized: &str) {
        for key in object.keys() {
            let is_size = !sized.is_empty() && key.starts_with(sized);
            if !is_size && !used.contains(&key.as_str()) {
                self.report.ignore(&format!("key {key}"));
            }
        }
    }

    /// Counts a size that the trace does not give, with what is taken instead.
    pub(super) fn filled_in(&mut self, what: &str, size: &ResourceVector) {
        let names = self.options.types.names();
        let amounts: Vec<String> = (0..2)
            .map(|i| format!("{} {}", names[i], size[i]))
            .collect();
        self.report
            .guess(&format!("{what}: {}, not given", amounts.join(", ")));
    }
}

/// Whether a JSON value may be an amount: a number, also between quotes.
pub(super) fn is_amount(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => {
            let text = text.trim();
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

/// What an importer found next.
pub(super) enum ImportStep {
    /// A job.
    Job(Box<Job>),
    /// A row that was left out and counted.
    Dropped,
    /// Nothing more.
    End,
}

impl ImportStep {
    pub(super) fn job(job: Job) -> Self {
        Self::Job(Box::new(job))
    }
}

/// A format's reader.
pub(super) trait Reader {
    fn context(&mut self) -> &mut Context;
    fn report(&self) -> &MappingReport;
    fn step(&mut self) -> Result<ImportStep, TraceError>;
}

/// A reader as a workload.
#[derive(Debug)]
pub(super) struct Imported<R> {
    reader: R,
    ended: bool,
}

impl<R> Imported<R> {
    pub(super) const fn new(reader: R) -> Self {
        Self {
            reader,
            ended: false,
        }
    }
}

impl<R: Reader> Iterator for Imported<R> {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.reader.step() {
                Ok(ImportStep::Job(job)) => {
                    self.reader.context().report.used += 1;
                    return Some(Ok(*job));
                }
                Ok(ImportStep::Dropped) => {}
                Ok(ImportStep::End) => {
                    self.ended = true;
                    if self.reader.report().rows == 0 {
                        self.reader.context().report.warn("the trace holds no job");
                    }
                }
                Err(error) => {
                    self.ended = !error.is_one_row();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl<R: Reader> Workload for Imported<R> {
    fn report(&self) -> MappingReport {
        self.reader.report().clone()
    }
}

/// A whole number from decimal digits; nothing when the text is blank.
pub(super) fn whole(text: &str, what: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.starts_with('-') {
        return Err(format!("{what} is negative: `{}`", clip(text)));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{what} is not a whole number: `{}`", clip(text)));
    }
    match text.parse() {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(format!("{what} is too large: `{}`", clip(text))),
    }
}

/// A time in seconds, with a decimal fraction or without, as ms; nothing when the text is blank.
pub(super) fn seconds(text: &str, what: &str) -> Result<Option<u64>, String> {
    let (before, after) = text.split_once('.').unwrap_or((text, ""));
    let Some(seconds) = whole(before, what)? else {
        return Ok(None);
    };
    let mut fraction = 0;
    for position in 0..3 {
        let digit = after.as_bytes().get(position).copied().unwrap_or(b'0');
        fraction = fraction * 10 + u64::from(digit.wrapping_sub(b'0'));
    }
    if !after.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{what} is not a number: `{}`", clip(text)));
    }
    let ms = seconds
        .checked_mul(1000)
        .and_then(|ms| ms.checked_add(fraction));
    time(ms, what).map(Some)
}

/// A time in ms within its range.
pub(super) fn time(ms: Option<u64>, what: &str) -> Result<u64, String> {
    let shown = ms.map_or_else(String::new, |ms| format!(": {ms} ms"));
    ms.filter(|ms| *ms <= MAX_MS)
        .ok_or_else(|| format!("{what} is beyond every calendar{shown}"))
}

/// An amount of a resource within its range.
pub(super) fn amount(value: u64, what: &str) -> Result<i64, String> {
    i64::try_from(value)
        .ok()
        .filter(|value| *value <= MAX_VALUE)
        .ok_or_else(|| format!("{what} is above {MAX_VALUE}: {value}"))
}

/// A whole number of JSON, also between quotes, as Hadoop's load simulator takes it.
pub(super) fn json_whole(value: &Value, what: &str) -> Result<u64, String> {
    if let Some(number) = value.as_u64() {
        return Ok(number);
    }
    match value {
        Value::String(text) => {
            whole(text.trim(), what)?.ok_or_else(|| format!("{what} is an empty text"))
        }
        Value::Number(number) => match whole(&number.to_string(), what)? {
            Some(value) => Ok(value),
            None => Err(format!("{what} is not a whole number: `{number}`")),
        },
        other => Err(format!(
            "{what} is not a number: `{}`",
            clip(&other.to_string())
        )),
    }
}

/// A whole number of an object by key, if it is there and not null.
pub(super) fn json_at(object: &Map<String, Value>, key: &str) -> Result<Option<u64>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => json_whole(value, key).map(Some),
    }
}

/// A text of an object by key; numbers serve too.
pub(super) fn json_text(object: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(format!("{key} is not a text")),
    }
}

/// Tasks of one job, gathered into groups of equal size, priority, stage, delay and place.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Vec<(TaskGroup, Vec<u64>)>,
    containers: u64,
}

impl Groups {
    /// Adds `like.count` containers that run `ms`; the run time of `like` does not matter.
    pub(super) fn push(&mut self, like: TaskGroup, ms: u64) -> Result<(), String> {
        self.containers += u64::from(like.count);
        if self.containers > MAX_CONTAINERS {
            return Err(format!("the job has more than {MAX_CONTAINERS} containers"));
        }
        let times = std::iter::repeat_n(ms, usize::try_from(like.count).unwrap_or(usize::MAX));
        // Traces list equal tasks close together: looking back a little finds them.
        let same = self.groups.iter_mut().rev().take(64).find(|(group, _)| {
            (group.size, group.priority, group.stage, group.delay_ms)
                == (like.size, like.priority, like.stage, like.delay_ms)
                && group.hosts == like.hosts
                && group.racks == like.racks
        });
        if let Some((group, runs)) = same {
            group.count += like.count;
            runs.extend(times);
        } else {
            self.groups.push((like, times.collect()));
        }
        Ok(())
    }

    /// The groups; one run time for all containers where they are equal.
    pub(super) fn finish(self) -> Vec<TaskGroup> {
        let with_run = |(mut group, runs): (TaskGroup, Vec<u64>)| {
            group.run = match runs.first() {
                Some(first) if runs.iter().all(|ms| ms == first) => Run::Same(*first),
                _ => Run::List(runs),
            };
            group
        };
        self.groups.into_iter().map(with_run).collect()
    }
}

/// Host and rack of `/rack/host` or a bare host; the rack keeps its slash.
pub(super) fn split_host(text: &str) -> Option<(String, String)> {
    match text.rsplit_once('/') {
        None => Some((text.to_owned(), "/default-rack".to_owned())),
        Some((rack, host)) if !host.is_empty() && rack.starts_with('/') && rack.len() > 1 => {
            Some((host.to_owned(), rack.to_owned()))
        }
        Some(_) => None,
    }
    .filter(|(host, _)| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(whole("", "x"), Ok(None));
        assert_eq!(whole("12", "x"), Ok(Some(12)));
        for bad in [
            "-1",
            "+1",
            "1.5",
            "NaN",
            "1e400",
            "18446744073709551616",
            "0x10",
        ] {
            assert!(whole(bad, "x").is_err(), "{bad}");
        }
        assert_eq!(seconds("1.2349", "t"), Ok(Some(1234)));
        for bad in ["18446744073709551615", "1.x", "-2", "NaN", "1e400"] {
            assert!(seconds(bad, "t").is_err(), "{bad}");
        }
        assert!(amount(1 << 53, "m").is_err());
        assert_eq!(json_whole(&Value::from("20"), "n"), Ok(20));
        assert!(json_whole(&serde_json::json!(1.5), "n").is_err());
        assert!(json_whole(&serde_json::json!(-1), "n").is_err());
        assert!(json_whole(&serde_json::json!([1]), "n").is_err());
    }

    #[test]
    fn equal_tasks_form_a_group_and_keep_their_run_times() {
        let like = TaskGroup::new(ResourceVector::of(&[1, 1]), 2, Run::Same(0));
        let mut groups = Groups::default();
        groups.push(like.clone(), 5).unwrap();
        groups.push(like.clone(), 7).unwrap();
        let mut other = like.clone();
        other.priority = 10;
        groups.push(other, 5).unwrap();
        let mut huge = like;
        huge.count = u32::MAX;
        assert!(groups.push(huge, 1).is_err());
        let groups = groups.finish();
        assert_eq!(groups[0].run, Run::List(vec![5, 5, 7, 7]));
        assert_eq!((groups[0].count, groups[1].run.clone()), (4, Run::Same(5)));
    }

    #[test]
    fn hosts_are_split_from_their_rack() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(split_host("/r1/n1"), pair("n1", "/r1"));
        assert_eq!(split_host("n1"), pair("n1", "/default-rack"));
        assert_eq!(split_host("/n1"), None);
        assert_eq!(split_host(""), None);
    }
}
