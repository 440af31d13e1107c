//! `capsched compare`: a trace in several modes, configurations, clusters, seeds, loads and costs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::api::{ModeKind, Reference};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::columns::{Setting, Side, Stage, sides};
use crate::demo::{SEED, columns, data, exit_code, footer};
use crate::gate::{Gate, GateFailure, gate};
use crate::output::{PROBLEM, Problem, line, note, put};
use crate::play::{
    Column, NamedCosts, Outcome, Row, RunFolder, Scene, spread, spread_json, table, verdict,
};
use crate::recipe::Staged;
use crate::replay::{Choice, Input, object};
use crate::run_format;
use crate::sweep::{Sweep, Swept};
use crate::text_file;
use crate::values::{mode, seed, threads};

/// Longest document of a base that is read, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Arguments of `capsched compare`.
#[derive(clap::Args, Debug)]
pub(crate) struct CompareArgs {
    /// The trace, plain or packed; that of `capsched demo` with its cluster when left out.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
    /// Modes to compare, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "heartbeat,async,global", value_parser = mode)]
    modes: Vec<ModeKind>,
    /// Measure real threads instead of the sequential engine: numbers of those that decide,
    /// separated by commas.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = threads)]
    threads: Vec<usize>,
    /// Seeds that the order of nodes is drawn from, one column each.
    #[arg(long, value_name = "S", value_delimiter = ',', value_parser = seed, conflicts_with = "seed")]
    seeds: Vec<u64>,
    /// Find out at which load each mode falls behind: let jobs come so many times faster, separated
    /// by commas; needs --costs.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    sweep_load: Vec<u64>,
    /// A mode counts as behind when costs add more than this, and more than 5 %, to the scheduling
    /// delay at p95.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 1000,
        requires = "sweep_load"
    )]
    behind: u64,
    /// Run every column with so many seeds, and show smallest and largest figures.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    repeats: u64,
    /// Releases of Hadoop to compare, separated by commas: 3.4, 3.5.
    #[arg(
        long,
        value_name = "RELEASE",
        value_delimiter = ',',
        default_values_t = [Reference::default()]
    )]
    reference: Vec<Reference>,
    /// Write the files of every column into a folder of its own here, and compare.json.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files of an earlier run in that folder.
    #[arg(long, requires = "out")]
    force: bool,
    /// Fail where this holds: `waiting>0`, `global.p99>1.1*base`, `first_container_ms.p95 >= base`. Figures are the
    /// members of a run in `--json`; percentiles alone are those of decisions. Several may be given.
    #[arg(long, value_name = "CONDITION", value_parser = gate)]
    fail_if: Vec<Gate>,
    /// Folder of an earlier comparison, which conditions with `base` compare with.
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
}

/// Runs `capsched compare`.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let base = args.base_runs()?;
    let folder = args.folder()?;
    let mut input = args.input.clone();
    let settings = args.settings(&mut input)?;
    let (rows, costs) = (args.rows()?, args.costs(&input)?);
    let sides = sides(&settings, &rows, &costs)?;
    let record = |side: &Side<'_>, scene: &Scene<'_>, own: &RunFolder, bar: &ProgressBar| {
        let mut made_with = input.settings(&args.files, side.row);
        if made_with["repeat"].is_object() {
            made_with["repeat"]["column"] = json!(side.folder());
        }
        input.record(side.row, (scene, bar), own, &made_with)
    };
    let stage = Stage {
        timing: input.timing,
        tries: true,
        folder: folder.as_ref(),
        record: &record,
    };
    let runs = stage.play(&sides)?;
    let columns = args.repeated(&input, &settings, &rows, &costs, &runs)?;
    let swept: Vec<Swept<'_>> = sides
        .iter()
        .zip(&runs)
        .map(|(side, run)| (side.setting.load, side.costs.to_string(), run))
        .collect();
    let sweep = (!args.sweep_load.is_empty()).then(|| Sweep::of(&swept, args.behind));
    let failures = args.failures(&runs, base.as_deref())?;
    args.report(
        &input,
        &settings,
        (&runs, &columns, sweep.as_ref()),
        folder.as_ref(),
    )?;
    let all: Vec<Outcome> = columns.into_iter().flat_map(|column| column.runs).collect();
    // The trace of the demonstration holds services, and ends by the clock.
    let allowed = input.allow_unfinished || args.files.is_empty();
    Ok(gated(&failures, exit_code(&all, allowed)))
}

/// Shows the conditions that hold; the exit code, which is `otherwise` where none does.
fn gated(failures: &[GateFailure], otherwise: ExitCode) -> ExitCode {
    for failure in failures {
        note(format_args!("failed: {failure}"));
    }
    match failures.is_empty() {
        true => otherwise,
        false => ExitCode::from(PROBLEM),
    }
}

impl CompareArgs {
    /// The folder of `--out`.
    fn folder(&self) -> Result<Option<RunFolder>> {
        let out = self.out.as_deref();
        out.map(|path| RunFolder::create(path, self.force))
            .transpose()
    }

