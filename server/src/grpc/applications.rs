//! The service of clients and application masters.

use std::sync::Arc;

use capsched::api::AskError;
use tokio_stream::StreamExt;
use tonic::{Request, Response, Status, Streaming};

use super::callers::Callers;
use super::wire::{self, applications_server::Applications, call_refusal::Cause};
use super::{Answers, blocking, convert};
use crate::rm::{Answer, Command, ResourceManager};

/// The service.
#[derive(Clone, Debug)]
pub(super) struct ApplicationService {
    callers: Callers,
}

fn refusal(cause: Cause, message: String) -> wire::CallRefusal {
    wire::CallRefusal {
        cause: cause.into(),
        message,
    }
}

impl ApplicationService {
    pub(super) fn new(callers: Callers) -> Self {
        Self { callers }
    }

    fn rm(&self) -> &ResourceManager {
        &self.callers.rm
    }

    /// Has a command carried out in the name of a user.
    async fn execute(&self, user: Arc<str>, command: Command) -> Result<Answer, Status> {
        let service = self.clone();
        blocking(move || {
            let done = service.rm().execute(&user, command);
            done.map_err(convert::refused)
        })
        .await
    }

    /// Checks that a user may speak for an application.
    async fn owner(&self, user: &Arc<str>, application: &str) -> Result<(), Status> {
        let id = convert::application("application", application)?;
        let (service, user) = (self.clone(), Arc::clone(user));
        blocking(move || match service.callers.may_modify(&user, id) {
            Some(true) => Ok(()),
            Some(false) => Err(Status::permission_denied(format!(
                "User {user} may not change {id}"
            ))),
            None => Err(Status::not_found(format!("app with id: {id} not found"))),
        })
        .await
    }

    fn state_now(&self, application: &str) -> Result<wire::StateReply, Status> {
        let id = convert::application("application", application)?;
        let found = self.rm().read(|books| {
            let app = books.app(id)?;
            let attempt = app.attempt();
            let master = attempt.and_then(|attempt| attempt.master.as_ref());
            Some(wire::StateReply {
                state: convert::state(app.state).into(),
                diagnostics: app.diagnostics.clone(),
                queue: app.path.clone(),
                attempt: attempt.map_or(0, |attempt| attempt.number),
                master: master.map_or_else(String::new, |(container, _)| container.to_string()),
            })
        });
        found.ok_or_else(|| Status::not_found(format!("app with id: {id} not found")))
    }

    /// Carries out one call of a master. What is wrong with it is part of the answer, since others share the stream.
    fn allocate_now(&self, user: &str, request: wire::AllocateRequest) -> wire::AllocateReply {
        let application = request.application.clone();
        let answer = self.allocate_or(user, request);
        answer.unwrap_or_else(|refused| wire::AllocateReply {
            application,
            refused: Some(refused),
            ..wire::AllocateReply::default()
        })
    }

    fn allocate_or(
        &self,
        user: &str,
        request: wire::AllocateRequest,
    ) -> Result<wire::AllocateReply, wire::CallRefusal> {
        let invalid = |wrong: convert::Wrong| refusal(Cause::Invalid, wrong.to_string());
        let text = request.application.clone();
        let id = convert::application("application", &text).map_err(invalid)?;
        match self.callers.may_modify(user, id) {
            Some(true) => {}
            Some(false) => {
                let message = format!("User {user} may not change {id}");
                return Err(refusal(Cause::Forbidden, message));
            }
            None => {
                let message = format!("app with id: {id} not found");
                return Err(refusal(Cause::NotLive, message));
            }
        }
        let types = self.rm().types().len();
        let (call, progress) = convert::call(request, types).map_err(invalid)?;
        match self.rm().ask(id, call, progress) {
            Ok(reply) => {
                let gangs = self.rm().take_gangs(id);
                Ok(convert::reply(text, &reply, &gangs, types))
            }
            Err(error) => {
                let cause = match &error {
                    AskError::Closed | AskError::UnknownApplication(_) => Cause::NotLive,
                    _ => Cause::Invalid,
                };
                Err(refusal(cause, error.to_string()))
            }
        }
    }
}

#[tonic::async_trait]
impl Applications for ApplicationService {
    type AllocateStream = Answers<wire::AllocateReply>;

    async fn new_id(
        &self,
        request: Request<wire::NewIdRequest>,
    ) -> Result<Response<wire::NewIdReply>, Status> {
        let user = self.callers.user(&request)?;
        match self.execute(user, Command::NewApplication).await? {
            Answer::Application(application) => Ok(Response::new(wire::NewIdReply { application })),
            _ => Err(Status::internal("no id was given out")),
        }
    }

