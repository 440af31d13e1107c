//! Recorded queue mappings: where applications go.

use std::collections::BTreeMap;

use anyhow::Result;
use capsched::api::Reference;
use serde::Deserialize;
use serde_json::{Value, json};

use super::compare::differences;
use super::scenario::Label;
use super::setting::Member;
use super::submission::{Header, Job, Scene, demands, open};
use super::verdict::{Verdict, judge, judge_refusal};

/// One set of rules and the applications that it places.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mapping {
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
    submissions: Vec<MappingStep>,
}

/// A submission, or another configuration file.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum MappingStep {
    Refresh(Refresh),
    Submission(PlacementQuery),
}

/// A whole configuration file in place of the present one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refresh {
    refresh: String,
    expect: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacementQuery {
    user: String,
    queue: String,
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    expect: Value,
}

impl Mapping {
    /// Submits the applications in order, up to the first whose way differs.
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
        for (i, step) in self.submissions.iter().enumerate() {
            let verdict = step.play(&mut scene, i)?;
            if !verdict.passed() {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Passed)
    }
}

impl MappingStep {
    /// The verdict on what stands at a place of the list.
    fn play(&self, scene: &mut Scene<'_>, number: usize) -> Result<Verdict> {
        let submission = match self {
            Self::Refresh(refresh) => return refresh.play(scene, number),
            Self::Submission(submission) => submission,
        };
        let mut actual = scene.submit(&Job {
            user: &submission.user,
            real_user: None,
            queue: &submission.queue,
            name: &submission.name,
            tags: &submission.tags,
            priority: None,
            with_priority: false,
        });
        let wanted = demands(&submission.expect, &mut actual);
        let found = differences(&wanted, &actual);
        Ok(scene.verdict(number, submission.shown(), found))
    }
}

impl Refresh {
    /// Replaces the file; whether the scheduler says the same.
    pub(super) fn play(&self, scene: &mut Scene<'_>, number: usize) -> Result<Verdict> {
        let actual = scene.refresh(&self.refresh)?;
        let found = differences(&self.expect, &actual);
        let input = json!({"do": "refresh", "refresh": self.refresh});
        Ok(scene.verdict(number, input, found))
    }
}

impl PlacementQuery {
    fn shown(&self) -> Value {
        json!({"user": self.user, "queue": self.queue, "name": self.name, "tags": self.tags})
    }
}
