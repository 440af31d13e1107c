//! Stores over a network: the suite over each kind, and what happens to connections and members.

use std::collections::BTreeMap;
use std::sync::{PoisonError, Weak};

use capsched::sync::{AtomicU32, Mutex, Ordering};
use capsched_server::store::open_shared;

use super::schema::Place;
use super::store_server::{Kind, StoreServer};
use super::{raw, *};

/// Servers that tests of this program use now.
static RUNNING: Mutex<BTreeMap<usize, Weak<StoreServer>>> = Mutex::new(BTreeMap::new());

/// Prefixes that were given out.
static PREFIXES: AtomicU32 = AtomicU32::new(0);

fn prefix() -> String {
    format!("test-{}", PREFIXES.fetch_add(1, Ordering::Relaxed))
}

/// A server that tests share, while one of them uses it; nothing where it is not installed.
fn running(at: usize, kind: Kind) -> Option<Arc<StoreServer>> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = running.get(&at).and_then(Weak::upgrade) {
        return Some(server);
    }
    let server = Arc::new(StoreServer::start(kind, 1)?);
    running.insert(at, Arc::downgrade(&server));
    Some(server)
}

/// Runs a case over the server of each kind that is installed; tests share them.
fn over_running(case: impl Fn(Kind, &StoreServer)) {
    for (at, kind) in Kind::ALL.iter().enumerate() {
        if let Some(server) = running(at, *kind) {
            case(*kind, &server);
        }
    }
}

/// Runs a case over the place of an empty store of each kind that is installed.
pub(super) fn over_places(case: &impl Fn(&Place)) {
    over_running(|kind, server| {
        let prefix = prefix();
        let address = server.address(&prefix);
        let of_store = address.clone();
        case(&Place {
            key: raw::key(kind, &prefix, "schema"),
            open: Box::new(move || open_shared(&of_store)),
            raw: raw::open(kind, &address, &prefix),
            address,
        });
    });
}

/// Runs a case over all kinds of stores that are installed.
pub(super) fn over_all(case: &impl Fn(&Subject)) {
    over_running(|_, server| {
        let address = server.address(&prefix());
        case(&Subject {
            store: open_shared(&address).unwrap(),
            other: open_shared(&address).unwrap(),
            _dir: None,
        });
    });
}

#[test]
fn a_watcher_sees_a_renewal() {
    over_running(|_, server| {
        let address = server.address(&prefix());
        let [store, other] = [0, 1].map(|_| open_shared(&address).unwrap());
        let token = store.lead("a", LONG).unwrap();
        let before = put(&*store, token, "k", "1");
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| other.watch(before, LONG).unwrap());
            store.renew(token).unwrap();
            assert!(watcher.join().unwrap() > before);
        });
    });
}

/// Writes while harm is done again and again, each write with the condition that the one before it counts.
fn write_through(store: &dyn Store, harm: impl Fn(u64) -> std::thread::JoinHandle<()>) {
    let token = store.lead("a", LONG).unwrap();
    let mut before = None;
    let mut written = 0_u64;
    for round in 0..6 {
        let heals = harm(round);
        for _ in 0..20 {
            written += 1;
            let batch = Batch::new()
                .expect("count", before)
                .put("count", written.to_string())
                .put(format!("at/{written:06}"), "");
            before = Some(store.write(token, &batch).unwrap());
            let found = store.get("count").unwrap().unwrap();
            assert_eq!(Some(found.revision), before);
            assert_eq!(found.value, written.to_string().into_bytes());
        }
        heals.join().unwrap();
    }
    assert_eq!(store.all("at/").unwrap().len(), 120);
}

/// What the first record of a leader holds, and no request before it.
const FIRST_RECORD: &[u8] = br#""renewals":0"#;

#[test]
fn a_schema_that_comes_while_a_process_takes_the_lead_refuses_it() {
    over_running(|kind, server| {
        for before in [None, Some("1")] {
            let (prefix, link) = (prefix(), server.link());
            let way = || raw::open(kind, &server.address(&prefix), &prefix);
            if before.is_some() {
                way().set("schema", before);
            }
            let store = open_shared(&link.address(&prefix)).unwrap();
            let late = way();
            // The process has read the schema by then.
            link.before(FIRST_RECORD, move || late.set("schema", Some("2")));
            let error = store.lead("a", LONG).unwrap_err();
            assert!(matches!(error, StoreError::Led(_)), "{error:?}");
            let found = way().read("schema");
            assert_eq!(found.as_deref(), Some(&b"2"[..]), "{kind:?}");
            assert_eq!(way().read("leader"), None, "{kind:?}");
            let error = store.lead("a", LONG).unwrap_err();
            let of_schema = matches!(error, StoreError::Schema { found: 2, .. });
            assert!(of_schema, "{kind:?}: {error:?}");
        }
    });
}

#[test]
fn a_write_whose_answer_is_lost_is_carried_out_once() {
    over_running(|_, server| {
        let link = server.link();
        let store = open_shared(&link.address(&prefix())).unwrap();
        write_through(&*store, |round| {
            link.harm(round % 2 == 0, Duration::from_millis(100))
        });
    });
}

#[test]
fn a_member_that_restarts_has_every_write() {
    StoreServer::over_each(1, |_, server| {
        let store = open_shared(&server.address("restarts")).unwrap();
        write_through(&*store, |_| server.restart(0, Duration::from_millis(50)));
    });
}