    async fn submit(
        &self,
        request: Request<wire::SubmitRequest>,
    ) -> Result<Response<wire::SubmitReply>, Status> {
        let user = self.callers.user(&request)?;
        let submission = convert::submission(request.into_inner(), self.rm().types().len())?;
        self.execute(user, Command::Submit(Box::new(submission)))
            .await?;
        Ok(Response::new(wire::SubmitReply {}))
    }

    async fn state(
        &self,
        request: Request<wire::StateRequest>,
    ) -> Result<Response<wire::StateReply>, Status> {
        self.callers.reader(&request)?;
        let (service, asked) = (self.clone(), request.into_inner());
        let reply = blocking(move || service.state_now(&asked.application)).await?;
        Ok(Response::new(reply))
    }

    async fn kill(
        &self,
        request: Request<wire::KillRequest>,
    ) -> Result<Response<wire::KillReply>, Status> {
        let user = self.callers.user(&request)?;
        let wire::KillRequest {
            application,
            diagnostics,
        } = request.into_inner();
        let kill = Command::Kill {
            application,
            diagnostics,
        };
        self.execute(user, kill).await?;
        Ok(Response::new(wire::KillReply {}))
    }

    async fn register_master(
        &self,
        request: Request<wire::RegisterMasterRequest>,
    ) -> Result<Response<wire::RegisterMasterReply>, Status> {
        let user = self.callers.user(&request)?;
        let of = request.into_inner();
        self.owner(&user, &of.application).await?;
        let port = of.rpc_port;
        let rpc_port = match port {
            0 => -1,
            _ => u16::try_from(port)
                .map(i32::from)
                .map_err(|_| Status::invalid_argument(format!("rpc_port: {port} is no port")))?,
        };
        let command = Command::RegisterMaster {
            application: of.application,
            host: of.host,
            rpc_port,
            tracking_url: of.tracking_url,
        };
        self.execute(user, command).await?;
        let types = self.rm().types();
        let resource_types = types.iter().map(ToString::to_string).collect();
        Ok(Response::new(wire::RegisterMasterReply { resource_types }))
    }

    async fn allocate(
        &self,
        request: Request<Streaming<wire::AllocateRequest>>,
    ) -> Result<Response<Self::AllocateStream>, Status> {
        let user = self.callers.user(&request)?;
        let service = self.clone();
        let answers = request.into_inner().then(move |call| {
            let (service, user) = (service.clone(), Arc::clone(&user));
            blocking(move || Ok(service.allocate_now(&user, call?)))
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn ask_gang(
        &self,
        request: Request<wire::AskGangRequest>,
    ) -> Result<Response<wire::AskGangReply>, Status> {
        let user = self.callers.user(&request)?;
        let of = request.into_inner();
        self.owner(&user, &of.application).await?;
        let id = convert::application("application", &of.application)?;
        let gang = convert::gang(of, self.rm().types().len())?;
        let service = self.clone();
        blocking(move || service.rm().ask_gang(id, gang).map_err(convert::not_asked)).await?;
        Ok(Response::new(wire::AskGangReply {}))
    }

    async fn ask_opportunistic(
        &self,
        request: Request<wire::AskOpportunisticRequest>,
    ) -> Result<Response<wire::AskOpportunisticReply>, Status> {
        let user = self.callers.user(&request)?;
        let of = request.into_inner();
        self.owner(&user, &of.application).await?;
        let id = convert::application("application", &of.application)?;
        let asks = convert::asks(of.asks, self.rm().types().len())?;
        let service = self.clone();
        blocking(move || {
            let asked = service.rm().ask_opportunistic(id, asks);
            asked.map_err(convert::not_asked)
        })
        .await?;
        Ok(Response::new(wire::AskOpportunisticReply {}))
    }

    async fn finish_master(
        &self,
        request: Request<wire::FinishMasterRequest>,
    ) -> Result<Response<wire::FinishMasterReply>, Status> {
        let user = self.callers.user(&request)?;
        let of = request.into_inner();
        self.owner(&user, &of.application).await?;
        let command = Command::FinishMaster {
            application: of.application,
            status: convert::final_status(of.status)?,
            diagnostics: of.diagnostics,
            tracking_url: of.tracking_url,
        };
        self.execute(user, command).await?;
        Ok(Response::new(wire::FinishMasterReply {}))
    }
}
