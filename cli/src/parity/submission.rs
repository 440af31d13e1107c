//! A submission as mappings and access checks record it: the manager's part, then the scheduler's.

use std::collections::BTreeMap;

use anyhow::Result;
use capsched::api::LiveQueues;
use capsched::api::{AppSpec, ApplicationId, Reference, Sequential};
use capsched::config::{
    Admission, AdmissionRefusal, Admitted, Caller, QueueDirectory, QueueMatch, Wish,
};
use capsched::queue::QueueAccess;
use capsched::resource::ResourceVector;
use serde_json::{Map, Value, json};

use super::compare::Difference;
use super::scenario::Label;
use super::setting::{Member, Setting};
use super::verdict::Verdict;

/// A live scheduler behind placement rules and access control.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) engine: Sequential,
    pub(super) admission: Admission,
    setting: Setting<'a>,
    groups: &'a BTreeMap<String, Vec<String>>,
    submitted: u32,
    /// Whether a submission named an existing queue by the name of its parent, which creates queues, without the
    /// path of that parent.
    second_child: bool,
}

/// The code of what differs after such a submission: the reference creates a second child of that name.
const SECOND_CHILD: &str = "SECOND_CHILD";

/// What mappings and access checks have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a> {
    pub(super) xml: &'a str,
    pub(super) site: &'a BTreeMap<String, String>,
    pub(super) resource_types: &'a [String],
    pub(super) cluster_labels: &'a [Label],
    pub(super) nodes: &'a [Member],
    pub(super) groups: &'a BTreeMap<String, Vec<String>>,
    pub(super) reference: Reference,
}

/// A submission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) user: &'a str,
    /// Who acts for the user.
    pub(super) real_user: Option<&'a str>,
    pub(super) queue: &'a str,
    pub(super) name: &'a str,
    pub(super) tags: &'a [String],
    pub(super) priority: Option<i32>,
    /// Whether the answer holds the effective priority.
    pub(super) with_priority: bool,
}

/// Starts a scheduler; without one, the answer says why.
pub(super) fn open<'a>(header: &Header<'a>) -> Result<Result<Scene<'a>, Value>> {
    let setting = Setting {
        site: header.site,
        resource_types: header.resource_types,
        cluster_labels: header.cluster_labels,
        reference: header.reference,
    };
    match setting.read(header.xml) {
        Ok(accepted) => Ok(Ok(Scene {
            engine: setting.start(&accepted.loaded, header.nodes)?,
            admission: accepted.admission,
            setting,
            groups: header.groups,
            submitted: 0,
            second_child: false,
        })),
        Err(refused) => Ok(Err(json!({
            "accepted": false,
            "error": {"code": refused.words.first()},
        }))),
    }
}

/// The word of the recordings for a refusal.
fn word(refusal: &AdmissionRefusal) -> &'static str {
    match refusal {
        AdmissionRefusal::NoQueue => "other",
        known => known.code(),
    }
}

