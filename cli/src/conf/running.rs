//! What a new configuration means for the applications of a snapshot.
//!
//! The refresh is applied to a copy of the engine, and the states before and behind it are compared.
//! Submissions, asks and a round of preemption are tried on further copies of both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, anyhow};
use capsched::api::{
    AppStage, ApplicationId, Ask, AskCall, Finding, PreemptionSettings, Reference, RefreshError,
    Scheduler as _, Stepped, refused_call, refused_submission,
};
use capsched::config::{self, Loaded, Options};
use capsched::metrics::Closed as _;
use capsched::simulator::journal::{AppCall, Call, StateSnapshot, SubmitCall, of_mode};
use capsched_server::effects::{Effect, EffectKind, EffectRow, SeenState, of_leaving, of_limits};
use serde_json::{Value, json};

use crate::output::{Problem, escaped};
use crate::play::{grouped, virtual_time};
use crate::snapshot;

use super::{Side, shown};

/// Applications that a line names.
const NAMED: usize = 3;

/// The effect of a plan on a snapshot.
#[derive(Debug)]
pub(super) struct Running {
    file: String,
    at_ms: u64,
    apps: usize,
    types: Vec<String>,
    /// Whether the snapshot was made under the present configuration.
    of_present: bool,
    refused: Option<RefreshError>,
    effects: Vec<EffectRow>,
}

impl Running {
    /// Applies the new configuration to a copy of the snapshot.
    pub(super) fn of(file: &Path, before: &Side, after: &Side) -> Result<Self> {
        let snapshot = snapshot::read(file)?;
        let (engine, loaded) = snapshot::loaded(file, &snapshot)?;
        let new = fitted(&snapshot, after, &loaded).map_err(|refused| {
            let shown = file.display();
            anyhow!(Problem(format!(
                "with what {shown} was made under, a refresh refuses the new file: {refused}"
            )))
        })?;
        let of_present = fitted(&snapshot, before, &loaded).is_ok_and(|old| {
            snapshot::shown_settings(&old.settings) == snapshot::shown_settings(&loaded.settings)
        });
        let mut copy = engine.trial();
        let refused = copy.reconfigure(new.settings.clone()).err();
        let present = Seen::of(&engine);
        let paths = new.settings.queues.iter().map(|queue| &*queue.path);
        let mut effects = of_leaving(&present.state, &paths.collect::<BTreeSet<&str>>());
        if refused.is_none() {
            let states = [&present, &Seen::of(&copy)];
            effects.extend(of_refresh(&snapshot, states, [&loaded, &new]));
        }
        let types = loaded.settings.scheduler.resource_types.iter();
        let types: Vec<String> = types.map(ToString::to_string).collect();
        let rows = effects
            .iter()
            .map(|effect| effect.row(&types, &present.state));
        let effects = rows.collect();
        Ok(Self {
            file: file.display().to_string(),
            at_ms: snapshot.head.at_ms,
            apps: present.state.view.apps.len(),
            types,
            of_present,
            refused,
            effects,
        })
    }

    pub(super) const fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "snapshot": self.file,
            "at_ms": self.at_ms,
            "applications": self.apps,
            "under_present_configuration": self.of_present,
            "accepted": self.refused.is_none(),
            "code": self.refused.as_ref().map(RefreshError::code),
            "message": self.refused.as_ref().map(ToString::to_string),
            "effects": self.effects,
        })
    }

    pub(super) fn text(&self) -> String {
        let when = virtual_time(self.at_ms);
        let apps = grouped(u64::try_from(self.apps).unwrap_or(u64::MAX));
        let mut out = format!("running in {} at {when}: {apps} applications\n", self.file);
        if !self.of_present {
            out.push_str(
                "  note: the snapshot was made under another configuration than the present file\n",
            );
        }
        if let Some(refused) = &self.refused {
            let code = refused.code();
            let _ = writeln!(out, "  its refresh is refused, {refused} [{code}]");
        }
        for effect in &self.effects {
            out.push_str(&effect_text(effect, &self.types));
        }
        if self.effects.is_empty() && self.refused.is_none() {
            out.push_str("  nothing changes for them\n");
        }
        out
    }
}

