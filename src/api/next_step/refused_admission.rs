//! Trials of what lets in a submission that access lists refuse.

use super::{NextStep, SettingsEditor, leaf_that_takes};
use crate::api::scheduler::Scheduler as _;
use crate::api::stepped::Stepped;
use crate::config::{Admission, AdmissionRefusal, Caller, QueuePermission};
use crate::queue::AppSpec;

/// A submission that the rules of a configuration refuse.
///
/// ```
/// use capsched::api::*;
/// use capsched::config::{self, Admission, AdmissionRefusal, Caller};
///
/// let pairs = [("root.queues", "dev"), ("root.dev.capacity", "100")];
/// let own = |(key, value): (&str, &str)| {
///     (format!("yarn.scheduler.capacity.{key}"), value.to_owned())
/// };
/// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
/// let loaded = config::from_pairs(&[].into(), &pairs.map(own).into(), &types)?;
/// let engine = Engine::builder(loaded.settings.clone()).sequential()?;
/// let refused = RefusedAdmission {
///     spec: &AppSpec::new(ApplicationId::new(1), "root.dev", "ann"),
///     caller: Caller { user: "ann", groups: &[], real_user: None },
///     rules: &Admission::read(&loaded, "yarn").expect("the rules are valid"),
///     refusal: &AdmissionRefusal::NoQueue,
/// };
/// // No list lets in what names no queue.
/// let engine = Stepped::new(engine, ModeKind::Heartbeat);
/// assert!(next_steps_of_refused_admission(&engine, refused, &loaded).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RefusedAdmission<'a> {
    /// What was submitted, with the queue that the rules chose for it.
    pub spec: &'a AppSpec,
    /// Who submitted it.
    pub caller: Caller<'a>,
    /// The rules that refuse it.
    pub rules: &'a Admission,
    /// Why they do.
    pub refusal: &'a AdmissionRefusal,
}

/// Steps after which a submission that the rules refuse is taken, by trial: the user on the list of the queue, and
/// a leaf where the lists let the user in.
///
/// Cost: for each change that is tried, a copy of the engine.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use capsched::api::*;
/// use capsched::config::{self, Admission, AdmissionRefusal, Caller};
///
/// let own = |(key, value): (&str, &str)| {
///     (format!("yarn.scheduler.capacity.{key}"), value.to_owned())
/// };
/// let pairs = [
///     ("root.queues", "dev"),
///     ("root.dev.capacity", "100"),
///     ("root.acl_submit_applications", " "),
///     ("root.acl_administer_queue", " "),
/// ];
/// let site = BTreeMap::from([("yarn.acl.enable".to_owned(), "true".to_owned())]);
/// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
/// let loaded = config::from_pairs(&site, &pairs.map(own).into(), &types)?;
/// let rules = Admission::read(&loaded, "yarn").expect("the rules are valid");
/// let engine = Engine::builder(loaded.settings.clone()).sequential()?;
/// let engine = Stepped::new(engine, ModeKind::Heartbeat);
///
/// let spec = AppSpec::new(ApplicationId::new(1), "root.dev", "ann");
/// let refused = RefusedAdmission {
///     spec: &spec,
///     caller: Caller { user: "ann", groups: &[], real_user: None },
///     rules: &rules,
///     refusal: &AdmissionRefusal::Submit { user: "ann".into(), queue: "root.dev".into() },
/// };
/// let steps = next_steps_of_refused_admission(&engine, refused, &loaded);
/// let property = "yarn.scheduler.capacity.root.dev.acl_submit_applications";
/// assert_eq!(steps[0].change, Some((property.to_owned(), "ann".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn next_steps_of_refused_admission(
    engine: &Stepped,
    of: RefusedAdmission<'_>,
    editor: &dyn SettingsEditor,
) -> Vec<NextStep> {
    let AdmissionRefusal::Submit { queue, .. } = of.refusal else {
        return Vec::new();
    };
    let spec = AppSpec {
        queue: queue.clone(),
        ..of.spec.clone()
    };
    let lets_in = |path: &str| {
        let grants = |permission| of.rules.grants(&of.caller, permission, path);
        grants(QueuePermission::Submit) || grants(QueuePermission::Administer)
    };
    let listed = on_the_list(engine, &spec, of, editor);
    let elsewhere = leaf_that_takes(engine, &spec, lets_in);
    listed.into_iter().chain(elsewhere).collect()
}

/// The user on the list of the queue, where that lets the submission in.
fn on_the_list(
    engine: &Stepped,
    spec: &AppSpec,
    of: RefusedAdmission<'_>,
    editor: &dyn SettingsEditor,
) -> Option<NextStep> {
    let property = format!(
        "yarn.scheduler.capacity.{}.acl_submit_applications",
        spec.queue
    );
    let value = with_user(&editor.value(&property).unwrap_or_default(), of.caller.user);
    let change = (property, value);
    let settings = editor.edited(std::slice::from_ref(&change))?;
    let rules = of.rules.with_lists_of(&settings.queues);
    if !rules.grants(&of.caller, QueuePermission::Submit, &spec.queue) {
        return None;
    }
    let mut copy = engine.trial();
    copy.reconfigure(settings).ok()?;
    copy.submit(spec.clone()).ok()?;
    Some(NextStep {
        what: format!("set {} to {:?}", change.0, change.1),
        change: Some(change),
        admits: 0,
        lets_in: true,
    })
}

/// A list with one more user: users by commas, then a space, then groups.
fn with_user(list: &str, user: &str) -> String {
    match list.split_once(' ') {
        None if list.is_empty() => user.to_owned(),
        None => format!("{list},{user}"),
        Some((users, groups)) => {
            let users = [users, user].map(str::to_owned);
            let users: Vec<_> = users.into_iter().filter(|of| !of.is_empty()).collect();
            format!("{} {groups}", users.join(","))
                .trim_end()
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_its_users_and_groups() {
        for (list, longer) in [
            ("", "ann"),
            (" ", "ann"),
            ("bob", "bob,ann"),
            ("bob dev,ops", "bob,ann dev,ops"),
            (" dev", "ann dev"),
        ] {
            assert_eq!(with_user(list, "ann"), longer, "{list:?}");
        }
    }
}
