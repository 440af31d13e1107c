//! Calls of ZooKeeper: its address, its session, how long a call may take, and what an error says about a write.

use std::sync::PoisonError;
use std::time::Duration;

use capsched::sync::Mutex;
use capsched::time::{Clock, SystemClock};
use tokio::runtime::Runtime;
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error, SessionState};

use super::names::names;
use crate::store::batch::StoreError;

/// Longest time of one call.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Between two tries of a call.
const REST: Duration = Duration::from_millis(50);

/// How long a session lasts without its client.
// As yarn.resourcemanager.zk-timeout-ms.
const SESSION: Duration = Duration::from_secs(10);

/// How long a session may be without a connection before another one is begun. The client waits twice as long after
/// each try of all servers, up to the end of the session, so that it may find them back seconds late.
const WITHOUT_CONNECTION: Duration = Duration::from_secs(1);

/// A session, and since when it is known to have no connection.
struct Session {
    client: Client,
    outage: Outage,
}

/// Since when there is no connection.
#[derive(Debug, Default)]
struct Outage {
    /// By the clock's ns.
    since_ns: Option<u64>,
}

impl Outage {
    /// Takes in whether there is a connection now. Whether there was none for too long.
    fn lasts(&mut self, connected: bool, now_ns: u64) -> bool {
        if connected {
            self.since_ns = None;
            return false;
        }
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        now_ns.saturating_sub(since_ns) > nanos(WITHOUT_CONNECTION)
    }
}

/// A session with one or more servers, with the root of all nodes.
pub(super) struct Calls {
    runtime: Runtime,
    hosts: String,
    root: String,
    session: Mutex<Session>,
    clock: SystemClock,
}

/// Hosts and root of an address, `zookeeper://host:port,host:port/root`.
fn parts(address: &str) -> Result<(String, String), StoreError> {
    let wrong = || {
        let text = format!("`{address}` is not of the form zookeeper://host:port,host:port/root");
        StoreError::Failed(text)
    };
    let rest = address.strip_prefix("zookeeper://").ok_or_else(wrong)?;
    let (hosts, root) = rest.split_once('/').unwrap_or((rest, "capsched"));
    let root = root.trim_end_matches('/');
    let plain = |part: &str| {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !part.is_empty() && part.bytes().all(fine) && !part.bytes().all(|byte| byte == b'.')
    };
    let has_port = |host: &str| {
        let (name, port) = host.rsplit_once(':')?;
        (!name.is_empty()).then_some(port.parse::<u16>().ok()?)
    };
    let right = hosts.split(',').all(|host| has_port(host).is_some()) && root.split('/').all(plain);
    // This name is ZooKeeper's own.
    if !right || root.split('/').next() == Some("zookeeper") {
        return Err(wrong());
    }
    Ok((hosts.to_owned(), format!("/{root}")))
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

/// Nodes that stay.
pub(super) fn persistent() -> CreateOptions<'static> {
    CreateMode::Persistent.with_acls(Acls::anyone_all())
}

/// Whether an error says that nothing was carried out.
pub(super) fn nothing_done(error: &Error) -> bool {
    matches!(
        error,
        Error::BadArguments(_)
            | Error::NoNode
            | Error::NoAuth
            | Error::BadVersion
            | Error::NoChildrenForEphemerals
            | Error::NodeExists
            | Error::NotEmpty
            | Error::InvalidAcl
            | Error::NotReadOnly
            | Error::QuotaExceeded
            | Error::Throttled
            | Error::MarshallingError
            | Error::Unimplemented
    )
}

async fn begin_session(hosts: &str) -> Result<Client, StoreError> {
    let connector = Client::connector()
        .with_session_timeout(SESSION)
        .with_connection_timeout(PATIENCE);
    let begins = tokio::time::timeout(PATIENCE, connector.connect(hosts));
    match begins.await {
        Ok(begun) => begun.map_err(|error| failed(format!("{hosts}: {error}"))),
        Err(_) => Err(failed(format!("{hosts}: ZooKeeper does not answer"))),
    }
}

