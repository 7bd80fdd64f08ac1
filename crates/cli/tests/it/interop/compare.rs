//! What may differ between a server and the same server behind the hub, and finding everything else.
//!
//! Allowed: names carry `server__`; `_meta` may name the server that answered; the hub adds caching hints, and in the
//! modern revision `resultType`, which a legacy server does not send. A call marked `volatile` has fields that change from
//! run to run; one marked `invalid` is refused by both, in their own words.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{RevisionKind, SERVERS, Server};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const HINTS: [&str; 2] = ["ttlMs", "cacheScope"];
/// Each list with what identifies an item, and whether that is a name that the hub prefixes.
const LISTS: [(&str, &str, bool); 4] = [
    ("tools", "name", true),
    ("prompts", "name", true),
    ("resources", "uri", false),
    ("resourceTemplates", "uriTemplate", false),
];

/// Collects differences between direct documents and one made through the hub.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    revision: RevisionKind,
    hub: &'a Value,
    /// What the servers themselves list, to find what the hub lists beyond that.
    listed: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(revision: RevisionKind, hub: &'a Value) -> Self {
        Self { revision, hub, listed: BTreeMap::new(), differences: Vec::new() }
    }

    /// Every item that the server lists is listed by the hub, unchanged, and no other in its name.
    pub(super) fn lists(&mut self, server: &Server, direct: &Value) {
        for (list, key, prefixed) in LISTS {
            let prefix = if prefixed { format!("{}__", server.name) } else { String::new() };
            let theirs = by_key(&direct[list], key, "");
            let mut ours = by_key(&self.hub["lists"][list], key, &prefix);
            if !prefixed {
                ours.retain(|uri, _| theirs.contains_key(uri));
            }
            *self.listed.entry(list).or_default() += ours.len();
            let optional = |name: &String| server.by_capability.contains(&name.as_str());
            for (name, item) in &theirs {
                let place = format!("{} {list} {name}", server.name);
                match ours.remove(name) {
                    Some(seen) => self.differ(&place, item, &seen),
                    None if optional(name) => {}
                    None => self.differences.push(format!("{place}: not listed by the hub")),
                }
            }
            for name in ours.keys().filter(|name| !optional(name)) {
                self.differences.push(format!("{} {list} {name}: listed by the hub only", server.name));
            }
        }
    }

    /// The hub lists nothing that was not compared.
    pub(super) fn nothing_else(&mut self) {
        for (list, key, _) in LISTS {
            let all = by_key(&self.hub["lists"][list], key, "");
            let compared = self.listed.get(list).copied().unwrap_or_default();
            if all.len() != compared {
                let names: Vec<&String> = all.keys().collect();
                let servers = SERVERS.map(|server| server.name);
                self.differences.push(format!("{list}: the hub lists more than {servers:?} do: {names:?}"));
            }
        }
    }

    /// One call's answer, its progress, and what was asked meanwhile.
    pub(super) fn call(&mut self, server: &Server, call: &Value, direct: &Value, hub: &Value) {
        let place = format!("{} {} {}", server.name, text(&call["method"]), subject(&call["params"]));
        if let Some(refused) = hub.get("sdkError").filter(|_| direct.get("sdkError").is_none()) {
            self.differences.push(format!("{place}: the SDK refuses the hub's answer: {refused}"));
        }
        if call["invalid"] == true {
            for (who, answer) in [("the server", direct), ("the hub", hub)] {
                if !is_refusal(answer) {
                    self.differences
                        .push(format!("{place}: {who} takes invalid arguments: {}", short(answer)));
                }
            }
            return;
        }
        self.result_type(&place, hub);
        let (mut direct, mut hub) = (direct.clone(), hub.clone());
        for pointer in call["volatile"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            for answer in [&mut direct, &mut hub] {
                if let Some(value) = answer.pointer_mut(pointer) {
                    *value = Value::from(format!("some {}", kind(value)));
                }
            }
        }
        for key in ["result", "error"] {
            self.differ(&format!("{place} {key}"), &plain(&direct[key]), &plain(&hub[key]));
        }
        self.differ(&format!("{place} progress"), &without_tokens(&direct), &without_tokens(&hub));
        self.differ(&format!("{place} questions"), &questions(&direct), &questions(&hub));
    }

    pub(super) fn differences(self) -> Vec<String> {
        self.differences
    }

    /// Modern results say their type; legacy ones know none.
    fn result_type(&mut self, place: &str, hub: &Value) {
        let Some(result) = hub.get("result") else { return };
        let wanted = (self.revision == RevisionKind::Modern).then_some("complete");
        if result["resultType"].as_str() != wanted {
            let found = &result["resultType"];
            self.differences.push(format!(
                "{place}: resultType is {found}, a {:?} client expects {wanted:?}",
                self.revision
            ));
        }
    }

    /// Notes every place where two values differ.
    fn differ(&mut self, place: &str, direct: &Value, hub: &Value) {
        match (direct, hub) {
            (Value::Object(theirs), Value::Object(ours)) => {
                let keys: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
                for key in keys {
                    let (theirs, ours) = (&direct[key.as_str()], &hub[key.as_str()]);
                    // An explicit null is not an absent field.
                    if direct.get(key).is_some() == hub.get(key).is_some() {
                        self.differ(&format!("{place}/{key}"), theirs, ours);
                    } else {
                        self.note(&format!("{place}/{key}"), direct.get(key), hub.get(key));
                    }
                }
            }
            (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
                for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                    self.differ(&format!("{place}/{index}"), theirs, ours);
                }
            }
            _ if direct == hub => {}
            _ => self.note(place, Some(direct), Some(hub)),
        }
    }

    fn note(&mut self, place: &str, direct: Option<&Value>, hub: Option<&Value>) {
        let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), short);
        self.differences.push(format!("{place}: {} directly, {} through the hub", shown(direct), shown(hub)));
    }
}

