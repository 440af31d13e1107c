//! The table of routes as an OpenAPI document.

use serde_json::{Map, Value, json};

use super::of_router::router_operations;
use super::table::{Body, OPERATIONS, Operation};
use crate::security::{Need, route_needs};

/// Name of the way to prove a user.
const TOKEN: &str = "token";

/// The document of all routes of a server.
#[must_use]
pub fn document() -> Value {
    let text = "YARN's REST interface, the routes of the scheduler page, metrics and health.";
    of(OPERATIONS.iter(), "capsched", text)
}

/// The document of all routes of a router before cells.
#[must_use]
pub fn router_document() -> Value {
    let text = "Applications, nodes and metrics of all cells, the policy, the cells and health.";
    of(router_operations(), "capsched router", text)
}

fn of(
    operations: impl Iterator<Item = &'static Operation>,
    title: &str,
    description: &str,
) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let methods = paths
            .entry(operation.path)
            .or_insert_with(|| Value::Object(Map::new()));
        methods[operation.method_name()] = described(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": description,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"securitySchemes": {TOKEN: {"type": "http", "scheme": "bearer"}}},
    })
}

fn described(operation: &Operation) -> Value {
    let parameter = |name: &str, place: &str| json!({"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}});
    let of_path = operation.path_parameters();
    let of_path = of_path.map(|name| parameter(name, "path"));
    let of_query = operation.query.iter().map(|name| parameter(name, "query"));
    let of_header = operation.headers.iter();
    let of_header = of_header.map(|name| parameter(name, "header"));
    let parameters = of_path.chain(of_query).chain(of_header);
    let mut document = json!({
        "tags": [operation.tag()],
        "summary": operation.summary,
        "operationId": operation.id(),
        "parameters": parameters.collect::<Vec<Value>>(),
        "responses": {
            "200": {"description": "the answer"},
            "400": {"description": "a value is not valid"},
        },
    });
    let content = || json!({"schema": {"type": "object"}});
    match operation.body {
        Body::None => {}
        Body::Json => {
            document["requestBody"] = json!({"content": {"application/json": content()}});
        }
        Body::JsonOrXml => {
            let both = json!({"application/json": content(), "application/xml": content()});
            document["requestBody"] = json!({ "content": both });
        }
    }
    let need = route_needs(&operation.verb.as_http(), operation.path);
    if need != Need::Open {
        document["security"] = json!([{TOKEN: []}]);
        document["responses"]["401"] = json!({"description": "a user is needed"});
    }
    if need == Need::Admin {
        let text = "the user does not administer the cluster";
        document["responses"]["403"] = json!({ "description": text });
    }
    document
}