impl Calls {
    /// Begins a session with the servers of an address.
    pub(super) fn connect(address: &str) -> Result<Self, StoreError> {
        let (hosts, root) = parts(address)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("zookeeper")
            .enable_all()
            .build()
            .map_err(failed)?;
        let session = Session {
            client: runtime.block_on(begin_session(&hosts))?,
            outage: Outage::default(),
        };
        Ok(Self {
            runtime,
            hosts,
            root,
            session: Mutex::new(session),
            clock: SystemClock::new(),
        })
    }

    /// By a clock that only goes forward.
    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The node above all others.
    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// A node below the root.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    /// The nodes above the value of a key, from the top, and that of the value.
    pub(super) fn nodes_of_key(&self, key: &str) -> (Vec<String>, String) {
        let mut path = self.path("data");
        let mut nodes = Vec::new();
        for name in names(key) {
            path = format!("{path}/{name}");
            nodes.push(path.clone());
        }
        let value = nodes.pop().unwrap_or(path);
        (nodes, value)
    }

    /// The node of the value of a key.
    pub(super) fn of_key(&self, key: &str) -> String {
        self.nodes_of_key(key).1
    }

    /// The client of a session; a new session where the last one has ended, or has no connection for too long. A
    /// leader keeps the session by which it leads.
    pub(super) fn client(&self) -> Result<Client, StoreError> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let state = session.client.state();
        let connected = state != SessionState::Disconnected;
        let lost = session.outage.lasts(connected, self.now_ns());
        if lost || state.is_terminated() {
            session.client = self.runtime.block_on(begin_session(&self.hosts))?;
            session.outage = Outage::default();
        }
        Ok(session.client.clone())
    }

    /// Waits for one call, no longer than a patience.
    pub(super) fn once<T, E: Into<Error>>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StoreError> {
        let bounded = async { tokio::time::timeout(patience, call).await };
        match self.runtime.block_on(bounded) {
            Ok(done) => done.map_err(|error| {
                let error = error.into();
                match nothing_done(&error) {
                    true => failed(error),
                    false => StoreError::InDoubt(error.to_string()),
                }
            }),
            Err(_) => Err(StoreError::InDoubt(
                "ZooKeeper does not answer in time".to_owned(),
            )),
        }
    }

    /// A call that reads, as often as it takes to be answered, for a while.
    pub(super) fn read<T>(
        &self,
        call: impl AsyncFn(Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let until_ns = self.now_ns().saturating_add(nanos(PATIENCE));
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(self.now_ns()));
            let client = self.client()?;
            let tried = self.once(left, call(client));
            let late = self.now_ns().saturating_add(nanos(REST)) >= until_ns;
            match tried {
                Err(StoreError::InDoubt(_)) if !late => std::thread::sleep(REST),
                Err(StoreError::InDoubt(text)) => return Err(StoreError::Failed(text)),
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_a_connection_is_given_up_after_a_while() {
        let (mut outage, limit) = (Outage::default(), nanos(WITHOUT_CONNECTION));
        assert!(!outage.lasts(false, 100));
        assert!(!outage.lasts(false, 100 + limit));
        assert!(outage.lasts(false, 101 + limit));
        // A connection begins the time anew.
        assert!(!outage.lasts(true, 102 + limit));
        assert!(!outage.lasts(false, 103 + limit));
        assert!(!outage.lasts(false, 103 + 2 * limit));
        assert!(outage.lasts(false, 104 + 2 * limit));
    }

    #[test]
    fn addresses_name_servers_and_a_root() {
        let (hosts, root) = parts("zookeeper://a:1,b:2/x/y").unwrap();
        assert_eq!((&*hosts, &*root), ("a:1,b:2", "/x/y"));
        assert_eq!(parts("zookeeper://a:1").unwrap().1, "/capsched");
        for wrong in [
            "",
            "a:1",
            "etcd://a:1",
            "zookeeper://",
            "zookeeper://a",
            "zookeeper://:1",
            "zookeeper://a:x",
            "zookeeper://a:1,/x",
            "zookeeper://a:1/",
            "zookeeper://a:1/x//y",
            "zookeeper://a:1/../y",
            "zookeeper://a:1/zookeeper/x",
        ] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