    /// The columns of the base, where a condition compares with one.
    fn base_runs(&self) -> Result<Option<Vec<Value>>> {
        let Some(base) = &self.base else {
            if self.fail_if.iter().any(Gate::needs_base) {
                bail!(
                    "a condition compares with `base`; name the folder of that comparison by --base"
                );
            }
            return Ok(None);
        };
        let path = base.join("compare.json");
        let text = text_file::read(&path, MOST_BYTES)?;
        let shown = path.display().to_string();
        let mut document: Value =
            serde_json::from_str(&text).map_err(|error| Problem::json(&shown, 1, &error))?;
        run_format::check(&shown, &document)?;
        match document["runs"].take() {
            Value::Array(runs) => Ok(Some(runs)),
            _ => bail!(Problem(format!("{shown}: no comparison: it has no `runs`"))),
        }
    }

    /// Conditions that hold.
    fn failures(&self, runs: &[Outcome], base: Option<&[Value]>) -> Result<Vec<GateFailure>> {
        let runs: Vec<Value> = runs.iter().map(Outcome::to_json).collect();
        let mut failures = Vec::new();
        for gate in &self.fail_if {
            failures.extend(gate.failures(&runs, base)?);
        }
        Ok(failures)
    }

    /// Reads the inputs of one column, by the name of its folder.
    pub(crate) fn stage(&self, column: &str) -> Result<Staged> {
        let mut input = self.input.clone();
        let settings = self.settings(&mut input)?;
        let (rows, costs) = (self.rows()?, self.costs(&input)?);
        let sides = sides(&settings, &rows, &costs)?;
        let mut sides = sides.into_iter();
        let side = sides.find(|side| side.folder() == column);
        let side = side.with_context(|| format!("the comparison has no column {column}"))?;
        Ok(Staged {
            cluster: side.setting.cluster.clone(),
            trace: side.setting.trace.clone(),
            row: side.row,
            timing: input.timing,
            costs: side.costs.clone(),
        })
    }

    /// Clusters and traces: each configuration with each list of nodes, seed and load.
    fn settings(&self, input: &mut Input) -> Result<Vec<Setting>> {
        let loads: &[u64] = if self.sweep_load.is_empty() {
            &[1]
        } else {
            &self.sweep_load
        };
        if !self.files.is_empty() {
            let choices = self.choices(input, loads).into_iter();
            let setting = |choice| self.setting(input, choice);
            return choices.map(setting).collect();
        }
        if !input.conf.is_empty() || !input.nodes.is_empty() || !self.seeds.is_empty() {
            bail!(
                "--conf, --nodes and --seeds go with a trace; `capsched trace generate -o FILE` makes one"
            );
        }
        let mut settings = Vec::new();
        for &reference in &self.reference {
            for &load in loads {
                let mut setting = demo_setting(input, load, reference)?;
                let differs = [
                    ("load", loads.len(), load.to_string()),
                    ("Hadoop", self.reference.len(), reference.to_string()),
                ];
                let several = differs.into_iter().filter(|(_, n, _)| *n > 1);
                setting.differs = several.map(|(kind, _, value)| (kind, value)).collect();
                settings.push(setting);
            }
        }
        Ok(settings)
    }

    fn setting(&self, input: &Input, choice: Choice<'_>) -> Result<Setting> {
        let (cluster, trace) = input.read_or_report(&self.files, choice)?;
        let (conf, nodes) = (
            choice.conf.map(named),
            choice.nodes.map(ToString::to_string),
        );
        let seed = choice.seed.map(|seed| seed.to_string());
        let load = Some(choice.load.to_string());
        let release = Some(choice.reference.to_string());
        let several = [
            ("configuration", input.conf.len(), conf),
            ("cluster", input.nodes.len(), nodes),
            ("seed", self.seeds.len(), seed),
            ("load", self.sweep_load.len(), load),
            ("Hadoop", self.reference.len(), release),
        ];
        let differs = several.into_iter().filter(|(_, n, _)| *n > 1);
        let differs = differs.filter_map(|(kind, _, value)| Some((kind, value?)));
        Ok(Setting {
            cluster,
            trace,
            seed: choice.seed,
            load: choice.load,
            reference: choice.reference,
            differs: differs.collect(),
        })
    }

