//! The user that the query of an address names.

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

use super::authentication::Identity;

/// Parameter of the query that names a user without proof.
pub(super) const USER_NAME: &str = "user.name";

/// The parts of a query with their decoded names.
fn parts(query: &str) -> impl Iterator<Item = (&str, String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts.map(|part| {
        let mut decoded = form_urlencoded::parse(part.as_bytes());
        let (name, value) = decoded.next().unwrap_or_default();
        (part, name.into_owned(), value.into_owned())
    })
}

pub(super) fn query_user(uri: &Uri) -> Option<String> {
    let mut found = parts(uri.query()?).filter(|(_, name, _)| name == USER_NAME);
    found.next().map(|(_, _, value)| value)
}

/// The address with the user that was found as the only one that it names.
pub(super) fn named(uri: &Uri, identity: &Identity) -> Uri {
    let query = uri.query().unwrap_or_default();
    let kept = parts(query).filter(|(_, name, _)| name != USER_NAME);
    let mut kept: Vec<String> = kept.map(|(part, ..)| part.to_owned()).collect();
    if let Identity::User(name) = identity {
        let mut pair = form_urlencoded::Serializer::new(String::new());
        kept.push(pair.append_pair(USER_NAME, name).finish());
    }
    let path = uri.path();
    let text = match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
    };
    let mut whole = uri.clone().into_parts();
    match text.parse::<PathAndQuery>() {
        Ok(path) => {
            whole.path_and_query = Some(path);
            Uri::from_parts(whole).unwrap_or_else(|_| Uri::from_static("/"))
        }
        // Parts of a valid address are one again.
        Err(_) => Uri::from_static("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn a_query_names_the_user_that_was_found_and_no_other() {
        let ann = Identity::User("a&b c".into());
        for (from, to) in [
            ("/x?user.name=yarn&limit=3", "/x?limit=3&user.name=a%26b+c"),
            ("/x?user%2Ename=yarn", "/x?user.name=a%26b+c"),
            ("/x", "/x?user.name=a%26b+c"),
        ] {
            assert_eq!(named(&uri(from), &ann).to_string(), to);
        }
        let nobody = named(
            &uri("/x?us%65r.name=yarn&user.name=bob&a=%20"),
            &Identity::Nobody,
        );
        assert_eq!(nobody.to_string(), "/x?a=%20");
        assert_eq!(
            named(&uri("/x?user.name=yarn"), &Identity::Nobody).to_string(),
            "/x"
        );
    }
}
