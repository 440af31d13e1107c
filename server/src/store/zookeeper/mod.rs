//! A store over ZooKeeper: several servers, of which one leads and the others follow.
//!
//! | module | what it owns |
//! |---|---|
//! | `calls` | the session, how long a call may take, and what an error says |
//! | `leader` | who leads |
//! | `names` | keys as paths of nodes |
//! | `writes` | writes that are carried out once, also when an answer was lost |
//!
//! | node below the root | what it holds |
//! |---|---|
//! | `epoch` | its data version is the token of the last leader |
//! | `leader` | who leads and for how long; ephemeral, of the leader's session |
//! | `schema` | the form of what the store holds, as a number |
//! | `writes` | token and number of the last write |
//! | `data` | the values |
//!
//! Each write is one `multi` that ZooKeeper carries out only while the epoch is that of this leader and the leader's node
//! exists. Reads see every write that was answered before: they follow a `sync`.
//!
//! # Limits
//!
//! ZooKeeper takes requests of 1 MiB (`jute.maxbuffer`). A larger write is refused before it is sent.

mod calls;
mod leader;
mod names;
mod writes;

use std::fmt;
use std::time::Duration;

use zookeeper_client::{Client, Error, Stat};

use super::batch::{Batch, Entry, Revision, Store, StoreError, Token};
use calls::{Calls, PATIENCE};
use leader::Leading;
use names::Component;

/// Keys that are read at once.
const PAGE: usize = 200;

/// Keys of one write at most: the nodes above them are looked at, too.
const OPERATIONS: usize = 1000;

/// The store.
pub struct ZooKeeperStore {
    calls: Calls,
    leading: Leading,
}

impl fmt::Debug for ZooKeeperStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeperStore")
            .field("root", &self.calls.root())
            .finish_non_exhaustive()
    }
}

impl ZooKeeperStore {
    /// Connects to the servers of an address, `zookeeper://host:port,host:port/root`.
    ///
    /// # Errors
    ///
    /// When the address has another form, no server answers, or the store has another schema.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        let calls = Calls::connect(address)?;
        leader::read_schema(&calls)?;
        Ok(Self {
            calls,
            leading: Leading::default(),
        })
    }

    /// The keys below a prefix and behind a key, in order.
    async fn keys(
        &self,
        client: &Client,
        prefix: &str,
        behind: Option<&str>,
    ) -> Result<Vec<String>, Error> {
        client.sync(self.calls.root()).await?;
        let mut open = vec![(self.calls.path("data"), String::new())];
        let mut keys = Vec::new();
        while !open.is_empty() {
            // The last one first: what is written in order while this reads is then seen without a gap.
            open.sort_unstable_by(|one, other| other.1.cmp(&one.1));
            let lists = open.iter().map(|(path, _)| client.list_children(path));
            let lists: Vec<_> = lists.collect();
            let mut next = Vec::new();
            for (list, (path, text)) in lists.into_iter().zip(&open) {
                for name in present(list.await)?.unwrap_or_default() {
                    match Component::read(&name) {
                        Some(Component::Value(end)) => {
                            let key = format!("{text}{end}");
                            let wanted = behind.is_none_or(|behind| *key > *behind);
                            keys.extend((wanted && key.starts_with(prefix)).then_some(key));
                        }
                        Some(Component::Directory(end)) => {
                            let below = format!("{text}{end}");
                            if may_hold(&below, prefix, behind) {
                                next.push((format!("{path}/{name}"), below));
                            }
                        }
                        // Nodes of another program.
                        None => {}
                    }
                }
            }
            open = next;
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// The values of keys; those that are gone are left out.
    async fn entries(&self, client: &Client, keys: &[String]) -> Result<Vec<Entry>, Error> {
        let paths: Vec<String> = keys.iter().map(|key| self.calls.of_key(key)).collect();
        let reads: Vec<_> = paths.iter().map(|path| client.get_data(path)).collect();
        let mut entries = Vec::with_capacity(keys.len());
        for (read, key) in reads.into_iter().zip(keys) {
            let Some((value, stat)) = present(read.await)? else {
                continue;
            };
            entries.push(Entry {
                key: key.clone(),
                value,
                revision: revision(stat.mzxid),
            });
        }
        Ok(entries)
    }
}

/// Whether a directory whose keys begin with a text may hold a key below a prefix and behind a key.
fn may_hold(text: &str, prefix: &str, behind: Option<&str>) -> bool {
    let of_prefix = text.starts_with(prefix) || prefix.starts_with(text);
    of_prefix && behind.is_none_or(|behind| *text > *behind || behind.starts_with(text))
}

/// What was read, where the node exists.
fn present<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

fn revision(zxid: i64) -> Revision {
    Revision(u64::try_from(zxid).unwrap_or(0))
}

/// The last write of nodes.
fn last_of(nodes: [Option<Stat>; 2]) -> Revision {
    let zxids = nodes.into_iter().flatten().map(|stat| stat.mzxid);
    revision(zxids.max().unwrap_or(0))
}

impl Store for ZooKeeperStore {
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
        let keys = [key.to_owned()];
        let found = self.calls.read(async |client| {
            client.sync(self.calls.root()).await?;
            self.entries(&client, &keys).await
        })?;
        Ok(found.into_iter().next())
    }

    fn range(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let keys = self
            .calls
            .read(async |client| self.keys(&client, prefix, behind).await)?;
        let (mut entries, mut keys) = (Vec::new(), &keys[..]);
        // Those that are gone meanwhile are made up for, so that a page that is not full is the last one.
        while entries.len() < most && !keys.is_empty() {
            let count = keys.len().min(PAGE).min(most - entries.len());
            let (page, rest) = keys.split_at(count);
            let found = self
                .calls
                .read(async |client| self.entries(&client, page).await)?;
            entries.extend(found);
            keys = rest;
        }
        Ok(entries)
    }

    fn led_for(&self) -> Option<Duration> {
        self.leading.led_for(&self.calls)
    }

    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError> {
        let client = self.calls.client()?;
        let paths = ["writes", "leader"].map(|name| self.calls.path(name));
        let watched = async {
            let (writes, written) = client.check_and_watch_stat(&paths[0]).await?;
            let (leader, renewed) = client.check_and_watch_stat(&paths[1]).await?;
            let found = last_of([writes, leader]);
            if found > behind {
                return Ok::<Revision, Error>(found);
            }
            tokio::select! {
                _ = written.changed() => {}
                _ = renewed.changed() => {}
            }
            let writes = client.check_stat(&paths[0]).await?;
            Ok(last_of([writes, client.check_stat(&paths[1]).await?]))
        };
        let call = async {
            match tokio::time::timeout(patience, watched).await {
                Ok(found) => found,
                Err(_) => Ok(behind),
            }
        };
        // The bound of a call is above that of the wait.
        let found: Revision = self.calls.once(patience + PATIENCE, call)?;
        Ok(found.max(behind))
    }

    fn most_operations(&self) -> usize {
        OPERATIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_without_a_key_behind_are_passed() {
        for (text, prefix, behind, holds) in [
            ("journal/", "journal/", None, true),
            ("journal/", "", Some("a"), true),
            ("journal/", "", Some("k"), false),
            ("journal/", "jour", Some("journal/5"), true),
            ("journal/4", "journal/", Some("journal/50"), false),
            ("journal/5", "journal/", Some("journal/50"), true),
            ("journal/6", "journal/", Some("journal/50"), true),
            ("conf/", "journal/", None, false),
        ] {
            let found = may_hold(text, prefix, behind);
            assert_eq!(found, holds, "{text} below {prefix} behind {behind:?}");
        }
    }
}
