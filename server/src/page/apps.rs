//! Applications by pages: filtered, ordered and cut here, so that a page costs what it shows.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::{Query, State};
use capsched::api::ApplicationId;
use serde::{Deserialize, Serialize};

use super::Page;
use super::answer::{Problem, blocking};
use super::look::Pending;
use super::pending::Look;
use crate::rm::{Application, ResourceManager};

/// Most rows of a page.
const MOST: usize = 1000;

/// Rows of a page unless others are asked for.
const USUAL: usize = 50;

/// Longest text of a filter, in bytes.
const LONGEST: usize = 4096;

/// Which applications are asked for, and in what order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wish {
    /// Path of a queue; those below it count.
    queue: String,
    /// Full name of a user.
    user: String,
    /// YARN's word for a state.
    state: String,
    /// Part of the id, name, user or queue, in any case.
    q: String,
    /// Those alone that have not ended.
    live: bool,
    sort: Sort,
    descending: bool,
    /// `next` of the page before.
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Id,
    /// Time since the submission.
    Age,
    /// Live containers.
    Containers,
    /// Containers that wait.
    Pending,
}

/// Position in an order: what it is ordered by, then the id.
type Place = (u64, ApplicationId);

#[derive(Debug, Serialize)]
pub(super) struct List {
    /// Applications that there are.
    total: usize,
    /// Those that the filter lets through.
    matched: usize,
    apps: Vec<Row>,
    /// Names the next page; nothing on the last one.
    next: Option<String>,
    /// How long ago what waits was looked at, in ms.
    reasons_age_ms: u64,
}

/// An application, by YARN's names where it has them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    user: String,
    name: String,
    queue: String,
    state: &'static str,
    priority: i32,
    started_time: u64,
    finished_time: u64,
    #[serde(rename = "allocatedMB")]
    allocated_mb: i64,
    running_containers: usize,
    pending_containers: u64,
    reason: Option<&'static str>,
    /// What is asked, used and allowed.
    detail: Option<String>,
}

/// A page of applications.
pub(super) async fn list(
    State(page): State<Page>,
    Query(wish): Query<Wish>,
) -> Result<Json<List>, Problem> {
    blocking(move || {
        wish.check()?;
        let look = page.pending.last();
        Ok(Json(wish.list(&page.rm, &look)?))
    })
    .await
}

impl Wish {
    fn check(&self) -> Result<(), Problem> {
        let texts = [
            ("queue", &self.queue),
            ("user", &self.user),
            ("state", &self.state),
            ("q", &self.q),
        ];
        match texts.iter().find(|(_, text)| text.len() > LONGEST) {
            Some((name, _)) => Err(Problem::parameter(
                name,
                format!("longer than {LONGEST} bytes"),
            )),
            None => Ok(()),
        }
    }

