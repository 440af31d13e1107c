//! A resource manager with all that is around it.

use std::sync::Arc;

use axum::Router;

use super::options::ServeOptions;
use super::routes::{Parts, router};
use crate::health::Health;
use crate::metrics::Metrics;
use crate::page::{Page, PendingWatch};
use crate::rest::{self, Shared};
use crate::rm::ResourceManager;
use crate::security::Access;

/// A resource manager with its page, its metrics, its health and its rules of access.
#[derive(Debug)]
pub struct Daemon {
    rm: Arc<ResourceManager>,
    access: Arc<Access>,
    pending: Arc<PendingWatch>,
    health: Health,
}

impl Daemon {
    /// A daemon around a resource manager.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>, options: &ServeOptions) -> Self {
        let access = Access::new(
            Arc::clone(&rm),
            options.authentication.clone(),
            options.anonymous_reads(),
            options.hosts.clone(),
            options.limits,
        );
        Self {
            access: Arc::new(access),
            pending: Arc::new(PendingWatch::new(Arc::clone(&rm))),
            health: Health::new(Arc::clone(&rm), Vec::new()),
            rm,
        }
    }

    /// Its health.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// All of its routes.
    pub fn router(&self) -> Router {
        let rm = || Arc::clone(&self.rm);
        let pending = || Arc::clone(&self.pending);
        router(Parts {
            page: Page::new(rm(), pending(), Arc::clone(&self.access)),
            metrics: Metrics::new(rm(), pending(), None),
            health: self.health.clone(),
            access: Arc::clone(&self.access),
            rest: rest::router(Shared::new(rm())),
        })
    }
}
