//! The wire formats, and how an answer is formed in them.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use capsched::api::Reference;

use super::tree::{Object, View};
use super::{json, xml};

/// A release's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Hadoop 3.4, with Jersey 1.
    Hadoop34,
    /// Hadoop 3.5, with Jersey 2.
    Hadoop35,
}

impl Wire {
    /// The format of a release.
    #[must_use]
    pub const fn of(reference: Reference) -> Self {
        match reference {
            Reference::Hadoop34 => Self::Hadoop34,
            Reference::Hadoop35 => Self::Hadoop35,
        }
    }
}

/// A media type that answers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`.
    Json,
    /// `application/xml`.
    Xml,
}

impl Media {
    /// The type that a caller prefers; nothing when it accepts neither.
    // As the first of @Produces({JSON, XML}) that the Accept header names with the highest quality.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let accept = headers
            .get(header::ACCEPT)
            .and_then(|text| text.to_str().ok());
        let Some(accept) = accept else {
            return Some(Self::Json);
        };
        let mut best: Option<(u32, Self)> = None;
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = match parts.next().unwrap_or_default() {
                "application/json" | "application/*" | "*/*" => Self::Json,
                "application/xml" | "text/xml" => Self::Xml,
                _ => continue,
            };
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            let quality = quality.map_or(1000, thousandths);
            if quality > 0 && best.is_none_or(|(most, _)| quality > most) {
                best = Some((quality, media));
            }
        }
        best.map(|(_, media)| media)
    }

    /// The type as a header of a release says it.
    pub(crate) const fn header(self, wire: Wire) -> &'static str {
        match (self, wire) {
            (Self::Json, _) => "application/json;charset=utf-8",
            (Self::Xml, Wire::Hadoop34) => "application/xml; charset=utf-8",
            (Self::Xml, Wire::Hadoop35) => "application/xml;charset=utf-8",
        }
    }
}

/// A quality such as `0.8` in thousandths; what is no quality counts as 1.
fn thousandths(text: &str) -> u32 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = part.chars().chain("000".chars()).take(3).collect();
    match (whole.parse::<u32>(), digits.parse::<u32>()) {
        (Ok(whole), Ok(part)) => (whole.min(1) * 1000 + part).min(1000),
        _ => 1000,
    }
}

/// What a route answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// 200 with a document.
    Document(View),
    /// Another status with a document.
    Accepted(StatusCode, View),
    /// A status with plain text.
    Text(StatusCode, String),
    /// A status without a body.
    Empty(StatusCode),
    /// 202 without a body, and where the new thing is found.
    Location(String),
    /// A status with a page for people: there is no such path.
    Page(StatusCode, String),
}

/// The exception for a body that is no XML, which has another name in each release.
const NO_XML: &str = "UnmarshalException";

/// Why a route refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status.
    pub status: StatusCode,
    /// Name of the exception that YARN answers with.
    pub exception: &'static str,
    /// What is wrong.
    pub message: String,
}

impl Failure {
    /// 400: the request is not valid.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            exception: "BadRequestException",
            message: message.into(),
        }
    }

    /// 404: what is asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            exception: "NotFoundException",
            message: message.into(),
        }
    }

    /// 403: the caller has no right to it.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            exception: "ForbiddenException",
            message: message.into(),
        }
    }

    /// Another status and exception.
    pub fn other(status: StatusCode, exception: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            exception,
            message: message.into(),
        }
    }

    /// 400: a body that is no XML.
    pub fn no_xml(message: impl Into<String>) -> Self {
        Self::other(StatusCode::BAD_REQUEST, NO_XML, message)
    }

    fn package(&self) -> &'static str {
        match self.exception {
            "BadRequestException" | "NotFoundException" | "ForbiddenException" => {
                "org.apache.hadoop.yarn.webapp."
            }
            "AuthorizationException" => "org.apache.hadoop.security.authorize.",
            "WebApplicationException" => "javax.ws.rs.",
            _ => "java.lang.",
        }
    }

    fn view(&self, wire: Wire) -> View {
        let (package, exception) = match (self.exception, wire) {
            (NO_XML, Wire::Hadoop34) => ("javax.ws.rs.", "WebApplicationException"),
            (NO_XML, Wire::Hadoop35) => ("javax.ws.rs.", "BadRequestException"),
            (other, _) => (self.package(), other),
        };
        let class = format!("{package}{exception}");
        let body = Object::new()
            .with("exception", exception)
            .with("message", self.message.clone())
            .with("javaClassName", class);
        View::wrapped("RemoteException", body)
    }
}

/// Forms a response.
pub(crate) fn respond(answer: Result<Reply, Failure>, media: Media, wire: Wire) -> Response {
    let mut response = match answer {
        Ok(Reply::Document(view)) => document(StatusCode::OK, &view, media, wire),
        Ok(Reply::Accepted(status, view)) => document(status, &view, media, wire),
        Ok(Reply::Text(status, text)) => typed(status, media.header(wire), text),
        Ok(Reply::Empty(status)) => typed(status, media.header(wire), String::new()),
        Ok(Reply::Location(url)) => {
            let mut response = typed(StatusCode::ACCEPTED, media.header(wire), String::new());
            if let Ok(url) = HeaderValue::from_str(&url) {
                response.headers_mut().insert(header::LOCATION, url);
            }
            response
        }
        Ok(Reply::Page(status, text)) => typed(status, "text/html;charset=utf-8", text),
        Err(failure) => document(failure.status, &failure.view(wire), media, wire),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (header::VARY, "Accept-Encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The answer to an unknown path in Hadoop 3.5.
// As the error handler of Jetty for callers that accept JSON.
pub(super) fn respond_error(path: &str, wire: Wire) -> Response {
    let body = Object::new()
        .with("servlet", "capsched")
        .with("message", "Not Found")
        .with("url", path)
        .with("status", "404");
    let text = json::write(&View::unwrapped("error", body), wire);
    typed(StatusCode::NOT_FOUND, "application/json", text)
}

fn document(status: StatusCode, view: &View, media: Media, wire: Wire) -> Response {
    let text = match media {
        Media::Json => json::write(view, wire),
        Media::Xml => xml::write(view, wire),
    };
    typed(status, media.header(wire), text)
}

fn typed(status: StatusCode, media: &'static str, text: String) -> Response {
    let mut response = (status, Body::from(text)).into_response();
    response.headers_mut().remove(header::CONTENT_TYPE);
    let media = HeaderValue::from_static(media);
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}