/// An effect in lines.
pub(super) fn effect_text(effect: &EffectRow, types: &[String]) -> String {
    let queue = escaped(&effect.queue);
    let whose = match &effect.user {
        Some(user) => format!("{queue}, user {}", escaped(user)),
        None => queue,
    };
    let place = match effect.partition.as_deref() {
        Some("") | None => whose,
        Some(label) => format!("{whose} on {}", escaped(label)),
    };
    let (token, meaning) = (escaped(&effect.effect), escaped(&effect.meaning));
    let mut out = format!("  {token}  {place}: {meaning}\n");
    if let Some(limit) = &effect.limit {
        let shown = |of: &BTreeMap<String, i64>| {
            let amounts = types.iter().map(|name| of.get(name).copied().unwrap_or(0));
            shown::amounts(&amounts.collect::<Vec<i64>>(), types)
        };
        let (used, before, after) = (
            shown(&limit.used),
            shown(&limit.before),
            shown(&limit.after),
        );
        let _ = writeln!(out, "      uses {used}; limit {before} -> {after}");
    }
    if !effect.detail.is_empty() {
        let _ = writeln!(out, "      {}", escaped(&effect.detail));
    }
    let named = effect.applications.iter().take(NAMED);
    let named: Vec<String> = named.map(|app| escaped(app)).collect();
    let more = match effect.applications.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more; --json has all"),
    };
    let _ = writeln!(out, "      {}{more}", named.join(", "));
    out
}

/// An engine that trials copy, with its state.
struct Seen<'a> {
    engine: &'a Stepped,
    state: SeenState<'a>,
}

impl<'a> Seen<'a> {
    fn of(engine: &'a Stepped) -> Self {
        let state = SeenState::of(engine.engine());
        Self { engine, state }
    }
}

/// The effects of a refresh that is accepted: the states before and behind it, and the configurations.
fn of_refresh(
    snapshot: &StateSnapshot,
    [before, after]: [&Seen<'_>; 2],
    [old, new]: [&Loaded; 2],
) -> Vec<Effect> {
    let calls = Calls::of(&snapshot.calls);
    let mut effects = of_limits(&before.state, &after.state);
    effects.extend(of_waits(before, after));
    effects.extend(calls.refused_anew(before, after));
    if snapshot.head.preemption.is_some() {
        let rounds = [&old.preemption, &new.preemption];
        effects.extend(of_preemption(before, after, rounds));
    }
    effects
}

/// A configuration as a refresh of the snapshot's engine reads it, in the mode that it runs in.
fn fitted(snapshot: &StateSnapshot, side: &Side, running: &Loaded) -> Result<Loaded, String> {
    let mut head = snapshot.head.clone();
    head.scheduler.clear();
    head.keep(&side.loaded.properties);
    let mode = head.mode().map_err(|error| error.to_string())?;
    let sorts = side
        .loaded
        .settings
        .scheduler
        .multi_node
        .policies
        .is_empty();
    head.scheduler.extend(of_mode(mode, sorts));
    let options = Options {
        resource_types: Some(head.types.clone()),
        running: Some(running.settings.scheduler.calculator),
        reference: head.reference.parse::<Reference>().unwrap_or_default(),
        ..Options::default()
    };
    config::load_pairs(&head.site, &head.scheduler, &options).map_err(|report| {
        let first = report.first_error().map(ToString::to_string);
        first.unwrap_or_default()
    })
}

/// Applications by effect, queue and what is said.
type Grouped = BTreeMap<(EffectKind, String, String), Vec<u32>>;

fn effects_of(found: Grouped) -> Vec<Effect> {
    let effects = found.into_iter().map(|((kind, queue, said), apps)| {
        let effect = Effect::new(kind, &queue, apps);
        effect.saying(said)
    });
    effects.collect()
}

/// Applications whose dominant reason is another one behind the refresh, or that are let in by it.
fn of_waits(before: &Seen<'_>, after: &Seen<'_>) -> Vec<Effect> {
    let reasons = |seen: &Seen<'_>| -> BTreeMap<ApplicationId, (AppStage, Finding, String)> {
        let all = seen.engine.trial().explain_all().into_iter();
        let pair = |app: capsched::api::Explanation| {
            let dominant = app.dominant()?.clone();
            Some((app.app, (app.stage, dominant, app.queue.to_string())))
        };
        all.filter_map(pair).collect()
    };
    let (old, new) = (reasons(before), reasons(after));
    let mut found = Grouped::new();
    for (app, (stage, was, queue)) in &old {
        let now = new.get(app);
        let starts =
            *stage != AppStage::Active && now.is_none_or(|(stage, ..)| *stage == AppStage::Active);
        let (kind, said) = match now {
            _ if starts => (EffectKind::Activated, format!("{} until then", was.reason)),
            Some((_, now, _)) if now.reason != was.reason => (
                EffectKind::OtherReason,
                format!("{} -> {}", was.reason, now.reason),
            ),
            _ => continue,
        };
        let apps = found.entry((kind, queue.clone(), said)).or_default();
        apps.push(app.sequence);
    }
    effects_of(found)
}

