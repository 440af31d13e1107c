//! Writes over ZooKeeper, each carried out once, also when an answer was lost and the write is tried again.
//!
//! # Protocol
//!
//! 1. Writes of a process go one after the other. Nobody else writes while it leads.
//! 2. A try reads the epoch, the node `writes`, and which nodes of the batch exist. It may believe this: its session has
//!    seen the epoch of its own lead, so everything before it, too.
//! 3. One `multi` has the conditions that the epoch is the leader's and that the leader's node exists. It sets `writes` to
//!    token and number of this write, and makes, sets and deletes nodes.
//! 4. Without an answer the next try reads `writes`. ZooKeeper carries out the requests of a session in order: when
//!    `writes` has the number of this write, the earlier try was carried out; if not, it never will be.
//!
//! Directories are container nodes, which ZooKeeper removes some time after their last child.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Duration;

use zookeeper_client::{
    Acls, CreateMode, Error, MultiWriteError, MultiWriteResult, MultiWriter, Stat,
};

use super::calls::{Calls, PATIENCE, nanos, nothing_done, persistent};
use super::leader::Held;
use super::revision;
use crate::store::batch::{Batch, Revision, StoreError, Token};

/// Between two tries of a write.
const REST: Duration = Duration::from_millis(20);

/// Bytes of one request at most, with room for what this module does not count.
// ZooKeeper's jute.maxbuffer is 1,048,575.
const BYTES: usize = 1_000_000;

/// Bytes of one operation beside path and data, at most.
const OVERHEAD: usize = 96;

/// Number of the last write, with the token of its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    token: Token,
    count: u64,
}

impl Mark {
    /// Reads the data of `writes`; it is empty before the first write.
    fn read(data: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(data).ok()?;
        let (token, count) = text.split_once(' ')?;
        Some(Self {
            token: Token(token.parse().ok()?),
            count: count.parse().ok()?,
        })
    }

    fn data(self) -> Vec<u8> {
        format!("{} {}", self.token.0, self.count).into_bytes()
    }
}

/// What a try finds before it writes.
struct Before {
    mark: Option<Mark>,
    /// The node `writes`.
    writes: Stat,
    /// The epoch is another leader's.
    fenced: bool,
    /// Nodes of the batch and of directories above, where they exist.
    nodes: BTreeMap<String, Stat>,
}

/// How a try ended.
enum Tried {
    Done(Revision),
    Refused(StoreError),
    /// A node came or went since it was looked at; nothing was written.
    Again,
}

/// What is known of the tries of a write.
#[derive(Debug, Default)]
struct Progress {
    /// The number of the write, once a try has found the one before.
    number: Option<u64>,
    /// A request was sent that may be carried out.
    in_doubt: bool,
}

/// One write, which may be tried more than once.
struct Write<'a> {
    calls: &'a Calls,
    held: &'a Held,
    batch: &'a Batch,
    /// Nodes of directories above the keys to set, from the top.
    directories: BTreeSet<String>,
}

/// What the data version of a node must be. Versions that have wrapped say nothing.
fn expected(stat: &Stat) -> Option<i32> {
    (0..i32::MAX)
        .contains(&stat.version)
        .then_some(stat.version)
}

impl<'a> Write<'a> {
    fn new(calls: &'a Calls, held: &'a Held, batch: &'a Batch) -> Result<Self, StoreError> {
        let puts = batch.puts().iter();
        let above = puts.flat_map(|(key, _)| calls.nodes_of_key(key).0);
        let directories: BTreeSet<String> = above.collect();
        let of_path = |path: &String| path.len() + OVERHEAD;
        let puts = batch.puts().iter();
        let sets = puts.map(|(key, value)| of_path(&calls.of_key(key)) + value.len());
        let deletes = batch
            .deletes()
            .iter()
            .map(|key| of_path(&calls.of_key(key)));
        let bytes: usize = directories
            .iter()
            .map(of_path)
            .chain(sets)
            .chain(deletes)
            .sum();
        if bytes > BYTES {
            let text = format!("a write of {bytes} bytes is larger than ZooKeeper takes, 1 MiB");
            return Err(StoreError::Failed(text));
        }
        Ok(Self {
            calls,
            held,
            batch,
            directories,
        })
    }

    /// The nodes of all keys.
    fn nodes(&self) -> BTreeSet<String> {
        let expected = self.batch.expected().iter().map(|(key, _)| key);
        let puts = self.batch.puts().iter().map(|(key, _)| key);
        let keys = puts.chain(self.batch.deletes()).chain(expected);
        keys.map(|key| self.calls.of_key(key)).collect()
    }

    async fn look(&self) -> Result<Before, Error> {
        let client = &self.held.of_store().client;
        let (epoch, writes) = (self.calls.path("epoch"), self.calls.path("writes"));
        let mut nodes = self.nodes();
        nodes.extend(self.directories.iter().cloned());
        // All are sent before the first answer is awaited.
        let epoch = client.check_stat(&epoch);
        let writes = client.get_data(&writes);
        let stats: Vec<_> = nodes.iter().map(|path| client.check_stat(path)).collect();
        let epoch = epoch.await?.ok_or(Error::NoNode)?;
        let (data, writes) = writes.await?;
        let mut found = BTreeMap::new();
        for (path, stat) in nodes.iter().zip(stats) {
            if let Some(stat) = stat.await? {
                found.insert(path.clone(), stat);
            }
        }
        Ok(Before {
            mark: Mark::read(&data),
            writes,
            fenced: epoch.version != self.held.epoch(),
            nodes: found,
        })
    }

