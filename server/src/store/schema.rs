//! The schema of a store: a number beside its values, which says in what form they are.
//!
//! A store gets the number from its first leader, in the write by which that one leads. Every start reads it, and so
//! does everyone who wants to lead. A store without the number is from before there was one, and counts as schema 1.

#[cfg(any(feature = "etcd", feature = "zookeeper"))]
use super::batch::StoreError;

/// The schema that this program reads and writes.
pub(super) const SCHEMA: u64 = 1;

/// Name of the key of a shared store.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(super) const KEY: &str = "schema";

/// Judges what the key of a shared store holds.
///
/// # Errors
///
/// [`StoreError::Schema`] for another schema, [`StoreError::Corrupt`] for what is no number.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(super) fn judge(key: &str, value: &[u8]) -> Result<(), StoreError> {
    let text = std::str::from_utf8(value).ok();
    match text.and_then(|text| text.trim().parse().ok()) {
        Some(SCHEMA) => Ok(()),
        Some(found) => Err(StoreError::Schema {
            place: key.to_owned(),
            found,
            known: SCHEMA,
        }),
        None => Err(StoreError::unread(key, value, "it is no schema")),
    }
}

#[cfg(all(test, any(feature = "etcd", feature = "zookeeper")))]
mod tests {
    use super::*;

    #[test]
    fn other_schemas_are_named_and_what_is_none_is_shown() {
        assert_eq!(judge("p/schema", b"1"), Ok(()));
        let newer = judge("p/schema", b"2").unwrap_err().at("etcd://a:1/p");
        let text = "etcd://a:1/p: p/schema: the store has schema 2; this program reads schema 1";
        assert_eq!(newer.to_string(), text);
        for (wrong, shown) in [(&b""[..], "``"), (b"x\x00", r"`x\x00`"), (b"-1", "`-1`")] {
            let error = judge("p/schema", wrong).unwrap_err();
            assert!(error.is_of_contents(), "{error}");
            assert!(error.to_string().contains(shown), "{error}");
        }
    }
}
