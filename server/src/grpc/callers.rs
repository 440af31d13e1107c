//! Who calls, and what callers may do: the rules of the REST interface over the metadata of gRPC.

use std::sync::Arc;

use capsched::api::ApplicationId;
use tonic::{Request, Status};

use crate::rm::ResourceManager;
use crate::security::{Authentication, Identity};

/// Metadata that names a user without proof.
const USER_NAME: &str = "user.name";

/// What the services share.
#[derive(Clone, Debug)]
pub(super) struct Callers {
    pub(super) rm: Arc<ResourceManager>,
    pub(super) authentication: Arc<Authentication>,
    pub(super) anonymous_reads: bool,
}

impl Callers {
    /// The user of a call.
    pub(super) fn identify<T>(&self, request: &Request<T>) -> Result<Identity, Status> {
        let metadata = request.metadata();
        let named = metadata
            .get(USER_NAME)
            .and_then(|name| name.to_str().ok())
            .map(str::to_owned);
        let headers = metadata.clone().into_headers();
        let now_ms = self.rm.now_ms();
        let found = self
            .authentication
            .identify(&headers, named.as_deref(), now_ms);
        found.map_err(|refusal| Status::unauthenticated(refusal.to_string()))
    }

    /// A known user.
    pub(super) fn user<T>(&self, request: &Request<T>) -> Result<Arc<str>, Status> {
        match self.identify(request)? {
            Identity::User(name) => Ok(name),
            Identity::Nobody => Err(Status::unauthenticated(
                "a user is needed: send the metadata `authorization: Bearer TOKEN`",
            )),
        }
    }

    /// A user who administers the cluster, as node agents have to.
    pub(super) fn administrator<T>(&self, request: &Request<T>) -> Result<Arc<str>, Status> {
        let user = self.user(request)?;
        if self.rm.is_admin(&user) {
            return Ok(user);
        }
        let text = format!("User {user} does not administer the cluster.");
        Err(Status::permission_denied(text))
    }

    /// Checks that the caller may look.
    pub(super) fn reader<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let identity = self.identify(request)?;
        if identity.is_known() || self.anonymous_reads {
            return Ok(());
        }
        self.user(request).map(drop)
    }

    /// Whether a user may change an application. Nothing: there is no such application.
    pub(super) fn may_modify(&self, user: &str, app: ApplicationId) -> Option<bool> {
        let found = self.rm.read(|books| {
            let app = books.app(app)?;
            Some((app.user.clone(), app.queue.clone()))
        });
        let (owner, queue) = found?;
        let own = owner == user;
        Some(own || self.rm.may_modify(user, vec![(owner, queue)]) == [true])
    }
}