    fn choices<'a>(&self, input: &'a Input, loads: &[u64]) -> Vec<Choice<'a>> {
        fn each<T>(paths: &[T]) -> Vec<Option<&T>> {
            if paths.is_empty() {
                return vec![None];
            }
            paths.iter().map(Some).collect()
        }
        let seeds: Vec<Option<u64>> = match self.seeds.as_slice() {
            [] => vec![input.seed],
            seeds => seeds.iter().copied().map(Some).collect(),
        };
        let mut choices = Vec::new();
        for conf in each(&input.conf) {
            for nodes in each(&input.nodes) {
                for &seed in &seeds {
                    for &load in loads {
                        let of_release = |&reference| Choice {
                            conf,
                            nodes,
                            seed,
                            load,
                            reference,
                        };
                        choices.extend(self.reference.iter().map(of_release));
                    }
                }
            }
        }
        choices
    }

    /// The costs of the columns. A sweep shows what costs add, and so needs none beside them.
    fn costs(&self, input: &Input) -> Result<Vec<NamedCosts>> {
        let mut costs = input.named_costs()?;
        if self.sweep_load.is_empty() {
            return Ok(costs);
        }
        if costs.iter().all(|costs| costs.costs().is_none()) {
            bail!("--sweep-load shows what costs add; name some, such as --costs hadoop");
        }
        if costs.iter().all(|costs| costs.costs().is_some()) {
            costs.insert(0, NamedCosts::none());
        }
        Ok(costs)
    }

    /// The columns with the runs of all seeds.
    fn repeated(
        &self,
        input: &Input,
        settings: &[Setting],
        rows: &[Row],
        costs: &[NamedCosts],
        runs: &[Outcome],
    ) -> Result<Vec<Column>> {
        let mut columns = columns(runs);
        for repeat in 1..self.repeats {
            let shuffled = |setting: &Setting| {
                let mut setting = setting.clone();
                let seed = setting.seed.unwrap_or(0).wrapping_add(repeat);
                setting.cluster.shuffle(seed);
                setting
            };
            let shuffled: Vec<Setting> = settings.iter().map(shuffled).collect();
            let sides = sides(&shuffled, rows, costs)?;
            let record = |_: &Side<'_>, _: &Scene<'_>, _: &RunFolder, _: &ProgressBar| {
                bail!("repeats have no folder")
            };
            let stage = Stage {
                timing: input.timing,
                tries: false,
                folder: None,
                record: &record,
            };
            for (column, run) in columns.iter_mut().zip(stage.play(&sides)?) {
                column.runs.push(run);
            }
        }
        Ok(columns)
    }

    /// The columns: every mode with every number of threads.
    fn rows(&self) -> Result<Vec<Row>> {
        let threads: Vec<Option<usize>> = match self.threads.as_slice() {
            [] => vec![None],
            threads => threads.iter().copied().map(Some).collect(),
        };
        let mut rows: Vec<Row> = Vec::new();
        for &mode in &self.modes {
            for &threads in &threads {
                let row = self.input.row(mode, threads)?;
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// The result as one object.
    fn to_json(
        &self,
        input: &Input,
        first: &Setting,
        (runs, columns, sweep): (&[Outcome], &[Column], Option<&Sweep>),
    ) -> Value {
        let facts = &first.trace.facts;
        let jobs = (facts.jobs, &facts.mapping);
        let mut whole = object(Some(&first.cluster), jobs, runs, input.seed);
        whole["repeats"] = json!(self.repeats);
        whole["spread"] = spread_json(columns);
        whole["verdict"] = json!(verdict(columns).trim_end());
        whole["sweep"] = json!(sweep.map(Sweep::to_json));
        whole
    }

    /// Writes the result, for people or as JSON.
    fn report(
        &self,
        input: &Input,
        settings: &[Setting],
        (runs, columns, sweep): (&[Outcome], &[Column], Option<&Sweep>),
        folder: Option<&RunFolder>,
    ) -> Result<()> {
        let first = settings
            .first()
            .context("there is a cluster to compare on")?;
        let (cluster, facts) = (&first.cluster, &first.trace.facts);
        let whole = self.to_json(input, first, (runs, columns, sweep));
        if let Some(folder) = folder {
            let mut kept = whole.clone();
            kept[run_format::MEMBER] = json!(run_format::VERSION);
            folder.document("compare.json", &kept)?;
        }
        if input.json {
            line(whole);
            return Ok(());
        }
        let sides = match sweep {
            Some(sweep) => sweep.table(),
            None => format!(
                "{}{}\n{}{}",
                table(runs, input.explain_rows),
                spread(columns),
                verdict(columns),
                footer(runs)
            ),
        };
        let (nodes, jobs) = (cluster.nodes.len(), facts.jobs);
        put(&format!(
            "{nodes} nodes, {jobs} jobs, the same trace for every column\n\n{sides}"
        ));
        if let Some(folder) = folder {
            line(format_args!("files: {}", folder.path().display()));
        }
        Ok(())
    }
}

/// Cluster and trace of the demonstration at some load.
fn demo_setting(input: &mut Input, load: u64, reference: Reference) -> Result<Setting> {
    let seed = *input.seed.get_or_insert(SEED);
    let mut trace = input.trace.clone();
    let (cluster, first) = data(&mut trace, seed, reference)?;
    input.timing = crate::demo::timing(input.timing, &first);
    let (cluster, trace) = if load > 1 {
        trace.compress = trace.compress.saturating_mul(load);
        data(&mut trace, seed, reference)?
    } else {
        (cluster, first)
    };
    Ok(Setting {
        cluster,
        trace,
        seed: Some(seed),
        load,
        reference,
        differs: Vec::new(),
    })
}

/// A file as a column names it.
#[expect(
    clippy::ptr_arg,
    reason = "it is mapped over references to paths that are owned"
)]
fn named(path: &PathBuf) -> String {
    path.display().to_string()
}
