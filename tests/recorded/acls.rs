//! Access control against the recorded answers of the original scheduler.

use crate::common::recordings::recordings;
use crate::configurations::{groups, loaded, strings};
use capsched::config::{
    Admission, Caller, DeclaredQueues, Loaded, QueueDirectory, QueueMatch, QueuePermission, Wish,
};
use capsched::queue::QueueAccess;
use serde_json::Value;

struct Scene<'a> {
    recording: &'a Value,
    loaded: Loaded,
    queues: DeclaredQueues,
    admission: Admission,
}

impl<'a> Scene<'a> {
    fn of(recording: &'a Value) -> Self {
        let loaded = loaded(recording).expect("recorded configurations are accepted");
        Self {
            recording,
            queues: DeclaredQueues::of(&loaded.settings.queues),
            admission: Admission::read(&loaded, "yarn").expect("recorded rules are accepted"),
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
            real_user: check["real_user"].as_str(),
        };
        let expect = &check["expect"];
        let path = self.path(text("queue"));
        let allowed = match text("check") {
            "queue_acl" => {
                let permission = match text("acl") {
                    "SUBMIT_APPLICATIONS" => QueuePermission::Submit,
                    _ => QueuePermission::Administer,
                };
                self.admission.grants(&caller, permission, &path)
            }
            "modify_app" => {
                let (owner, queue) = (text("owner"), text("queue"));
                let queues = &self.queues;
                self.admission.may_modify(&caller, owner, queue, queues)
            }
            "cluster_admin" => self.admission.is_admin(&caller),
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
            QueueMatch::Queue(entry) => entry.path,
            QueueMatch::Missing | QueueMatch::Ambiguous => name.to_owned(),
        }
    }

    fn submit(&mut self, check: &Value, caller: &Caller<'_>) -> Option<Result<(), String>> {
        let expect = &check["expect"];
        let code = expect["error"]["code"].as_str();
        let asked = check["priority"].as_i64();
        let tags = strings(&check["tags"]);
        let wish = Wish {
            caller: *caller,
            queue: check["queue"].as_str().unwrap_or_default(),
            application: "job",
            tags: &tags,
            priority: asked.and_then(|priority| i32::try_from(priority).ok()),
        };
        let default = |path: &str| {
            let mut queues = self.loaded.settings.queues.iter();
            let leaf = queues.find(|queue| *queue.path == *path);
            leaf.map_or(0, |leaf| leaf.leaf.default_priority)
        };
        let groups = |user: &str| groups(self.recording, user);
        let admitted = match self.admission.admit(&wish, groups, &self.queues, default) {
            Ok(admitted) => admitted,
            Err(refusal) if code == Some(refusal.code()) => return Some(Ok(())),
            Err(refusal) => return Some(Err(format!("refused: {refusal}"))),
        };
        if expect["refused_by"] == "resource manager" {
            return Some(Err("admitted".to_owned()));
        }
        if let Some(refusal) = admitted.refused_priority {
            // Whether the queue is there and a leaf comes before, and is decided by the tree.
            let by_scheduler = expect["refused_by"] == "scheduler";
            return match code {
                Some(code) if code == refusal.code() => Some(if by_scheduler {
                    Ok(())
                } else {
                    Err(format!("refused by the scheduler: {refusal}"))
                }),
                Some("unknown_queue" | "not_a_leaf") => None,
                _ => Some(Err(format!("refused: {refusal}"))),
            };
        }
        if expect["queue_of_submission"] != admitted.queue.as_str() {
            return Some(Err(format!("{admitted:?}")));
        }
        if expect["accepted"] != true {
            return None;
        }
        self.queues.created(&admitted.path);
        for path in strings(&expect["created"]) {
            let path = path.as_str().into();
            self.admission.queue_created(path, QueueAccess::default());
        }
        let priority = i64::from(admitted.priority);
        let equal = expect["queue"] == admitted.path.as_str()
            && expect["priority"].as_i64().unwrap_or(0) == priority;
        Some(if equal {
            Ok(())
        } else {
            Err(format!("{admitted:?}"))
        })
    }
}

#[test]
fn recorded_answers_are_repeated() {
    let recordings = recordings("acls");
    let mut failures = Vec::new();
    let (mut judged, mut left) = (0, 0);
    for (name, recording) in &recordings {
        let mut scene = Scene::of(recording);
        let checks = recording["checks"].as_array().into_iter().flatten();
        for (at, check) in checks.enumerate() {
            // What follows a refresh is played by `capsched parity` alone, on a live scheduler.
            if check.get("refresh").is_some() {
                break;
            }
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
    let most = recordings.is_empty() || judged > left;
    assert!(most, "most answers are those of access control");
    assert!(
        failures.is_empty(),
        "{} differences:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
