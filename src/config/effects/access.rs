//! Access lists that grant other than they read, or nothing.

use crate::queue::{AccessList, QueueSettings};

use super::{Effects, key};
use crate::config::access::access_list;
use crate::config::diagnostic::{Diagnostic, clip, clip_key};
use crate::config::prefix::PREFIX;

const SUBMIT: &str = "acl_submit_applications";
const ADMINISTER: &str = "acl_administer_queue";
const PRIORITIES: &str = "acl_application_max_priority";
/// What settings of created queues begin with.
const TEMPLATES: [&str; 4] = [
    "leaf-queue-template.",
    "auto-queue-creation-v2.template.",
    "auto-queue-creation-v2.leaf-template.",
    "auto-queue-creation-v2.parent-template.",
];
const ENABLED: &str = "yarn.acl.enable";

/// Lists that a finding shows besides the first one.
const SHOWN: usize = 4;

impl<'a> Effects<'a> {
    /// `alice, bob`: everything after the first space is a list of groups.
    // As AccessControlList.buildACL.
    pub(super) fn groups_by_accident(&self) -> Vec<Diagnostic> {
        let lists = self.properties.keys().filter(|key| {
            *key == "yarn.admin.acl"
                || key.starts_with(PREFIX)
                    && (key.ends_with(SUBMIT)
                        || key.ends_with(ADMINISTER)
                        || key.ends_with("reservations") && key.contains(".acl_"))
        });
        lists.filter_map(|key| self.split_at_space(key)).collect()
    }

    fn split_at_space(&self, key: &str) -> Option<Diagnostic> {
        let text = self.text(key)?;
        let list = access_list(&text);
        if list.everybody {
            return None;
        }
        let (message, help) = group_by_accident(&text, &list)
            .or_else(|| several_groups(&text, &list))
            .or_else(|| odd_name(&text, &list))?;
        Some(self.warning("W_ACL_GROUP", key, message, help))
    }

    /// Lists that nothing looks at: access is not checked, or an ancestor lets everybody in.
    pub(super) fn access_lists(&self) -> Vec<Diagnostic> {
        if self.speaks_of_more_than_types() && !self.flag(ENABLED) {
            return self.switched_off().into_iter().collect();
        }
        let submit = self.open_above(SUBMIT, "submit", |queue| &queue.access.submit);
        let administer =
            self.open_above(ADMINISTER, "administer", |queue| &queue.access.administer);
        submit.into_iter().chain(administer).collect()
    }

    /// Lists of queues, or of a template for their children, that shut somebody out.
    fn restricting(&self, template: &str, name: &str) -> Vec<String> {
        let queues = self.settings.queues.iter();
        let keys = queues.map(|queue| key(&queue.path, &format!("{template}{name}")));
        keys.filter(|key| {
            let text = self.text(key);
            text.is_some_and(|text| match name {
                PRIORITIES => text.contains('['),
                _ => !access_list(&text).everybody,
            })
        })
        .collect()
    }

    fn switched_off(&self) -> Option<Diagnostic> {
        let names = [SUBMIT, ADMINISTER, PRIORITIES].into_iter();
        let keys: Vec<String> = names
            .flat_map(|name| {
                let own = self.restricting("", name);
                let created = TEMPLATES.into_iter();
                own.into_iter()
                    .chain(created.flat_map(move |template| self.restricting(template, name)))
            })
            .collect();
        let message = format!(
            "`{}`: access is not checked, since `{ENABLED}` is not true",
            clip_key(keys.first()?)
        );
        let help = format!("set `{ENABLED}` to true in yarn-site.xml");
        Some(self.at_all("W_ACL_OFF", &keys, message, help))
    }

