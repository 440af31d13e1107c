//! One call to a scheduler as it is kept in a journal.

use serde::{Deserialize, Serialize};

use super::ask_lines::{AskLine, ConstrainedLine, UpdateLine, amounts_of, vector};
use super::container_line::ContainerLine;
use super::gang_call::GangCall;
use super::opportunistic_call::OpportunisticCall;
use super::recovery_calls::{RecoverCall, RegisterCall};
use super::submit_call::SubmitCall;
use crate::api::{
    ApplicationId, AskCall, ConstrainedAsk, ContainerId, NodeName, NodeReport, NodeSpec, Scheduler,
};

/// A call. Sizes have one number for each resource type, without zeros at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// [`Scheduler::add_node`].
    AddNode {
        /// Host and port.
        node: String,
        /// Rack.
        rack: String,
        /// Everything that it offers.
        size: Vec<i64>,
        /// Label.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
        /// Attributes by `prefix/name`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attributes: Vec<(String, String)>,
    },
    /// [`Scheduler::register_node`].
    RegisterNode(Box<RegisterCall>),
    /// [`Scheduler::remove_node`].
    RemoveNode {
        /// Host and port.
        node: String,
    },
    /// [`Scheduler::submit`].
    Submit(Box<SubmitCall>),
    /// [`Scheduler::recover_app`].
    RecoverApp(Box<RecoverCall>),
    /// [`Scheduler::ask`].
    Ask(Box<AppCall>),
    /// [`Scheduler::ask_opportunistic`].
    Opportunistic(Box<OpportunisticCall>),
    /// [`Scheduler::ask_gang`].
    Gang(Box<GangCall>),
    /// [`Scheduler::heartbeat`].
    Beat {
        /// Host and port.
        node: String,
        /// Containers launched and stopped; nothing when everything went as expected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<[Vec<ContainerLine>; 2]>,
    },
    /// [`Scheduler::container_exited`].
    Finished {
        /// The container.
        container: ContainerLine,
        /// Its exit status.
        #[serde(default, skip_serializing_if = "is_success")]
        status: i32,
    },
    /// [`Scheduler::end_attempt`].
    EndAttempt {
        /// Number of the application.
        app: u32,
    },
    /// [`Scheduler::start_attempt`].
    StartAttempt {
        /// Number of the application.
        app: u32,
    },
    /// [`Scheduler::finish_app`].
    FinishApp {
        /// Its number.
        app: u32,
    },
    /// [`Scheduler::schedule`].
    Schedule {},
    /// [`Scheduler::schedule_part`].
    SchedulePart {
        /// Most steps.
        steps: u64,
    },
    /// [`Scheduler::advance`].
    Advance {
        /// Virtual ms.
        to_ms: u64,
    },
    /// [`Scheduler::pass_heartbeats`].
    PassBeats {
        /// The first node.
        first: String,
        /// Most heartbeats.
        most: u64,
    },
    /// [`Scheduler::pass_rounds`].
    PassRounds {
        /// Most rounds.
        most: u64,
    },
    /// [`Scheduler::looks_may_bring`].
    MayBring {},
}

/// A call of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppCall {
    /// Its number.
    pub app: u32,
    /// Asks by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AskLine>,
    /// Scheduling requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constrained: Vec<ConstrainedLine>,
    /// Containers that are given back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub release: Vec<u32>,
    /// Changes of containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<UpdateLine>,
    /// Places that are excluded from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Places that are not excluded any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
}

impl Call {
    /// A node that registers.
    pub(super) fn of_node(spec: &NodeSpec) -> Self {
        Self::AddNode {
            node: spec.name.to_string(),
            rack: spec.rack.clone(),
            size: amounts_of(&spec.total),
            label: spec.partition.clone(),
            attributes: spec.attributes.clone(),
        }
    }

    /// A call of an application.
    pub(super) fn of_call(app: ApplicationId, call: &AskCall) -> Self {
        let constrained = |ask: &ConstrainedAsk| ConstrainedLine {
            priority: ask.priority,
            id: ask.request_id,
            size: amounts_of(&ask.size),
            count: ask.count,
            tags: ask.tags.clone(),
            constraint: ask.constraint.clone(),
        };
        Self::Ask(Box::new(AppCall {
            app: app.sequence,
            asks: call.asks.iter().map(AskLine::of).collect(),
            constrained: call.constrained.iter().map(constrained).collect(),
            release: call.release.clone(),
            updates: call.updates.iter().map(UpdateLine::of).collect(),
            exclude: call.blacklist_add.clone(),
            include: call.blacklist_remove.clone(),
        }))
    }