    /// A key that does not come from the write that is expected.
    fn conflict(&self, before: &Before) -> Option<StoreError> {
        let mut expected = self.batch.expected().iter();
        let wrong = expected.find(|(key, wanted)| {
            let found = before.nodes.get(&self.calls.of_key(key));
            found.map(|stat| revision(stat.mzxid)) != *wanted
        });
        wrong.map(|(key, _)| StoreError::Conflict(key.clone()))
    }

    fn operations(&self, before: &Before, mark: Mark) -> Result<MultiWriter<'_>, Error> {
        let mut writer = self.held.fenced(self.calls)?;
        // Any version: it is enough that the node exists.
        writer.add_check_version(&self.calls.path("leader"), -1)?;
        let writes = self.calls.path("writes");
        writer.add_set_data(&writes, &mark.data(), expected(&before.writes))?;
        let container = CreateMode::Container.with_acls(Acls::anyone_all());
        for path in &self.directories {
            if !before.nodes.contains_key(path) {
                writer.add_create(path, b"", &container)?;
            }
        }
        for key in self.batch.deletes() {
            let path = self.calls.of_key(key);
            if let Some(stat) = before.nodes.get(&path) {
                writer.add_delete(&path, expected(stat))?;
            }
        }
        for (key, value) in self.batch.puts() {
            let path = self.calls.of_key(key);
            match before.nodes.get(&path) {
                Some(stat) => writer.add_set_data(&path, value, expected(stat))?,
                None => writer.add_create(&path, value, &persistent())?,
            }
        }
        Ok(writer)
    }

    async fn attempt(&self, progress: &mut Progress) -> Result<Tried, Error> {
        let before = self.look().await?;
        if before.fenced {
            return Ok(Tried::Refused(match progress.in_doubt {
                true => StoreError::InDoubt("another process leads since".to_owned()),
                false => StoreError::Fenced,
            }));
        }
        let token = self.held.token();
        let own = before.mark.filter(|mark| mark.token == token);
        let last = own.map_or(0, |mark| mark.count);
        let count = *progress.number.get_or_insert(last + 1);
        if last == count {
            return Ok(Tried::Done(revision(before.writes.mzxid)));
        }
        // An earlier request is carried out by now, or never.
        progress.in_doubt = false;
        if let Some(conflict) = self.conflict(&before) {
            return Ok(Tried::Refused(conflict));
        }
        let mut operations = self.operations(&before, Mark { token, count })?;
        progress.in_doubt = true;
        let committed = operations.commit().await;
        progress.in_doubt = committed.as_ref().is_err_and(|error| match error {
            MultiWriteError::OperationFailed { .. } => false,
            MultiWriteError::RequestFailed { source } => !nothing_done(source),
        });
        match committed {
            Ok(results) => Ok(Tried::Done(revision(zxid(&results)?))),
            Err(MultiWriteError::OperationFailed { index: 0 | 1, .. }) => {
                Ok(Tried::Refused(StoreError::Fenced))
            }
            Err(MultiWriteError::OperationFailed {
                source: Error::BadVersion | Error::NoNode | Error::NodeExists,
                ..
            }) => Ok(Tried::Again),
            Err(error) => Err(error.into()),
        }
    }
}

/// The transaction that operations were carried out in: that of the node `writes`.
fn zxid(results: &[MultiWriteResult]) -> Result<i64, Error> {
    let stat = results.iter().find_map(|result| match result {
        MultiWriteResult::SetData { stat } => Some(stat),
        _ => None,
    });
    let missing = || Error::UnexpectedError("ZooKeeper answers another request".to_owned());
    stat.map(|stat| stat.mzxid).ok_or_else(missing)
}

/// Carries out a batch, once.
pub(super) fn write(calls: &Calls, held: &Held, batch: &Batch) -> Result<Revision, StoreError> {
    let write = Write::new(calls, held, batch)?;
    let _writing = held
        .of_store()
        .writing
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let until_ns = calls.now_ns().saturating_add(nanos(held.lease()));
    let mut progress = Progress::default();
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(calls.now_ns()));
        let patience = left.min(held.lease() / 2).min(PATIENCE);
        let error = match calls.once(patience, write.attempt(&mut progress)) {
            Ok(Tried::Done(revision)) => return Ok(revision),
            Ok(Tried::Refused(error)) => return Err(error),
            Ok(Tried::Again) => None,
            Err(error) => Some(error),
        };
        // Without a renewal in this time the lead is lost.
        let late = calls.now_ns().saturating_add(nanos(REST)) >= until_ns;
        let ended = held.of_store().client.state().is_terminated();
        match error {
            None | Some(StoreError::InDoubt(_)) if !late && !ended => std::thread::sleep(REST),
            error => return Err(given_up(error, progress.in_doubt, ended)),
        }
    }
}

/// Why a write is not tried again.
fn given_up(error: Option<StoreError>, in_doubt: bool, ended: bool) -> StoreError {
    let text = error.map_or("nodes come and go".to_owned(), |error| match error {
        StoreError::Failed(text) | StoreError::InDoubt(text) => text,
        other => other.to_string(),
    });
    match (in_doubt, ended) {
        (true, _) => StoreError::InDoubt(text),
        (false, true) => StoreError::Fenced,
        (false, false) => StoreError::Failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_from_its_data() {
        let mark = Mark {
            token: Token(7),
            count: 12,
        };
        assert_eq!(mark.data(), b"7 12");
        assert_eq!(Mark::read(&mark.data()), Some(mark));
        assert_eq!(Mark::read(b""), None);
        assert_eq!(Mark::read(b"7 x"), None);
    }
}
