//! Ways around stores over a network, by a client of each.

use tokio::runtime::Runtime;

use super::schema::Raw;
use super::store_server::Kind;

/// A key beside the values, as the store names it.
pub(super) fn key(kind: Kind, prefix: &str, name: &str) -> String {
    match kind {
        #[cfg(feature = "etcd")]
        Kind::Etcd => format!("{prefix}/{name}"),
        #[cfg(feature = "zookeeper")]
        Kind::ZooKeeper => format!("/{prefix}/{name}"),
    }
}

/// A way around the store of an address.
pub(super) fn open(kind: Kind, address: &str, prefix: &str) -> Box<dyn Raw> {
    let hosts = address.split("://").nth(1).unwrap();
    let hosts = hosts.split('/').next().unwrap().to_owned();
    let runtime = Runtime::new().unwrap();
    let prefix = prefix.to_owned();
    match kind {
        #[cfg(feature = "etcd")]
        Kind::Etcd => Box::new(RawEtcd {
            client: runtime
                .block_on(etcd_client::Client::connect([hosts], None))
                .unwrap(),
            runtime,
            prefix,
        }),
        #[cfg(feature = "zookeeper")]
        Kind::ZooKeeper => Box::new(RawZooKeeper {
            client: runtime
                .block_on(zookeeper_client::Client::connect(&hosts))
                .unwrap(),
            runtime,
            prefix,
        }),
    }
}

#[cfg(feature = "etcd")]
struct RawEtcd {
    client: etcd_client::Client,
    runtime: Runtime,
    prefix: String,
}

#[cfg(feature = "etcd")]
impl Raw for RawEtcd {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let (mut client, key) = (self.client.clone(), key(Kind::Etcd, &self.prefix, name));
        let got = self.runtime.block_on(client.get(key, None)).unwrap();
        Some(got.kvs().first()?.value().to_vec())
    }

    fn set(&self, name: &str, value: Option<&str>) {
        let (mut client, key) = (self.client.clone(), key(Kind::Etcd, &self.prefix, name));
        match value {
            Some(value) => drop(self.runtime.block_on(client.put(key, value, None)).unwrap()),
            None => drop(self.runtime.block_on(client.delete(key, None)).unwrap()),
        }
    }
}

#[cfg(feature = "zookeeper")]
struct RawZooKeeper {
    client: zookeeper_client::Client,
    runtime: Runtime,
    prefix: String,
}

#[cfg(feature = "zookeeper")]
impl Raw for RawZooKeeper {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = key(Kind::ZooKeeper, &self.prefix, name);
        match self.runtime.block_on(self.client.get_data(&path)) {
            Ok((value, _)) => Some(value),
            Err(zookeeper_client::Error::NoNode) => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    fn set(&self, name: &str, value: Option<&str>) {
        use zookeeper_client::{Acls, CreateMode, Error};

        let (path, client) = (key(Kind::ZooKeeper, &self.prefix, name), &self.client);
        let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
        self.runtime.block_on(async {
            let Some(value) = value.map(str::as_bytes) else {
                return client.delete(&path, None).await.unwrap();
            };
            match client.set_data(&path, value, None).await {
                Ok(_) => {}
                Err(Error::NoNode) => {
                    let root = format!("/{}", self.prefix);
                    client.mkdir(&root, &persistent).await.unwrap();
                    client.create(&path, value, &persistent).await.unwrap();
                }
                Err(error) => panic!("{path}: {error}"),
            }
        });
    }
}