    fn lets_through(&self, app: &Application) -> bool {
        let below = |path: &str| {
            let rest = path.strip_prefix(self.queue.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        (self.queue.is_empty() || below(&app.queue))
            && (self.user.is_empty() || app.user == self.user)
            && (self.state.is_empty() || app.state.name() == self.state)
            && !(self.live && app.state.is_over())
            && (self.q.is_empty() || self.has_part(app))
    }

    /// Whether the text stands in one of the fields. Its letters are in lower case already.
    fn has_part(&self, app: &Application) -> bool {
        let found = |text: &str| has_part(text, &self.q);
        let of_id = || may_be_of_id(&self.q) && found(&app.id.to_string());
        found(&app.name) || found(&app.user) || found(&app.queue) || of_id()
    }

    fn place(&self, app: &Application, pending: &Pending) -> Place {
        let by = match self.sort {
            Sort::Id => 0,
            // The oldest has the largest age.
            Sort::Age => u64::MAX - app.started_ms,
            Sort::Containers => app.placed_ms.len() as u64,
            Sort::Pending => pending.apps.get(&app.id).map_or(0, |one| one.containers),
        };
        (by, app.id)
    }

    fn list(mut self, rm: &ResourceManager, look: &Look) -> Result<List, Problem> {
        self.q = self.q.to_lowercase();
        let pending = look.pending();
        let limit = self.limit.unwrap_or(USUAL).clamp(1, MOST);
        let after = self.after.as_deref().map(place_of).transpose()?;
        let (total, matched, mut rows, next) = rm.read(|books| {
            let fit = books.apps().filter(|app| self.lets_through(app));
            let mut places: Vec<Place> = fit.map(|app| self.place(app, pending)).collect();
            let matched = places.len();
            if let Some(after) = after {
                places.retain(|place| {
                    if self.descending {
                        *place < after
                    } else {
                        *place > after
                    }
                });
            }
            let more = places.len() > limit;
            first(&mut places, limit, self.descending);
            let next = places.last().filter(|_| more).map(cursor_of);
            let shown = places.iter().filter_map(|(_, id)| books.app(*id));
            let rows: Vec<Row> = shown.map(|app| Row::of(app, pending)).collect();
            (books.apps().len(), matched, rows, next)
        });
        add_memory(rm, &mut rows)?;
        Ok(List {
            total,
            matched,
            apps: rows,
            next,
            reasons_age_ms: rm.now_ms().saturating_sub(look.at_ms()),
        })
    }
}

/// Whether a part, in lower case, stands in a text in any case.
fn has_part(text: &str, part: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(part);
    }
    let mut places = text.as_bytes().windows(part.len().max(1));
    part.is_empty() || places.any(|place| place.eq_ignore_ascii_case(part.as_bytes()))
}

/// Whether a text may be part of an application's id. Where it may not, no id is written to look for it.
fn may_be_of_id(part: &str) -> bool {
    const WORD: &str = "application_";
    let numbers = part.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let numbers = numbers.strip_prefix('_').unwrap_or(numbers);
    let word = &part[..part.len() - numbers.len()];
    let numeric = |digit: u8| digit.is_ascii_digit() || digit == b'_';
    (numbers.is_empty() && WORD.contains(word))
        || (WORD.ends_with(word) && numbers.bytes().all(numeric))
}

/// Leaves the first of an order, in order.
fn first(places: &mut Vec<Place>, limit: usize, descending: bool) {
    if places.len() > limit {
        if descending {
            places.select_nth_unstable_by_key(limit, |place| Reverse(*place));
        } else {
            places.select_nth_unstable(limit);
        }
        places.truncate(limit);
    }
    if descending {
        places.sort_unstable_by_key(|place| Reverse(*place));
    } else {
        places.sort_unstable();
    }
}

fn cursor_of((by, id): &Place) -> String {
    format!("{by}:{id}")
}

fn place_of(cursor: &str) -> Result<Place, Problem> {
    let parts = cursor.split_once(':');
    let read = parts.and_then(|(by, id)| Some((by.parse().ok()?, id.parse().ok()?)));
    read.ok_or_else(|| Problem::parameter("after", "this is not the `next` of a page"))
}

impl Row {
    fn of(app: &Application, pending: &Pending) -> Self {
        let waits = pending.apps.get(&app.id).filter(|_| !app.state.is_over());
        Self {
            id: app.id.to_string(),
            user: app.user.clone(),
            name: app.name.clone(),
            queue: app.queue.clone(),
            state: app.state.name(),
            priority: app.priority,
            started_time: app.started_ms,
            finished_time: app.finished_ms,
            allocated_mb: 0,
            running_containers: app.placed_ms.len(),
            pending_containers: waits.map_or(0, |one| one.containers),
            reason: waits.map(|one| one.finding.reason.token()),
            detail: waits.map(|one| one.finding.detail.clone()),
        }
    }
}

/// Adds what only the engine knows of live applications.
fn add_memory(rm: &ResourceManager, rows: &mut [Row]) -> Result<(), Problem> {
    for row in rows.iter_mut().filter(|row| row.finished_time == 0) {
        let Ok(id) = row.id.parse::<ApplicationId>() else {
            continue;
        };
        let view = rm.engine().app(id).map_err(|error| Problem::gone(&error))?;
        let used = view.iter().flat_map(|view| view.used.values());
        row.allocated_mb = used.filter_map(|amounts| amounts.first()).sum();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_an_order_are_left_in_order() {
        let id = |number| (u64::from(number % 3), ApplicationId::new(number));
        let all: Vec<Place> = (1..=20).map(id).collect();
        for (limit, descending) in [(5, false), (5, true), (20, true), (30, false)] {
            let mut wanted = all.clone();
            wanted.sort_unstable();
            if descending {
                wanted.reverse();
            }
            wanted.truncate(limit);
            let mut found = all.clone();
            first(&mut found, limit, descending);
            assert_eq!(found, wanted, "{limit} {descending}");
        }
    }

    #[test]
    fn every_part_of_an_id_may_be_one() {
        let id = ApplicationId {
            cluster: 1_795_877_987_328,
            ..ApplicationId::new(9999)
        };
        let text = id.to_string();
        for from in 0..text.len() {
            assert!((from..=text.len()).all(|to| may_be_of_id(&text[from..to])));
        }
        let none = [
            "a9999",
            "app_1",
            "99a",
            "application-1",
            "_app",
            "user",
            "ä1",
        ];
        assert!(!none.iter().any(|part| may_be_of_id(part)));
    }

    #[test]
    fn a_part_is_found_in_any_case_and_in_any_script() {
        let found = [
            ("Job of Bob", "of bob"),
            ("J", "j"),
            ("ÄPFEL", "pf"),
            ("ÄPFEL", "äp"),
            ("x", ""),
        ];
        assert!(found.iter().all(|(text, part)| has_part(text, part)));
        let missing = [
            ("Job", "jobs"),
            ("", "j"),
            ("apfel", "äpfel"),
            ("ÄPFEL", "apfel"),
        ];
        assert!(!missing.iter().any(|(text, part)| has_part(text, part)));
    }

    #[test]
    fn cursors_are_read_back_and_others_refused() {
        let place = (7, ApplicationId::new(12));
        assert_eq!(place_of(&cursor_of(&place)).unwrap(), place);
        for text in ["", "7", "7:", "x:application_1_0001", "7:application_x_1"] {
            assert!(place_of(text).is_err(), "{text}");
        }
    }
}
