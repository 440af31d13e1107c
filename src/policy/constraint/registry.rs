//! The constraints that applications and the administrator registered for source tags.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::id::{ApplicationId, Map};

use crate::queue::Constraint;

/// Constraints by source tag, per application and for the whole cluster.
// As MemoryPlacementConstraintManager.
#[derive(Clone, Debug, Default)]
pub struct ConstraintRegistry {
    by_app: Map<ApplicationId, BTreeMap<String, Arc<Constraint>>>,
    global: BTreeMap<String, Arc<Constraint>>,
}

/// Why constraints could not be registered; nothing of the call was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// A constraint must stand for exactly one source tag.
    SourceTags(Vec<String>),
    /// The application has registered already.
    Registered(ApplicationId),
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SourceTags(tags) => write!(
                f,
                "a constraint is registered for exactly one source tag, not for [{}]",
                tags.join(", ")
            ),
            Self::Registered(app) => write!(f, "{app} has registered its constraints already"),
        }
    }
}

impl std::error::Error for RegistryError {}

impl ConstraintRegistry {
    /// A registry without constraints.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many constraints there are.
    #[must_use]
    pub fn count(&self) -> usize {
        let of_apps: usize = self.by_app.values().map(BTreeMap::len).sum();
        of_apps + self.global.len()
    }

    /// Registers the constraints of an application, each for a set of one source tag.
    ///
    /// # Errors
    ///
    /// When a set does not hold exactly one tag, or the application has registered before.
    pub fn register_application(
        &mut self,
        app: ApplicationId,
        constraints: impl IntoIterator<Item = (Vec<String>, Constraint)>,
    ) -> Result<(), RegistryError> {
        if self.by_app.contains_key(&app) {
            return Err(RegistryError::Registered(app));
        }
        let mut by_tag = BTreeMap::new();
        for (tags, constraint) in constraints {
            by_tag.insert(one_tag(tags)?, Arc::new(constraint));
        }
        self.by_app.insert(app, by_tag);
        Ok(())
    }

    /// Adds a constraint of a registered application. An existing one for the tag stays unless
    /// `replace` is set. Returns whether the constraint was stored.
    ///
    /// # Errors
    ///
    /// When the set does not hold exactly one tag.
    pub fn add_application(
        &mut self,
        app: ApplicationId,
        tags: Vec<String>,
        constraint: Constraint,
        replace: bool,
    ) -> Result<bool, RegistryError> {
        let tag = one_tag(tags)?;
        Ok(self
            .by_app
            .get_mut(&app)
            .is_some_and(|by_tag| put(by_tag, tag, constraint, replace)))
    }

    /// Forgets the constraints of an application that has ended.
    pub fn unregister_application(&mut self, app: ApplicationId) {
        self.by_app.remove(&app);
    }

    /// Adds a constraint of the whole cluster. An existing one for the tag stays unless `replace`
    /// is set. Returns whether the constraint was stored.
    ///
    /// # Errors
    ///
    /// When the set does not hold exactly one tag.
    pub fn add_global(
        &mut self,
        tags: Vec<String>,
        constraint: Constraint,
        replace: bool,
    ) -> Result<bool, RegistryError> {
        let tag = one_tag(tags)?;
        Ok(put(&mut self.global, tag, constraint, replace))
    }

    /// Removes the constraint of the whole cluster for a source tag.
    pub fn remove_global(&mut self, tag: &str) {
        self.global.remove(tag);
    }

    /// What holds for a request: its own constraint and, when it has exactly one source tag, those
    /// of the application and of the cluster for that tag. Equal constraints count once; nothing
    /// when there is none.
    // As MemoryPlacementConstraintManager.getMultilevelConstraint.
    #[must_use]
    pub fn effective<T: AsRef<str>>(
        &self,
        app: ApplicationId,
        source_tags: &[T],
        request: Option<&Arc<Constraint>>,
    ) -> Option<Arc<Constraint>> {
        let (own, global) = match source_tags {
            [tag] => {
                let tag = tag.as_ref();
                let own = self.by_app.get(&app).and_then(|by_tag| by_tag.get(tag));
                (own, self.global.get(tag))
            }
            _ => (None, None),
        };
        let mut all: Vec<&Arc<Constraint>> = Vec::with_capacity(3);
        for constraint in [request, own, global].into_iter().flatten() {
            if !all.contains(&constraint) {
                all.push(constraint);
            }
        }
        match all.as_slice() {
            [] => None,
            [only] => Some(Arc::clone(only)),
            _ => {
                let children = all.into_iter().map(|c| Constraint::clone(c)).collect();
                Some(Arc::new(Constraint::And(children)))
            }
        }
    }
}