    /// A heartbeat.
    pub(super) fn of_beat(node: &NodeName, report: &NodeReport) -> Self {
        let numbers = |containers: &[ContainerId]| {
            let containers = containers.iter();
            containers.map(|&id| ContainerLine::of(id)).collect()
        };
        let report = match report {
            NodeReport::AsExpected => None,
            NodeReport::Exactly { launched, exited } => Some([numbers(launched), numbers(exited)]),
        };
        Self::Beat {
            node: node.to_string(),
            report,
        }
    }

    /// Makes the call. What was refused when it was recorded is refused again, so that answers are
    /// not looked at.
    pub fn make(&self, engine: &mut impl Scheduler) {
        match self {
            Self::Submit(app) => drop(engine.submit(app.spec())),
            Self::RecoverApp(call) => call.make(engine),
            Self::Ask(call) => drop(engine.ask(ApplicationId::new(call.app), call.call())),
            Self::Gang(call) => drop(engine.ask_gang(ApplicationId::new(call.app), call.gang())),
            Self::Opportunistic(call) => call.make(engine),
            Self::Finished {
                container: of,
                status,
            } => drop(engine.container_exited(of.id(), *status)),
            Self::EndAttempt { app } => drop(engine.end_attempt(ApplicationId::new(*app))),
            Self::StartAttempt { app } => drop(engine.start_attempt(ApplicationId::new(*app))),
            Self::FinishApp { app } => drop(engine.finish_app(ApplicationId::new(*app))),
            Self::Schedule {} => {
                engine.schedule();
            }
            Self::SchedulePart { steps } => {
                engine.schedule_part(*steps);
            }
            Self::Advance { to_ms } => engine.advance(*to_ms),
            Self::PassRounds { most } => {
                engine.pass_rounds(*most);
            }
            Self::MayBring {} => {
                engine.looks_may_bring();
            }
            of_node => of_node.make_of_node(engine),
        }
    }

    /// Makes a call that names a node; one whose name is none was refused before.
    fn make_of_node(&self, engine: &mut impl Scheduler) {
        match self {
            Self::AddNode {
                node,
                rack,
                size,
                label,
                attributes,
            } => {
                if let Ok(name) = node.parse() {
                    let spec = NodeSpec {
                        name,
                        rack: rack.clone(),
                        total: vector(size),
                        partition: label.clone(),
                        attributes: attributes.clone(),
                    };
                    drop(engine.add_node(spec));
                }
            }
            Self::RegisterNode(call) => call.make(engine),
            Self::RemoveNode { node } => {
                if let Ok(name) = node.parse() {
                    drop(engine.remove_node(&name));
                }
            }
            Self::Beat { node, report } => {
                if let Ok(name) = node.parse() {
                    drop(engine.heartbeat(&name, reported(report.as_ref())));
                }
            }
            Self::PassBeats { first, most } => {
                if let Ok(name) = first.parse() {
                    engine.pass_heartbeats(&name, *most);
                }
            }
            _ => {}
        }
    }

    /// The application that the call is about.
    #[must_use]
    pub fn app(&self) -> Option<u32> {
        match self {
            Self::Submit(app) => Some(app.app),
            Self::RecoverApp(call) => Some(call.submission.app),
            Self::Ask(call) => Some(call.app),
            Self::Opportunistic(call) => Some(call.app),
            Self::Finished { container, .. } => Some(container.app()),
            Self::FinishApp { app } | Self::EndAttempt { app } | Self::StartAttempt { app } => {
                Some(*app)
            }
            _ => None,
        }
    }

    /// The node that the call is about.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::AddNode { node, .. } | Self::RemoveNode { node } | Self::Beat { node, .. } => {
                Some(node)
            }
            Self::RegisterNode(call) => Some(&call.node),
            Self::PassBeats { first, .. } => Some(first),
            _ => None,
        }
    }
}

fn is_success(status: &i32) -> bool {
    *status == 0
}

fn reported(report: Option<&[Vec<ContainerLine>; 2]>) -> NodeReport {
    let ids = |of: &[ContainerLine]| of.iter().map(ContainerLine::id).collect();
    match report {
        None => NodeReport::AsExpected,
        Some([launched, exited]) => NodeReport::Exactly {
            launched: ids(launched),
            exited: ids(exited),
        },
    }
}

impl AppCall {
    /// The call as the scheduler takes it.
    #[must_use]
    pub fn call(&self) -> AskCall {
        let constrained = |line: &ConstrainedLine| ConstrainedAsk {
            priority: line.priority,
            request_id: line.id,
            size: vector(&line.size),
            count: line.count,
            tags: line.tags.clone(),
            constraint: line.constraint.clone(),
        };
        AskCall {
            asks: self.asks.iter().map(AskLine::ask).collect(),
            constrained: self.constrained.iter().map(constrained).collect(),
            release: self.release.clone(),
            updates: self.updates.iter().map(UpdateLine::update).collect(),
            blacklist_add: self.exclude.clone(),
            blacklist_remove: self.include.clone(),
        }
    }
}
