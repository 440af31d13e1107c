//! The generator of Hadoop's load simulator (SYNTH): one JSON object of weights and distributions.
//!
//! Old and new keys are read. Draws follow the same distributions as Hadoop but not the random
//! stream of Java. As there, submission times are seconds and the run times of tasks milliseconds.
//! Rules may use `queue`, `user`, `workload`, `class` and `type`.

use serde_json::{Map, Value};

use super::context::{
    Context, ImportOptions, ImportStep, Imported, MAX_MS, Reader, amount, json_at, json_text,
};
use super::objects::Objects;
use super::source::Source;
use super::synth_keys::{CLASS_KEYS, KEYS, OLD_KEYS, TASK_KEYS, WORKLOAD_KEYS, unused};
use crate::simulator::statistics::{Random, whole};
use crate::simulator::workload::{Job, MappingReport, Run, TaskGroup, TraceError, Workload, clip};

/// Most jobs of one generator; their submission times are drawn first, 24 bytes each.
const MAX_JOBS: u64 = 10_000_000;

/// The least memory of a container, in MiB.
// As SynthJob.MIN_MEMORY.
const MIN_MEMORY: u64 = 1024;

/// Most containers of one task of a class.
const MAX_COUNT: u64 = 100_000;

struct Generator {
    context: Context,
    objects: Objects,
    workloads: Vec<Plan>,
    /// Submission in ms, workload and seed of each job, latest first.
    jobs: Vec<(u64, usize, u64)>,
    given: u64,
}

struct Plan {
    name: String,
    queue: String,
    weight: f64,
    classes: Vec<Class>,
    /// Start of each bucket in seconds, and weights.
    buckets: Vec<u64>,
    bucket_weights: Vec<f64>,
}

struct Class {
    name: String,
    user: String,
    kind: String,
    weight: f64,
    tasks: Vec<Task>,
}

struct Task {
    reduce: bool,
    priority: i32,
    count: DrawnValue,
    time: DrawnValue,
    memory: DrawnValue,
    vcores: DrawnValue,
}

/// A number that is drawn for each job.
enum DrawnValue {
    Constant(f64),
    LogNormal(f64, f64),
    Normal(f64, f64),
    Discrete(Vec<f64>, Vec<f64>),
}

/// The jobs that the settings in `source` describe, in order of time.
///
/// # Errors
///
/// When the object cannot be read, or a number is missing or out of range.
pub fn synth(source: Source, options: &ImportOptions) -> Result<impl Workload + use<>, TraceError> {
    let mut objects = Objects::new(source);
    let object = objects
        .next_object::<Map<String, Value>>()?
        .unwrap_or_default();
    let mut context = Context::new("synth", options);
    let planned = plan(&object, &mut context.report);
    let (workloads, jobs) = planned.map_err(|message| objects.unusable(message))?;
    Ok(Imported::new(Generator {
        context,
        objects,
        workloads,
        jobs,
        given: 0,
    }))
}

type Planned = (Vec<Plan>, Vec<(u64, usize, u64)>);

fn plan(object: &Map<String, Value>, account: &mut MappingReport) -> Result<Planned, String> {
    unused(account, object, &KEYS, "");
    let count = json_at(object, "num_jobs")?.ok_or("num_jobs is missing")?;
    if count > MAX_JOBS {
        return Err(format!("num_jobs is above {MAX_JOBS}"));
    }
    let seed = match object.get("rand_seed") {
        Some(Value::Number(seed)) if seed.is_i64() => {
            seed.as_i64().unwrap_or_default().cast_unsigned()
        }
        _ => json_at(object, "rand_seed")?.unwrap_or(0),
    };
    let workloads = list(object, "workloads")?
        .into_iter()
        .map(|object| Plan::parse(object, account))
        .collect::<Result<Vec<_>, _>>()?;
    let weights: Vec<f64> = workloads.iter().map(|plan| plan.weight).collect();
    let mut random = Random::new(seed);
    let mut jobs = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    for _ in 0..count {
        let index = random
            .pick(&weights)
            .ok_or("no workload has a weight above 0")?;
        let at_ms = workloads[index].submission(&mut random)?;
        jobs.push((at_ms, index, random.next_u64()));
    }
    jobs.sort_by_key(|job| std::cmp::Reverse(job.0));
    Ok((workloads, jobs))
}

