//! `@modelcontextprotocol/server-memory`.

use serde_json::json;

use super::{ARGUMENTS, Call, Comparison, Servers, call};

const SERVERS: Servers = Servers {
    page: "memory",
    program: "bin/node",
    script: Some("npm/node_modules/@modelcontextprotocol/server-memory/dist/index.js"),
    ours: &["memory"],
    arguments: &[],
    environment: &[("MEMORY_FILE_PATH", "{root}/memory.jsonl")],
    own_files: &["memory.jsonl.journal", "memory.jsonl.lock"],
};

// Where ours is better, in the words of docs/memory.md.
const RANKED: &str =
    "`search_nodes` ranks: the best matches come first, and words may be apart and in another order.";

#[test]
fn memory() {
    let mut servers = Comparison::start(&SERVERS, |_| ());
    servers.tools();
    servers.calls(calls());
}

fn calls() -> Vec<Call> {
    let entity = |name: &str, kind: &str, observations: &[&str]| json!({ "name": name, "entityType": kind, "observations": observations });
    let relation = |from: &str, to: &str, kind: &str| json!({ "from": from, "to": to, "relationType": kind });
    let search = |query: &str| call("search_nodes", json!({ "query": query }));
    vec![
        call("read_graph", json!({})),
        call(
            "create_entities",
            json!({ "entities": [
                entity("Ada", "person", &["writes programs", "lives in London"]),
                entity("Engine", "machine", &["computes"]),
                entity("Größe 世界", "thing", &[]),
            ] }),
        ),
        call(
            "create_entities",
            json!({ "entities": [entity("Ada", "robot", &["x"]), entity("Babbage", "person", &[])] }),
        ),
        call("create_entities", json!({ "entities": [] })),
        call(
            "create_relations",
            json!({ "relations": [
                relation("Ada", "Engine", "programs"),
                relation("Babbage", "Engine", "builds"),
                relation("Ada", "Nobody", "knows"),
            ] }),
        ),
        call("create_relations", json!({ "relations": [relation("Ada", "Engine", "programs")] })),
        call(
            "add_observations",
            json!({ "observations": [{ "entityName": "Ada", "contents": ["writes programs", "is a countess"] }] }),
        ),
        call("add_observations", json!({ "observations": [{ "entityName": "Nobody", "contents": ["x"] }] })),
        call("read_graph", json!({})),
        search("ada"),
        search("COUNTESS"),
        search("person").better(RANKED),
        search("machine"),
        search("no such thing").better(RANKED),
        search("世界"),
        call("open_nodes", json!({ "names": ["Ada", "Nobody"] })),
        call("open_nodes", json!({ "names": ["Engine"] })),
        call("open_nodes", json!({ "names": [] })),
        call(
            "delete_observations",
            json!({ "deletions": [{ "entityName": "Ada", "observations": ["is a countess", "no such"] }] }),
        ),
        call(
            "delete_observations",
            json!({ "deletions": [{ "entityName": "Nobody", "observations": ["x"] }] }),
        ),
        call("delete_relations", json!({ "relations": [relation("Babbage", "Engine", "builds")] })),
        call("delete_relations", json!({ "relations": [relation("no", "such", "relation")] })),
        call("delete_entities", json!({ "entityNames": ["Engine", "Nobody"] })),
        call("read_graph", json!({})),
        search("programs lives").better(RANKED),
        call("open_nodes", json!({})).better(ARGUMENTS),
        call("create_entities", json!({ "entities": [{ "name": "x" }] })).better(ARGUMENTS),
    ]
}
