//! What is decided about a submission before the scheduler sees it: its queue, whether the user
//! may submit there, and its priority.
//!
//! Whether the queue exists, runs and has room is the scheduler's business, as is the creation of
//! a queue that does not exist.

use std::fmt;
use std::sync::Arc;

use super::acl::{
    AccessTree, AdminAccess, Caller, QueuePermission, creation_depth, effective_priority,
};
use super::load::Loaded;
use super::mapping::{
    Decision, DeclaredQueues, MappingError, PlacedLeaf, PlacementQuery, PlacementRules,
    QueueDirectory, QueueEntryKind, QueueMatch, TagUserOverride, WorkflowPriorities,
};
use super::properties::Properties;
use crate::id::QueuePath;
use crate::queue::{PriorityAccess, PriorityRefusal, QueueAccess, QueueSettings};

/// Placement rules, access lists and priorities of one configuration.
// As RMAppManager.createAndPopulateNewRMApp.
#[derive(Clone, Debug)]
pub struct Admission {
    rules: PlacementRules,
    tag_user: TagUserOverride,
    workflows: WorkflowPriorities,
    access: AccessTree,
    admin: AdminAccess,
    cluster_maximum: i32,
    properties: Arc<Properties>,
}

/// An application that a user wants to submit.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Who submits it.
    pub caller: Caller<'a>,
    /// The queue that is named; `default` when none is.
    pub queue: &'a str,
    /// Name of the application.
    pub application: &'a str,
    /// Application tags, in lower case as YARN keeps them.
    pub tags: &'a [String],
    /// The priority that is asked for.
    pub priority: Option<i32>,
}

/// A submission that may go to the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// What the rules say; nothing when they have no opinion.
    pub placement: Option<PlacedLeaf>,
    /// The queue that the submission is recorded with, which users are shown.
    pub queue: String,
    /// The full path of the queue, which the scheduler is given; a name that stands for no queue
    /// is left as it is, and the scheduler refuses it.
    pub path: String,
    /// The priority of the application.
    pub priority: i32,
    /// Why the user may not have the priority of the application's workflow. The scheduler refuses the submission for
    /// it, once it found or created the queue.
    pub refused_priority: Option<PriorityRefusal>,
}

/// Why a submission does not go to the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmissionRefusal {
    /// A placement rule, by its position from 0, refuses it.
    Mapping {
        /// Position of the rule.
        rule: usize,
    },
    /// The submission names the empty queue, and no rule refuses it before.
    NoQueue,
    /// The user may not submit to the queue.
    Submit {
        /// The user.
        user: String,
        /// Full path of the queue.
        queue: String,
    },
    /// The user may not have the priority.
    Priority(PriorityRefusal),
}

impl AdmissionRefusal {
    /// A stable word for the refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Mapping { .. } => "mapping_rejected",
            Self::NoQueue => "no_queue",
            Self::Submit { .. } => "submit_acl",
            Self::Priority(refusal) => refusal.code(),
        }
    }
}

impl fmt::Display for AdmissionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mapping { rule } => write!(f, "placement rule {} refuses it", rule + 1),
            Self::NoQueue => f.write_str("the submission names the empty queue"),
            Self::Submit { user, queue } => {
                write!(f, "the user {user} may not submit to the queue {queue}")
            }
            Self::Priority(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for AdmissionRefusal {}

/// The placement rules with their targets checked, and the workflow priorities. `live` are the queues of a scheduler
/// that runs: targets may be among those that submissions created.
pub(super) fn rules<'a>(
    loaded: &Loaded,
    live: impl IntoIterator<Item = &'a QueueSettings>,
) -> Result<(PlacementRules, WorkflowPriorities), Vec<MappingError>> {
    let source = &*loaded.properties;
    let rules = PlacementRules::read(source)?;
    let mut queues = DeclaredQueues::of(&loaded.settings.queues);
    let mut created: Vec<_> = live.into_iter().filter(|queue| queue.dynamic).collect();
    created.sort_by(|one, other| one.path.cmp(&other.path));
    created.iter().for_each(|queue| queues.note_live(queue));
    rules.validate(&queues)?;
    Ok((rules, WorkflowPriorities::read(source)?))
}