impl Plan {
    fn parse(object: &Map<String, Value>, account: &mut MappingReport) -> Result<Self, String> {
        unused(account, object, &WORKLOAD_KEYS, " of a workload");
        let mut buckets = Vec::new();
        let mut bucket_weights = Vec::new();
        for bucket in list(object, "time_distribution")? {
            unused(
                account,
                bucket,
                &["time", "weight"],
                " of a time_distribution",
            );
            let seconds = number(bucket, "time")?.ok_or("time is missing")?;
            buckets.push(whole(seconds.clamp(0.0, 1e11).floor()));
            bucket_weights.push(number(bucket, "weight")?.ok_or("weight is missing")?);
        }
        let text = |key: &str| json_text(object, key).map(Option::unwrap_or_default);
        Ok(Self {
            name: text("workload_name")?,
            queue: text("queue_name")?,
            weight: number(object, "workload_weight")?.unwrap_or(1.0),
            classes: list(object, "job_classes")?
                .into_iter()
                .map(|object| Class::parse(object, account))
                .collect::<Result<_, _>>()?,
            buckets,
            bucket_weights,
        })
    }

    /// A whole second between a bucket's time and the next one's, in ms; the bucket's own where
    /// there is no next one, or an earlier one.
    fn submission(&self, random: &mut Random) -> Result<u64, String> {
        let bucket = random
            .pick(&self.bucket_weights)
            .ok_or("time_distribution has no weight above 0")?;
        let start = self.buckets[bucket];
        let next = self.buckets.get(bucket + 1).copied().unwrap_or(start);
        Ok((start + random.below(next.saturating_sub(start))) * 1000)
    }
}

impl Class {
    fn parse(object: &Map<String, Value>, account: &mut MappingReport) -> Result<Self, String> {
        let text = |key: &str| json_text(object, key).map(Option::unwrap_or_default);
        let tasks = if object.get("tasks").is_some_and(|tasks| !tasks.is_null()) {
            unused(account, object, &CLASS_KEYS, " of a job class");
            list(object, "tasks")?
                .into_iter()
                .map(|object| Task::parse(object, account))
                .collect::<Result<_, _>>()?
        } else {
            let known = [&CLASS_KEYS[..], &OLD_KEYS].concat();
            unused(account, object, &known, " of a job class");
            vec![
                Task::parse_old(object, ["mtasks", "mtime", "map"], 20, account)?,
                Task::parse_old(object, ["rtasks", "rtime", "reduce"], 10, account)?,
            ]
        };
        Ok(Self {
            name: text("class_name")?,
            user: text("user_name")?,
            kind: json_text(object, "type")?.unwrap_or_else(|| "mapreduce".to_owned()),
            weight: number(object, "class_weight")?.unwrap_or(1.0),
            tasks,
        })
    }
}

impl Task {
    fn parse(object: &Map<String, Value>, account: &mut MappingReport) -> Result<Self, String> {
        unused(account, object, &TASK_KEYS, " of a task");
        let priority = match object.get("priority").map(serde_json::Value::as_i64) {
            None => 20,
            Some(value) => value
                .and_then(|value| i32::try_from(value).ok())
                .ok_or("priority is not a whole number")?,
        };
        let mut sample = |key: &str, default: u32| match object.get(key) {
            None | Some(Value::Null) => {
                account.guess(&format!("{key} {default}, not given"));
                Ok(DrawnValue::Constant(f64::from(default)))
            }
            Some(value) => DrawnValue::parse(value, key),
        };
        Ok(Self {
            reduce: json_text(object, "type")?.as_deref() == Some("reduce"),
            priority,
            count: sample("count", 1)?,
            time: sample("time", 0)?,
            memory: sample("max_memory", 1024)?,
            vcores: sample("max_vcores", 1)?,
        })
    }

    /// The keys of the first version, such as `mtasks_avg` and `map_max_memory_stddev`.
    fn parse_old(
        object: &Map<String, Value>,
        [count, time, kind]: [&str; 3],
        priority: i32,
        account: &mut MappingReport,
    ) -> Result<Self, String> {
        let mut sample = |name: String, default: u32| -> Result<DrawnValue, String> {
            let deviation = number(object, &format!("{name}_stddev"))?.unwrap_or(0.0);
            Ok(match number(object, &format!("{name}_avg"))? {
                Some(mean) => DrawnValue::LogNormal(mean, deviation_of(mean, deviation)),
                None => {
                    account.guess(&format!("{name}_avg {default}, not given"));
                    DrawnValue::Constant(f64::from(default))
                }
            })
        };
        Ok(Self {
            reduce: kind == "reduce",
            priority,
            count: sample(count.to_owned(), 0)?,
            time: sample(time.to_owned(), 0)?,
            memory: sample(format!("{kind}_max_memory"), 1024)?,
            vcores: sample(format!("{kind}_max_vcores"), 1)?,
        })
    }
}

