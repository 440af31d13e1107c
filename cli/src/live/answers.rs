//! What a server answers about applications, in the terms of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use capsched::api::{
    AppStage, ApplicationId, Evidence, Explanation, Finding, Holder, KeyExplanation, NextStep,
    OrderList, Position, QueuePath, Reason, ResourceVector, Timeline,
};
use serde::Deserialize;

use super::past::{SpanAnswer, VerdictAnswer, timeline};
use crate::output::Problem;
use crate::play::{SettingPlace, SettingSource};

/// An application of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServedApp {
    pub(crate) id: ApplicationId,
    pub(crate) name: String,
    pub(crate) user: Arc<str>,
    pub(crate) queue: QueuePath,
    /// YARN's word.
    pub(crate) state: String,
    pub(crate) priority: i32,
    /// In ms since the Unix epoch.
    pub(crate) started_ms: u64,
    /// The same; nothing while it lives.
    pub(crate) ended_ms: Option<u64>,
    /// Containers that run.
    pub(crate) running: u64,
    /// Containers that wait.
    pub(crate) waiting: u64,
    /// Why, first of all.
    pub(crate) finding: Option<Finding>,
}

impl ServedApp {
    /// Why it waits, by its first reason alone; nothing when it does not wait.
    pub(crate) fn explanation(&self) -> Option<Explanation> {
        let key = KeyExplanation {
            priority: None,
            containers: self.waiting,
            size: ResourceVector::NONE,
            findings: vec![self.finding.clone()?],
        };
        Some(Explanation {
            app: self.id,
            user: Arc::clone(&self.user),
            queue: self.queue.clone(),
            priority: self.priority,
            stage: AppStage::Active,
            keys: vec![key],
            position: None,
            preemption: None,
        })
    }
}

/// Why an application of a server waits.
#[derive(Clone, Debug)]
pub(crate) struct ServedWhy {
    /// Nothing when it waits for nothing.
    pub(crate) explanation: Option<Explanation>,
    /// What was seen to help, on a copy of the scheduler.
    pub(crate) steps: Vec<NextStep>,
    /// Names of the resource types.
    pub(crate) types: Vec<Arc<str>>,
    /// Values behind the properties of the findings.
    pub(crate) sources: BTreeMap<String, SettingSource>,
    /// What it waited for before; it begins with the server.
    pub(crate) timeline: Timeline,
    /// The server's clock, in ms since the Unix epoch.
    pub(crate) at_ms: u64,
}

