//! Calls of etcd: its address, how long a call may take, and what an error says about a write.

use std::future::Future;
use std::time::Duration;

use capsched::time::{Clock, SystemClock};
use etcd_client::{Client, ConnectOptions, Error, Txn, TxnResponse};
use tokio::runtime::Runtime;

use crate::store::batch::StoreError;

/// Longest time of one call.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Between two tries of a call.
const REST: Duration = Duration::from_millis(50);

/// Codes of gRPC by which nothing was carried out: invalid argument, not found, already exists, permission denied,
/// resource exhausted, failed precondition, out of range, unimplemented, unauthenticated.
const NOTHING_DONE: [i32; 9] = [3, 5, 6, 7, 8, 9, 11, 12, 16];

/// A client of one or more members, with the prefix of all keys.
pub(super) struct Calls {
    runtime: Runtime,
    client: Client,
    prefix: String,
    clock: SystemClock,
}

/// Endpoints and prefix of an address, `etcd://host:port,host:port/prefix`.
fn parts(address: &str) -> Result<(Vec<String>, String), StoreError> {
    let wrong = || {
        let text = format!("`{address}` is not of the form etcd://host:port,host:port/prefix");
        StoreError::Failed(text)
    };
    let rest = address.strip_prefix("etcd://").ok_or_else(wrong)?;
    let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, "capsched"));
    let prefix = prefix.trim_matches('/');
    let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
    if prefix.is_empty() || hosts.iter().any(|host| !host.contains(':')) {
        return Err(wrong());
    }
    Ok((hosts, prefix.to_owned()))
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

/// What an error says: nothing was carried out, or that is not known.
fn outcome(error: &Error) -> StoreError {
    let text = error.to_string();
    match error {
        Error::GRpcStatus(status) if NOTHING_DONE.contains(&i32::from(status.code())) => {
            StoreError::Failed(text)
        }
        Error::GRpcStatus(_) | Error::TransportError(_) | Error::IoError(_) => {
            StoreError::InDoubt(text)
        }
        _ => StoreError::Failed(text),
    }
}

impl Calls {
    /// Connects to the members of an address.
    pub(super) fn connect(address: &str) -> Result<Self, StoreError> {
        let (hosts, prefix) = parts(address)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_all()
            .build()
            .map_err(failed)?;
        let options = ConnectOptions::new()
            .with_connect_timeout(PATIENCE)
            .with_timeout(PATIENCE)
            .with_keep_alive(PATIENCE, PATIENCE);
        let connects = async { Client::connect(hosts, Some(options)).await };
        let client = runtime.block_on(connects);
        let client = client.map_err(|error| failed(format!("{address}: {error}")))?;
        let calls = Self {
            runtime,
            client,
            prefix,
            clock: SystemClock::new(),
        };
        let answers = calls.again(PATIENCE, || {
            let mut client = calls.client();
            async move { client.status().await }
        });
        answers.map_err(|error| failed(format!("{address}: {error}")))?;
        Ok(calls)
    }

    /// By a clock that only goes forward.
    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// A key of this store, outside its values.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// Waits for one call, no longer than a patience.
    pub(super) fn once<T>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        let bounded = async { tokio::time::timeout(patience, call).await };
        match self.runtime.block_on(bounded) {
            Ok(done) => done.map_err(|error| outcome(&error)),
            Err(_) => Err(StoreError::InDoubt(
                "etcd does not answer in time".to_owned(),
            )),
        }
    }

    /// Makes a call that may be made more than once, until it is answered, at most for a patience. A member that is
    /// gone answers at once, and the next try goes to another one.
    pub(super) fn again<T, F: Future<Output = Result<T, Error>>>(
        &self,
        patience: Duration,
        call: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let until_ns = self.now_ns().saturating_add(nanos(patience));
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(self.now_ns()));
            let tried = self.once(left.min(patience / 2), call());
            let late = self.now_ns().saturating_add(nanos(REST)) >= until_ns;
            match tried {
                Err(StoreError::InDoubt(_)) if !late => std::thread::sleep(REST),
                other => return other,
            }
        }
    }

    /// A call that reads, as often as it takes.
    pub(super) fn read<T, F: Future<Output = Result<T, Error>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let read = self.again(PATIENCE, call);
        read.map_err(|error| match error {
            StoreError::InDoubt(text) => StoreError::Failed(text),
            other => other,
        })
    }

    /// Carries out a transaction once.
    pub(super) fn transact(&self, patience: Duration, of: Txn) -> Result<TxnResponse, StoreError> {
        let mut client = self.client();
        self.once(patience, async move { client.txn(of).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_members_and_a_prefix() {
        let (hosts, prefix) = parts("etcd://a:1,b:2/x/y").unwrap();
        assert_eq!(
            (hosts, prefix),
            (vec!["a:1".to_owned(), "b:2".to_owned()], "x/y".to_owned())
        );
        assert_eq!(parts("etcd://a:1").unwrap().1, "capsched");
        for wrong in [
            "",
            "a:1",
            "http://a:1",
            "etcd://",
            "etcd://a",
            "etcd://a:1,/x",
            "etcd://a:1/",
        ] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