impl Admission {
    /// Reads everything from an accepted configuration and checks the targets of the rules;
    /// `daemon` is the user that the scheduler runs as.
    ///
    /// # Errors
    ///
    /// The faults of the placement rules or of the workflow priorities.
    pub fn read(loaded: &Loaded, daemon: &str) -> Result<Self, Vec<MappingError>> {
        Self::read_beside(loaded, daemon, [])
    }

    /// The same for a refresh of a scheduler with these queues: targets may be among those that submissions created.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    // As CSMappingPlacementRule.initialize with the queues of the scheduler.
    pub fn read_beside<'a>(
        loaded: &Loaded,
        daemon: &str,
        live: impl IntoIterator<Item = &'a QueueSettings>,
    ) -> Result<Self, Vec<MappingError>> {
        let queues = &loaded.settings.queues;
        let source = &*loaded.properties;
        let (rules, workflows) = rules(loaded, live)?;
        Ok(Self {
            rules,
            tag_user: TagUserOverride::read(source),
            workflows,
            access: AccessTree::of(queues),
            admin: AdminAccess::read(source, daemon),
            cluster_maximum: loaded.settings.scheduler.maximum_application_priority,
            properties: Arc::clone(&loaded.properties),
        })
    }

    /// Decides about a submission. `groups` finds the groups of a user, the primary one first;
    /// `default_priority` is that of a leaf, 0 for one that does not exist.
    ///
    /// # Errors
    ///
    /// The first of the checks that refuses: a rule, the empty queue, the priority, the right to submit.
    pub fn admit(
        &self,
        wish: &Wish<'_>,
        groups: impl Fn(&str) -> Vec<String>,
        queues: &impl QueueDirectory,
        default_priority: impl Fn(&str) -> i32,
    ) -> Result<Admitted, AdmissionRefusal> {
        let decision = self.placement(wish, &groups, queues);
        let (placement, path) = match decision {
            Decision::Rejected { rule } => return Err(AdmissionRefusal::Mapping { rule }),
            // As RMAppManager.placeApplication, wherever rules would place it.
            _ if wish.queue.is_empty() => return Err(AdmissionRefusal::NoQueue),
            Decision::NoOpinion => (None, full_path(queues, wish.queue)),
            Decision::Place(place) => {
                let path = place.path();
                (Some(place), path)
            }
        };
        let queue = placement.as_ref().map_or_else(
            || wish.queue.to_owned(),
            |place| place.recorded_queue(wish.queue),
        );
        // As RMAppManager.createAndPopulateNewRMApp: the queue that the recorded name stands for,
        // which another leaf of the same name may take from the placement.
        let recorded = full_path(queues, &queue);
        let default = default_priority(&recorded);
        let priority = self.priority(&wish.caller, &recorded, wish.priority, default)?;
        self.check_submit(&wish.caller, &path, queues)?;
        let mapped = self.workflow_priority(wish, &path, default);
        let (priority, refused_priority) = match mapped {
            Ok(mapped) => (mapped.unwrap_or(priority), None),
            Err(refusal) => (priority, Some(refusal)),
        };
        Ok(Admitted {
            placement,
            queue,
            path,
            priority,
            refused_priority,
        })
    }

    fn check_submit(
        &self,
        caller: &Caller<'_>,
        path: &str,
        queues: &impl QueueDirectory,
    ) -> Result<(), AdmissionRefusal> {
        if self.may_submit(caller, path, queues) {
            return Ok(());
        }
        Err(AdmissionRefusal::Submit {
            user: caller.user.to_owned(),
            queue: path.to_owned(),
        })
    }

    /// The priority that the application's workflow has in a queue, or why its user may not have it.
    // As WorkflowPriorityMappingsManager, which the scheduler asks.
    fn workflow_priority(
        &self,
        wish: &Wish<'_>,
        path: &str,
        default: i32,
    ) -> Result<Option<i32>, PriorityRefusal> {
        let mapped = self.workflows.priority(wish.tags, path);
        let bounded = |mapped| self.bounded(&wish.caller, path, Some(mapped), default);
        mapped.map(bounded).transpose()
    }

    /// What the rules say for the user that a tag names, where the submitter may submit to the queue
    /// that they find; for the submitter otherwise. The lists count whether access is checked or not.
    // As RMAppManager.placeApplication and getUserNameForPlacement.
    fn placement(
        &self,
        wish: &Wish<'_>,
        groups: &impl Fn(&str) -> Vec<String>,
        queues: &impl QueueDirectory,
    ) -> Decision {
        let place = |user: &str| {
            let submission = PlacementQuery {
                user,
                groups: &groups(user),
                queue: wish.queue,
                application: wish.application,
                recovered: false,
            };
            self.rules.place(&submission, queues)
        };
        let named = self.tag_user.named(wish.caller.user, wish.tags);
        match named.map(place) {
            Some(Decision::Place(found))
                if self.grants(&wish.caller, QueuePermission::Submit, &found.path()) =>
            {
                Decision::Place(found)
            }
            Some(Decision::Rejected { rule }) => Decision::Rejected { rule },
            _ => place(wish.caller.user),
        }
    }

    /// The priority of an application in a leaf, for submissions and for later changes.
    ///
    /// # Errors
    ///
    /// When the user may not have it.
    pub fn priority(
        &self,
        caller: &Caller<'_>,
        path: &str,
        asked: Option<i32>,
        default: i32,
    ) -> Result<i32, AdmissionRefusal> {
        self.bounded(caller, path, asked, default)
            .map_err(AdmissionRefusal::Priority)
    }

    fn bounded(
        &self,
        caller: &Caller<'_>,
        path: &str,
        asked: Option<i32>,
        default: i32,
    ) -> Result<i32, PriorityRefusal> {
        let groups: &[PriorityAccess] = if self.admin.enabled() {
            self.access.priorities(path)
        } else {
            &[]
        };
        effective_priority(groups, caller, asked, default, self.cluster_maximum)
    }

    /// Whether the caller may submit to a path. One that stands for no queue is not checked unless
    /// its parent exists or may be created: the scheduler refuses it.
    // As RMAppManager.createAndPopulateNewRMApp.
    fn may_submit(&self, caller: &Caller<'_>, path: &str, queues: &impl QueueDirectory) -> bool {
        if !self.admin.enabled() {
            return true;
        }
        if let Some(entry) = queues.find(path).queue() {
            return self.access.may_submit(caller, &entry.path);
        }
        match self.ancestor_of_new(path, queues) {
            Some(above) => {
                let source = &*self.properties;
                self.access.may_create(source, caller, path, above)
            }
            None => true,
        }
    }

    /// The nearest ancestor of a queue that does not exist: its parent, whatever it is, or one
    /// below which the parents that are missing may be created. Only a parent by its full path
    /// counts without a look at what it may create.
    // As CapacitySchedulerQueueManager.getPermissionsForDynamicQueue, determineMissingParents.
    fn ancestor_of_new<'a>(&self, path: &'a str, queues: &impl QueueDirectory) -> Option<&'a str> {
        let (parent, _) = path.rsplit_once('.')?;
        if let QueueMatch::Queue(entry) = queues.find(parent)
            && entry.path == parent
        {
            return Some(parent);
        }
        let mut nearest = None;
        let mut above = parent;
        for levels in 1.. {
            if let QueueMatch::Queue(entry) = queues.find(above) {
                let (_, kind) = *nearest.get_or_insert((above, entry.kind));
                if !entry.dynamic {
                    let allowed = kind == QueueEntryKind::CreatingParent
                        && levels <= creation_depth(&*self.properties, &entry.path);
                    return nearest.filter(|_| allowed).map(|(nearest, _)| nearest);
                }
            }
            (above, _) = above.rsplit_once('.')?;
        }
        None
    }

    /// Whether the caller may kill or move an application of `owner` in a queue. Where the queue
    /// is gone, everybody may.
    // As CapacityQueueACLsManager.checkAccess.
    #[must_use]
    pub fn may_modify(
        &self,
        caller: &Caller<'_>,
        owner: &str,
        queue: &str,
        queues: &impl QueueDirectory,
    ) -> bool {
        let administers = match queues.find(queue) {
            QueueMatch::Queue(entry) => {
                self.grants(caller, QueuePermission::Administer, &entry.path)
            }
            QueueMatch::Missing => true,
            QueueMatch::Ambiguous => false,
        };
        self.admin.may_modify(caller, owner, administers)
    }

    /// Whether the lists of a queue or of its ancestors grant one permission, also when access is
    /// not checked otherwise.
    #[must_use]
    pub fn grants(&self, caller: &Caller<'_>, permission: QueuePermission, path: &str) -> bool {
        self.access.grants(caller, permission, path)
    }

    /// Whether the caller administers the cluster.
    #[must_use]
    pub fn is_admin(&self, caller: &Caller<'_>) -> bool {
        self.admin.is_admin(caller)
    }

    /// The same rules with the access lists of other settings.
    #[must_use]
    pub fn with_lists_of<'a>(&self, queues: impl IntoIterator<Item = &'a QueueSettings>) -> Self {
        Self {
            access: AccessTree::of(queues),
            ..self.clone()
        }
    }

    /// Notes the lists of a queue that a submission created.
    pub fn queue_created(&mut self, path: QueuePath, access: QueueAccess) {
        self.access.add(path, access);
    }

    /// Forgets a queue that was removed.
    pub fn queue_removed(&mut self, path: &str) {
        self.access.remove(path);
    }
}

