//! The knowledge graph over the protocol.

use std::{fs, path::Path};

use serde_json::{Value, json};
use toolbay_builtin::memory::{MemoryConfig, memory};

use crate::client::Client;

pub(super) fn config(directory: &Path) -> MemoryConfig {
    MemoryConfig { path: directory.join("memory.jsonl"), ..MemoryConfig::default() }
}

pub(super) async fn client(directory: &Path) -> Client {
    Client::new(memory(config(directory))).await
}

pub(super) fn entity(name: &str, observations: &[&str]) -> Value {
    json!({ "name": name, "entityType": "test", "observations": observations })
}

/// Calls a tool and returns its structured content, of which the text is the JSON.
async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut response = client.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
    assert_eq!(response["result"]["isError"], Value::Null, "{response}");
    response["result"]["structuredContent"].take()
}

#[tokio::test]
async fn the_nine_tools_answer_as_the_reference_does() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(directory.path()).await;
    let (ada, bob) = (entity("Ada", &["likes tea"]), entity("Bob", &[]));
    let created =
        client.call("create_entities", json!({ "entities": [ada, bob, entity("Ada", &["again"])] })).await;
    let text = "[\n  {\n    \"name\": \"Ada\",\n    \"entityType\": \"test\",\n    \"observations\": [\n      \"likes tea\"\n    ]\n  \
                },\n  {\n    \"name\": \"Bob\",\n    \"entityType\": \"test\",\n    \"observations\": []\n  }\n]";
    assert_eq!(created.unwrap(), text);
    let relation = |to: &str| json!({ "from": "Ada", "to": to, "relationType": "knows" });
    let relations = json!({ "relations": [relation("Bob"), relation("Zoe")] });
    assert_eq!(call(&mut client, "create_relations", relations.clone()).await, relations);
    assert_eq!(call(&mut client, "create_relations", relations.clone()).await, json!({ "relations": [] }));
    let added = json!({ "observations": [{ "entityName": "Ada", "contents": ["likes tea", "writes"] }] });
    let expected = json!({ "results": [{ "entityName": "Ada", "addedObservations": ["writes"] }] });
    assert_eq!(call(&mut client, "add_observations", added).await, expected);
    let unknown = json!({ "observations": [{ "entityName": "Eve", "contents": ["x"] }] });
    let refused = client.call("add_observations", unknown).await.unwrap_err();
    assert_eq!(refused, "Entity with name Eve not found");

    let ada = entity("Ada", &["likes tea", "writes"]);
    let graph = json!({ "entities": [ada, entity("Bob", &[])], "relations": relations["relations"] });
    assert_eq!(call(&mut client, "read_graph", json!({})).await, graph);
    let found = call(&mut client, "search_nodes", json!({ "query": "TEA likes" })).await;
    assert_eq!(found, json!({ "entities": [ada], "relations": relations["relations"] }));
    let opened = call(&mut client, "open_nodes", json!({ "names": ["Bob", "Eve"] })).await;
    assert_eq!(opened, json!({ "entities": [entity("Bob", &[])], "relations": [relation("Bob")] }));

    let deletion = json!({ "deletions": [{ "entityName": "Ada", "observations": ["writes", "none"] }] });
    let message = |what: &str| json!({ "success": true, "message": format!("{what} deleted successfully") });
    assert_eq!(call(&mut client, "delete_observations", deletion).await, message("Observations"));
    let zoe = json!({ "relations": [relation("Zoe")] });
    assert_eq!(call(&mut client, "delete_relations", zoe).await, message("Relations"));
    let deletion = json!({ "entityNames": ["Bob"] });
    assert_eq!(call(&mut client, "delete_entities", deletion).await, message("Entities"));
    let graph = json!({ "entities": [entity("Ada", &["likes tea"])], "relations": [] });
    assert_eq!(call(&mut client, "read_graph", json!({})).await, graph);
}

#[tokio::test]
async fn bad_arguments_are_named_and_deletes_are_destructive() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(directory.path()).await;
    let refused = client.call("create_entities", json!({ "entities": [{ "name": "a" }] })).await.unwrap_err();
    assert!(refused.contains("/entities/0/entityType is missing"), "{refused}");
    let refused = client.call("read_graph", json!({ "limit": 0 })).await.unwrap_err();
    assert!(refused.contains("/limit must be an integer of at least 1"), "{refused}");
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 9);
    for tool in tools {
        let is_delete = tool["name"].as_str().unwrap().starts_with("delete_");
        assert_eq!(tool["annotations"]["destructiveHint"], is_delete, "{tool}");
        assert!(tool["title"].is_string() && tool["outputSchema"]["type"] == "object", "{tool}");
    }
}

#[tokio::test]
async fn clients_that_subscribed_hear_of_changes() {
    let directory = tempfile::tempdir().unwrap();
    let connect = memory(config(directory.path()));
    let (mut one, mut other) = (Client::new(connect.clone()).await, Client::new(connect).await);
    let uri = "memory://knowledge-graph";
    let listed = one.request("resources/list", json!({})).await;
    let expected = json!([{
        "uri": uri,
        "name": "knowledge-graph",
        "title": "Knowledge Graph",
        "description": "The full knowledge graph with all entities and relations",
        "mimeType": "application/json",
    }]);
    assert_eq!(listed["result"]["resources"], expected);
    one.request("resources/subscribe", json!({ "uri": uri })).await;
    other.call("create_entities", json!({ "entities": [entity("a", &[])] })).await.unwrap();
    let updated = one.notification().await;
    let expected = ("notifications/resources/updated", uri);
    assert_eq!((updated["method"].as_str().unwrap(), updated["params"]["uri"].as_str().unwrap()), expected);
    let read = one.request("resources/read", json!({ "uri": uri })).await;
    let graph: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(graph, json!({ "entities": [entity("a", &[])], "relations": [] }));
}

