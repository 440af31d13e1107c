//! Recorded access control: who may do what.

use std::collections::BTreeMap;

use anyhow::Result;
use capsched::api::{LiveQueues, Reference};
use capsched::config::{Caller, QueuePermission};
use serde::Deserialize;
use serde_json::{Value, json};

use super::compare::differences;
use super::mapping::Refresh;
use super::scenario::Label;
use super::setting::Member;
use super::submission::{Header, Job, Scene, demands, open};
use super::verdict::{Verdict, judge, judge_refusal};

/// One configuration and questions about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Access {
    pub(super) name: String,
    #[expect(dead_code, reason = "a remark of the file")]
    description: String,
    #[expect(dead_code, reason = "a remark of the file")]
    source: String,
    xml: String,
    site: BTreeMap<String, String>,
    groups: BTreeMap<String, Vec<String>>,
    resource_types: Vec<String>,
    cluster_labels: Vec<Label>,
    nodes: Vec<Member>,
    start: Value,
    pub(super) recorded_with: String,
    checks: Vec<AccessStep>,
}

/// A question, or another configuration file.
#[derive(Debug)]
enum AccessStep {
    Refresh(Refresh),
    Question(Check),
}

/// A question with its recorded answer.
#[derive(Debug)]
struct Check {
    question: Question,
    /// Who acts for the user.
    real_user: Option<String>,
    expect: Value,
    input: Value,
}

impl<'de> Deserialize<'de> for AccessStep {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut object = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        if object.contains_key("refresh") {
            let refresh = Refresh::deserialize(Value::Object(object)).map_err(D::Error::custom)?;
            return Ok(Self::Refresh(refresh));
        }
        let expect = object.remove("expect").unwrap_or_default();
        let input = Value::Object(object.clone());
        let wrong = |error| D::Error::custom(format!("{error} in check {input}"));
        let real_user = object.remove("real_user").unwrap_or_default();
        let real_user = Option::deserialize(real_user).map_err(wrong)?;
        let question = Question::deserialize(Value::Object(object)).map_err(wrong)?;
        Ok(Self::Question(Check {
            question,
            real_user,
            expect,
            input,
        }))
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "check", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    QueueAcl {
        user: String,
        acl: Permission,
        queue: String,
    },
    Submit {
        user: String,
        queue: String,
        priority: Option<i32>,
        #[serde(default)]
        tags: Vec<String>,
    },
    ModifyApp {
        user: String,
        queue: String,
        owner: String,
    },
    ClusterAdmin {
        user: String,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Permission {
    SubmitApplications,
    AdministerQueue,
}

impl Access {
    /// Asks the questions in order, up to the first with another answer.
    pub(super) fn play(&self, reference: Reference) -> Result<Verdict> {
        let mut scene = match open(&Header {
            xml: &self.xml,
            site: &self.site,
            resource_types: &self.resource_types,
            cluster_labels: &self.cluster_labels,
            nodes: &self.nodes,
            groups: &self.groups,
            reference,
        })? {
            Ok(scene) => scene,
            Err(refusal) => return Ok(judge_refusal(&self.start, &refusal)),
        };
        let start = differences(&self.start, &json!({"accepted": true}));
        if !start.is_empty() {
            return Ok(judge(start));
        }
        for (i, step) in self.checks.iter().enumerate() {
            let verdict = step.play(&mut scene, i)?;
            if !verdict.passed() {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Passed)
    }
}

impl AccessStep {
    /// The verdict on what stands at a place of the list.
    fn play(&self, scene: &mut Scene<'_>, number: usize) -> Result<Verdict> {
        let check = match self {
            Self::Refresh(refresh) => return refresh.play(scene, number),
            Self::Question(check) => check,
        };
        let mut actual = answer(scene, check);
        let wanted = demands(&check.expect, &mut actual);
        let found = differences(&wanted, &actual);
        Ok(scene.verdict(number, check.input.clone(), found))
    }
}

impl Question {
    /// Who asks.
    fn user(&self) -> &str {
        match self {
            Self::QueueAcl { user, .. }
            | Self::Submit { user, .. }
            | Self::ModifyApp { user, .. }
            | Self::ClusterAdmin { user } => user,
        }
    }
}

fn answer(scene: &mut Scene<'_>, check: &Check) -> Value {
    let question = &check.question;
    let user = question.user();
    let groups = scene.groups(user);
    let caller = Caller {
        user,
        groups: &groups,
        real_user: check.real_user.as_deref(),
    };
    let allowed = match question {
        Question::QueueAcl { acl, queue, .. } => {
            let permission = match acl {
                Permission::SubmitApplications => QueuePermission::Submit,
                Permission::AdministerQueue => QueuePermission::Administer,
            };
            let path = scene.path(queue);
            scene.admission.grants(&caller, permission, &path)
        }
        Question::ModifyApp { queue, owner, .. } => {
            let queues = LiveQueues(scene.engine.ledger());
            scene.admission.may_modify(&caller, owner, queue, &queues)
        }
        Question::ClusterAdmin { .. } => scene.admission.is_admin(&caller),
        Question::Submit {
            queue,
            priority,
            tags,
            ..
        } => {
            let mut job = job(user, queue, *priority);
            (job.real_user, job.tags) = (caller.real_user, tags);
            return scene.submit(&job);
        }
    };
    json!({"allowed": allowed})
}

fn job<'a>(user: &'a str, queue: &'a str, priority: Option<i32>) -> Job<'a> {
    Job {
        user,
        real_user: None,
        queue,
        name: "job",
        tags: &[],
        priority,
        with_priority: true,
    }
}