/// A page of applications.
#[derive(Deserialize)]
pub(super) struct AppsAnswer {
    apps: Vec<AppAnswer>,
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AppAnswer {
    id: String,
    user: String,
    name: String,
    queue: String,
    state: String,
    priority: i32,
    started_time: u64,
    finished_time: u64,
    running_containers: u64,
    pending_containers: u64,
    reason: Option<String>,
    #[serde(default)]
    detail: Option<String>,
}

impl AppsAnswer {
    pub(super) fn read(self) -> Result<Vec<ServedApp>> {
        self.apps.into_iter().map(AppAnswer::read).collect()
    }
}

impl AppAnswer {
    fn read(self) -> Result<ServedApp> {
        let detail = self.detail.unwrap_or_default();
        let reason = self.reason.as_deref().map(reason).transpose()?;
        Ok(ServedApp {
            id: id(&self.id)?,
            name: self.name,
            user: self.user.into(),
            queue: self.queue.into(),
            state: self.state,
            priority: self.priority,
            started_ms: self.started_time,
            ended_ms: (self.finished_time > 0).then_some(self.finished_time),
            running: self.running_containers,
            waiting: self.pending_containers,
            finding: reason.map(|reason| Finding::new(reason, detail)),
        })
    }
}

/// The answer about one application. What it waits for is absent when it waits for nothing.
#[derive(Deserialize)]
pub(super) struct WhyAnswer {
    at_ms: u64,
    types: Vec<String>,
    #[serde(default)]
    user: String,
    #[serde(default)]
    queue: String,
    #[serde(default)]
    priority: i32,
    #[serde(default)]
    stage: String,
    position: Option<PositionAnswer>,
    keys: Vec<KeyAnswer>,
    timeline: Vec<SpanAnswer>,
    preemption: Option<VerdictAnswer>,
    #[serde(default)]
    would_help: Vec<StepAnswer>,
}

#[derive(Deserialize)]
struct PositionAnswer {
    list: String,
    #[serde(default)]
    order: String,
    place: usize,
    of: usize,
    higher: usize,
    ahead: Vec<String>,
}

#[derive(Deserialize)]
struct KeyAnswer {
    priority: Option<i32>,
    containers: u64,
    size: Vec<i64>,
    findings: Vec<FindingAnswer>,
}

#[derive(Deserialize)]
pub(super) struct FindingAnswer {
    reason: String,
    detail: String,
    property: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    set_by: Option<ValueAnswer>,
    evidence: EvidenceAnswer,
}

#[derive(Clone, Deserialize)]
struct ValueAnswer {
    property: String,
    value: String,
}

#[derive(Deserialize)]
struct EvidenceAnswer {
    dimension: Option<String>,
    limit: Option<i64>,
    used: Option<i64>,
    asked: Option<i64>,
    binding: Option<String>,
    holders: Vec<HolderAnswer>,
    short: Vec<(String, u64)>,
}

#[derive(Deserialize)]
struct HolderAnswer {
    id: String,
    user: String,
    queue: String,
    amount: i64,
}

#[derive(Deserialize)]
struct StepAnswer {
    what: String,
    set: Option<ValueAnswer>,
    admits: u64,
    lets_in: bool,
}

impl WhyAnswer {
    pub(super) fn read(self, app: ApplicationId) -> Result<ServedWhy> {
        let now = self.keys.iter().flat_map(|key| &key.findings);
        let before = self.timeline.iter().filter_map(|span| span.why.as_ref());
        let sources = now.chain(before).filter_map(FindingAnswer::source);
        let sources = sources.collect();
        let steps = self.would_help.into_iter().map(StepAnswer::read).collect();
        let queue: QueuePath = self.queue.as_str().into();
        let keys: Result<Vec<_>> = self.keys.into_iter().map(KeyAnswer::read).collect();
        let keys = keys?;
        let position = self.position.map(|position| position.read(&queue));
        let preemption = self
            .preemption
            .and_then(|verdict| verdict.read(app, &queue));
        let explanation = Explanation {
            app,
            user: self.user.as_str().into(),
            queue,
            priority: self.priority,
            stage: stage(&self.stage),
            keys,
            position: position.transpose()?,
            preemption,
        };
        Ok(ServedWhy {
            explanation: (!explanation.keys.is_empty()).then_some(explanation),
            steps,
            types: self.types.into_iter().map(Into::into).collect(),
            sources,
            timeline: timeline(self.timeline)?,
            at_ms: self.at_ms,
        })
    }
}

impl PositionAnswer {
    fn read(self, queue: &QueuePath) -> Result<Position> {
        let ahead: Result<Vec<_>> = self.ahead.iter().map(|text| id(text)).collect();
        Ok(Position {
            list: match self.list.as_str() {
                "parked" => OrderList::Parked,
                "waiting" => OrderList::Waiting,
                _ => OrderList::Active,
            },
            fair: self.order == "fair",
            place: self.place,
            of: self.of,
            higher: self.higher,
            ahead: ahead?,
            queue: queue.clone(),
        })
    }
}

impl KeyAnswer {
    fn read(self) -> Result<KeyExplanation> {
        let findings: Result<Vec<_>> = self.findings.into_iter().map(FindingAnswer::read).collect();
        let size = self.size;
        Ok(KeyExplanation {
            priority: self.priority,
            containers: self.containers,
            size: ResourceVector::build(|index| size.get(index).copied().unwrap_or(0)),
            findings: findings?,
        })
    }
}

impl FindingAnswer {
    fn source(&self) -> Option<(String, SettingSource)> {
        let place = self.set_by.clone().map(|set_by| SettingPlace {
            key: set_by.property,
            value: set_by.value,
            file: None,
            line: None,
        });
        let source = SettingSource {
            word: self.source.clone()?,
            place,
        };
        Some((self.property.clone()?, source))
    }

