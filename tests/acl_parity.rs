//! Access control against the recorded answers of the original scheduler.

mod common;

use capsched::config::{
    AccessTree, AdminAccess, Caller, Decision, DeclaredQueues, Found, Loaded, PlacementRules,
    QueueDirectory, QueueEntryKind, QueuePermission, Submission, effective_priority,
};
use capsched::queue::QueueAccess;
use common::recordings::{folder, groups, loaded, recordings, strings};
use serde_json::Value;

struct Scene<'a> {
    recording: &'a Value,
    loaded: Loaded,
    queues: DeclaredQueues,
    access: AccessTree,
    admin: AdminAccess,
    rules: PlacementRules,
}

impl<'a> Scene<'a> {
    fn of(recording: &'a Value) -> Self {
        let loaded = loaded(recording).expect("recorded configurations are accepted");
        Self {
            recording,
            queues: DeclaredQueues::of(&loaded.settings.queues),
            access: AccessTree::of(&loaded.settings.queues),
            admin: AdminAccess::read(&*loaded.properties, "yarn"),
            rules: PlacementRules::read(&*loaded.properties).expect("recorded rules are accepted"),
            loaded,
        }
    }

    /// The answer to one check, in the words of the recording; nothing where the queue tree and
    /// not access control decides.
    fn check(&mut self, check: &Value) -> Option<Result<(), String>> {
        let text = |key: &str| check[key].as_str().unwrap_or_default();
        let user = text("user");
        let own = groups(self.recording, user);
        let caller = Caller {
            user,
            groups: &own,
            real_user: None,
        };
        let expect = &check["expect"];
        let path = self.path(text("queue"));
        let allowed = match text("check") {
            "queue_acl" => {
                let permission = match text("acl") {
                    "SUBMIT_APPLICATIONS" => QueuePermission::Submit,
                    _ => QueuePermission::Administer,
                };
                self.access.grants(&caller, permission, &path)
            }
            "modify_app" => {
                let administer = QueuePermission::Administer;
                let administers = self.access.grants(&caller, administer, &path);
                self.admin.may_modify(&caller, text("owner"), administers)
            }
            "cluster_admin" => self.admin.is_admin(&caller),
            "submit" => return self.submit(check, &caller),
            other => panic!("unknown check {other}"),
        };
        Some(if expect["allowed"] == allowed {
            Ok(())
        } else {
            Err(format!("allowed: {allowed}"))
        })
    }

    fn path(&self, name: &str) -> String {
        match self.queues.find(name) {
            Found::Queue(entry) => entry.path,
            Found::Missing | Found::Ambiguous => name.to_owned(),
        }
    }

    fn submit(&mut self, check: &Value, caller: &Caller<'_>) -> Option<Result<(), String>> {
        let expect = &check["expect"];
        let code = expect["error"]["code"].as_str().unwrap_or_default();
        let queue = check["queue"].as_str().unwrap_or_default();
        let submission = Submission {
            user: caller.user,
            groups: caller.groups,
            queue,
            application: "job",
            recovered: false,
        };
        let path = match self.rules.place(&submission, &self.queues) {
            Decision::Place(place) => place.path(),
            Decision::NoOpinion => self.path(queue),
            Decision::Rejected { .. } => return Some(check_code(code, "mapping_rejected")),
        };
        // Names that are not full paths and stand for no queue are unknown before all else.
        if path != "root" && !path.starts_with("root.") {
            return Some(check_code(code, "unknown_queue"));
        }
        let asked = check["priority"]
            .as_i64()
            .and_then(|p| i32::try_from(p).ok());
        let mut queues = self.loaded.settings.queues.iter();
        let leaf = queues.find(|queue| *queue.path == path);
        let default = leaf.map_or(0, |leaf| leaf.leaf.default_priority);
        let groups = leaf.filter(|_| self.admin.enabled());
        let groups = groups.map_or(&[][..], |leaf| &leaf.access.priorities);
        let largest = self.loaded.settings.scheduler.maximum_application_priority;
        let priority = match effective_priority(groups, caller, asked, default, largest) {
            Ok(priority) => priority,
            Err(refusal) => return Some(check_code(code, refusal.code())),
        };
        if self.admin.enabled() && !self.may_submit(caller, &path) {
            return Some(check_code(code, "submit_acl"));
        }
        if matches!(code, "submit_acl" | "priority_acl") {
            return Some(Err("access is granted".to_owned()));
        }
        if expect["accepted"] != true {
            return None;
        }
        self.queues.created(&path);
        for path in strings(&expect["created"]) {
            self.access.add(path.into(), QueueAccess::default());
        }
        let want = expect["priority"].as_i64().unwrap_or(0);
        if want != i64::from(priority) {
            return Some(Err(format!("priority {priority}")));
        }
        Some(Ok(()))
    }

    fn may_submit(&self, caller: &Caller<'_>, path: &str) -> bool {
        let (Found::Missing, Some((parent, _))) = (self.queues.find(path), path.rsplit_once('.'))
        else {
            return self.access.may_submit(caller, path);
        };
        let mut ancestor = parent;
        loop {
            match (self.queues.find(ancestor), ancestor.rsplit_once('.')) {
                (Found::Queue(entry), _) if entry.kind != QueueEntryKind::Leaf => {
                    return self.access.may_create(
                        &*self.loaded.properties,
                        caller,
                        path,
                        ancestor,
                    );
                }
                (Found::Missing, Some((above, _))) => ancestor = above,
                _ => return self.access.may_submit(caller, path),
            }
        }
    }
}

fn check_code(want: &str, found: &str) -> Result<(), String> {
    if want == found {
        Ok(())
    } else {
        Err(format!("refused: {found}"))
    }
}

#[test]
fn recorded_answers_are_repeated() {
    let Some(folder) = folder("acls") else {
        return;
    };
    let mut failures = Vec::new();
    let (mut judged, mut left) = (0, 0);
    for (name, recording) in recordings(&folder) {
        let mut scene = Scene::of(&recording);
        let checks = recording["checks"].as_array().into_iter().flatten();
        for (at, check) in checks.enumerate() {
            match scene.check(check) {
                None => left += 1,
                Some(answer) => {
                    judged += 1;
                    if let Err(found) = answer {
                        failures.push(format!("{name} {at}: {found}; recorded {check}"));
                    }
                }
            }
        }
    }
    assert!(judged > left, "most answers are those of access control");
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