/// Items by what identifies them, less the prefix, and without those that lack it.
fn by_key(list: &Value, key: &str, prefix: &str) -> BTreeMap<String, Value> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice).iter();
    items
        .filter_map(|item| {
            let name = item[key].as_str()?.strip_prefix(prefix)?.to_owned();
            let mut item = item.clone();
            item[key] = Value::from(name.clone());
            Some((name, item))
        })
        .collect()
}

/// A result or error without what the hub may add.
fn plain(answer: &Value) -> Value {
    let mut answer = answer.clone();
    let Some(fields) = answer.as_object_mut() else { return answer };
    fields.remove("resultType");
    for hint in HINTS {
        fields.remove(hint);
    }
    if let Some(meta) = fields.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove(SERVER_INFO);
        if meta.is_empty() {
            fields.remove("_meta");
        }
    }
    answer
}

fn without_tokens(answer: &Value) -> Value {
    let mut progress = answer["progress"].clone();
    for step in progress.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        step.remove("progressToken");
    }
    progress
}

/// What the server asked. A server may ask for the roots whenever it likes, so that is not part of a call.
fn questions(answer: &Value) -> Value {
    let asked = answer["questions"].as_array().cloned().unwrap_or_default();
    let mut asked: Vec<Value> =
        asked.into_iter().filter(|question| question["method"] != "roots/list").collect();
    for params in asked.iter_mut().filter_map(|question| question["params"].as_object_mut()) {
        params.remove("_meta");
    }
    Value::from(asked)
}

fn is_refusal(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}

fn subject(params: &Value) -> &str {
    let candidates = [&params["name"], &params["uri"], &params["ref"]["name"], &params["ref"]["uri"]];
    candidates.into_iter().find_map(Value::as_str).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

mod tests {
    use serde_json::json;

    use super::*;

    fn differences(revision: RevisionKind, call: &Value, direct: &Value, hub: &Value) -> Vec<String> {
        let nothing = json!({});
        let mut comparison = Comparison::new(revision, &nothing);
        comparison.call(&SERVERS[0], call, direct, hub);
        comparison.differences()
    }

    #[test]
    fn documented_changes_of_the_hub_are_no_difference() {
        let call = json!({ "method": "tools/call", "params": { "name": "echo" }, "volatile": ["/result/content/0/text"] });
        let direct = json!({ "result": { "content": [{ "text": "at 12:00" }] }, "questions": [{ "method": "roots/list" }] });
        let meta = json!({ SERVER_INFO: { "name": "everything" } });
        let hub = json!({ "result": {
            "content": [{ "text": "at 12:01" }], "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": meta,
        } });
        assert_eq!(differences(RevisionKind::Modern, &call, &direct, &hub), [""; 0]);
    }

    #[test]
    fn anything_else_is_named_with_its_place() {
        let call = json!({ "method": "tools/call", "params": { "name": "echo" } });
        let direct = json!({ "result": { "content": [{ "text": "a", "annotations": null }], "x-own": 1 } });
        let hub =
            json!({ "result": { "content": [{ "text": "b" }], "resultType": "complete" }, "sdkError": "no" });
        let found = differences(RevisionKind::Legacy, &call, &direct, &hub).join("\n");
        for part in [
            "/content/0/text: \"a\" directly",
            "/annotations: null directly, nothing",
            "/x-own",
            "refuses",
            "resultType",
        ] {
            assert!(found.contains(part), "{part} is not in:\n{found}");
        }
    }

    #[test]
    fn lists_are_compared_by_name_without_the_prefix() {
        let hub = json!({ "lists": {
            "tools": [{ "name": "everything__echo", "title": "E" }, { "name": "everything__new" }, { "name": "git__log" }],
            "resources": [{ "uri": "demo://a" }, { "uri": "other://b" }],
        } });
        let direct = json!({ "tools": [{ "name": "echo", "title": "Echo" }, { "name": "gone" }], "resources": [{ "uri": "demo://a" }] });
        let mut comparison = Comparison::new(RevisionKind::Legacy, &hub);
        comparison.lists(&SERVERS[0], &direct);
        comparison.nothing_else();
        let found = comparison.differences().join("\n");
        for part in ["echo/title", "gone: not listed", "new: listed by the hub only", "other://b"] {
            assert!(found.contains(part), "{part} is not in:\n{found}");
        }
    }
}
