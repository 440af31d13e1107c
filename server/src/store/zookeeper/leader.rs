//! Who leads a store over ZooKeeper: an ephemeral node of the leader's session, and an epoch that counts leaders.
//!
//! # Protocol
//!
//! 1. A process leads when one `multi` sets the epoch, which nobody else has set meanwhile, and makes the leader's node.
//!    The data version of the epoch is its token; versions ascend. The same `multi` makes the node of the schema where
//!    there is none, and is refused if that was changed since it was read.
//! 2. It renews the leader's node several times in a lease, while the epoch has its version.
//! 3. The node goes with the session. A leader whose session has ended leads no more: it is fenced, and stops.
//! 4. A process that wants to lead reads the node. When no renewal came during a lease of the leader, by its own clock
//!    and from the moment at which it saw the last one, it deletes the node and makes its own. The deletion has the
//!    condition that the node was not renewed since.
//!
//! # Why sessions are not enough
//!
//! ZooKeeper grants none below two ticks, so 4 s by its own settings. With renewals another process leads sooner.

use std::sync::Arc;
use std::time::Duration;

use capsched::sync::Mutex;
use zookeeper_client::{Acls, Client, CreateMode, Error, MultiWriteError, MultiWriter, Stat};

use super::calls::{Calls, PATIENCE, failed, persistent};
use super::present;
use crate::store::batch::{StoreError, Token};
use crate::store::leadership::{HeldLead, Leadership};
use crate::store::lease::renewal_patience;
use crate::store::schema::{self, SCHEMA};

/// What a leader holds of ZooKeeper.
#[derive(Clone, Debug)]
pub(super) struct LeadingSession {
    /// The session by which it leads.
    pub(super) client: Client,
    /// Held by the write that is under way: writes go one after the other.
    pub(super) writing: Arc<Mutex<()>>,
}

/// What a process holds while it leads.
pub(super) type Held = HeldLead<LeadingSession>;

impl HeldLead<LeadingSession> {
    /// The data version that the epoch has while this process leads.
    pub(super) fn epoch(&self) -> i32 {
        i32::try_from(self.token().0).unwrap_or(i32::MAX)
    }

    /// An operation that is carried out only while this process leads.
    pub(super) fn fenced(&self, calls: &Calls) -> Result<MultiWriter<'_>, Error> {
        let mut writer = self.of_store().client.new_multi_writer();
        writer.add_check_version(&calls.path("epoch"), self.epoch())?;
        Ok(writer)
    }
}

/// The lead as one process knows it.
#[derive(Debug, Default)]
pub(super) struct Leading(Leadership<LeadingSession>);

/// What a process finds that wants to lead.
struct Found {
    epoch: Stat,
    leader: Option<(Vec<u8>, Stat)>,
}

