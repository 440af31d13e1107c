//! Submissions: from the command to an application that the scheduler has, or that failed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use capsched::api::{
    AppSpec, ApplicationId, ResourceVector, Restarts, SubmitAsError, SubmitError, Submitted,
};
use capsched::config::{Admitted, Caller, Wish};

use super::application::{AppState, Application, Usage};
use super::{Answer, Books, Command, CommandError, FinalStatus, ResourceManager, Submission, lock};

/// `yarn.resourcemanager.am.max-attempts` and its global form, where no configuration says otherwise.
const MAX_ATTEMPTS: u32 = 2;

/// Whether containers of an application outlive an attempt that fails.
// As RMAppAttemptImpl.BaseFinalTransition: not without a container for the master.
pub(super) const fn keeps_containers(submission: &Submission) -> bool {
    submission.keep_containers && !submission.unmanaged
}

impl ResourceManager {
    /// Submits an application. One that the scheduler refuses is kept as failed; one that is not valid or not
    /// allowed is not kept.
    // As RMAppManager.submitApplication.
    pub(super) fn submit(
        &self,
        user: &str,
        submission: &Submission,
        at_ms: u64,
    ) -> Result<Answer, CommandError> {
        let id = self.parse_app(&submission.application)?;
        if lock(&self.books).app(id).is_some() {
            // As ClientRMService.submitApplication, which takes a repeated call for the first.
            return Ok(Answer::Done);
        }
        let spec = self.spec_of(id, user, submission)?;
        let admitted = self.admit(user, submission)?;
        let (path, priority) = (admitted.path.clone(), admitted.priority);
        let mut app = new_application(id, user, submission, path, priority, at_ms);
        app.master_label = self.master_label(&app.path, submission);
        app.max_attempts = self.max_attempts(submission.max_attempts);
        // A heartbeat may place the master at once. Whoever follows that decision must find the application.
        let mut books = lock(&self.books);
        let result = self.engine.submit_admitted(user, admitted, spec);
        match &result {
            Err(error @ (SubmitError::Master(_) | SubmitError::UserName(_))) => {
                return Err(CommandError::Invalid(error.to_string()));
            }
            Err(error @ (SubmitError::Closed | SubmitError::Reentrant)) => {
                return Err(CommandError::Unavailable(error.to_string()));
            }
            Ok(_) | Err(_) => {}
        }
        self.enter(&mut books, app, result, submission.lifetime_s);
        Ok(Answer::Done)
    }

    pub(super) fn spec_of(
        &self,
        id: ApplicationId,
        user: &str,
        submission: &Submission,
    ) -> Result<AppSpec, CommandError> {
        let master = if submission.unmanaged {
            None
        } else {
            Some(self.vector(&submission.master)?)
        };
        Ok(AppSpec {
            partition: submission.label.clone(),
            master,
            master_partition: submission.master_label.clone(),
            tags: submission.tags.clone(),
            restarts: if keeps_containers(submission) {
                Restarts::KeepingContainers
            } else {
                Restarts::Never
            },
            ..AppSpec::new(id, &submission.queue, user)
        })
    }

    pub(super) fn admit(
        &self,
        user: &str,
        submission: &Submission,
    ) -> Result<Admitted, CommandError> {
        let groups = self.groups_of(user);
        let queue = match submission.queue.as_str() {
            "" => "default",
            named => named,
        };
        let wish = Wish {
            caller: Caller {
                user,
                groups: &groups,
                real_user: None,
            },
            queue,
            application: &submission.name,
            tags: &submission.tags,
            priority: submission.priority,
        };
        let admitted = self.engine.admit(&wish, |user| self.groups_of(user));
        admitted.map_err(|error| match error {
            SubmitAsError::Refused(refusal) => CommandError::Forbidden(refusal.to_string()),
            other => CommandError::Invalid(other.to_string()),
        })
    }

    fn enter(
        &self,
        books: &mut Books,
        mut app: Application,
        result: Result<Submitted, SubmitError>,
        lifetime_s: Option<i64>,
    ) {
        let (id, at_ms) = (app.id, app.started_ms);
        if id.cluster == self.cluster {
            books.given_out = books.given_out.max(id.sequence);
        }
        match result {
            Ok(submitted) => {
                app.state = AppState::Accepted;
                app.start_attempt(at_ms);
                app.path = submitted.queue.to_string();
                app.expiry_ms = self.expiry(&submitted.queue, lifetime_s, at_ms);
                books.apps.insert(id, app);
                books.say(id, AppState::Accepted, at_ms);
            }
            Err(error) => {
                app.diagnostics = error.to_string();
                books.apps.insert(id, app);
                books.end_app(id, AppState::Failed, FinalStatus::Failed, at_ms);
            }
        }
    }

