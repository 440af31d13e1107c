//! LinkedIn's DynoYARN: one JSON object per line, stages that run one after the other.
//!
//! Rules may use `queue`, `user`, `type`, `label` and `id`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::context::{
    Context, ImportOptions, ImportStep, Imported, MAX_CONTAINERS, Reader, amount, json_whole, time,
};
use super::lines::Lines;
use super::source::Source;
use crate::api::ResourceVector;
use crate::simulator::workload::{
    Job, MappingReport, Run, TaskGroup, TraceError, TraceErrorKind, Workload, member_fault,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Application {
    app_id: String,
    app_type: Option<String>,
    queue: Option<String>,
    user: Option<String>,
    submit_time: u64,
    am_resource_request: Option<Size>,
    application_tags: Option<Vec<String>>,
    node_label: Option<String>,
    resource_request_specs: Vec<Stage>,
    /// Keys that nothing here uses.
    #[serde(flatten)]
    unused: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
struct Size {
    #[serde(rename = "memoryMB")]
    memory_mb: u64,
    vcores: u64,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stage {
    num_instances: u64,
    runtimes: Option<Vec<u64>>,
    average_runtime: Option<u64>,
    resource: Option<Size>,
    priority: Option<i32>,
    /// Keys that nothing here uses.
    #[serde(flatten)]
    unused: BTreeMap<String, IgnoredAny>,
}

struct DynoYarnApps {
    lines: Lines,
    context: Context,
}

/// Types beside memory and vcores that the sizes of a line name.
pub(super) fn foreign_types(line: &str) -> Vec<String> {
    let Ok(app) = parse(line) else {
        return Vec::new();
    };
    let stages = app.resource_request_specs.into_iter();
    let sizes = stages.filter_map(|stage| stage.resource);
    let sizes = sizes.chain(app.am_resource_request);
    sizes
        .flat_map(|size| size.others.into_iter().map(|(name, _)| name))
        .collect()
}

/// The applications as a workload.
pub fn dynoyarn(source: Source, options: &ImportOptions) -> impl Workload + use<> {
    Imported::new(DynoYarnApps {
        lines: Lines::new(source),
        context: Context::new("dynoyarn", options),
    })
}

impl Reader for DynoYarnApps {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(ImportStep::End);
        };
        if line.trim().is_empty() {
            return Ok(ImportStep::Dropped);
        }
        self.context.report.rows += 1;
        let app = match parse(line) {
            Ok(app) => app,
            Err(error) => {
                let said = member_fault::<Application>(line, &error);
                return Err(self.lines.json_error((&error, &said)));
            }
        };
        for key in app.unused.keys() {
            self.context.report.ignore(&format!("key {key}"));
        }
        self.job(app)
            .map_err(|message| self.lines.error(TraceErrorKind::BadRow, message))
    }
}

fn parse(line: &str) -> serde_json::Result<Application> {
    serde_json::from_str(line)
}

impl DynoYarnApps {
    fn job(&mut self, app: Application) -> Result<ImportStep, String> {
        let mut tasks = Vec::with_capacity(app.resource_request_specs.len());
        for (stage, spec) in (0..).zip(app.resource_request_specs) {
            if spec.num_instances == 0 {
                self.context.report.ignore("stages without instances");
                continue;
            }
            tasks.push(self.group(stage, spec)?);
        }
        if tasks.is_empty() {
            self.context.report.drop_row("no stage with instances");
            return Ok(ImportStep::Dropped);
        }
        let containers: u64 = tasks.iter().map(|group| u64::from(group.count)).sum();
        if containers > MAX_CONTAINERS {
            return Err(format!("the job has more than {MAX_CONTAINERS} containers"));
        }
        let master = match app.am_resource_request {
            Some(size) => self.size(&size)?,
            None => self.filled_in("master", |options| options.master),
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (own_queue, own_user) = (text(&app.queue), text(&app.user));
        let (kind, label) = (text(&app.app_type), text(&app.node_label));
        let fields = [
            ("queue", own_queue.as_str()),
            ("user", &own_user),
            ("type", &kind),
            ("label", &label),
            ("id", &app.app_id),
        ];
        let (queue, user) = self
            .context
            .place(&fields, app.queue.as_deref(), app.user.as_deref());
        Ok(ImportStep::job(Job {
            at_ms: time(Some(app.submit_time), "submitTime")?,
            user,
            queue,
            name: app.app_id,
            priority: None,
            master: Some(master),
            partition: (!label.is_empty()).then_some(label),
            tags: app.application_tags.unwrap_or_default(),
            tasks,
            line: self.lines.line,
        }))
    }

    fn group(&mut self, stage: u32, spec: Stage) -> Result<TaskGroup, String> {
        for key in spec.unused.keys() {
            self.context.report.ignore(&format!("key {key} of a stage"));
        }
        let count = u32::try_from(spec.num_instances).map_err(|_| "numInstances is too large")?;
        let size = match spec.resource {
            Some(size) => self.size(&size)?,
            None => self.filled_in("containers of a stage", |options| options.task),
        };
        let run = match (spec.runtimes, spec.average_runtime) {
            (Some(list), _) if !list.is_empty() => {
                if usize::try_from(count).ok() != Some(list.len()) {
                    self.context
                        .report
                        .clamp("runtimes paired with instances as far as they go");
                }
                for &ms in &list {
                    time(Some(ms), "a runtime")?;
                }
                Run::List(list)
            }
            (_, Some(ms)) => Run::Same(time(Some(ms), "averageRuntime")?),
            _ => return Err("a stage has neither runtimes nor averageRuntime".to_owned()),
        };
        let mut group = TaskGroup::new(size, count, run);
        group.stage = stage;
        group.priority = spec.priority.unwrap_or(group.priority);
        Ok(group)
    }

    /// A size that the trace does not give.
    fn filled_in(
        &mut self,
        what: &str,
        of: impl Fn(&ImportOptions) -> ResourceVector,
    ) -> ResourceVector {
        let size = of(&self.context.options);
        self.context.filled_in(what, &size);
        size
    }

    fn size(&mut self, size: &Size) -> Result<ResourceVector, String> {
        let mut all = ResourceVector::of(&[
            amount(size.memory_mb, "memoryMB")?,
            amount(size.vcores, "vcores")?,
        ]);
        for (name, value) in &size.others {
            match self.context.options.types.index_of(name) {
                Some(index) => all.set(index, amount(json_whole(value, name)?, name)?),
                None => {
                    let what = format!("{name} (no type of the cluster)");
                    self.context.report.lose(&what);
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(text: &str) -> (Vec<Result<Job, String>>, MappingReport) {
        let mut all = dynoyarn(Source::text("t", text), &ImportOptions::default());
        let jobs = all.by_ref().map(|j| j.map_err(|e| e.to_string())).collect();
        (jobs, all.report())
    }

    #[test]
    fn stages_follow_each_other_and_run_times_repeat() {
        let (jobs, report) = jobs(concat!(
            r#"{"appId":"a1","queue":"q","user":"u","submitTime":5,"nodeLabel":"x","#,
            r#""amResourceRequest":{"memoryMB":4096,"vcores":2},"applicationTags":["t"],"#,
            r#""resourceRequestSpecs":[{"numInstances":0,"averageRuntime":0},"#,
            r#"{"runtimes":[10,20],"numInstances":3,"priority":7,"#,
            r#""resource":{"memoryMB":2048,"vcores":1}},"#,
            r#"{"averageRuntime":30,"numInstances":1}]}"#
        ));
        let job = jobs[0].as_ref().unwrap();
        assert_eq!(job.master, Some(ResourceVector::of(&[4096, 2])));
        assert_eq!(
            (job.partition.as_deref(), &job.tags[..]),
            (Some("x"), &["t".to_owned()][..])
        );
        assert_eq!(job.tasks.len(), 2);
        assert_eq!((job.tasks[0].stage, job.tasks[0].priority), (1, 7));
        assert_eq!(job.tasks[0].run.of(2), Some(10));
        assert_eq!(
            (job.tasks[1].stage, job.tasks[1].run.clone()),
            (2, Run::Same(30))
        );
        assert_eq!(report.clamped.len(), 1);
        let filled = "containers of a stage: memory-mb 1024, vcores 1, not given";
        assert_eq!(report.guessed[filled], 1);
    }

    #[test]
    fn a_bad_line_names_its_line_and_the_next_one_is_read() {
        let good = r#"{"appId":"b","submitTime":1,"resourceRequestSpecs":[{"averageRuntime":3,"numInstances":1}]}"#;
        for bad in [
            "{",
            r#"{"appId":"a","submitTime":-1,"resourceRequestSpecs":[]}"#,
            r#"{"appId":"a","submitTime":1e400,"resourceRequestSpecs":[]}"#,
            r#"{"appId":"a","submitTime":1,"resourceRequestSpecs":[{"numInstances":1}]}"#,
            r#"{"appId":"a","submitTime":1,"resourceRequestSpecs":[{"averageRuntime":3,"numInstances":2000000}]}"#,
        ] {
            let (jobs, _) = jobs(&format!("\n{bad}\n{good}"));
            let error = jobs[0].as_ref().unwrap_err();
            assert!(error.starts_with("t:2"), "{error}");
            assert_eq!(jobs[1].as_ref().unwrap().queue, "root.default");
        }
    }
}