    pub(super) fn read(self) -> Result<Finding> {
        let holders: Result<Vec<_>> = self
            .evidence
            .holders
            .into_iter()
            .map(HolderAnswer::read)
            .collect();
        let short = self.evidence.short.into_iter();
        let evidence = Evidence {
            dimension: self.evidence.dimension.map(Into::into),
            limit: self.evidence.limit,
            used: self.evidence.used,
            asked: self.evidence.asked,
            binding: self.evidence.binding.map(Into::into),
            holders: holders?,
            short: short.map(|(name, nodes)| (name.into(), nodes)).collect(),
        };
        let found = Finding::new(reason(&self.reason)?, self.detail).shown_by(evidence);
        Ok(match self.property {
            Some(property) => found.by_setting(property),
            None => found,
        })
    }
}

impl HolderAnswer {
    fn read(self) -> Result<Holder> {
        Ok(Holder {
            app: id(&self.id)?,
            user: self.user.into(),
            queue: self.queue.into(),
            amount: self.amount,
        })
    }
}

impl StepAnswer {
    fn read(self) -> NextStep {
        NextStep {
            what: self.what,
            change: self.set.map(|set| (set.property, set.value)),
            admits: self.admits,
            lets_in: self.lets_in,
        }
    }
}

fn stage(name: &str) -> AppStage {
    match name {
        "parked" => AppStage::Parked,
        "active" => AppStage::Active,
        "between_attempts" => AppStage::Between,
        _ => AppStage::Waiting,
    }
}

/// An application by its id.
fn id(text: &str) -> Result<ApplicationId> {
    let id = text.parse::<ApplicationId>();
    id.map_err(|error| anyhow::Error::new(Problem(format!("the server's answer: {error}"))))
}

/// A reason by its token.
pub(super) fn reason(token: &str) -> Result<Reason> {
    let mut all = Reason::ALL.into_iter();
    let found = all.find(|reason| reason.token() == token);
    found.ok_or_else(|| {
        let shown = token.escape_debug();
        let problem = format!("the server names the reason {shown}, which this program does not know; use that of the server's release");
        anyhow::Error::new(Problem(problem))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_has_reason_evidence_position_and_steps() {
        let answer = json!({
            "app": "application_7_0002", "at_ms": 5, "user": "ann", "queue": "root.a", "stage": "active",
            "timeline": [], "preemption": null,
            "priority": 3, "containers": 2, "types": ["memory-mb", "vcores"],
            "position": {"list": "active", "order": "fair", "place": 2, "of": 3, "higher": 1,
                "ahead": ["application_7_0001"]},
            "keys": [{"priority": 20, "containers": 2, "size": [1024, 1], "findings": [{
                "reason": "USER_LIMIT", "tier": 3, "detail": "at the limit", "source": "GLOBAL",
                "property": "yarn.scheduler.capacity.root.a.user-limit-factor",
                "set_by": {"property": "yarn.scheduler.capacity.user-limit-factor", "value": "2"},
                "evidence": {"dimension": "memory-mb", "limit": 4, "used": 4, "asked": 1,
                    "binding": "root.a", "short": [["vcores", 2]],
                    "holders": [{"id": "application_7_0001", "user": "bob", "queue": "root.a", "amount": 3}]},
            }]}],
            "would_help": [{"what": "wait", "set": null, "admits": 1, "lets_in": false}],
        });
        let answer: WhyAnswer = serde_json::from_value(answer).expect("an answer");
        let id = ApplicationId {
            cluster: 7,
            sequence: 2,
        };
        let read = answer.read(id).expect("readable");
        let why = read.explanation.expect("it waits");
        let found = why.dominant().expect("a reason");
        assert_eq!(
            (found.reason, why.containers(), why.stage),
            (Reason::UserLimit, 2, AppStage::Active)
        );
        assert_eq!(found.evidence.holders[0].amount, 3);
        let position = why.position.as_ref().expect("a position");
        assert!(position.fair && position.place == 2 && position.ahead.len() == 1);
        let property = found.property.as_ref().expect("a setting");
        let source = &read.sources[property];
        assert_eq!(source.word, "GLOBAL");
        assert_eq!(source.place.as_ref().expect("a place").value, "2");
        assert_eq!(read.steps[0].admits, 1);
    }

    #[test]
    fn what_waits_for_nothing_has_no_explanation_and_unknown_words_are_refused() {
        let nothing = json!({"app": "application_7_0002", "at_ms": 5, "types": [], "containers": 0, "keys": [], "timeline": []});
        let nothing: WhyAnswer = serde_json::from_value(nothing).expect("an answer");
        let read = nothing.read(ApplicationId::new(2)).expect("readable");
        assert!(read.explanation.is_none() && read.steps.is_empty());
        assert!(reason("NEW_REASON").is_err() && id("job_1").is_err());
    }
}
