use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use toolbay_pins::{
    ChangeKind, DefinitionKind, Definitions, PinFile, PinMode, PinStore, PinSubject, PinnedServer, diff,
};

/// A definition of each kind with every field that the specification has, and some that it has not.
fn all() -> Vec<(DefinitionKind, Value)> {
    vec![
        (
            DefinitionKind::Tool,
            json!({
                "name": "send",
                "title": "Send",
                "description": "Sends a message.\nTo someone.",
                "inputSchema": {
                    "type": "object",
                    "properties": { "to": { "type": "string", "enum": ["a", "b"], "description": "whom" }, "n": { "maximum": 9007199254740993u64 } },
                    "required": ["to"],
                    "additionalProperties": false,
                },
                "outputSchema": { "type": "object", "properties": { "id": { "type": "integer" } } },
                "annotations": { "title": "Send", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true },
                "icons": [{ "src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"] }],
                "execution": { "taskSupport": "optional" },
                "_meta": { "ui": { "resourceUri": "ui://send/form" }, "openai/outputTemplate": "ui://send/card", "other": [1, null] },
                "unknown": 1.5,
            }),
        ),
        (
            DefinitionKind::Prompt,
            json!({
                "name": "review",
                "title": "Review",
                "description": "Reviews code.",
                "arguments": [{ "name": "code", "title": "Code", "description": "what", "required": true }],
                "icons": [{ "src": "data:,x" }],
                "_meta": { "a": true },
            }),
        ),
        (
            DefinitionKind::ResourceTemplate,
            json!({
                "uriTemplate": "file:///{path}",
                "name": "files",
                "title": "Files",
                "description": "All files.",
                "mimeType": "text/plain",
                "annotations": { "audience": ["user"], "priority": 0.5 },
                "_meta": {},
            }),
        ),
    ]
}

/// Every value that differs from this one in one place.
fn variants(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                let without: serde_json::Map<_, _> = entries
                    .iter()
                    .filter(|(other, _)| *other != key)
                    .map(|(key, it)| (key.clone(), it.clone()))
                    .collect();
                all.push(Value::Object(without.clone()));
                let mut renamed = without;
                renamed.insert(format!("{key}X"), inner.clone());
                all.push(Value::Object(renamed));
                for variant in variants(inner) {
                    let mut entries = entries.clone();
                    entries[key] = variant;
                    all.push(Value::Object(entries));
                }
            }
            let mut more = entries.clone();
            more.insert("added".to_owned(), Value::Null);
            all.push(Value::Object(more));
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                let mut without = items.clone();
                without.remove(index);
                all.push(Value::Array(without));
                for variant in variants(&items[index]) {
                    let mut items = items.clone();
                    items[index] = variant;
                    all.push(Value::Array(items));
                }
            }
            let mut more = items.clone();
            more.push(Value::Null);
            all.push(Value::Array(more));
            if items.len() > 1 {
                let mut turned = items.clone();
                turned.reverse();
                all.push(Value::Array(turned));
            }
        }
        Value::String(text) => {
            all.extend([
                json!(format!("{text} ")),
                json!(format!("{text}\u{200b}")),
                json!(text.to_uppercase() + "!"),
            ]);
            all.push(Value::Null);
        }
        Value::Bool(flag) => all.extend([json!(!flag), json!(flag.to_string())]),
        Value::Number(number) => {
            all.push(json!(number.to_string()));
            all.extend(number.as_u64().map(|number| json!(number + 1)));
            all.extend(number.as_f64().filter(|_| !number.is_u64()).map(|number| json!(number * 2.0)));
        }
        Value::Null => all.push(json!(false)),
    }
    all
}

fn definitions(items: &[(DefinitionKind, Value)], instructions: &str) -> Definitions {
    let mut found = Definitions::default();
    found.add_instructions(instructions);
    for (kind, item) in items {
        found.add(*kind, item.to_string().as_bytes());
    }
    found
}

fn subject(mode: PinMode) -> PinSubject {
    PinSubject { server: PinnedServer::new(Path::new("/c.toml"), "s"), launch: "1".to_owned(), mode }
}

#[test]
fn every_field_that_changes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let store = PinStore::open_with(PinFile::at(&folder.path().join("pins.json")), Duration::ZERO);
    let quarantine = subject(PinMode::Quarantine);
    let original = all();
    let first = definitions(&original, "Be kind.");
    assert_eq!(store.review(&quarantine, &first, true), Default::default());
    let mut count = 0;
    for (index, (_, item)) in original.iter().enumerate() {
        for variant in variants(item) {
            let mut changed = original.clone();
            changed[index].1 = variant.clone();
            let found = definitions(&changed, "Be kind.");
            if found.len() < first.len() {
                continue; // without a name it is not offered
            }
            let review = store.review(&quarantine, &found, true);
            assert_eq!(review.hidden.len(), 1, "{variant}");
            let warned = store.review(&subject(PinMode::Warn), &found, true);
            assert!(warned.hidden.is_empty() && !warned.notes.is_empty(), "{variant}: {warned:?}");
            let pins = PinFile::at(&folder.path().join("pins.json")).read().unwrap();
            let pins = pins.get(&quarantine.server).unwrap();
            for change in pins.waiting() {
                let lines = diff(pins.pinned.get(&change.key), pins.found.get(&change.key));
                let shows = lines.iter().any(|line| !line.to_string().starts_with("  "));
                assert!(shows, "{change}: {lines:?}");
            }
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
    let other = definitions(&original, "Be kind!");
    assert_eq!(store.review(&quarantine, &other, true).hidden.len(), 1);
    // Back as it was.
    assert_eq!(store.review(&quarantine, &first, true), Default::default());
}

#[test]
fn what_is_new_removed_or_renamed_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pins.json");
    let store = PinStore::open_with(PinFile::at(&path), Duration::ZERO);
    let quarantine = subject(PinMode::Quarantine);
    let original = all();
    store.review(&quarantine, &definitions(&original, "x"), true);
    let mut renamed = original.clone();
    renamed[0].1["name"] = "send2".into();
    let review = store.review(&quarantine, &definitions(&renamed, "x"), true);
    assert_eq!(review.hidden.len(), 1);
    assert!(review.hidden[0].reason.contains("was called `send`"), "{review:?}");
    assert!(review.notes[0].contains("tool `send` was removed"), "{review:?}");
    let pins = PinFile::at(&path).read().unwrap();
    let kinds: Vec<ChangeKind> =
        pins.get(&quarantine.server).unwrap().waiting().into_iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Renamed { from: "send".to_owned() }, ChangeKind::Removed]);
    // A list that could not be completed says nothing about what is missing.
    let review = store.review(&quarantine, &definitions(&original[1..], "x"), false);
    assert!(review.notes[0].contains("was removed") && review.hidden.is_empty(), "{review:?}");
    let review = store.review(&quarantine, &definitions(&original, "x"), true);
    assert_eq!(review, Default::default());
    let mut more = original.clone();
    more.push((DefinitionKind::Prompt, json!({ "name": "send" })));
    let review = store.review(&quarantine, &definitions(&more, "x"), true);
    assert!(review.hidden.len() == 1 && review.hidden[0].reason.contains("it is new"), "{review:?}");
    // One of the same name hides no other.
    more.pop();
    more.push((DefinitionKind::Tool, json!({ "name": "send" })));
    assert_eq!(store.review(&quarantine, &definitions(&more, "x"), true).hidden.len(), 1);
}