#[tokio::test]
async fn large_graphs_come_in_pages() {
    let directory = tempfile::tempdir().unwrap();
    let mut client = client(directory.path()).await;
    let long = "x".repeat(1000);
    let entities: Vec<Value> = (0..3_000).map(|number| entity(&format!("e{number}"), &[&long])).collect();
    call(&mut client, "create_entities", json!({ "entities": entities })).await;
    let relation =
        |number: u64| json!({ "from": format!("e{number}"), "to": "e0", "relationType": "of".repeat(50) });
    let relations: Vec<Value> = (0..3_000).map(relation).collect();
    call(&mut client, "create_relations", json!({ "relations": relations.clone() })).await;
    let (mut offset, mut names) = (Some(0), Vec::new());
    while let Some(from) = offset {
        let response = client
            .request("tools/call", json!({ "name": "read_graph", "arguments": { "offset": from } }))
            .await;
        let size = response.to_string().len();
        assert!(size < 5 << 20, "text and structured content, entities and relations: {size}");
        let page = &response["result"]["structuredContent"];
        assert_eq!(page["total"], 3_000);
        names.extend(page["entities"].as_array().unwrap().iter().map(|it| it["name"].clone()));
        offset = page["nextOffset"].as_u64();
    }
    assert_eq!(names.len(), 3_000);
    let page =
        call(&mut client, "search_nodes", json!({ "query": "test", "offset": 2_990, "limit": 5 })).await;
    assert_eq!((page["entities"].as_array().unwrap().len(), &page["nextOffset"]), (5, &json!(2_995)));
    let page = call(&mut client, "search_nodes", json!({ "query": "test e77" })).await;
    let found = (page["entities"].as_array().unwrap().len(), &page["total"], &page["entities"][0]["name"]);
    assert_eq!(found, (20, &json!(3_000), &json!("e77")), "most share only a word with it");
    // What does not fit is counted.
    let more: Vec<Value> = (0..10_000)
        .map(|number| json!({ "from": "e0", "to": number.to_string(), "relationType": "of".repeat(50) }))
        .collect();
    call(&mut client, "create_relations", json!({ "relations": more })).await;
    let page = call(&mut client, "open_nodes", json!({ "names": ["e0"] })).await;
    let (listed, omitted) = (page["relations"].as_array().unwrap().len(), page["omittedRelations"].as_u64());
    assert_eq!(listed + omitted.unwrap() as usize, 13_000);
}

#[tokio::test]
async fn the_quota_is_enforced_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let config = MemoryConfig { max_entities: 2, max_bytes: 2_000, ..config(directory.path()) };
    let mut client = Client::new(memory(config.clone())).await;
    let three = [entity("a", &[]), entity("b", &[]), entity("c", &[])];
    let full = client.call("create_entities", json!({ "entities": three })).await.unwrap_err();
    assert!(full.starts_with("the memory is full: at most 2 entities and 2000 bytes"), "{full}");
    client.call("create_entities", json!({ "entities": [entity("a", &[])] })).await.unwrap();
    let long = json!({ "observations": [{ "entityName": "a", "contents": ["x".repeat(3_000)] }] });
    assert!(client.call("add_observations", long).await.unwrap_err().starts_with("the memory is full"));
    drop(client);
    fs::write(&config.path, vec![b'\n'; 4_001]).unwrap();
    let mut client = Client::new(memory(config)).await;
    let refused = client.call("read_graph", json!({})).await.unwrap_err();
    assert!(refused.contains("has 4001 bytes; raise `max_bytes`"), "{refused}");
}

#[tokio::test]
async fn damaged_lines_cost_only_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.jsonl");
    let mut file = br#"{"type":"entity","name":"a","entityType":"x","observations":["one"]}"#.to_vec();
    file.extend(b"\n\xff\xfe not UTF-8\n{\"type\":\"entity\",\"name\":\"b\"\n");
    file.extend(br#"{"type":"relation","from":"a","to":"b","relationType":"knows"}"#);
    fs::write(&path, &file).unwrap();
    let mut client = client(directory.path()).await;
    let graph = call(&mut client, "read_graph", json!({})).await;
    assert_eq!(graph["entities"][0]["name"], "a");
    assert_eq!(graph["relations"].as_array().unwrap().len(), 1);
    let bad = fs::read(directory.path().join("memory.jsonl.bad")).unwrap();
    assert_eq!(bad, b"\xff\xfe not UTF-8\n{\"type\":\"entity\",\"name\":\"b\"\n");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
}

#[tokio::test]
async fn the_file_of_an_old_version_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("memory.json");
    fs::write(&old, r#"{"type":"entity","name":"a","entityType":"x","observations":[]}"#).unwrap();
    let graph = call(&mut client(directory.path()).await, "read_graph", json!({})).await;
    assert_eq!(graph["entities"][0]["name"], "a");
    assert!(!old.exists() && directory.path().join("memory.jsonl").exists());
    // Any other file of that name is left alone.
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("memory.json");
    fs::write(&old, "{\"editor\": {}}").unwrap();
    let graph = call(&mut client(directory.path()).await, "read_graph", json!({})).await;
    assert_eq!((&graph["entities"], old.exists()), (&json!([]), true));
}