impl DrawnValue {
    fn parse(value: &Value, what: &str) -> Result<Self, String> {
        let Value::Object(object) = value else {
            return finite(value, what).map(Self::Constant);
        };
        let given = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
        let Some(mean) = number(object, "val")? else {
            if !given("discrete") {
                return Err(format!("{what} has neither val nor discrete"));
            }
            let numbers = |key: &str| -> Result<Vec<f64>, String> {
                match object.get(key) {
                    Some(Value::Array(list)) => list.iter().map(|v| finite(v, key)).collect(),
                    _ => Err(format!("{key} of {what} is not a list")),
                }
            };
            let values = numbers("discrete")?;
            let weights = if given("weights") {
                numbers("weights")?
            } else {
                vec![1.0; values.len()]
            };
            let positive = weights.iter().any(|&weight| weight > 0.0);
            if values.len() != weights.len() || !positive {
                return Err(format!("the weights of {what} do not match its values"));
            }
            return Ok(Self::Discrete(values, weights));
        };
        if let Some(key) = ["discrete", "weights"].into_iter().find(|key| given(key)) {
            return Err(format!("{what} has both val and {key}"));
        }
        let Some(deviation) = number(object, "std")? else {
            if given("dist") {
                return Err(format!("{what} has a dist without std"));
            }
            return Ok(Self::Constant(mean));
        };
        let deviation = deviation_of(mean, deviation);
        match json_text(object, "dist")?.as_deref() {
            None | Some("LOGNORM") => Ok(Self::LogNormal(mean, deviation)),
            Some("NORM") => Ok(Self::Normal(mean, deviation)),
            Some(other) => Err(format!("dist of {what} is `{other}`, not LOGNORM or NORM")),
        }
    }

    /// A draw, rounded to a whole number; 0 below zero.
    fn draw(&self, random: &mut Random) -> u64 {
        whole(match self {
            Self::Constant(value) => *value,
            Self::LogNormal(mean, deviation) => random.log_normal_of_mean(*mean, *deviation),
            Self::Normal(mean, deviation) => random.normal_of(*mean, *deviation),
            Self::Discrete(values, weights) => {
                random.pick(weights).map_or(0.0, |index| values[index])
            }
        })
    }
}

/// A deviation of 0 means that none was given.
// As SynthUtils.getLogNormalDist and getNormalDist.
#[expect(clippy::float_arithmetic, reason = "the shape of a distribution")]
fn deviation_of(mean: f64, deviation: f64) -> f64 {
    if deviation > 0.0 {
        deviation
    } else {
        mean / 6.0
    }
}

/// A number, also between quotes.
fn finite(value: &Value, what: &str) -> Result<f64, String> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number
        .filter(|number| (0.0..=1e15).contains(number))
        .ok_or_else(|| {
            let shown = clip(&value.to_string());
            format!("{what} is not a number from 0 to 1e15: `{shown}`")
        })
}

fn number(object: &Map<String, Value>, key: &str) -> Result<Option<f64>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => finite(value, key).map(Some),
    }
}

fn list<'a>(
    object: &'a Map<String, Value>,
    key: &str,
) -> Result<Vec<&'a Map<String, Value>>, String> {
    let Some(Value::Array(entries)) = object.get(key) else {
        return Err(format!("{key} is missing or not a list"));
    };
    let object = |entry: &'a Value| entry.as_object();
    entries
        .iter()
        .map(|entry| object(entry).ok_or_else(|| format!("an entry of {key} is not an object")))
        .collect()
}

impl Reader for Generator {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        let Some((at_ms, workload, seed)) = self.jobs.pop() else {
            return Ok(ImportStep::End);
        };
        self.context.report.rows += 1;
        self.job(at_ms, workload, seed)
            .map_err(|message| self.objects.error(message))
    }
}

