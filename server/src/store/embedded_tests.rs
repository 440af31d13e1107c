//! What happens when the file system becomes read-only while a server runs.

use std::collections::BTreeMap;
use std::ops::Bound;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use capsched::sync::{AtomicBool, Ordering};
use capsched::time::SystemClock;
use redb::BackendError;
use tower::ServiceExt;

use super::*;
use crate::daemon::{Daemon, ServeOptions};
use crate::rm::{Command, CommandError, Happening, Setup};
use crate::security::Authentication;
use crate::store::{Durability, Durable};

/// A disk in memory that takes no writes from some moment on.
#[derive(Debug)]
struct Disk {
    memory: InMemoryBackend,
    read_only: Arc<AtomicBool>,
}

impl Disk {
    fn writable(&self) -> Result<(), io::Error> {
        match self.read_only.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, io::Error> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.writable()?;
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.writable()?;
        self.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.writable()?;
        self.memory.write(offset, data)
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.memory.try_lock_range(start, end)
    }
}

async fn get(router: &axum::Router, method: &str, path: &str) -> (StatusCode, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:8088")
        .body(Body::empty())
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_becomes_read_only_is_an_event_a_metric_and_a_refusal() {
    let read_only = Arc::new(AtomicBool::new(false));
    let disk = Disk {
        memory: InMemoryBackend::new(),
        read_only: Arc::clone(&read_only),
    };
    let database = Database::builder().create_with_backend(disk).unwrap();
    let clock = Arc::new(SystemClock::new());
    let store = EmbeddedStore::over(database, PathBuf::from("memory"), clock).unwrap();
    let queues = [("root.queues", "a"), ("root.a.capacity", "100")];
    let own =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let setup = Setup::new(BTreeMap::new(), queues.into_iter().map(own).collect());
    let durable = Durable::start(setup, Some(Arc::new(store)), Durability::Strict, "test");
    let durable = Arc::new(durable.unwrap());
    let rm = Arc::clone(&durable.rm);
    let mut options = ServeOptions::at(([127, 0, 0, 1], 8088).into());
    options.authentication = Authentication::none().with_bare_names();
    let daemon = Daemon::new(Arc::clone(&rm), &options).keeping(&durable);
    let router = daemon.router();
    let new_id = "/ws/v1/cluster/apps/new-application?user.name=ann";
    assert_eq!(get(&router, "POST", new_id).await.0, StatusCode::OK);
    assert_eq!(get(&router, "GET", "/health/ready").await.0, StatusCode::OK);
    assert!(
        get(&router, "GET", "/metrics")
            .await
            .1
            .contains("capsched_store_up 1\n")
    );

    read_only.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        let refused = get(&router, "POST", new_id).await;
        assert_eq!(refused.0, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.1);
        let again = rm.execute("yarn", Command::NewApplication).unwrap_err();
        assert!(matches!(again, CommandError::Unavailable(_)), "{again}");
        rm.tick();
    }
    let (status, health) = get(&router, "GET", "/health/ready").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(health.contains("store"), "{health}");
    assert!(
        get(&router, "GET", "/metrics")
            .await
            .1
            .contains("capsched_store_up 0\n")
    );
    assert_eq!(get(&router, "GET", "/health/live").await.0, StatusCode::OK);
    let reading = get(&router, "GET", "/ws/v1/cluster/scheduler?user.name=ann").await;
    assert_eq!(reading.0, StatusCode::OK);
    let failures = rm.read(|books| {
        let events = books.events().behind(0, 1000);
        let failed =
            |of: &&crate::rm::NumberedEvent| matches!(of.happening, Happening::StoreFailed { .. });
        events.filter(failed).count()
    });
    assert_eq!(failures, 1, "one event says it");
}
