//! A store over etcd: several servers, of which one leads and the others follow.
//!
//! The leader's key `<prefix>/leader` has the lease of its process. Its create revision is the token, which ascends
//! since revisions of etcd do. Each write is one transaction that etcd carries out only while that key has that create
//! revision: a leader whose lease has ended writes nothing, whatever its own clock says.
//!
//! Values are keys below `<prefix>/data/`. Reads see every write that was answered before.

use std::fmt;
use std::future::Future;
use std::sync::PoisonError;
use std::time::Duration;

use capsched::sync::{Mutex, MutexGuard};
use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, DeleteOptions, GetOptions, KeyValue, PutOptions,
    ResponseHeader, Txn, TxnOp, TxnOpResponse, WatchOptions,
};
use tokio::runtime::Runtime;

use super::batch::{Batch, Entry, Revision, Store, StoreError, Token};

/// Longest time of one call.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keys of one read at most.
const PAGE: usize = 200;

/// Bytes of one answer at most.
const ANSWER: usize = 128 << 20;

/// Operations of one transaction at most: etcd takes 128 where its settings do not say otherwise.
const OPERATIONS: usize = 100;

/// The lease of a process that leads.
#[derive(Clone, Copy, Debug)]
struct Held {
    token: Token,
    lease: i64,
}