    /// Lists below a queue that grants the permission to everybody. Who administers may submit.
    // As ConfiguredYarnAuthorizer.checkPermissionInternal, which asks the ancestors too.
    fn open_above(
        &self,
        name: &'static str,
        verb: &str,
        list: fn(&QueueSettings) -> &AccessList,
    ) -> Option<Diagnostic> {
        let keys = self.restricting("", name);
        let open = |queue: &&QueueSettings| {
            list(queue).everybody || (name == SUBMIT && queue.access.administer.everybody)
        };
        let below_open = |path: &str| self.ancestors(path).into_iter().find(open);
        let useless: Vec<String> = keys
            .into_iter()
            .filter(|key| below_open(path_of(key, name)).is_some())
            .collect();
        let above = below_open(path_of(useless.first()?, name))?;
        let message = format!(
            "`{}` has no effect: `{}` lets everybody {verb}",
            clip(useless.first()?),
            clip(&above.path)
        );
        let mut change = Vec::new();
        for (of, list) in [
            (SUBMIT, &above.access.submit),
            (ADMINISTER, &above.access.administer),
        ] {
            if list.everybody && (of == name || name == SUBMIT) {
                change.push(format!("`{}`", key(&above.path, of)));
            }
        }
        let help = format!(
            "set {} to a list, or to one space for nobody",
            change.join(" and ")
        );
        Some(self.at_all("W_ACL_OPEN", &useless, message, help))
    }

    /// The queues above a path, the highest first.
    fn ancestors(&self, path: &str) -> Vec<&'a QueueSettings> {
        let dots = path.match_indices('.').map(|(dot, _)| &path[..dot]);
        dots.filter_map(|above| self.queue(above)).collect()
    }

    /// One warning for all lists, at the first one.
    fn at_all(
        &self,
        code: &'static str,
        keys: &[String],
        message: String,
        help: String,
    ) -> Diagnostic {
        let more = keys.len() - 1;
        let message = match more {
            0 => message,
            n => format!("{message}; so it is with {n} more"),
        };
        let first = keys.first().map_or("", String::as_str);
        let mut finding = self.warning(code, first, message, help);
        for key in keys.iter().skip(1).take(SHOWN) {
            finding = finding.also(self.properties.span(key), "this one too");
        }
        finding
    }
}

/// The path of a queue in one of its keys.
/// Users that go on after a comma and a space.
fn group_by_accident(text: &str, list: &AccessList) -> Option<(String, String)> {
    let (users, groups) = text.split_once(' ')?;
    let broken = users.trim_end().ends_with(',') || groups.trim_start().starts_with(',');
    let first = list.groups.first()?;
    if !broken || list.users.is_empty() {
        return None;
    }
    let joined: Vec<&str> = text.split(',').map(str::trim).collect();
    let message = format!(
        "`{}` names the group `{}`: users end at the first space",
        clip(text),
        clip(first)
    );
    let help = format!("write `{}`, without the space", clip(&joined.join(",")));
    Some((message, help))
}

/// Names with spaces between them: what follows the first one is one group.
fn several_groups(text: &str, list: &AccessList) -> Option<(String, String)> {
    let group = list.groups.iter().find(|group| group.contains(' '))?;
    let message = format!("`{}` names one group `{}`", clip(text), clip(group));
    let joined: Vec<&str> = text.split_whitespace().collect();
    let help = format!(
        "separate names by commas, as in `{}`",
        clip(&joined.join(","))
    );
    Some((message, help))
}

/// A name that nobody has.
fn odd_name(text: &str, list: &AccessList) -> Option<(String, String)> {
    let mut names = list.users.iter().chain(&list.groups);
    let name = names.find(|name| name.as_str() == "*" || name.contains(';'))?;
    let message = format!(
        "`{}` names `{}`, which nobody is called",
        clip(text),
        clip(name)
    );
    let help = if name.contains(';') {
        format!("write `{}`, with commas", clip(&text.replace(';', ",")))
    } else {
        "write `*` alone for everybody".to_owned()
    };
    Some((message, help))
}

fn path_of<'b>(key: &'b str, name: &str) -> &'b str {
    let path = key.strip_prefix(PREFIX).unwrap_or(key);
    let path = path.strip_suffix(name).unwrap_or(path);
    path.trim_end_matches('.')
}
