//! Requests for all cells: lists are joined, metrics are added.

use axum::http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::client::{CellAnswer, CellRequest};
use super::forward::{RouterFailure, shown, unavailable};
use super::names::CellName;
use super::routes::CellRouter;
use crate::rest::{Failure, Wire};

/// Figures that are ratios: the mean counts, weighted by another figure where there is one.
const RATIOS: [(&str, Option<&str>); 3] = [
    ("utilizedMBPercent", Some("totalMB")),
    ("utilizedVirtualCoresPercent", Some("totalVirtualCores")),
    ("rmSchedulerBusyPercent", None),
];

/// What became of asking all cells.
#[derive(Clone, Debug)]
pub(super) enum Joined {
    /// Answers of all cells, or of all that can be reached where partial answers are allowed.
    Answers(Vec<Value>, Vec<CellName>),
    /// A cell refused, as all would.
    Refused(CellAnswer),
}

impl CellRouter {
    /// Asks all cells for a document.
    pub(super) async fn join(&self, mut request: CellRequest) -> Result<Joined, RouterFailure> {
        self.policy()?;
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(header::ACCEPT, json);
        let (found, missing) = self.ask_all(&request).await;
        if !missing.is_empty() && (found.is_empty() || !self.partial) {
            return Err(unavailable(shown(&missing)));
        }
        let mut answers = Vec::with_capacity(found.len());
        for (cell, answer) in found {
            if answer.status != StatusCode::OK {
                return Ok(Joined::Refused(answer));
            }
            let read = serde_json::from_slice(&answer.body).map_err(|error| {
                let text = format!("the cell {cell} answers no JSON: {error}");
                Failure::other(StatusCode::BAD_GATEWAY, "WebApplicationException", text)
            })?;
            answers.push(read);
        }
        let missing = missing.into_iter().map(|(cell, _)| cell).collect();
        Ok(Joined::Answers(answers, missing))
    }
}

/// The elements of lists such as `{"apps": {"app": [...]}}`, one after the other.
pub(super) fn elements(answers: Vec<Value>, list: &str, element: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for mut answer in answers {
        match answer
            .get_mut(list)
            .and_then(|inner| inner.get_mut(element))
        {
            Some(Value::Array(some)) => all.append(some),
            Some(Value::Null) | None => {}
            Some(one) => all.push(one.take()),
        }
    }
    all
}

/// A list in the form of a resource manager, such as `{"apps": {"app": [...]}}`. An empty one is null in Hadoop 3.4, and
/// an empty object in 3.5.
pub(super) fn list(
    (name, element): (&'static str, &'static str),
    elements: Vec<Value>,
    wire: Wire,
) -> Value {
    let inner = match (elements.is_empty(), wire) {
        (true, Wire::Hadoop34) => Value::Null,
        (true, Wire::Hadoop35) => Value::Object(Map::new()),
        (false, _) => json!({ element: elements }),
    };
    json!({ name: inner })
}

/// Nodes without doubles: of a node that moved to another cell the report of the last heartbeat counts.
// As RouterWebServiceUtil.deleteDuplicateNodesInfo.
pub(super) fn latest_nodes(nodes: Vec<Value>) -> Vec<Value> {
    let id = |node: &Value| node.get("id").and_then(Value::as_str).map(str::to_owned);
    let seen = |node: &Value| node.get("lastHealthUpdate").and_then(Value::as_i64);
    let mut places = std::collections::BTreeMap::new();
    let mut kept: Vec<Value> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let known = id(&node).and_then(|id| match places.entry(id) {
            std::collections::btree_map::Entry::Occupied(place) => Some(*place.get()),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(kept.len());
                None
            }
        });
        match known {
            Some(place) if seen(&kept[place]) < seen(&node) => kept[place] = node,
            Some(_) => {}
            None => kept.push(node),
        }
    }
    kept
}

/// The sum of metrics of cells.
// As RouterWebServiceUtil.mergeMetrics; differs: every figure is added, and ratios are means.
pub(super) fn sum(answers: Vec<Value>) -> Value {
    let all: Vec<&Value> = answers
        .iter()
        .filter_map(|answer| answer.get("clusterMetrics"))
        .collect();
    let mut total = Value::Null;
    for one in &all {
        add(&mut total, one);
    }
    if let Value::Object(fields) = &mut total {
        for (name, weight) in RATIOS {
            if fields.contains_key(name) {
                fields.insert(name.to_owned(), mean(&all, name, weight).into());
            }
        }
    }
    Value::Object(Map::from_iter([("clusterMetrics".to_owned(), total)]))
}

fn add(total: &mut Value, one: &Value) {
    match (&mut *total, one) {
        (Value::Object(total), Value::Object(one)) => {
            for (name, value) in one {
                add(total.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(total), Value::Array(one)) => {
            for value in one {
                let same = |known: &&mut Value| {
                    known.get("name").is_some() && known.get("name") == value.get("name")
                };
                match total.iter_mut().find(same) {
                    Some(known) => add(known, value),
                    None => total.push(value.clone()),
                }
            }
        }
        (Value::Number(sum), Value::Number(one)) => {
            let whole = sum.as_i64().zip(one.as_i64());
            *total = match whole {
                Some((sum, one)) => sum.saturating_add(one).into(),
                None => sum_of_reals(sum.as_f64(), one.as_f64()),
            };
        }
        (Value::Bool(total), Value::Bool(one)) => *total = *total && *one,
        (total @ Value::Null, one) => *total = one.clone(),
        // Names, units and types are the same in all cells.
        _ => {}
    }
}

#[expect(
    clippy::float_arithmetic,
    reason = "figures of reports, not of decisions"
)]
fn sum_of_reals(sum: Option<f64>, one: Option<f64>) -> Value {
    (sum.unwrap_or(0.0) + one.unwrap_or(0.0)).into()
}

