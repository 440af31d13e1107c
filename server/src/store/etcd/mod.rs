//! A store over etcd: several servers, of which one leads and the others follow.
//!
//! | module | what it owns |
//! |---|---|
//! | `calls` | the client, its patience, and what an error says |
//! | `leader` | who leads |
//! | `writes` | writes that are carried out once, also when an answer was lost |
//!
//! Each write is one transaction that etcd carries out only while the leader's key is the one that this process made:
//! a leader that another one has followed writes nothing, whatever its own clock says.
//!
//! The key `<prefix>/schema` says in what form the store is. Values are keys below `<prefix>/data/`. Reads see every write that was answered before.

mod calls;
mod leader;
mod writes;

use std::fmt;
use std::time::Duration;

use etcd_client::{GetOptions, KeyValue, ResponseHeader, WatchOptions};

use super::batch::{Batch, Entry, Revision, Store, StoreError, Token};
use calls::{Calls, failed};
use leader::Leading;

/// Keys of one read at most.
const PAGE: usize = 200;

/// Bytes of one answer at most.
const ANSWER: usize = 128 << 20;

/// Operations of one transaction at most: etcd takes 128 where its settings do not say otherwise.
const OPERATIONS: usize = 100;

/// The store.
pub struct EtcdStore {
    calls: Calls,
    leading: Leading,
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore")
            .field("prefix", &self.calls.prefix())
            .finish_non_exhaustive()
    }
}

impl EtcdStore {
    /// Connects to the members of an address, `etcd://host:port,host:port/prefix`.
    ///
    /// # Errors
    ///
    /// When the address has another form, no member answers, or the store has another schema.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        let calls = Calls::connect(address)?;
        leader::read_schema(&calls)?;
        Ok(Self {
            calls,
            leading: Leading::default(),
        })
    }

    fn data(&self, key: &str) -> String {
        self.calls.key(&format!("data/{key}"))
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

impl Store for EtcdStore {
    fn lead(&self, who: &str, lease: Duration) -> Result<Token, StoreError> {
        self.leading.lead(&self.calls, who, lease)
    }

    fn renew(&self, token: Token) -> Result<(), StoreError> {
        self.leading.renew(&self.calls, token)
    }

    fn resign(&self, token: Token) -> Result<(), StoreError> {
        self.leading.resign(&self.calls, token)
    }

    fn write(&self, token: Token, batch: &Batch) -> Result<Revision, StoreError> {
        let held = self.leading.held(token).ok_or(StoreError::Fenced)?;
        writes::write(&self.calls, &held, batch)
    }

    fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let key = self.data(key);
        let got = self.calls.read(|| {
            let client = self.calls.client().kv_client();
            let (mut client, key) = (client.max_decoding_message_size(ANSWER), key.clone());
            async move { client.get(key, None).await }
        })?;
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
            let got = self.calls.read(|| {
                let client = self.calls.client().kv_client();
                let mut client = client.max_decoding_message_size(ANSWER);
                let (asked, options) = (from.clone(), Some(options.clone()));
                async move { client.get(asked, options).await }
            })?;
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

    fn led_for(&self) -> Option<Duration> {
        self.leading.led_for(&self.calls)
    }

    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError> {
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(number(behind.0 + 1));
        // Values and the leader's key.
        let (mut client, key) = (self.calls.client(), self.calls.key(""));
        let call = async move {
            let watched = async {
                let mut stream = client.watch(key, Some(options)).await?;
                while let Some(answer) = stream.message().await? {
                    if answer.canceled() || !answer.events().is_empty() {
                        return Ok(of_header(answer.header()));
                    }
                }
                Ok(behind)
            };
            match tokio::time::timeout(patience, watched).await {
                Ok(found) => found,
                Err(_) => Ok(behind),
            }
        };
        // The bound of a call is above that of the wait.
        let found = self.calls.once(patience + calls::PATIENCE, call)?;
        Ok(found.max(behind))
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
    fn a_range_ends_behind_its_prefix() {
        assert_eq!(after_all(b"ab".to_vec()), b"ac");
        assert_eq!(after_all(vec![b'a', 255]), b"b");
        assert_eq!(after_all(vec![255, 255]), [0]);
    }
}