/// Makes the nodes that a store needs. The epoch comes last: where it is, all are.
async fn prepare(calls: &Calls, client: &Client) -> Result<(), Error> {
    client.mkdir(&calls.path("data"), &persistent()).await?;
    for name in ["writes", "epoch"] {
        let path = calls.path(name);
        match client.create(&path, b"", &persistent()).await {
            Ok(_) | Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn find(calls: &Calls, client: &Client) -> Result<Found, Error> {
    client.sync(calls.root()).await?;
    let path = calls.path("epoch");
    let epoch = match client.check_stat(&path).await? {
        Some(stat) => stat,
        None => {
            prepare(calls, client).await?;
            client.check_stat(&path).await?.ok_or(Error::NoNode)?
        }
    };
    let leader = present(client.get_data(&calls.path("leader")).await)?;
    Ok(Found { epoch, leader })
}

/// The data version of the node of the schema, where there is one; an error for another schema.
pub(super) fn read_schema(calls: &Calls) -> Result<Option<i32>, StoreError> {
    let path = calls.path(schema::KEY);
    let found = calls.read(async |client| {
        client.sync(calls.root()).await?;
        present(client.get_data(&path).await)
    })?;
    let Some((value, stat)) = found else {
        return Ok(None);
    };
    schema::judge(&path, &value)?;
    Ok(Some(stat.version))
}

/// The operations by which a process leads, while the nodes of epoch and schema have the versions that were read.
fn first_write<'a>(
    calls: &Calls,
    client: &'a Client,
    (who, record): (&str, &[u8]),
    (epoch, schema): (i32, Option<i32>),
) -> Result<MultiWriter<'a>, Error> {
    let mut leads = client.new_multi_writer();
    let ephemeral = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    leads.add_set_data(&calls.path("epoch"), who.as_bytes(), Some(epoch))?;
    leads.add_create(&calls.path("leader"), record, &ephemeral)?;
    let path = calls.path(schema::KEY);
    match schema {
        Some(version) => leads.add_check_version(&path, version)?,
        None => leads.add_create(&path, SCHEMA.to_string().as_bytes(), &persistent())?,
    }
    Ok(leads)
}

/// Carries out operations. Whether they were; not, where one of them was refused.
fn carry_out(
    calls: &Calls,
    patience: Duration,
    mut operations: MultiWriter<'_>,
) -> Result<bool, StoreError> {
    let commits = operations.commit();
    let done = async {
        match commits.await {
            Ok(_) => Ok(true),
            Err(MultiWriteError::OperationFailed {
                source: Error::BadVersion | Error::NoNode | Error::NodeExists,
                ..
            }) => Ok(false),
            Err(error) => Err(error),
        }
    };
    calls.once(patience, done)
}

impl Leading {
    /// What is held under a token. A session that has ended holds nothing.
    pub(super) fn held(&self, token: Token) -> Option<Held> {
        let held = self.0.held(token);
        held.filter(|held| !held.of_store().client.state().is_terminated())
    }

    /// Makes the caller the leader, unless another one leads.
    pub(super) fn lead(
        &self,
        calls: &Calls,
        who: &str,
        lease: Duration,
    ) -> Result<Token, StoreError> {
        let client = calls.client()?;
        let schema = read_schema(calls)?;
        let found = calls.read(async |client| find(calls, &client).await)?;
        if let Some((data, stat)) = &found.leader {
            self.remove_silent(calls, (data, stat), &found.epoch)?;
        }
        let record = Leadership::<LeadingSession>::first_record(who, lease)?;
        let version = found.epoch.version;
        let leads = first_write(calls, &client, (who, &record), (version, schema));
        let leads = leads.map_err(failed)?;
        if !carry_out(calls, PATIENCE, leads)? {
            return Err(StoreError::Led(String::new()));
        }
        let token = Token(u64::try_from(version).unwrap_or(0) + 1);
        let session = LeadingSession {
            client,
            writing: Arc::default(),
        };
        self.0.begin(token, who, lease, session);
        Ok(token)
    }

    /// Removes a leader that did not renew during its lease; an error while it may lead.
    fn remove_silent(
        &self,
        calls: &Calls,
        (data, stat): (&[u8], &Stat),
        epoch: &Stat,
    ) -> Result<(), StoreError> {
        let path = calls.path("leader");
        let now_ns = calls.now_ns();
        let who = self.0.silent_leader(&path, data, stat.mzxid, now_ns)?;
        let client = calls.client()?;
        let mut removes = client.new_multi_writer();
        removes
            .add_check_version(&calls.path("epoch"), epoch.version)
            .and_then(|()| removes.add_delete(&path, Some(stat.version)))
            .map_err(failed)?;
        match carry_out(calls, PATIENCE, removes)? {
            true => Ok(()),
            false => Err(StoreError::Led(who)),
        }
    }

    /// What is left of the lease of another leader that was met last.
    pub(super) fn led_for(&self, calls: &Calls) -> Option<Duration> {
        self.0.led_for(calls.now_ns())
    }

    /// Renews the lead of a token.
    pub(super) fn renew(&self, calls: &Calls, token: Token) -> Result<(), StoreError> {
        let (held, record) = self.0.renewal(token)?;
        let mut renews = held.fenced(calls).map_err(failed)?;
        let added = renews.add_set_data(&calls.path("leader"), &record, None);
        added.map_err(failed)?;
        let patience = PATIENCE.min(renewal_patience(held.lease()));
        let done = carry_out(calls, patience, renews);
        match done {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::Fenced),
            Err(_) if held.of_store().client.state().is_terminated() => Err(StoreError::Fenced),
            Err(error) => Err(error),
        }
    }

    /// Ends the lead of a token, if it holds.
    pub(super) fn resign(&self, calls: &Calls, token: Token) -> Result<(), StoreError> {
        let Some(held) = self.0.end(token) else {
            return Ok(());
        };
        let mut ends = held.fenced(calls).map_err(failed)?;
        ends.add_delete(&calls.path("leader"), None)
            .map_err(failed)?;
        carry_out(calls, PATIENCE, ends).map(drop)
    }
}