    /// Starts further attempts of applications whose masters were lost.
    // As RMAppImpl.AttemptFailedTransition.
    pub(super) fn start_again(&self, books: &mut Books, apps: &[ApplicationId], now_ms: u64) {
        for &id in apps {
            let Some(app) = books.apps.get(&id) else {
                continue;
            };
            let submission = app.submission.clone();
            let admitted = Admitted {
                placement: None,
                queue: app.queue.clone(),
                path: app.path.clone(),
                priority: app.priority,
                refused_priority: None,
            };
            let user = app.user.clone();
            let again = if keeps_containers(&submission) {
                let started = self.engine.start_attempt(id);
                started.map(drop).map_err(|error| error.to_string())
            } else {
                self.submit_again((id, &user), &submission, admitted)
            };
            let Some(app) = books.apps.get_mut(&id) else {
                continue;
            };
            match again {
                Ok(()) => {
                    app.state = AppState::Accepted;
                    app.start_attempt(now_ms);
                    let fact = Command::AttemptStarted {
                        application: id.to_string(),
                        attempt: app.attempts_made(),
                    };
                    books.facts.push(fact);
                    books.say(id, AppState::Accepted, now_ms);
                }
                Err(error) => {
                    app.diagnostics = error;
                    books.end_app(id, AppState::Failed, FinalStatus::Failed, now_ms);
                }
            }
        }
    }

    /// Gives the engine an application again that ended with its master.
    fn submit_again(
        &self,
        (id, user): (ApplicationId, &str),
        submission: &Submission,
        admitted: Admitted,
    ) -> Result<(), String> {
        let spec = self.spec_of(id, user, submission);
        let spec = spec.map_err(|error| error.to_string())?;
        let submitted = self.engine.submit_admitted(user, admitted, spec);
        submitted.map(drop).map_err(|error| error.to_string())
    }

    /// Ends applications of which the last attempt failed, with what they keep.
    pub(super) fn end_kept(&self, apps: &[ApplicationId]) {
        for &id in apps {
            // It may have ended meanwhile.
            let _ = self.engine.finish_app(id);
        }
    }

    /// The partition of the master's container: the one named, that of the application, or the queue's default.
    // As SchedulerUtils.normalizeNodeLabelExpressionInRequest.
    fn master_label(&self, queue: &str, submission: &Submission) -> Option<String> {
        let queue = queue.to_owned();
        let own = submission.master_label.clone();
        let named = own.or_else(|| submission.label.clone());
        let found = self.engine.inspect(move |ledger| {
            let settings = &ledger.state().queues[ledger.queue(&queue)?].settings;
            let default = settings.default_partition.as_deref();
            Some(default.unwrap_or_default().to_owned())
        });
        let default = found.ok().flatten()?;
        Some(named.unwrap_or(default))
    }

    pub(super) fn max_attempts(&self, wished: u32) -> u32 {
        let configuration = self.configuration();
        let properties = &configuration.loaded.properties;
        let read = |key: &str| properties.text(key).ok().flatten()?.trim().parse().ok();
        let own = read("yarn.resourcemanager.am.max-attempts").unwrap_or(MAX_ATTEMPTS);
        let most = read("yarn.resourcemanager.am.global.max-attempts").unwrap_or(own);
        if wished == 0 || wished > most {
            own.min(most)
        } else {
            wished
        }
    }

    /// Amounts in the order of the cluster's resource types.
    pub(super) fn vector(&self, amounts: &[i64]) -> Result<ResourceVector, CommandError> {
        let types = self.types().len();
        if amounts.len() > types {
            return Err(CommandError::Invalid(format!(
                "{} amounts for {types} resource types",
                amounts.len()
            )));
        }
        let most = capsched::api::MAX_VALUE;
        if let Some(bad) = amounts.iter().find(|amount| !(0..=most).contains(*amount)) {
            let text = format!("the amount {bad} is not in the range from 0 to {most}");
            return Err(CommandError::Invalid(text));
        }
        Ok(ResourceVector::of(amounts))
    }

    /// Names of the resource types in vector order.
    #[must_use]
    pub fn types(&self) -> Vec<std::sync::Arc<str>> {
        let configuration = self.configuration();
        configuration
            .loaded
            .settings
            .scheduler
            .resource_types
            .clone()
    }

    /// How many types of an amount count where it has to fit, from memory on.
    #[must_use]
    pub fn fitting_types(&self) -> usize {
        let configuration = self.configuration();
        let settings = &configuration.loaded.settings;
        settings.scheduler.calculator.fitting_types()
    }

    /// Reads an application id, as far as its form goes.
    pub(super) fn parse_app(&self, text: &str) -> Result<ApplicationId, CommandError> {
        let invalid = |_| CommandError::Invalid(format!("Invalid ApplicationId: {}", clip(text)));
        text.parse().map_err(invalid)
    }
}

/// The beginning of a text from outside, without control characters.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

pub(super) fn new_application(
    id: ApplicationId,
    user: &str,
    submission: &Submission,
    queue: String,
    priority: i32,
    at_ms: u64,
) -> Application {
    let or = |text: &str, default: &str| if text.is_empty() { default } else { text }.to_owned();
    Application {
        id,
        user: user.to_owned(),
        name: or(&submission.name, "N/A"),
        kind: or(&submission.kind, "YARN"),
        tags: submission.tags.clone(),
        path: queue.clone(),
        queue,
        priority,
        state: AppState::Submitted,
        final_status: FinalStatus::Undefined,
        diagnostics: String::new(),
        started_ms: at_ms,
        launched_ms: 0,
        finished_ms: 0,
        progress: 0.0,
        attempts: Vec::new(),
        max_attempts: 1,
        unmanaged: submission.unmanaged,
        submission: submission.clone(),
        master_label: None,
        master_http_port: 0,
        expiry_ms: None,
        usage: Usage::default(),
        placed_ms: BTreeMap::new(),
        changed: BTreeMap::new(),
        gangs: VecDeque::new(),
        partitions: BTreeSet::new(),
    }
}
