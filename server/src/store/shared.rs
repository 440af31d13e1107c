//! Stores that several servers share, by their address.

use std::sync::Arc;

use super::batch::{Store, StoreError};

#[cfg(feature = "etcd")]
fn open_etcd(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(super::EtcdStore::open(address)?))
}

#[cfg(not(feature = "etcd"))]
fn open_etcd(_: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(built_without("etcd"))
}

#[cfg(feature = "zookeeper")]
fn open_zookeeper(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(super::ZooKeeperStore::open(address)?))
}

#[cfg(not(feature = "zookeeper"))]
fn open_zookeeper(_: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(built_without("zookeeper"))
}

#[cfg(not(all(feature = "etcd", feature = "zookeeper")))]
fn built_without(store: &str) -> StoreError {
    let text =
        format!("this program was built without {store}: build it with `--features {store}`");
    StoreError::Failed(text)
}

/// Opens the store of an address, `etcd://host:port,host:port/prefix` or `zookeeper://host:port,host:port/root`.
///
/// # Errors
///
/// When the address has another form, the program was built without that store, no member answers, or the store has
/// another schema.
pub fn open_shared(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    let opened = match address.split_once("://").map(|(scheme, _)| scheme) {
        Some("etcd") => open_etcd(address),
        Some("zookeeper") => open_zookeeper(address),
        _ => {
            let text = format!("`{address}` begins with neither etcd:// nor zookeeper://");
            Err(StoreError::Failed(text))
        }
    };
    opened.map_err(|error| error.at(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_addresses_are_refused_with_the_schemes() {
        for wrong in ["", "a:1", "http://a:1", "etc://a:1/x"] {
            let error = open_shared(wrong).unwrap_err().to_string();
            assert!(error.contains("zookeeper://"), "{error}");
        }
    }
}
