//! Who leads a store over etcd: one key, made by the process that leads and renewed by it.
//!
//! # Protocol
//!
//! 1. A process leads when it makes the key `<prefix>/leader`. The create revision is its token; revisions ascend. The
//!    same transaction makes the key `<prefix>/schema` where there is none, and is refused if that was changed since it
//!    was read.
//! 2. It renews the key several times in a lease, by a transaction with the condition that the key is still its own.
//! 3. A process that wants to lead reads the key. When no renewal came during a lease of the leader, by its own clock
//!    and from the moment at which it saw the last one, it deletes the key and makes its own.
//! 4. The deletion has the condition that the key was not renewed since. So a leader that renews is never removed,
//!    however late the other process sees that.
//!
//! A leader counts its lease from before its last renewal, and gives up when three quarters are over. Whoever waits
//! counts from after that renewal, and waits for a whole lease. Should clocks differ by more than that, the condition
//! of every write still refuses the older leader.
//!
//! # Why not leases of etcd
//!
//! etcd grants none below one and a half election timeouts, so 2 s by its own settings, and ends them up to half a
//! second late.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Compare, CompareOp, DeleteOptions, KeyValue, Txn, TxnOp};

use super::calls::{Calls, PATIENCE};
use super::writes::Marks;
use super::{number, of_header};
use crate::store::batch::{StoreError, Token};
use crate::store::leadership::{HeldLead, Leadership};
use crate::store::lease::renewal_patience;
use crate::store::schema::{self, SCHEMA};

/// What a leader holds of etcd: the marks of its writes.
pub(super) type Held = HeldLead<Arc<Marks>>;

/// The lead as one process knows it.
#[derive(Debug, Default)]
pub(super) struct Leading(Leadership<Arc<Marks>>);

/// The key of the leader.
pub(super) fn leader_key(calls: &Calls) -> String {
    calls.key("leader")
}

/// The key of the schema.
fn schema_key(calls: &Calls) -> String {
    calls.key(schema::KEY)
}

/// The revision of the key of the schema, 0 where there is none; an error for another schema.
pub(super) fn read_schema(calls: &Calls) -> Result<i64, StoreError> {
    let key = schema_key(calls);
    let found = calls.read(|| {
        let (mut client, key) = (calls.client(), key.clone());
        async move { client.get(key, None).await }
    })?;
    let Some(present) = found.kvs().first() else {
        return Ok(0);
    };
    schema::judge(&key, present.value())?;
    Ok(present.mod_revision())
}

/// The condition that a token leads.
pub(super) fn leads(calls: &Calls, token: Token) -> Compare {
    Compare::create_revision(leader_key(calls), CompareOp::Equal, number(token.0))
}

/// The transaction by which a process leads, while the key of the schema has the revision that was read.
fn first_write(calls: &Calls, record: Vec<u8>, schema: i64) -> Txn {
    let (key, of_schema) = (leader_key(calls), schema_key(calls));
    let conditions = [
        Compare::create_revision(key.as_str(), CompareOp::Equal, 0),
        Compare::mod_revision(of_schema.as_str(), CompareOp::Equal, schema),
    ];
    // What a leader before left of its writes goes with it.
    let marks = DeleteOptions::new().with_prefix();
    let mut operations = vec![
        TxnOp::put(key, record, None),
        TxnOp::delete(Marks::prefix(calls), Some(marks)),
    ];
    if schema == 0 {
        operations.push(TxnOp::put(of_schema, SCHEMA.to_string(), None));
    }
    Txn::new().when(conditions).and_then(operations)
}

impl Leading {
    /// What is held under a token.
    pub(super) fn held(&self, token: Token) -> Option<Held> {
        self.0.held(token)
    }

    /// Makes the caller the leader, unless another one leads.
    pub(super) fn lead(
        &self,
        calls: &Calls,
        who: &str,
        lease: Duration,
    ) -> Result<Token, StoreError> {
        let schema = read_schema(calls)?;
        let key = leader_key(calls);
        let found = calls.read(|| {
            let (mut client, key) = (calls.client(), key.clone());
            async move { client.get(key, None).await }
        })?;
        if let Some(present) = found.kvs().first() {
            self.remove_silent(calls, present)?;
        }
        let record = Leadership::<Arc<Marks>>::first_record(who, lease)?;
        let done = calls.transact(PATIENCE, first_write(calls, record, schema))?;
        if !done.succeeded() {
            return Err(StoreError::Led(String::new()));
        }
        let token = Token(of_header(done.header()).0);
        self.0.begin(token, who, lease, Arc::default());
        Ok(token)
    }

    /// Removes a leader that did not renew during its lease; an error while it may lead.
    fn remove_silent(&self, calls: &Calls, present: &KeyValue) -> Result<(), StoreError> {
        let (key, revision) = (leader_key(calls), present.mod_revision());
        let who = self
            .0
            .silent_leader(&key, present.value(), revision, calls.now_ns())?;
        let same = Compare::mod_revision(key.as_str(), CompareOp::Equal, revision);
        let removes = TxnOp::delete(key.as_str(), None);
        let removed = calls.transact(PATIENCE, Txn::new().when([same]).and_then([removes]))?;
        if removed.succeeded() {
            return Ok(());
        }
        Err(StoreError::Led(who))
    }

    /// What is left of the lease of another leader that was met last.
    pub(super) fn led_for(&self, calls: &Calls) -> Option<Duration> {
        self.0.led_for(calls.now_ns())
    }

    /// Renews the lead of a token.
    pub(super) fn renew(&self, calls: &Calls, token: Token) -> Result<(), StoreError> {
        let (held, record) = self.0.renewal(token)?;
        let puts = TxnOp::put(leader_key(calls), record, None);
        let renews = Txn::new().when([leads(calls, token)]).and_then([puts]);
        let patience = PATIENCE.min(renewal_patience(held.lease()));
        match calls.transact(patience, renews)?.succeeded() {
            true => Ok(()),
            false => Err(StoreError::Fenced),
        }
    }

    /// Ends the lead of a token, if it holds.
    pub(super) fn resign(&self, calls: &Calls, token: Token) -> Result<(), StoreError> {
        if self.0.end(token).is_none() {
            return Ok(());
        }
        let removes = TxnOp::delete(leader_key(calls), None);
        let ends = Txn::new().when([leads(calls, token)]).and_then([removes]);
        calls.transact(PATIENCE, ends).map(drop)
    }
}