impl Generator {
    fn job(&mut self, at_ms: u64, workload: usize, seed: u64) -> Result<ImportStep, String> {
        let mut random = Random::new(seed);
        let plan = &self.workloads[workload];
        let weights: Vec<f64> = plan.classes.iter().map(|class| class.weight).collect();
        let class = random
            .pick(&weights)
            .ok_or("no job class has a weight above 0")?;
        let class = &plan.classes[class];
        let mut tasks = Vec::with_capacity(class.tasks.len());
        for task in &class.tasks {
            if let Some(group) = draw_group(task, class, &mut random, &mut self.context)? {
                tasks.push(group);
            }
        }
        let fields = [
            ("queue", plan.queue.as_str()),
            ("user", &class.user),
            ("workload", &plan.name),
            ("class", &class.name),
            ("type", &class.kind),
        ];
        let (queue, user) = self
            .context
            .place(&fields, Some(&plan.queue), Some(&class.user));
        if tasks.is_empty() {
            self.context.report.drop_row("drawn without any container");
            return Ok(ImportStep::Dropped);
        }
        self.given += 1;
        let master = self.context.options.master;
        self.context.filled_in("master", &master);
        Ok(ImportStep::job(Job {
            at_ms,
            user,
            queue,
            name: format!("{}-{}-{}", plan.name, class.name, self.given),
            priority: None,
            master: Some(master),
            partition: None,
            tags: Vec::new(),
            tasks,
            line: self.objects.start,
        }))
    }
}