/// The mean of whole figures, rounded down.
fn mean(all: &[&Value], name: &str, weight: Option<&str>) -> i64 {
    let figure = |of: &Value, name: &str| of.get(name).and_then(Value::as_i64).unwrap_or(0);
    let weights = all.iter().map(|of| match weight {
        Some(weight) => figure(of, weight).max(0),
        None => 1,
    });
    let weights: Vec<i128> = weights.map(i128::from).collect();
    let total: i128 = weights.iter().sum();
    let products = all
        .iter()
        .zip(&weights)
        .map(|(of, weight)| i128::from(figure(of, name)) * weight);
    let sum: i128 = products.sum();
    sum.checked_div(total)
        .and_then(|mean| i64::try_from(mean).ok())
        .unwrap_or(0)
}

/// A document in XML: an element for each name, repeated for a list.
pub(super) fn xml(document: &Value) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>");
    if let Value::Object(fields) = document {
        for (name, value) in fields {
            element(&mut out, name, value);
        }
    }
    out
}

fn element(out: &mut String, name: &str, value: &Value) {
    if let Value::Array(all) = value {
        all.iter().for_each(|one| element(out, name, one));
        return;
    }
    out.push_str(&format!("<{name}>"));
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| element(out, name, value)),
        Value::String(text) => out.push_str(&quick_xml::escape::escape(text.as_str())),
        Value::Null => {}
        simple => out.push_str(&simple.to_string()),
    }
    out.push_str(&format!("</{name}>"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_added_to_any_depth_and_ratios_are_weighted_means() {
        let types = |amount: i64| json!({"resourceInformation": [{"name": "gpu", "value": amount, "units": ""}]});
        let one = json!({"clusterMetrics": {
            "appsRunning": 3, "totalMB": 100, "utilizedMBPercent": 50, "crossPartitionMetricsAvailable": true,
            "all": {"memory": 7, "resourceInformations": types(2)},
        }});
        let two = json!({"clusterMetrics": {
            "appsRunning": 4, "totalMB": 300, "utilizedMBPercent": 10, "crossPartitionMetricsAvailable": false,
            "all": {"memory": 5, "resourceInformations": types(9)}, "lostNodes": 1,
        }});
        let expected = json!({"clusterMetrics": {
            "appsRunning": 7, "totalMB": 400, "utilizedMBPercent": 20, "crossPartitionMetricsAvailable": false,
            "all": {"memory": 12, "resourceInformations": types(11)}, "lostNodes": 1,
        }});
        assert_eq!(sum(vec![one, two]), expected);
        assert_eq!(sum(Vec::new()), json!({"clusterMetrics": null}));
    }

    #[test]
    fn figures_at_the_edge_do_not_overflow() {
        let of =
            |value: i64| json!({"clusterMetrics": {"totalMB": value, "utilizedMBPercent": value}});
        let summed = sum(vec![of(i64::MAX), of(i64::MAX)]);
        assert_eq!(summed["clusterMetrics"]["totalMB"], json!(i64::MAX));
        assert_eq!(
            summed["clusterMetrics"]["utilizedMBPercent"],
            json!(i64::MAX)
        );
    }

    #[test]
    fn lists_of_none_one_and_many_are_joined() {
        let answers = vec![
            json!({"apps": null}),
            json!({"apps": {"app": {"id": 1}}}),
            json!({"apps": {"app": [{"id": 2}, {"id": 3}]}}),
        ];
        let all = elements(answers, "apps", "app");
        assert_eq!(all, [json!({"id": 1}), json!({"id": 2}), json!({"id": 3})]);
        let none = |wire| list(("apps", "app"), Vec::new(), wire);
        assert_eq!(none(Wire::Hadoop34), json!({"apps": null}));
        assert_eq!(none(Wire::Hadoop35), json!({"apps": {}}));
        let some = vec![json!({"id": 1, "q": "a<b"}), json!({"id": 2})];
        let xml = xml(&list(("apps", "app"), some, Wire::Hadoop35));
        assert!(
            xml.ends_with("<apps><app><id>1</id><q>a&lt;b</q></app><app><id>2</id></app></apps>"),
            "{xml}"
        );
    }

    #[test]
    fn of_a_node_in_two_cells_the_later_report_counts() {
        let node = |id: &str, at: i64| json!({"id": id, "lastHealthUpdate": at});
        let nodes = vec![
            node("n1:1", 5),
            node("n2:1", 1),
            node("n1:1", 9),
            node("n1:1", 7),
        ];
        assert_eq!(latest_nodes(nodes), [node("n1:1", 9), node("n2:1", 1)]);
    }
}
