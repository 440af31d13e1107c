//! A resource manager with all that is around it.

use std::fmt;
use std::io;
use std::sync::Arc;

use axum::{Extension, Router};

use super::background::Background;
use super::options::ServeOptions;
use super::routes::{Parts, router};
use crate::conf::MutableConf;
use crate::health::{Check, Health};
use crate::metrics::{Metrics, StoreFigures, StoreWatch};
use crate::page::{Page, PendingWatch};
use crate::rest::{self, Shared};
use crate::rm::ResourceManager;
use crate::security::{Access, Authority};
use crate::store::Durable;

/// A resource manager with its page, its metrics, its health and its rules of access.
pub struct Daemon {
    rm: Arc<ResourceManager>,
    access: Arc<Access>,
    pending: Arc<PendingWatch>,
    health: Health,
    conf: Option<Arc<MutableConf>>,
    store: Option<StoreWatch>,
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon")
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

impl Daemon {
    /// A daemon around a resource manager.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>, options: &ServeOptions) -> Self {
        let authority: Arc<dyn Authority> = Arc::<ResourceManager>::clone(&rm);
        let access = Access::new(
            authority,
            options.authentication.clone(),
            options.anonymous_reads(),
            options.hosts.clone(),
            options.limits,
        );
        Self {
            access: Arc::new(access),
            pending: Arc::new(PendingWatch::new(Arc::clone(&rm))),
            health: Health::new(Arc::clone(&rm), Vec::new()),
            conf: None,
            store: None,
            rm,
        }
    }

    /// The same with a configuration that can be changed.
    #[must_use]
    pub fn with_conf(mut self, conf: Arc<MutableConf>) -> Self {
        let watched = Arc::clone(&conf);
        self.store = Some(Arc::new(move || figures_of(&watched)));
        self.conf = Some(conf);
        self
    }

    /// The same with a configuration that changes, and with the health of what keeps changes.
    #[must_use]
    pub fn keeping(mut self, durable: &Arc<Durable>) -> Self {
        self.conf.clone_from(&durable.conf);
        let store = Arc::clone(durable);
        let check: Check = Arc::new(move || store.failure());
        let watched = Arc::clone(durable);
        self.store = Some(Arc::new(move || figures_of_store(&watched)));
        self.health = Health::new(Arc::clone(&self.rm), vec![("store", check)]);
        self
    }

    /// Its health.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Starts to follow what applications wait for, until what is returned is dropped. Without it, requests look
    /// themselves, and timelines have what was seen when somebody asked.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn follow_waits(&self) -> io::Result<Background> {
        Background::follow_waits(Arc::clone(&self.pending).followed())
    }

    /// All of its routes.
    pub fn router(&self) -> Router {
        let rm = || Arc::clone(&self.rm);
        let pending = || Arc::clone(&self.pending);
        let rest = rest::router(Shared::new(rm()));
        let parts = router(Parts {
            page: Page::new(rm(), pending(), Arc::clone(&self.access)),
            metrics: Metrics::new(rm(), pending(), self.store.clone()),
            health: self.health.clone(),
            access: Arc::clone(&self.access),
            rest,
        });
        match &self.conf {
            Some(conf) => parts.layer(Extension(Arc::clone(conf))),
            None => parts,
        }
    }
}

/// What metrics say of the configuration.
fn figures_of(conf: &MutableConf) -> StoreFigures {
    let counts = conf.counts();
    StoreFigures {
        configuration_version: conf.state().version,
        configuration_refused: counts.refused + counts.failed_reloads + counts.store_failures,
        ..StoreFigures::default()
    }
}

/// What metrics say of the store.
fn figures_of_store(durable: &Durable) -> StoreFigures {
    let conf = durable.conf.as_deref().map(figures_of);
    StoreFigures {
        failed: durable.failure().is_some(),
        lag_entries: durable.journal().map_or(0, |kept| kept.counts().waiting),
        ..conf.unwrap_or_default()
    }
}