fn one_tag(tags: Vec<String>) -> Result<String, RegistryError> {
    <[String; 1]>::try_from(tags)
        .map(|[tag]| tag)
        .map_err(RegistryError::SourceTags)
}

fn put(
    by_tag: &mut BTreeMap<String, Arc<Constraint>>,
    tag: String,
    constraint: Constraint,
    replace: bool,
) -> bool {
    if !replace && by_tag.contains_key(&tag) {
        return false;
    }
    by_tag.insert(tag, Arc::new(constraint));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::parse_constraint;

    const APP: ApplicationId = ApplicationId::new(1);

    fn of(text: &str) -> Constraint {
        parse_constraint(text).unwrap()
    }

    fn registry() -> ConstraintRegistry {
        let mut registry = ConstraintRegistry::new();
        let own = [
            (vec!["web".to_owned()], of("in,rack,db")),
            (vec!["db".to_owned()], of("notin,node,db")),
        ];
        registry.register_application(APP, own).unwrap();
        let stored = registry.add_global(vec!["web".to_owned()], of("notin,node,web"), false);
        assert_eq!(stored, Ok(true));
        registry
    }

    fn shown(registry: &ConstraintRegistry, tags: &[&str], request: Option<&str>) -> String {
        let request = request.map(|text| Arc::new(of(text)));
        let all = registry.effective(APP, tags, request.as_ref());
        all.map_or_else(String::new, |all| all.to_string())
    }

    #[test]
    fn request_application_and_cluster_constraints_all_hold() {
        let registry = registry();
        for (tags, request, want) in [
            (
                &["web"][..],
                Some("in,node,cache"),
                "and(in,node,cache:in,rack,db:notin,node,web)",
            ),
            (&["web"], None, "and(in,rack,db:notin,node,web)"),
            (&["db"], None, "notin,node,db"),
            (&["db"], Some("notin,node,db"), "notin,node,db"),
            (&["other"], None, ""),
            (&["other"], Some("in,node,x"), "in,node,x"),
            (&[], Some("in,node,x"), "in,node,x"),
            (&["web", "db"], Some("in,node,x"), "in,node,x"),
            (&["web", "db"], None, ""),
        ] {
            assert_eq!(
                shown(&registry, tags, request),
                want,
                "{tags:?} {request:?}"
            );
        }
    }

    #[test]
    fn constraints_of_another_application_do_not_count() {
        let registry = registry();
        let other = registry.effective(ApplicationId::new(2), &["db"], None);
        assert_eq!(other, None);
    }

    #[test]
    fn a_set_of_several_tags_is_refused_and_nothing_is_stored() {
        let mut registry = ConstraintRegistry::new();
        let two = vec!["a".to_owned(), "b".to_owned()];
        let error = registry.register_application(
            APP,
            [
                (vec!["web".to_owned()], of("in,node,x")),
                (two.clone(), of("in,node,x")),
            ],
        );
        assert_eq!(error, Err(RegistryError::SourceTags(two)));
        assert_eq!(registry.effective(APP, &["web"], None), None);
        assert!(
            registry
                .add_global(Vec::new(), of("in,node,x"), true)
                .is_err()
        );
    }

    #[test]
    fn a_second_constraint_needs_replace() {
        let mut registry = registry();
        let tag = || vec!["web".to_owned()];
        assert_eq!(
            registry.add_global(tag(), of("in,node,y"), false),
            Ok(false)
        );
        assert_eq!(registry.add_global(tag(), of("in,node,y"), true), Ok(true));
        let again = registry.add_application(APP, tag(), of("in,node,z"), true);
        assert_eq!(again, Ok(true));
        assert_eq!(shown(&registry, &["web"], None), "and(in,node,z:in,node,y)");
        registry.remove_global("web");
        registry.unregister_application(APP);
        assert_eq!(shown(&registry, &["web"], None), "");
        let unknown = registry.add_application(APP, tag(), of("in,node,z"), true);
        assert_eq!(unknown, Ok(false));
    }

    #[test]
    fn an_application_registers_once() {
        let mut registry = registry();
        let error = registry.register_application(APP, []).unwrap_err();
        assert_eq!(
            error.to_string(),
            "application_1_0001 has registered its constraints already"
        );
    }
}
