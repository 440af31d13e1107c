//! The schema of a store: written at the first use, read at every start, and refused where it is another one.

use capsched_server::store::Standby;

use super::*;

/// A store that is opened again and again, with a way around it to what it holds beside its values.
pub(super) struct Place {
    /// What messages have to name: a file or an address.
    pub(super) address: String,
    /// The key of the schema, as messages name it.
    pub(super) key: String,
    pub(super) open: Box<dyn Fn() -> Result<Arc<dyn Store>, StoreError>>,
    pub(super) raw: Box<dyn Raw>,
}

/// A way around a store.
pub(super) trait Raw: Send {
    /// What a name beside the values holds.
    fn read(&self, name: &str) -> Option<Vec<u8>>;

    /// Sets a name beside the values, or removes it.
    fn set(&self, name: &str, value: Option<&str>);
}

/// The file of the embedded store; no process has it open.
struct RawFile(PathBuf);

const NUMBERS: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("numbers");

impl Raw for RawFile {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let database = redb::Database::create(&self.0).unwrap();
        let transaction = database.begin_write().unwrap();
        let table = transaction.open_table(NUMBERS).unwrap();
        let number = redb::ReadableTable::get(&table, name).unwrap();
        Some(number?.value().to_string().into_bytes())
    }

    fn set(&self, name: &str, value: Option<&str>) {
        let database = redb::Database::create(&self.0).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(NUMBERS).unwrap();
        match value {
            Some(value) => table.insert(name, value.parse::<u64>().unwrap()).unwrap(),
            None => table.remove(name).unwrap(),
        };
        drop(table);
        transaction.commit().unwrap();
    }
}

/// Runs a case over every store that can be had here, which no process has open.
fn each_place(case: impl Fn(&Place)) {
    let dir = tempfile::tempdir().unwrap();
    let (path, file) = (dir.path().to_owned(), dir.path().join("state.redb"));
    let open = move || -> Result<Arc<dyn Store>, StoreError> {
        let store = EmbeddedStore::open(&path, Arc::new(SystemClock::new()))?;
        Ok(Arc::new(store))
    };
    case(&Place {
        address: file.display().to_string(),
        key: String::new(),
        open: Box::new(open),
        raw: Box::new(RawFile(file)),
    });
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    shared::over_places(&case);
}

/// Leads a store, sets a key, and gives up the lead.
fn use_once(place: &Place, key: &str) {
    let store = (place.open)().unwrap();
    let token = store.lead("a", LONG).unwrap();
    put(&*store, token, key, "1");
    store.resign(token).unwrap();
}

fn assert_schema(place: &Place, schema: &str) {
    let found = place.raw.read("schema");
    assert_eq!(
        found.as_deref(),
        Some(schema.as_bytes()),
        "{}",
        place.address
    );
}

#[test]
fn the_first_leader_writes_the_schema_and_a_store_without_one_counts_as_the_present() {
    each_place(|place| {
        use_once(place, "k");
        assert_schema(place, "1");
        place.raw.set("schema", None);
        assert_eq!(place.raw.read("schema"), None);
        use_once(place, "l");
        assert_schema(place, "1");
        let store = (place.open)().unwrap();
        assert_eq!(text(&*store, "k").as_deref(), Some("1"));
        assert_eq!(text(&*store, "l").as_deref(), Some("1"));
    });
}

#[test]
fn another_schema_is_refused_with_its_place_and_stays() {
    each_place(|place| {
        use_once(place, "k");
        place.raw.set("schema", Some("99"));
        let error = (place.open)().unwrap_err();
        assert!(error.is_of_contents(), "{error:?}");
        let said = error.to_string();
        let end = "the store has schema 99; this program reads schema 1";
        assert!(said.ends_with(end), "{said}");
        assert!(said.starts_with(&place.address), "{said}");
        assert!(said.contains(&place.key), "{said}");
        assert_schema(place, "99");
    });
}

/// Runs a case over the stores that servers share.
fn each_shared(case: impl Fn(&Place)) {
    each_place(|place| {
        // A process has the embedded store for itself, and numbers alone stand there.
        if !place.key.is_empty() {
            case(place);
        }
    });
}

#[test]
fn a_schema_that_is_no_number_is_refused_with_what_was_found() {
    each_shared(|place| {
        place.raw.set("schema", Some("of another program"));
        let said = (place.open)().unwrap_err().to_string();
        let found = format!(
            "{}: {}: it is no schema; found `of another program`; this program reads schema 1",
            place.address, place.key
        );
        assert_eq!(said, format!("the store is broken: {found}"));
    });
}

#[test]
fn who_waits_to_lead_ends_where_another_schema_or_what_is_no_leader_comes() {
    each_shared(|place| {
        let first = (place.open)().unwrap();
        let token = first.lead("a", LONG).unwrap();
        let mut standby = Standby::new((place.open)().unwrap(), "b", LONG);
        assert!(standby.step(Duration::ZERO).unwrap().is_none());
        place.raw.set("schema", Some("2"));
        let error = standby.step(Duration::ZERO).unwrap_err();
        assert!(
            matches!(&error, StoreError::Schema { place: key, found: 2, known: 1 } if *key == place.key),
            "{error:?}"
        );
        // The leader goes on.
        first.renew(token).unwrap();
        put(&*first, token, "k", "1");
        place.raw.set("schema", Some("1"));
        assert!(standby.step(Duration::ZERO).unwrap().is_none());
        place.raw.set("leader", Some("of another program"));
        let error = standby.step(Duration::ZERO).unwrap_err();
        assert!(error.is_of_contents(), "{error:?}");
        let said = error.to_string();
        assert!(said.contains("found `of another program`"), "{said}");
    });
}
