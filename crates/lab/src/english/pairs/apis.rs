//! Web APIs: the names of operations and what they do.

use std::fs;

use anyhow::Result;
use serde_json::Value;

use super::{
    Kind, Pair, files,
    markdown::{first_sentence, plain},
    pair,
};
use crate::packages::{Source, run};

/// Of one API at most so many operations: those of a large cloud are all alike.
const OPERATIONS: usize = 40;

/// AWS: `data/SERVICE/VERSION/service-2.json.gz`.
pub(super) fn amazon(source: &Source) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for file in files(&source.folder, &|path| path.ends_with("/service-2.json.gz")) {
        let api: Value = serde_json::from_slice(&run("gzip", ["-dc".as_ref(), file.as_os_str()])?)?;
        let name = text(&api["metadata"]["serviceFullName"]);
        let about = plain(text(&api["documentation"]));
        pairs.extend(pair(Kind::Api, &source.package, name, &about));
        let operations = api["operations"].as_object().into_iter().flatten();
        let found: Vec<Pair> = operations
            .filter_map(|(operation, details)| {
                let does = plain(text(&details["documentation"]));
                pair(Kind::Api, &source.package, &format!("{operation} {name}"), &does)
            })
            .collect();
        pairs.extend(some(found));
    }
    Ok(pairs)
}

/// Google: `discovery_cache/documents/NAME.json`, with methods in resources in resources.
pub(super) fn google(source: &Source) -> Result<Vec<Pair>> {
    fn methods(of: &Value, name: &str, source: &str, found: &mut Vec<Pair>) {
        for (_, method) in of["methods"].as_object().into_iter().flatten() {
            let left = format!("{} {name}", text(&method["id"]).replace('.', " "));
            found.extend(pair(Kind::Api, source, &left, &plain(text(&method["description"]))));
        }
        of["resources"]
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(_, inner)| methods(inner, name, source, found));
    }
    let mut pairs = Vec::new();
    for file in files(&source.folder, &|path| path.contains("/documents/") && path.ends_with(".json")) {
        let api: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        let name = text(&api["title"]);
        pairs.extend(pair(Kind::Api, &source.package, name, &plain(text(&api["description"]))));
        let mut found = Vec::new();
        methods(&api, name, &source.package, &mut found);
        pairs.extend(some(found));
    }
    Ok(pairs)
}

/// Descriptions of many other APIs. Those of the two above are left out.
pub(super) fn openapi(source: &Source) -> Result<Vec<Pair>> {
    let is_wanted = |path: &str| {
        path.ends_with(".json")
            && path.contains("/api/")
            && !path.contains("/amazonaws.com/")
            && !path.contains("/googleapis.com/")
    };
    let mut pairs = Vec::new();
    for file in files(&source.folder, &is_wanted) {
        let Ok(api) = serde_json::from_str::<Value>(&fs::read_to_string(file)?) else { continue };
        let title = text(&api["info"]["title"]);
        let about = plain(text(&api["info"]["description"]));
        pairs.extend(pair(Kind::Api, &source.package, title, &about));
        let mut found = Vec::new();
        for (path, operations) in api["paths"].as_object().into_iter().flatten() {
            for (verb, operation) in operations.as_object().into_iter().flatten() {
                let (summary, description) =
                    (plain(text(&operation["summary"])), plain(text(&operation["description"])));
                let name = match text(&operation["operationId"]) {
                    "" => format!("{verb} {path}"),
                    id => id.to_owned(),
                };
                let (short, long) = if summary.is_empty() {
                    (name.as_str(), description.as_str())
                } else {
                    (summary.as_str(), description.as_str())
                };
                let long = if long.is_empty() { name.as_str() } else { long };
                found.extend(pair(
                    Kind::Api,
                    &source.package,
                    short,
                    &format!("{long} {}", first_sentence(title)),
                ));
            }
        }
        pairs.extend(some(found));
    }
    Ok(pairs)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Not too many, from all over.
fn some(pairs: Vec<Pair>) -> impl Iterator<Item = Pair> {
    let step = pairs.len().div_ceil(OPERATIONS).max(1);
    pairs.into_iter().step_by(step)
}
