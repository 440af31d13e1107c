//! Access control lists in their text form.

use crate::queue::{AccessList, PriorityAccess};

use super::number;

/// `users groups`: two comma lists separated by the first space; `*` is everybody.
// As AccessControlList.buildACL.
pub(super) fn access_list(text: &str) -> AccessList {
    let mut parts = text.splitn(2, ' ');
    let (users, groups) = (parts.next().unwrap_or_default(), parts.next());
    let wild = |part: &str| number::trim(part) == "*";
    if wild(users) || groups.is_some_and(wild) {
        return AccessList {
            everybody: true,
            ..AccessList::default()
        };
    }
    AccessList {
        everybody: false,
        users: names(users),
        groups: names(groups.unwrap_or_default()),
    }
}

fn names(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in number::trimmed_list(text) {
        if !name.is_empty() && !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    }
    all
}

/// The text form of a list, as the reference writes it again.
#[must_use]
pub fn access_text(list: &AccessList) -> String {
    if list.everybody {
        return "*".to_owned();
    }
    format!("{} {}", list.users.join(","), list.groups.join(","))
}

/// Why a priority list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadPriorities {
    /// A priority that is no number.
    Number(String),
    /// Another key than `user`, `group`, `max_priority`, `default_priority`.
    Key(String),
    /// A bracket that names nobody.
    Nobody,
    /// A bracket without `max_priority`.
    NoMaximum,
}

/// Brackets of `user=… group=… max_priority=… default_priority=…`; text outside them, such as
/// `*`, says nothing.
// As AppPriorityACLConfigurationParser.getPriorityAcl.
pub(super) fn priorities(text: &str, most: i32) -> Result<Vec<PriorityAccess>, BadPriorities> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let inner = &rest[open + 1..];
        let close = inner.find(']').unwrap_or(inner.len());
        rest = &inner[close..];
        let inner = number::trim(&inner[..close]);
        if !inner.is_empty() {
            all.push(priority(inner, most)?);
        }
    }
    Ok(all)
}

fn priority(inner: &str, most: i32) -> Result<PriorityAccess, BadPriorities> {
    let (mut who, mut maximum, mut default) = (Vec::new(), None, None);
    for pair in inner.split(' ').filter(|pair| !pair.is_empty()) {
        let mut parts = pair.split('=');
        let (Some(key), Some(value)) = (parts.next(), parts.next().filter(|v| !v.is_empty()))
        else {
            continue;
        };
        let number =
            || number::decimal::<i32>(value).ok_or(BadPriorities::Number(value.to_owned()));
        match number::trim(key).to_ascii_uppercase().as_str() {
            "USER" | "GROUP" => who.push(number::trim(value)),
            "MAX_PRIORITY" => maximum = Some(number()?),
            "DEFAULT_PRIORITY" => default = Some(number()?.max(0)),
            _ => return Err(BadPriorities::Key(key.to_owned())),
        }
    }
    let first = *who.first().ok_or(BadPriorities::Nobody)?;
    let text = match who.get(1) {
        Some(second) if first != "*" => format!("{first} {second}"),
        _ => first.to_owned(),
    };
    Ok(PriorityAccess {
        who: access_list(number::trim(&text)),
        maximum: maximum.ok_or(BadPriorities::NoMaximum)?.min(most),
        default,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_users_then_groups() {
        let text = |text: &str| access_text(&access_list(text));
        assert_eq!(text("*"), "*");
        assert_eq!(text(" "), " ");
        assert_eq!(text("ann,bob dev"), "ann,bob dev");
        assert_eq!(text(" ops"), " ops");
        assert_eq!(text("\nann dev\n"), "ann dev");
        assert_eq!(text("ann, bob"), "ann bob");
        assert_eq!(text("ann,ann,, "), "ann ");
        assert_eq!(text("ann *"), "*");
    }

    #[test]
    fn priorities_stand_in_brackets() {
        let read = priorities(
            "[user=ann group=dev max_priority=17 default_priority=-4]",
            10,
        );
        let read = read.unwrap();
        assert_eq!(access_text(&read[0].who), "ann dev");
        assert_eq!((read[0].maximum, read[0].default), (10, Some(0)));
        assert_eq!(priorities("*", 10), Ok(Vec::new()));
        let two = priorities("[user=* max_priority=3][group=g max_priority=1]", 5).unwrap();
        assert!(two[0].who.everybody);
        assert_eq!((two.len(), two[1].default), (2, None));
        assert_eq!(
            priorities("[user=a max_priority=x]", 1),
            Err(BadPriorities::Number("x".into()))
        );
        assert_eq!(
            priorities("[usr=a]", 1),
            Err(BadPriorities::Key("usr".into()))
        );
        assert_eq!(
            priorities("[max_priority=1]", 1),
            Err(BadPriorities::Nobody)
        );
        assert_eq!(
            priorities("[user=a default_priority=1]", 1),
            Err(BadPriorities::NoMaximum)
        );
    }
}