fn draw_group(
    task: &Task,
    class: &Class,
    random: &mut Random,
    context: &mut Context,
) -> Result<Option<TaskGroup>, String> {
    let mut count = task.count.draw(random);
    if count > MAX_COUNT {
        context.report.clamp("count of a task cut to 100000");
        count = MAX_COUNT;
    }
    let mut size = context.options.task;
    let drawn = task.memory.draw(random);
    let memory = drawn.max(MIN_MEMORY);
    if drawn < MIN_MEMORY {
        context
            .report
            .clamp("memory raised to 1024 MiB, as SynthJob does");
    }
    size.set(0, amount(memory, "max_memory")?);
    size.set(1, amount(task.vcores.draw(random).max(1), "max_vcores")?);
    let times: Vec<u64> = (0..count)
        .map(|_| task.time.draw(random).clamp(1, MAX_MS))
        .collect();
    if times.is_empty() {
        return Ok(None);
    }
    let count = u32::try_from(count).map_err(|_| "count is too large")?;
    let mut group = TaskGroup::new(size, count, Run::List(times));
    group.priority = task.priority;
    if class.kind == "mapreduce" {
        // As MRAMSimulator: its own priorities, and no reduce before all maps are done.
        group.priority = if task.reduce { 10 } else { 20 };
        group.stage = u32::from(task.reduce);
    }
    Ok(Some(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_used_and_sizes_that_are_filled_in_are_named() {
        let text = r#"{"description":"x","num_jobs":3,"workloads":[{"workload_name":"w",
            "queue_name":"a","job_classes":[{"class_name":"c","deadline_factor":10,"user_name":"u",
            "tasks":[{"type":"map","time":5,"count":2,"memory":{"val":2048},"cores":1}]}],
            "time_distribution":[{"time":1,"weight":1}]}]}"#;
        let mut all = synth(Source::text("t", text), &ImportOptions::default()).unwrap();
        assert_eq!(all.by_ref().filter(Result::is_ok).count(), 3);
        let report = all.report();
        let ignored: Vec<&str> = report.ignored.keys().map(String::as_str).collect();
        let expected = [
            "key cores of a task",
            "key deadline_factor of a job class",
            "key description",
            "key memory of a task",
        ];
        assert_eq!(ignored, expected);
        assert_eq!(report.guessed["max_memory 1024, not given"], 1);
        assert_eq!(report.guessed["max_vcores 1, not given"], 1);
        let master = "master: memory-mb 1024, vcores 1, not given";
        assert_eq!(report.guessed[master], 3);
    }

    const TASK: &str = r#"{"type":"map","count":{"val":5},"time":{"val":10,"std":2},
        "max_memory":{"discrete":[1024,2048]},"max_vcores":3,"priority":20}"#;

    fn text(seed: u64, task: &str) -> String {
        format!(
            r#"{{"num_nodes":10,"nodes_per_rack":5,"num_jobs":50,"rand_seed":{seed},"workloads":[
              {{"workload_name":"w","workload_weight":0.5,"queue_name":"root.a","job_classes":[
               {{"class_name":"c","user_name":"u","class_weight":1,"type":"mapreduce",
                "tasks":[{task}]}}],
               "time_distribution":[{{"time":1,"weight":100}},{{"time":60,"weight":0}}]}}]}}"#
        )
    }

    fn jobs(text: &str) -> Vec<Job> {
        synth(Source::text("t", text), &ImportOptions::default())
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_jobs_in_order() {
        let all = jobs(&text(7, TASK));
        assert_eq!(all, jobs(&text(7, TASK)));
        assert_ne!(all, jobs(&text(8, TASK)));
        assert_eq!(all.len(), 50);
        assert!(all.is_sorted_by_key(|job| job.at_ms));
        let second = |at_ms: u64| (1000..60_000).contains(&at_ms) && at_ms.is_multiple_of(1000);
        assert!(all.iter().all(|job| second(job.at_ms)));
        let group = &all[0].tasks[0];
        assert_eq!((group.count, group.size.vcores()), (5, 3));
        assert!([1024, 2048].contains(&group.size.memory()));
        assert!((1..60).contains(&group.run.of(4).unwrap()));
    }

    #[test]
    fn old_keys_become_maps_and_reduces() {
        let task = TASK.to_owned();
        let old = text(2, &task).replace(
            &format!("\"tasks\":[{task}]"),
            r#""mtasks_avg":5,"rtasks_avg":4,"rtasks_stddev":1,"mtime_avg":10,"rtime_avg":20,
               "reduce_max_memory_avg":2048,"reduce_max_vcores_avg":2"#,
        );
        let all = jobs(&old);
        let [map, reduce] = &all[0].tasks[..] else {
            panic!("two groups");
        };
        assert_eq!((map.priority, map.stage), (20, 0));
        assert_eq!((reduce.priority, reduce.stage), (10, 1));
        assert!((1..=12).contains(&map.count), "{}", map.count);
        assert!((1024..8192).contains(&reduce.size.memory()));
    }

    #[test]
    fn what_hadoop_reads_is_read() {
        let sizes = |from: &str, to: &str| -> Vec<(u32, i64)> {
            let changed = text(3, TASK).replace(from, to);
            let size = |job: &Job| (job.tasks[0].count, job.tasks[0].size.memory());
            jobs(&changed).iter().map(size).collect()
        };
        let memory = "{\"discrete\":[1024,2048]}";
        let of = |to: &str| -> Vec<i64> { sizes(memory, to).into_iter().map(|s| s.1).collect() };
        assert!(of("{\"val\":100}").iter().all(|&mib| mib == 1024));
        let texts = of("{\"discrete\":[\"2000\",\"3000\"],\"weights\":null,\"val\":null}");
        assert!(texts.contains(&2000) && texts.contains(&3000), "{texts:?}");
        let spread = of("{\"val\":6000,\"std\":0}");
        assert!(spread.iter().any(|&mib| mib != spread[0]), "{spread:?}");
        let near = |mib: &i64| (2500..14_000).contains(mib);
        assert!(spread.iter().all(near), "{spread:?}");
        let counts = sizes("{\"val\":5}", "{\"val\":\"7\",\"std\":null}");
        assert!(counts.iter().all(|&(count, _)| count == 7));
        assert_eq!(sizes("\"rand_seed\":3", "\"rand_seed\":-3").len(), 50);
        let back = jobs(&text(3, TASK).replace("{\"time\":60", "{\"time\":0"));
        assert!(back.iter().all(|job| job.at_ms == 1000));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for (from, to) in [
            ("\"num_jobs\":50", "\"num_jobs\":99999999"),
            ("\"num_jobs\":50", "\"num\":50"),
            ("\"val\":5", "\"val\":-5"),
            ("\"val\":5", "\"val\":1e300"),
            ("\"weight\":100", "\"weight\":0"),
            ("\"val\":5", "\"val\":5,\"discrete\":[5]"),
            ("\"val\":5", "\"val\":5,\"dist\":\"NORM\""),
            ("\"val\":5", "\"val\":null"),
            ("\"std\":2", "\"std\":2,\"dist\":\"CAUCHY\""),
            ("\"workloads\"", "\"work\""),
            ("[1024,2048]", "[]"),
        ] {
            let changed = text(1, TASK).replace(from, to);
            let error = synth(Source::text("t", &changed), &ImportOptions::default()).err();
            assert!(error.is_some(), "{from} -> {to}");
        }
        assert!(synth(Source::text("t", ""), &ImportOptions::default()).is_err());
    }
}
