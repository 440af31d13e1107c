//! Rules that give every job its queue and user: `qos=LS:root.prod,user=*:root.default`.
//!
//! A rule is `field=pattern:target`. The pattern is a value of the field, or its beginning followed
//! by `*`. The target is `queue`, `queue@user` or `@user`; `%value` in it stands for the value of
//! the field. The first matching rule that names a queue decides the queue, and the first that
//! names a user decides the user.

use std::fmt;

use super::error::clip;
use super::rule_use::RuleUse;

/// A list of rules in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapRules {
    rules: Vec<MapRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct MapRule {
    field: String,
    pattern: String,
    queue: Option<String>,
    user: Option<String>,
}

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRuleError {
    /// Position in the list, from 1.
    pub position: usize,
    /// What is wrong.
    pub message: &'static str,
    /// The rule, cut to 64 characters.
    pub rule: String,
}

impl fmt::Display for MapRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "mapping rule {}: {}: `{}`",
            self.position, self.message, self.rule
        )
    }
}

impl std::error::Error for MapRuleError {}

impl MapRules {
    /// Reads rules separated by commas; an empty text is an empty list.
    ///
    /// # Errors
    ///
    /// When a rule lacks its `=` or `:`, names neither a queue nor a user, or has a `%` that is not `%value`.
    pub fn parse(text: &str) -> Result<Self, MapRuleError> {
        let mut rules = Vec::new();
        if text.trim().is_empty() {
            return Ok(Self { rules });
        }
        for (index, part) in text.split(',').enumerate() {
            let rule = MapRule::parse(part.trim()).map_err(|message| MapRuleError {
                position: index + 1,
                message,
                rule: clip(part),
            })?;
            rules.push(rule);
        }
        Ok(Self { rules })
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a rule reads a field.
    #[must_use]
    pub fn uses(&self, field: &str) -> bool {
        self.rules.iter().any(|rule| rule.field == field)
    }

    /// The first field of a rule that is none of these.
    #[must_use]
    pub fn unknown_field(&self, known: &[&str]) -> Option<&str> {
        let fields = self.rules.iter().map(|rule| rule.field.as_str());
        fields.into_iter().find(|field| !known.contains(field))
    }

    /// The rules in order, before the first row.
    #[must_use]
    pub fn before_rows(&self) -> Vec<RuleUse> {
        let rules = self.rules.iter();
        rules.map(|rule| RuleUse::of(rule.to_string())).collect()
    }

    /// Queue and user for a row with these fields, each where a rule decides it.
    #[must_use]
    pub fn apply(&self, fields: &[(&str, &str)]) -> (Option<String>, Option<String>) {
        self.counted(fields, &mut [])
    }

    /// The same, and the row is counted for each rule that it matches.
    pub fn counted(
        &self,
        fields: &[(&str, &str)],
        uses: &mut [RuleUse],
    ) -> (Option<String>, Option<String>) {
        let (mut queue, mut user) = (None, None);
        let mut uses = uses.iter_mut();
        for rule in &self.rules {
            let counted = uses.next();
            let Some(value) = rule.matching(fields) else {
                continue;
            };
            let decides = (queue.is_none() && rule.queue.is_some())
                || (user.is_none() && rule.user.is_some());
            if let Some(counted) = counted {
                counted.note(decides);
            }
            let fill = |target: &String| target.replace("%value", value);
            queue = queue.or_else(|| rule.queue.as_ref().map(fill));
            user = user.or_else(|| rule.user.as_ref().map(fill));
        }
        (queue, user)
    }
}

impl fmt::Display for MapRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.queue.as_deref().unwrap_or_default();
        write!(f, "{}={}:{queue}", self.field, self.pattern)?;
        match &self.user {
            Some(user) => write!(f, "@{user}"),
            None => Ok(()),
        }
    }
}

impl MapRule {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (field, rest) = text
            .split_once('=')
            .ok_or("expected field=pattern:target, there is no `=`")?;
        let (pattern, target) = rest
            .rsplit_once(':')
            .ok_or("expected field=pattern:target, there is no `:`")?;
        let (queue, user) = match target.split_once('@') {
            Some((queue, user)) => (queue.trim(), user.trim()),
            None => (target.trim(), ""),
        };
        if field.trim().is_empty() {
            return Err("the field is empty");
        }
        if queue.is_empty() && user.is_empty() {
            return Err("the target names neither a queue nor a user");
        }
        // YARN's own rules have `%user` and more.
        if target.replace("%value", "").contains('%') {
            return Err("`%value` is the only `%` that a target may have");
        }
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            field: field.trim().to_owned(),
            pattern: pattern.trim().to_owned(),
            queue: some(queue),
            user: some(user),
        })
    }

    fn matching<'a>(&self, fields: &[(&str, &'a str)]) -> Option<&'a str> {
        let (_, value) = fields.iter().find(|(field, _)| *field == self.field)?;
        let fits = match self.pattern.strip_suffix('*') {
            Some(start) => value.starts_with(start),
            None => *value == self.pattern,
        };
        fits.then_some(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_with_a_queue_and_the_first_with_a_user_decide() {
        let rules =
            MapRules::parse("qos=LS:root.prod, qos=*:@u-%value,user=al*:root.%value@x").unwrap();
        let of = |qos, user| rules.apply(&[("qos", qos), ("user", user)]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of("LS", "bob"), (some("root.prod"), some("u-LS")));
        assert_eq!(of("BE", "alice"), (some("root.alice"), some("u-BE")));
        assert_eq!(of("BE", "bob"), (None, some("u-BE")));
        assert_eq!(rules.apply(&[]), (None, None));
        assert_eq!(rules.unknown_field(&["qos", "user"]), None);
        assert_eq!(rules.unknown_field(&["user"]), Some("qos"));
    }

    #[test]
    fn rows_are_counted_for_the_rules_that_they_match_and_that_decide() {
        let text = "qos=LS:root.a@x,qos=*:root.b,qos=LS:@y,user=zoe:@%value";
        let rules = MapRules::parse(text).unwrap();
        let mut uses = rules.before_rows();
        for qos in ["LS", "LS", "BE"] {
            let fields = [("qos", qos), ("user", "bob")];
            assert_eq!(rules.counted(&fields, &mut uses), rules.apply(&fields));
        }
        let of = |at: usize| (uses[at].rule.as_str(), uses[at].matched, uses[at].decided);
        assert_eq!(of(0), ("qos=LS:root.a@x", 2, 2));
        assert_eq!(of(1), ("qos=*:root.b", 3, 1));
        assert_eq!(of(2), ("qos=LS:@y", 2, 0));
        assert_eq!(of(3), ("user=zoe:@%value", 0, 0));
    }

    #[test]
    fn bad_rules_are_refused_with_their_position() {
        for (text, position) in [
            ("qos=LS", 1),
            ("a=b:c,d", 2),
            ("=b:c", 1),
            ("a=b:", 1),
            ("a=b:root.%value,user=*:root.%user", 2),
            ("a=b:@%primary_group", 1),
            (",", 1),
        ] {
            let error = MapRules::parse(text).unwrap_err();
            assert_eq!(error.position, position, "{error}");
        }
        assert!(MapRules::parse(" ").unwrap().is_empty());
    }
}