/// The store.
pub struct EtcdStore {
    runtime: Runtime,
    client: Client,
    prefix: String,
    held: Mutex<Option<Held>>,
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
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

fn failed(error: impl fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

impl EtcdStore {
    /// Connects to the members of an address, `etcd://host:port,host:port/prefix`.
    ///
    /// # Errors
    ///
    /// When the address has another form, or no member answers.
    pub fn open(address: &str) -> Result<Self, StoreError> {
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
        let client = runtime.block_on(async {
            let mut client = Client::connect(hosts, Some(options)).await?;
            client.status().await?;
            Ok(client)
        });
        let client = client.map_err(|error: etcd_client::Error| {
            StoreError::Failed(format!("{address}: {error}"))
        })?;
        Ok(Self {
            runtime,
            client,
            prefix,
            held: Mutex::new(None),
        })
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a call, no longer than a patience.
    fn wait<T>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, StoreError> {
        let bounded = async { tokio::time::timeout(patience, call).await };
        match self.runtime.block_on(bounded) {
            Ok(done) => done.map_err(failed),
            Err(_) => Err(failed("etcd does not answer in time")),
        }
    }

    fn call<T>(
        &self,
        call: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, StoreError> {
        self.wait(PATIENCE, call)
    }

    fn leader_key(&self) -> String {
        format!("{}/leader", self.prefix)
    }

    fn data(&self, key: &str) -> String {
        format!("{}/data/{key}", self.prefix)
    }

    fn entry(&self, of: &KeyValue) -> Result<Entry, StoreError> {
        let key = of.key_str().map_err(failed)?;
        let key = key.strip_prefix(&self.data("")).unwrap_or(key);
        Ok(Entry {
            key: key.to_owned(),
            value: of.value().to_vec(),
            revision: revision(of.mod_revision()),
        })
    }

    /// Has another process lead no more of what this one held.
    fn revoke(&self, lease: i64) -> Result<(), StoreError> {
        let mut client = self.client.clone();
        self.call(async move { client.lease_revoke(lease).await })
            .map(drop)
    }

    /// Why a transaction of a leader was not carried out.
    fn refusal(&self, token: Token, batch: &Batch, found: &[TxnOpResponse]) -> StoreError {
        let mut found = found.iter().map(|response| match response {
            TxnOpResponse::Get(got) => got.kvs().first(),
            _ => None,
        });
        let leader = found.next().flatten();
        if leader.is_none_or(|leader| leader.create_revision() != number(token.0)) {
            return StoreError::Fenced;
        }
        for ((key, expected), found) in batch.expected().iter().zip(found) {
            let found = found.map(|of| revision(of.mod_revision()));
            if found != *expected {
                return StoreError::Conflict(key.clone());
            }
        }
        failed("the transaction was not carried out")
    }
}

fn number(of: u64) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

fn revision(of: i64) -> Revision {
    Revision(u64::try_from(of).unwrap_or(0))
}

fn of_header(header: Option<&ResponseHeader>) -> Revision {
    revision(header.map_or(0, ResponseHeader::revision))
}

/// Whole seconds, at least one: etcd counts no smaller parts.
fn seconds(duration: Duration) -> i64 {
    let whole = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    number(whole.max(1))
}

impl Store for EtcdStore {
    fn lead(&self, who: &str, lease: Duration) -> Result<Token, StoreError> {
        let (mut client, key) = (self.client.clone(), self.leader_key());
        let ttl = seconds(lease);
        let granted = self.call(async move { client.lease_grant(ttl, None).await })?;
        let lease = granted.id();
        let options = PutOptions::new().with_lease(lease);
        let transaction = Txn::new()
            .when([Compare::create_revision(key.as_str(), CompareOp::Equal, 0)])
            .and_then([TxnOp::put(key.as_str(), who, Some(options))])
            .or_else([TxnOp::get(key.as_str(), None)]);
        let mut client = self.client.clone();
        let tried = self.call(async move { client.txn(transaction).await });
        match tried {
            Ok(done) if done.succeeded() => {
                let token = Token(of_header(done.header()).0);
                *self.held() = Some(Held { token, lease });
                Ok(token)
            }
            Ok(refused) => {
                // Where this fails, the lease ends by itself.
                let _ = self.revoke(lease);
                let leader = match refused.op_responses().first() {
                    Some(TxnOpResponse::Get(got)) => got.kvs().first().cloned(),
                    _ => None,
                };
                let who = leader.map(|of| String::from_utf8_lossy(of.value()).into_owned());
                Err(StoreError::Led(who.unwrap_or_default()))
            }
            Err(error) => {
                let _ = self.revoke(lease);
                Err(error)
            }
        }
    }

    fn renew(&self, token: Token) -> Result<(), StoreError> {
        let held = *self.held();
        let held = held.filter(|held| held.token == token);
        let lease = held.ok_or(StoreError::Fenced)?.lease;
        let mut client = self.client.clone();
        let left = self.call(async move {
            let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
            keeper.keep_alive().await?;
            Ok(answers.message().await?.map_or(0, |answer| answer.ttl()))
        })?;
        if left > 0 {
            return Ok(());
        }
        Err(StoreError::Fenced)
    }

    fn resign(&self, token: Token) -> Result<(), StoreError> {
        let held = self.held().take_if(|held| held.token == token);
        match held {
            Some(held) => self.revoke(held.lease),
            None => Ok(()),
        }
    }

    fn write(&self, token: Token, batch: &Batch) -> Result<Revision, StoreError> {
        let leader = self.leader_key();
        let leads = Compare::create_revision(leader.as_str(), CompareOp::Equal, number(token.0));
        let expected = batch.expected().iter().map(|(key, expected)| {
            let key = self.data(key);
            match expected {
                Some(of) => Compare::mod_revision(key, CompareOp::Equal, number(of.0)),
                None => Compare::create_revision(key, CompareOp::Equal, 0),
            }
        });
        let when: Vec<Compare> = std::iter::once(leads).chain(expected).collect();
        let deletes = batch.deletes().iter();
        let deletes = deletes.map(|key| TxnOp::delete(self.data(key), None::<DeleteOptions>));
        let puts = batch.puts().iter();
        let puts = puts.map(|(key, value)| TxnOp::put(self.data(key), value.clone(), None));
        let operations: Vec<TxnOp> = deletes.chain(puts).collect();
        let looks = batch.expected().iter().map(|(key, _)| self.data(key));
        let looks: Vec<TxnOp> = std::iter::once(leader)
            .chain(looks)
            .map(|key| TxnOp::get(key, None))
            .collect();
        let transaction = Txn::new().when(when).and_then(operations).or_else(looks);
        let mut client = self.client.clone();
        let done = self.call(async move { client.txn(transaction).await });
        let done = done.map_err(|error| match error {
            // Whether etcd has it is not known: the answer may have been lost.
            StoreError::Failed(text) => StoreError::InDoubt(text),
            other => other,
        })?;
        if done.succeeded() {
            return Ok(of_header(done.header()));
        }
        Err(self.refusal(token, batch, &done.op_responses()))
    }

    fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let (mut client, key) = (self.client.clone(), self.data(key));
        let got = self.call(async move { client.get(key, None).await })?;
        got.kvs().first().map(|of| self.entry(of)).transpose()
    }

    fn range(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let end = after_all(self.data(prefix).into_bytes());
        let mut from = match behind {
            // The smallest key behind one is that key with a zero byte.
            Some(behind) if behind >= prefix => format!("{}\0", self.data(behind)),
            _ => self.data(prefix),
        };
        let mut entries: Vec<Entry> = Vec::new();
        while entries.len() < most {
            let page = PAGE.min(most - entries.len());
            let options = GetOptions::new()
                .with_range(end.clone())
                .with_limit(i64::try_from(page).unwrap_or(i64::MAX));
            let mut client = self.client.kv_client().max_decoding_message_size(ANSWER);
            let asked = from.clone();
            let got = self.call(async move { client.get(asked, Some(options)).await })?;
            for of in got.kvs() {
                entries.push(self.entry(of)?);
            }
            match entries.last() {
                Some(last) if got.kvs().len() == page => {
                    from = format!("{}\0", self.data(&last.key));
                }
                _ => break,
            }
        }
        Ok(entries)
    }

    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError> {
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(number(behind.0 + 1));
        // The leader's key is below the prefix, too: its end wakes those who wait to lead.
        let (mut client, key) = (self.client.clone(), format!("{}/", self.prefix));
        let call = async move {
            let mut stream = client.watch(key, Some(options)).await?;
            loop {
                let Some(answer) = stream.message().await? else {
                    return Ok(None);
                };
                if answer.canceled() || !answer.events().is_empty() {
                    return Ok(Some(of_header(answer.header())));
                }
            }
        };
        let bounded = async { tokio::time::timeout(patience, call).await };
        match self.runtime.block_on(bounded) {
            Ok(Ok(found)) => Ok(found.unwrap_or(behind).max(behind)),
            Ok(Err(error)) => {
                let error: etcd_client::Error = error;
                Err(failed(error))
            }
            Err(_) => Ok(behind),
        }
    }

    fn most_operations(&self) -> usize {
        OPERATIONS
    }
}

/// The smallest key behind all that begin with some bytes.
fn after_all(mut key: Vec<u8>) -> Vec<u8> {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return key;
        }
    }
    // All keys: etcd takes a zero byte for no end.
    vec![0]
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

    #[test]
    fn a_range_ends_behind_its_prefix() {
        assert_eq!(after_all(b"ab".to_vec()), b"ac");
        assert_eq!(after_all(vec![b'a', 255]), b"b");
        assert_eq!(after_all(vec![255, 255]), [0]);
    }
}
