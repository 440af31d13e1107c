//! Writes of a leader, each of them once: a write whose answer was lost is tried again and is not carried out twice.
//!
//! # Protocol
//!
//! 1. A write takes a mark, the key `<prefix>/marks/<token>/<slot>` with the number of its last write.
//! 2. The transaction has the conditions that the token leads and that the mark has that number. It counts the mark up.
//! 3. Without an answer the same transaction is tried again. If the first one was carried out, the mark has the next
//!    number, and the second one is not. If the first one comes late, it finds the next number and does nothing.
//!
//! Writes of several threads use marks of their own and do not wait for each other. A later leader deletes all marks
//! in the transaction by which it leads.

use std::sync::PoisonError;
use std::time::Duration;

use capsched::sync::Mutex;
use etcd_client::{Compare, CompareOp, DeleteOptions, KeyValue, Txn, TxnOp, TxnOpResponse};

use super::calls::{Calls, PATIENCE, failed, nanos};
use super::leader::{Held, leader_key, leads};
use super::{number, of_header, revision};
use crate::store::batch::{Batch, Revision, StoreError, Token};

/// Between two tries of a write.
const REST: Duration = Duration::from_millis(20);

/// The number of writes that one slot has seen.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    slot: u32,
    count: u64,
}

impl Mark {
    /// The mark after one more write.
    fn counted(self) -> Self {
        Self {
            count: self.count + 1,
            ..self
        }
    }
}

/// Slots that no write uses now.
#[derive(Debug, Default)]
struct Free {
    marks: Vec<Mark>,
    /// Slots that were ever used.
    slots: u32,
}

/// The marks of one token.
#[derive(Debug, Default)]
pub(super) struct Marks {
    free: Mutex<Free>,
}

impl Marks {
    /// Prefix of the marks of all tokens.
    pub(super) fn prefix(calls: &Calls) -> String {
        calls.key("marks/")
    }

    fn key(calls: &Calls, token: Token, mark: Mark) -> String {
        format!("{}{}/{}", Self::prefix(calls), token.0, mark.slot)
    }

    fn take(&self) -> Mark {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = free.marks.pop() {
            return mark;
        }
        let slot = free.slots;
        free.slots += 1;
        Mark { slot, count: 0 }
    }

    fn give_back(&self, mark: Mark) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.marks.push(mark);
    }
}

/// One write, as a transaction that may be tried more than once.
struct Write<'a> {
    calls: &'a Calls,
    token: Token,
    batch: &'a Batch,
    mark: Mark,
}

impl Write<'_> {
    fn mark_key(&self) -> String {
        Marks::key(self.calls, self.token, self.mark)
    }

    fn data(&self, key: &str) -> String {
        self.calls.key(&format!("data/{key}"))
    }

    fn conditions(&self) -> Vec<Compare> {
        let mark = self.mark_key();
        let unused = match self.mark.count {
            0 => Compare::create_revision(mark, CompareOp::Equal, 0),
            count => Compare::value(mark, CompareOp::Equal, count.to_string()),
        };
        let expected = self.batch.expected().iter().map(|(key, expected)| {
            let key = self.data(key);
            match expected {
                Some(of) => Compare::mod_revision(key, CompareOp::Equal, number(of.0)),
                None => Compare::create_revision(key, CompareOp::Equal, 0),
            }
        });
        [leads(self.calls, self.token), unused]
            .into_iter()
            .chain(expected)
            .collect()
    }

    fn transaction(&self) -> Txn {
        let deletes = self.batch.deletes().iter();
        let deletes = deletes.map(|key| TxnOp::delete(self.data(key), None::<DeleteOptions>));
        let puts = self.batch.puts().iter();
        let puts = puts.map(|(key, value)| TxnOp::put(self.data(key), value.clone(), None));
        let counted = self.mark.counted().count.to_string();
        let counts = TxnOp::put(self.mark_key(), counted, None);
        let operations: Vec<TxnOp> = deletes.chain(puts).chain([counts]).collect();
        let expected = self.batch.expected().iter().map(|(key, _)| self.data(key));
        let looks: Vec<TxnOp> = [leader_key(self.calls), self.mark_key()]
            .into_iter()
            .chain(expected)
            .map(|key| TxnOp::get(key, None))
            .collect();
        let transaction = Txn::new().when(self.conditions());
        transaction.and_then(operations).or_else(looks)
    }

    /// Why a transaction was not carried out; or the revision of the earlier try that was.
    fn refusal(&self, found: &[TxnOpResponse], earlier: bool) -> Result<Revision, StoreError> {
        let found: Vec<Option<&KeyValue>> = found
            .iter()
            .map(|response| match response {
                TxnOpResponse::Get(got) => got.kvs().first(),
                _ => None,
            })
            .collect();
        let [leader, mark, expected @ ..] = found.as_slice() else {
            return Err(failed("etcd answers another transaction"));
        };
        if leader.is_none_or(|leader| leader.create_revision() != number(self.token.0)) {
            return Err(match earlier {
                true => StoreError::InDoubt("another process leads since".to_owned()),
                false => StoreError::Fenced,
            });
        }
        let next = self.mark.counted().count.to_string();
        if let Some(mark) = mark.filter(|mark| mark.value() == next.as_bytes()) {
            return Ok(revision(mark.mod_revision()));
        }
        for ((key, wanted), found) in self.batch.expected().iter().zip(expected) {
            if found.map(|of| revision(of.mod_revision())) != *wanted {
                return Err(StoreError::Conflict(key.clone()));
            }
        }
        Err(failed("the transaction was not carried out"))
    }
}

/// Carries out a batch, once.
pub(super) fn write(calls: &Calls, held: &Held, batch: &Batch) -> Result<Revision, StoreError> {
    let mark = held.of_store().take();
    let write = Write {
        calls,
        token: held.token(),
        batch,
        mark,
    };
    let until_ns = calls.now_ns().saturating_add(nanos(held.lease()));
    let mut earlier = false;
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(calls.now_ns()));
        let patience = left.min(held.lease() / 2).min(PATIENCE);
        let error = match calls.transact(patience, write.transaction()) {
            Ok(done) if done.succeeded() => {
                held.of_store().give_back(mark.counted());
                return Ok(of_header(done.header()));
            }
            Ok(refused) => {
                let tried = write.refusal(&refused.op_responses(), earlier);
                held.of_store()
                    .give_back(tried.as_ref().map_or(mark, |_| mark.counted()));
                return tried;
            }
            Err(error) => error,
        };
        let in_doubt = matches!(error, StoreError::InDoubt(_));
        // Without a renewal in this time the lead is lost, and the slot is not used again.
        let late = calls.now_ns().saturating_add(nanos(REST)) >= until_ns;
        match error {
            StoreError::InDoubt(_) if !late => earlier = true,
            error if earlier || in_doubt => return Err(StoreError::InDoubt(error.to_string())),
            error => {
                held.of_store().give_back(mark);
                return Err(error);
            }
        }
        std::thread::sleep(REST);
    }
}