/// What one round of preemption asks back behind the refresh and not before it, by queue and rule.
fn of_preemption(
    before: &Seen<'_>,
    after: &Seen<'_>,
    settings: [&PreemptionSettings; 2],
) -> Vec<Effect> {
    let taken = |seen: &Seen<'_>, settings: &PreemptionSettings| {
        let settings = PreemptionSettings {
            enabled: true,
            observe_only: true,
            ..settings.clone()
        };
        let mut copy = seen.engine.trial().with_preemption(settings);
        copy.preempt();
        let all = copy.preemption().taken();
        let taken = all.map(|one| {
            (
                (one.app, one.reason.name()),
                (one.queue.to_string(), one.containers),
            )
        });
        taken.collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (taken(before, settings[0]), taken(after, settings[1]));
    let mut found: BTreeMap<(String, &str), (u64, Vec<u32>)> = BTreeMap::new();
    for ((app, rule), (queue, containers)) in new {
        let was = old
            .get(&(app, rule))
            .map_or(0, |(_, containers)| *containers);
        if containers > was {
            let (sum, apps) = found.entry((queue, rule)).or_default();
            *sum += containers - was;
            apps.push(app.sequence);
        }
    }
    let effect = |((queue, rule), (sum, apps)): ((String, &str), (u64, Vec<u32>))| {
        let said = format!("{} containers by the rule {rule}", grouped(sum));
        Effect::new(EffectKind::AskedBack, &queue, apps).saying(said)
    };
    found.into_iter().map(effect).collect()
}

/// Submissions and asks of the snapshot, by application.
struct Calls<'a> {
    submitted: BTreeMap<u32, &'a SubmitCall>,
    asked: BTreeMap<u32, Vec<&'a AppCall>>,
}

impl<'a> Calls<'a> {
    fn of(calls: &'a [Call]) -> Self {
        let mut all = Self {
            submitted: BTreeMap::new(),
            asked: BTreeMap::new(),
        };
        for call in calls {
            match call {
                Call::Submit(call) => drop(all.submitted.insert(call.app, call)),
                Call::RecoverApp(call) => {
                    all.submitted.insert(call.submission.app, &call.submission);
                }
                Call::Ask(call) => all.asked.entry(call.app).or_default().push(call),
                _ => {}
            }
        }
        all
    }

    /// Submissions and asks of live applications that are taken before the refresh and refused
    /// behind it, when all end and come again in their order.
    fn refused_anew(&self, before: &Seen<'_>, after: &Seen<'_>) -> Vec<Effect> {
        let (old, new) = (self.anew(before), self.anew(after));
        let mut found = Grouped::new();
        for (app, (kind, finding)) in new {
            if old.get(&app).is_some_and(|(was, _)| *was <= kind) {
                continue;
            }
            let queue = self.submitted.get(&app).map(|call| call.queue.clone());
            let said = format!("{}: {}", finding.reason, finding.detail);
            let apps = found.entry((kind, queue.unwrap_or_default(), said));
            apps.or_default().push(app);
        }
        effects_of(found)
    }

    /// The first call of each application that is refused when the live ones end and come again.
    fn anew(&self, seen: &Seen<'_>) -> BTreeMap<u32, (EffectKind, Finding)> {
        let mut copy = seen.engine.trial();
        let live: Vec<u32> = seen.state.view.apps.iter().map(|app| app.app).collect();
        for app in &live {
            // A live application ends.
            let _ = copy.finish_app(ApplicationId::new(*app));
        }
        let first = self.submitted.keys().last().map_or(0, |last| *last);
        let mut refused = BTreeMap::new();
        for (app, at) in live.iter().zip(1..) {
            let id = ApplicationId::new(first.saturating_add(at));
            if let Err(why) = self.come_again(&mut copy, *app, id) {
                refused.insert(*app, *why);
            }
        }
        refused
    }

    fn come_again(
        &self,
        copy: &mut Stepped,
        app: u32,
        id: ApplicationId,
    ) -> Result<(), Box<(EffectKind, Finding)>> {
        let Some(call) = self.submitted.get(&app) else {
            return Ok(());
        };
        let state = copy.engine().ledger().state();
        let types = state.settings.resource_types.clone();
        let mut spec = call.spec();
        spec.id = id;
        let submitted = copy.submit(spec);
        submitted.map_err(|error| {
            Box::new((
                EffectKind::SubmissionRefused,
                refused_submission(&error, &types),
            ))
        })?;
        for ask in self.asks(app) {
            let asked = copy.ask(id, AskCall::asking(vec![ask]));
            asked.map_err(|error| {
                Box::new((EffectKind::AskRefused, refused_call(&error, &types)))
            })?;
        }
        Ok(())
    }

    /// What an application asked for, each kind of container once.
    fn asks(&self, app: u32) -> Vec<Ask> {
        let mut kinds: Vec<Ask> = Vec::new();
        let calls = self.asked.get(&app).into_iter().flatten();
        for ask in calls.flat_map(|call| call.call().asks) {
            let same = |kind: &&Ask| kind.size == ask.size && kind.partition == ask.partition;
            if ask.count > 0 && !kinds.iter().any(|kind| same(&kind)) {
                let size = ask.size;
                kinds.push(Ask {
                    partition: ask.partition,
                    ..Ask::anywhere(size, 1)
                });
            }
        }
        kinds
    }
}