/// The full path of the queue that a name stands for; the name itself without one.
fn full_path(queues: &impl QueueDirectory, name: &str) -> String {
    match queues.find(name) {
        QueueMatch::Queue(entry) => entry.path,
        QueueMatch::Missing | QueueMatch::Ambiguous => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::from_pairs;

    fn loaded(scheduler: &[(&str, &str)]) -> Loaded {
        let pairs = |pairs: &[(&str, &str)], prefix: &str| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs
                .map(|(key, value)| (format!("{prefix}{key}"), (*value).to_owned()))
                .collect()
        };
        let site = [
            ("yarn.acl.enable", "true"),
            ("yarn.admin.acl", "adm"),
            ("yarn.cluster.max-application-priority", "10"),
            (
                "yarn.resourcemanager.application-tag-based-placement.enable",
                "true",
            ),
            (
                "yarn.resourcemanager.application-tag-based-placement.username.whitelist",
                "ann",
            ),
        ];
        let base = [
            ("root.queues", "a,b,c"),
            ("root.a.capacity", "5w"),
            ("root.b.capacity", "5w"),
            ("root.c.capacity", "5w"),
            ("root.c.acl_submit_applications", "ann,dan"),
            ("root.c.auto-queue-creation-v2.enabled", "true"),
            ("root.acl_submit_applications", " "),
            ("root.acl_administer_queue", " "),
            ("root.a.acl_submit_applications", "ann"),
            ("root.b.acl_submit_applications", "ann,bob"),
            ("root.b.acl_administer_queue", "bob"),
            (
                "root.b.acl_application_max_priority",
                "[user=ann,bob max_priority=5 default_priority=2]",
            ),
            ("queue-mappings", "u:bob:b"),
            (
                "workflow-priority-mappings",
                "nightly:root.b:4,urgent:root.b:9",
            ),
            ("workflow-priority-mappings-override.enable", "true"),
        ];
        let mut all = pairs(&base, "yarn.scheduler.capacity.");
        all.extend(pairs(scheduler, "yarn.scheduler.capacity."));
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        from_pairs(&pairs(&site, ""), &all, &types).unwrap()
    }

    /// The path and priority of a submission, or the code of its refusal.
    fn admit(user: &str, queue: &str, tags: &[&str], priority: Option<i32>) -> String {
        let loaded = loaded(&[]);
        let tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
        let wish = Wish {
            caller: Caller {
                user,
                groups: &[],
                real_user: None,
            },
            queue,
            application: "job",
            tags: &tags,
            priority,
        };
        let queues = DeclaredQueues::of(&loaded.settings.queues);
        let admission = Admission::read(&loaded, "yarn").unwrap();
        match admission.admit(&wish, |_| Vec::new(), &queues, |_| 1) {
            Ok(Admitted {
                path,
                refused_priority: Some(refusal),
                ..
            }) => format!("{path} {}, by the scheduler", refusal.code()),
            Ok(admitted) => format!("{} {}", admitted.path, admitted.priority),
            Err(refusal) => refusal.code().to_owned(),
        }
    }

    #[test]
    fn rules_priorities_and_lists_are_asked_in_turn() {
        for (user, queue, tags, priority, want) in [
            ("ann", "a", &[][..], None, "root.a 1"),
            ("ann", "root.a", &[], Some(12), "root.a 10"),
            ("ann", "root.b", &[], None, "root.b 2"),
            ("ann", "root.b", &[], Some(6), "priority_acl"),
            ("bob", "default", &[], None, "root.b 2"),
            ("bob", "root.a", &[], None, "submit_acl"),
            ("cid", "root.b", &[], None, "priority_acl"),
            ("cid", "root.a", &[], None, "submit_acl"),
            ("ann", "default", &["userid=bob"], None, "root.b 2"),
            ("cid", "default", &["userid=bob"], None, "default 1"),
            ("ann", "nowhere", &[], None, "nowhere 1"),
            ("cid", "root.a.new", &[], None, "submit_acl"),
            ("cid", "root.new", &[], None, "submit_acl"),
            ("cid", "root.a.new.er", &[], None, "root.a.new.er 1"),
            ("cid", "root.new.er", &[], None, "root.new.er 1"),
            ("cid", "a.new", &[], None, "a.new 1"),
            ("cid", "root.c.new", &[], None, "submit_acl"),
            ("cid", "root.c.new.er", &[], None, "submit_acl"),
            ("dan", "root.c.new.er", &[], None, "root.c.new.er 1"),
            (
                "cid",
                "root.c.new.er.still",
                &[],
                None,
                "root.c.new.er.still 1",
            ),
            ("cid", "c.new", &[], None, "submit_acl"),
            ("ann", "c.new.er", &[], None, "submit_acl"),
            ("ann", "root.b", &["workflowid:nightly"], None, "root.b 4"),
            (
                "ann",
                "root.b",
                &["workflowid:urgent"],
                None,
                "root.b priority_acl, by the scheduler",
            ),
        ] {
            let found = admit(user, queue, tags, priority);
            assert_eq!(found, want, "{user} {queue} {tags:?} {priority:?}");
        }
    }

    #[test]
    fn everybody_may_modify_an_application_whose_queue_is_gone() {
        let loaded = loaded(&[
            ("root.a.queues", "x"),
            ("root.a.x.capacity", "1w"),
            ("root.c.queues", "x"),
            ("root.c.x.capacity", "1w"),
        ]);
        let queues = DeclaredQueues::of(&loaded.settings.queues);
        let admission = Admission::read(&loaded, "yarn").unwrap();
        for (user, queue, want) in [
            ("bob", "root.b", true),
            ("ann", "root.b", false),
            ("ann", "b", false),
            ("cid", "root.b", true),
            ("ann", "root.b.gone", true),
            ("ann", "gone", true),
            ("ann", "x", false),
        ] {
            let caller = Caller {
                user,
                groups: &[],
                real_user: None,
            };
            let found = admission.may_modify(&caller, "cid", queue, &queues);
            assert_eq!(found, want, "{user} {queue}");
        }
    }

    #[test]
    fn a_faulty_rule_refuses_the_configuration() {
        let loaded = loaded(&[("queue-mappings", "u:ann:nowhere")]);
        let errors = Admission::read(&loaded, "yarn").unwrap_err();
        assert_eq!(errors[0].code(), "mapping_target");
    }
}