impl Scene<'_> {
    pub(super) fn groups(&self, user: &str) -> Vec<String> {
        self.groups.get(user).cloned().unwrap_or_default()
    }

    /// The full path of a queue that exists; other names stay as they are.
    pub(super) fn path(&self, name: &str) -> String {
        let ledger = self.engine.ledger();
        ledger.queue(name).map_or_else(
            || name.to_owned(),
            |slot| ledger.state().queues[slot].settings.path.to_string(),
        )
    }

    /// The verdict on a step: what differs after a second child of a name was created is meant.
    pub(super) fn verdict(
        &self,
        step: usize,
        input: Value,
        differences: Vec<Difference>,
    ) -> Verdict {
        match Verdict::of_step(step, input, differences) {
            Verdict::Failed { .. } if self.second_child => {
                Verdict::Deliberate(SECOND_CHILD.to_owned())
            }
            verdict => verdict,
        }
    }

    /// Counts a submission to a path.
    fn count(&mut self, path: &str) {
        self.submitted += 1;
        self.second_child |= self.is_second_child(path);
    }

    /// Whether a path names an existing queue below the name of a parent that creates queues.
    fn is_second_child(&self, path: &str) -> bool {
        let Some((parent, leaf)) = path.rsplit_once('.') else {
            return false;
        };
        let queues = LiveQueues(self.engine.ledger());
        let QueueMatch::Queue(parent_queue) = queues.find(parent) else {
            return false;
        };
        let full = format!("{}.{leaf}", parent_queue.path);
        parent_queue.path != parent
            && parent_queue.kind.creates()
            && matches!(queues.find(&full), QueueMatch::Queue(_))
    }

    fn paths(&self) -> Vec<String> {
        let state = self.engine.ledger().state();
        let queues = state.subtree(capsched::snapshot::State::ROOT);
        let path = |slot| state.queues[slot].settings.path.to_string();
        queues.into_iter().map(path).collect()
    }

    /// Replaces the configuration file; the verdict in the words of the recordings. Queues that exist have the lists
    /// of the new file or of its templates from then on.
    pub(super) fn refresh(&mut self, xml: &str) -> Result<Value> {
        match self.setting.read_again(xml, &self.engine) {
            Ok(accepted) => {
                self.engine.reconfigure(accepted.loaded.settings)?;
                let queues = self.engine.ledger().state().queues.iter();
                let live = queues.filter(|queue| !queue.removed);
                let settings = live.map(|queue| &*queue.settings);
                self.admission = accepted.admission.with_lists_of(settings);
                Ok(json!({"accepted": true}))
            }
            Err(refused) => Ok(json!({
                "accepted": false, "error": {"code": refused.words.first()},
            })),
        }
    }

    /// What the manager says to a submission.
    fn admit(&self, job: &Job<'_>) -> Result<Admitted, AdmissionRefusal> {
        let ledger = self.engine.ledger();
        let own = self.groups(job.user);
        // As ApplicationSubmissionContextPBImpl.setApplicationTags.
        let tags: Vec<String> = job.tags.iter().map(|tag| tag.to_lowercase()).collect();
        let wish = Wish {
            caller: Caller {
                user: job.user,
                groups: &own,
                real_user: job.real_user,
            },
            queue: job.queue,
            application: job.name,
            tags: &tags,
            priority: job.priority,
        };
        let default_priority = |path: &str| {
            let leaf = ledger.queue(path).map(|slot| &ledger.state().queues[slot]);
            let leaf = leaf.filter(|queue| queue.is_leaf());
            leaf.map_or(0, |queue| queue.settings.leaf.default_priority)
        };
        self.admission.admit(
            &wish,
            |user| self.groups(user),
            &LiveQueues(ledger),
            default_priority,
        )
    }

    /// Submits; the answer is in the words of the recordings.
    pub(super) fn submit(&mut self, job: &Job<'_>) -> Value {
        let mut answer = Map::new();
        let admitted = match self.admit(job) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                refuse(&mut answer, "resource manager", word(&refusal));
                return Value::Object(answer);
            }
        };
        if let Some(place) = &admitted.placement {
            let placed = json!({"queue": place.leaf, "parent": place.parent});
            answer.insert("placed".to_owned(), placed);
        }
        answer.insert("queue_of_submission".to_owned(), json!(admitted.queue));
        self.count(&admitted.path);
        let id = ApplicationId::new(self.submitted);
        let spec = AppSpec {
            placement_parent: admitted.placement.map(|place| place.parent),
            priority: Some(admitted.priority),
            refused_priority: admitted.refused_priority,
            master: Some(ResourceVector::of(&[1024, 1])),
            ..AppSpec::new(id, &admitted.path, job.user)
        };
        let before = self.paths();
        match self.engine.submit(&spec) {
            Ok(submitted) => {
                answer.insert("accepted".to_owned(), json!(true));
                answer.insert("queue".to_owned(), json!(&*submitted.queue));
                if job.with_priority && admitted.priority != 0 {
                    answer.insert("priority".to_owned(), json!(admitted.priority));
                }
            }
            Err(refusal) => refuse(&mut answer, "scheduler", refusal.code()),
        }
        self.note_created(&before, &mut answer);
        Value::Object(answer)
    }

    /// Queues that a submission created; their access lists start empty.
    fn note_created(&mut self, before: &[String], answer: &mut Map<String, Value>) {
        let mut created = self.paths();
        created.retain(|path| !before.contains(path));
        for path in &created {
            let path = path.as_str().into();
            self.admission.queue_created(path, QueueAccess::default());
        }
        if !created.is_empty() {
            answer.insert("created".to_owned(), json!(created));
        }
    }
}

fn refuse(answer: &mut Map<String, Value>, by: &str, code: &str) {
    answer.insert("accepted".to_owned(), json!(false));
    answer.insert("refused_by".to_owned(), json!(by));
    answer.insert("error".to_owned(), json!({"code": code}));
}

/// Takes out of a recorded answer what need not be equal.
pub(super) fn demands(recorded: &Value, actual: &mut Value) -> Value {
    let mut recorded = recorded.clone();
    if recorded["accepted"] == json!(false) {
        for answer in [&mut recorded, actual] {
            if let Some(answer) = answer.as_object_mut() {
                answer.remove("queue_of_submission");
            }
        }
    }
    recorded
}
