//! Where settings stand: in the files of a configuration, or as a server named them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use capsched::config::{self, Loaded, Properties, SourceFile};
use serde_json::{Value, json};

/// A value of a setting and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingPlace {
    /// The property that has the value.
    pub(crate) key: String,
    /// The value as it is written.
    pub(crate) value: String,
    /// The file.
    pub(crate) file: Option<String>,
    /// The line in the file, from 1.
    pub(crate) line: Option<usize>,
}

impl std::fmt::Display for SettingPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.key, self.value)?;
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, "  {file}:{line}")?;
        }
        Ok(())
    }
}

/// Where the value of a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingSource {
    /// The word of `check --cluster`: `QUEUE`, `TEMPLATE_V2`, `DEFAULT` and so on.
    pub(crate) word: String,
    /// Where it stands; nothing for defaults and derived values.
    pub(crate) place: Option<SettingPlace>,
}

impl SettingSource {
    /// The value with its place, or what holds without one.
    pub(crate) fn text(&self, property: &str) -> String {
        match &self.place {
            Some(place) => place.to_string(),
            None if self.word == config::Origin::Derived.word() => {
                format!("{property} (from other settings)")
            }
            None => format!("{property} (default)"),
        }
    }

    /// The value with its place as JSON; null without one.
    pub(crate) fn place_json(&self) -> Value {
        self.place.as_ref().map_or(Value::Null, |place| {
            json!({"property": place.key, "value": place.value, "file": place.file, "line": place.line})
        })
    }
}

/// The properties of a configuration and the files that they stand in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    loaded: Option<Arc<Loaded>>,
    /// Whether the files of the configuration are still there to be looked into.
    in_files: bool,
    /// What a server named instead.
    served: Option<ServedPlaces>,
}

/// What a server names of its configuration.
#[derive(Clone, Debug)]
pub(crate) struct ServedPlaces {
    /// Values by the property that they were asked for.
    pub(crate) sources: BTreeMap<String, SettingSource>,
    /// Number of resource types.
    pub(crate) types: usize,
}

/// No property at all.
static NOTHING: LazyLock<Properties> = LazyLock::new(Properties::default);

impl Origin {
    /// A configuration in files, or in memory.
    pub(crate) fn of_files(loaded: Loaded) -> Self {
        Self {
            loaded: Some(Arc::new(loaded)),
            in_files: true,
            served: None,
        }
    }

    /// A configuration whose files are elsewhere.
    pub(crate) fn of_properties(loaded: Loaded) -> Self {
        Self {
            in_files: false,
            ..Self::of_files(loaded)
        }
    }

    /// What a server named.
    pub(crate) fn of_server(served: ServedPlaces) -> Self {
        Self {
            served: Some(served),
            ..Self::default()
        }
    }

    /// The properties; none of a server.
    pub(crate) fn properties(&self) -> &Properties {
        self.loaded
            .as_ref()
            .map_or(&NOTHING, |loaded| &loaded.properties)
    }

    /// Number of resource types that the properties declare, memory and vcores included.
    pub(crate) fn types(&self) -> usize {
        if let Some(served) = &self.served {
            return served.types;
        }
        let listed = self.properties().raw("yarn.resource-types").unwrap_or("");
        let further = listed
            .split(',')
            .map(str::trim)
            .filter(|name| !matches!(*name, "" | "memory" | "memory-mb" | "vcores"));
        2 + further.count()
    }

    /// Where the value of a setting comes from, as `check --cluster` finds it. `leaf` is the queue of the application
    /// that is explained.
    pub(crate) fn source(&self, property: &str, leaf: &str) -> Option<SettingSource> {
        if let Some(served) = &self.served {
            return served.sources.get(property).cloned();
        }
        let loaded = self.loaded.as_ref()?;
        let found = config::value_source(loaded, property, leaf);
        let place = found.property.map(|key| {
            let file = self.file_and_line(loaded, &key);
            let value = found.value.unwrap_or_default().trim().to_owned();
            SettingPlace {
                file: file.as_ref().map(|(file, _)| file.name.clone()),
                line: file.map(|(_, line)| line),
                key,
                value,
            }
        });
        Some(SettingSource {
            word: found.origin.word().to_owned(),
            place,
        })
    }

    fn file_and_line<'a>(&self, loaded: &'a Loaded, key: &str) -> Option<(&'a SourceFile, usize)> {
        let span = loaded.properties.span(key).filter(|_| self.in_files)?;
        let file = loaded.report.files.get(span.file)?;
        Some((file, file.position(span.bytes.start).0))
    }
}
