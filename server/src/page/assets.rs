//! The files of the page, within the binary.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Name, type and content of each file but the index.
const FILES: &[(&str, &str, &str)] = &[
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../../assets/icon.svg"),
    ),
    ("page.css", STYLE, include_str!("../../assets/page.css")),
    ("uPlot.min.css", STYLE, crate::CHART_STYLE),
    ("uPlot.iife.min.js", SCRIPT, crate::CHART_SCRIPT),
    ("main.js", SCRIPT, include_str!("../../assets/main.js")),
    ("api.js", SCRIPT, include_str!("../../assets/api.js")),
    ("dom.js", SCRIPT, include_str!("../../assets/dom.js")),
    ("queues.js", SCRIPT, include_str!("../../assets/queues.js")),
    ("apps.js", SCRIPT, include_str!("../../assets/apps.js")),
    ("app.js", SCRIPT, include_str!("../../assets/app.js")),
    ("nodes.js", SCRIPT, include_str!("../../assets/nodes.js")),
    ("events.js", SCRIPT, include_str!("../../assets/events.js")),
    (
        "latency.js",
        SCRIPT,
        include_str!("../../assets/latency.js"),
    ),
    ("conf.js", SCRIPT, include_str!("../../assets/conf.js")),
    ("trial.js", SCRIPT, include_str!("../../assets/trial.js")),
];

const INDEX: &str = include_str!("../../assets/index.html");

/// The index.
pub(super) fn index() -> Response {
    ([(header::CONTENT_TYPE, HTML)], INDEX).into_response()
}

/// A file. Its tag is the version of the server, so that a browser asks again after an update alone.
pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let found = FILES.iter().find(|(file, ..)| *file == name);
    let Some((_, kind, content)) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = format!("\"{}-{}\"", env!("CARGO_PKG_VERSION"), content.len());
    let known = headers.get(header::IF_NONE_MATCH);
    if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    (
        [(header::CONTENT_TYPE, *kind), (header::ETAG, &tag)],
        *content,
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file names in quotes that could be an address.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('"').skip(1).step_by(2)
    }

    #[test]
    fn every_file_that_is_named_is_there_and_nothing_comes_from_elsewhere() {
        let own = FILES.iter().filter(|(name, ..)| !name.starts_with("uPlot"));
        let all = own.map(|(.., text)| *text).chain([INDEX]);
        for text in all.clone() {
            for name in quoted(text) {
                let file = name.strip_prefix("./").unwrap_or(name);
                let is_file = [".js", ".css", ".svg"]
                    .iter()
                    .any(|end| file.ends_with(end));
                if is_file {
                    assert!(FILES.iter().any(|(known, ..)| *known == file), "{name}");
                }
            }
            let outside = text.replace("http://www.w3.org/", "");
            assert!(!outside.contains("http:") && !outside.contains("https:"));
        }
        let addresses = all.flat_map(quoted).filter(|name| name.starts_with('/'));
        let absolute: Vec<&str> = addresses
            .filter(|name| name.len() > 1 && !name.contains(' '))
            .collect();
        let of_yarn = ["/scheduler", "/metrics", "/info"];
        let other = absolute
            .iter()
            .filter(|name| !of_yarn.iter().any(|start| name.starts_with(start)));
        assert_eq!(other.count(), 0, "{absolute:?}");
    }

    #[test]
    fn the_page_has_no_script_or_style_within() {
        assert!(!INDEX.contains("<style") && !INDEX.contains(" style=") && !INDEX.contains(" on"));
        assert_eq!(
            INDEX.matches("<script src=").count(),
            INDEX.matches("<script").count()
        );
        let markup = FILES.iter().filter(|(name, ..)| !name.starts_with("uPlot"));
        for (name, _, text) in markup {
            for way in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(way), "{name} {way}");
            }
        }
    }
}
