//! A router before cells, over a store of its own, called without a network.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use capsched::time::SystemClock;
use capsched_server::cells::{Administrators, CellClient, CellRouter, RouterOptions, RouterStore};
use capsched_server::security::{Access, AccessLimits, Hosts};
use capsched_server::store::EmbeddedStore;
use tempfile::TempDir;

use crate::support::tokens;

/// The router without a policy, its routes, and the directory of its store.
pub(crate) fn cell_router(options: RouterOptions) -> (CellRouter, Router, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock::new())).unwrap();
    let led = RouterStore::lead(Arc::new(store), "router", Duration::from_secs(60), 100).unwrap();
    let router = CellRouter::new(led, CellClient::new(None).unwrap(), options);
    let access = Access::new(
        Arc::new(Administrators::of(["yarn".to_owned()])),
        tokens(),
        true,
        Hosts::default(),
        AccessLimits::default(),
    );
    let routes = router.router(Arc::new(access), &router.health());
    (router, routes, dir)
}
