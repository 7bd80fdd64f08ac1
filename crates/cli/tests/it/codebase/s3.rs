//! Every request and response of S3, over stdio and HTTP. What differs from it is said here and in docs/codebase.md.

use serde_json::{Value, json};

use super::{Project, list};
use crate::program::Serving;

/// § 3.1
fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": { "name": "claude-desktop", "version": "1.0.0" }
        }
    })
}

/// The conversation of the document, by whatever means its messages travel.
fn converse(mut ask: impl FnMut(Value) -> Value) {
    // § 3.1; added: `instructions`, which clients may show to models.
    let mut answer = ask(initialize());
    assert!(answer["result"]["instructions"].is_string());
    answer["result"].as_object_mut().unwrap().remove("instructions");
    let expected = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": { "resources": {}, "tools": {} },
            "serverInfo": { "name": "browser-mcp", "version": "0.1.0" }
        }
    });
    assert_eq!(answer, expected);

    // § 3.2; added: more to every description, more parameters, `outputSchema`, `title` and `annotations`.
    let answer = ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(2)));
    let search = &tools[0];
    assert!(search["description"].as_str().unwrap().starts_with("Search for code using text matching"));
    let schema = &search["inputSchema"];
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["query"])));
    let query = json!({ "type": "string", "description": "The text or pattern to search for" });
    assert_eq!(schema["properties"]["query"], query);
    let max_results = &schema["properties"]["max_results"];
    assert_eq!(max_results["type"], "number");
    assert_eq!(max_results["description"], "Maximum number of results (default: 50)");
    // § 4: names, parameters, which of them are needed, and defaults.
    let described: Vec<(&str, Value)> = tools
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["inputSchema"]["required"].clone()))
        .collect();
    let expected = [
        ("search_code", json!(["query"])),
        ("search_by_embedding", json!(["query"])),
        ("list_directory", json!(["path"])),
        ("read_file", json!(["file_path"])),
        ("chunk_file", json!(["file_path"])),
        ("chunk_files", json!(["file_paths"])),
    ];
    assert_eq!(described, expected);
    for (tool, parameter, kind) in [
        (1, "query", "string"),
        (1, "max_results", "number"),
        (2, "path", "string"),
        (3, "file_path", "string"),
        (4, "file_path", "string"),
        (5, "file_paths", "array"),
    ] {
        assert_eq!(tools[tool]["inputSchema"]["properties"][parameter]["type"], kind, "{parameter}");
    }
    let by_meaning = &tools[1]["inputSchema"]["properties"]["max_results"]["description"];
    assert!(by_meaning.as_str().unwrap().contains("default: 10"));

    // § 2.1, 2.2 and 3.3; added: `structuredContent`.
    for arguments in
        [json!({ "query": "function add" }), json!({ "query": "function add", "max_results": 10 })]
    {
        let answer = ask(json!({
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": { "name": "search_code", "arguments": arguments }
        }));
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(3)));
        let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
        let expected = json!({ "file_path": "src/main.rs", "line_number": 5, "line_content": "    a + b // function add" });
        assert_eq!(list(&answer["result"]), [expected]);
    }

    // § 3.4
    let answer = ask(json!({ "jsonrpc": "2.0", "id": 4, "method": "resources/list" }));
    let expected = json!({
        "jsonrpc": "2.0",
        "id": 4,
        "result": {
            "resources": [
                {
                    "uri": "codebase://search",
                    "name": "Code Search",
                    "description": "Search the codebase",
                    "mimeType": "application/json"
                },
                {
                    "uri": "codebase://files",
                    "name": "List Files",
                    "description": "List files in the codebase",
                    "mimeType": "application/json"
                }
            ]
        }
    });
    assert_eq!(answer, expected);

    // § 3.5
    let answer = ask(json!({
        "jsonrpc": "2.0",
        "id": 5,
        "method": "resources/read",
        "params": { "uri": "codebase://search" }
    }));
    let expected = json!({
        "jsonrpc": "2.0",
        "id": 5,
        "result": {
            "contents": [{
                "uri": "codebase://search",
                "mimeType": "application/json",
                "text": "{\"description\": \"Use the search_code tool to search the codebase\"}"
            }]
        }
    });
    assert_eq!(answer, expected);

    // § 2.3 and 7: codes of errors.
    for (request, code, message) in [
        (json!({ "jsonrpc": "2.0", "id": 6, "method": "no/such" }), -32601, "no/such"),
        (json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call" }), -32602, "Missing params"),
        (
            json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {} }),
            -32602,
            "Missing tool name",
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": { "name": "rm" } }),
            -32602,
            "rm",
        ),
        (json!({ "jsonrpc": "2.0", "id": "a", "method": "no/such" }), -32601, "no/such"),
    ] {
        let answer = ask(request.clone());
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &request["id"]), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(message), "{answer}");
        assert!(answer.get("result").is_none());
    }
}

#[test]
fn over_stdio() {
    let project = Project::new();
    let mut client = project.connect_with(&[]);
    // § 5.3: nothing comes before the handshake; but `ping` may, as the protocol says.
    let early = client.answer(&json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list" }));
    assert_eq!(early["error"], json!({ "code": -32000, "message": "Not initialized" }));
    assert_eq!(client.answer(&json!({ "jsonrpc": "2.0", "id": 0, "method": "ping" }))["result"], json!({}));
    converse(|message| client.answer(&message));
    let again = client.answer(&initialize());
    assert_eq!(again["error"], json!({ "code": -32000, "message": "Already initialized" }));
    // § 5.2: blank lines mean nothing, and only what has an id is answered.
    client.send("");
    client.send("   ");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // A line that is no message is told so: who sent it would wait for ever.
    client.send("{nonsense");
    let refused = client.next();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32700), &Value::Null), "{refused}");
}

#[test]
fn the_server_ends_with_its_input() {
    let project = Project::new();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_code","arguments":{"query":"function add"}}}"#;
    let input = format!("{}\n{call}\n", initialize());
    let ran = project.home.run_with_input(&["codebase", "project"], &input).expect(0);
    assert_eq!(ran.stdout.lines().count(), 2, "the last answer is not lost: {ran:?}");
    assert_eq!(ran.stderr, "", "stdio is quiet");
}

fn body(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(head.to_lowercase().contains("content-type: application/json"), "{answer}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn serve(project: &Project) -> Serving {
    project.home.start(&["codebase", "project", "--http", "127.0.0.1:0"])
}

#[test]
fn over_http() {
    let project = Project::new();
    let mut server = serve(&project);
    for path in ["POST /", "POST /mcp"] {
        converse(|message| body(&server.ask_with(path, "", &message.to_string())));
        // § 6 and 9.3: every request stands alone, so a second handshake and none are both fine.
        let again = body(&server.ask_with(path, "", &initialize().to_string()));
        assert_eq!(again["result"]["serverInfo"]["name"], "browser-mcp");
    }
    // § 6.3
    let health = body(&server.get("/health"));
    assert_eq!(
        health,
        json!({ "status": "ok", "service": "browser-mcp", "version": "0.1.0", "mode": "http" })
    );
    // § 6.2 allows any origin and any address; we answer those who are meant.
    let strange = server.ask_with("POST /", "Origin: http://evil.example\r\n", &initialize().to_string());
    assert!(strange.starts_with("HTTP/1.1 403"), "{strange}");
    assert_eq!(server.stop(), Some(0));
}

/// § 9.3
#[test]
#[expect(clippy::disallowed_methods, reason = "the client of the document")]
fn over_curl() {
    let project = Project::new();
    let mut server = serve(&project);
    let url = server.url.replace("/mcp", "/");
    let ran = std::process::Command::new("curl")
        .args(["-sS", "--max-time", "60", "-X", "POST", &url, "-H", "Content-Type: application/json", "-d"])
        .arg("{\n    \"jsonrpc\": \"2.0\",\n    \"id\": 1,\n    \"method\": \"tools/list\"\n  }")
        .output()
        .expect("curl is installed, by `cargo xtask test` if need be");
    let answer: Value =
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 6, "{answer}");
    assert_eq!(server.stop(), Some(0));
}

/// § 3.3 and 7.2 answer failures of tools with -32603; we do when asked to, and else with a result that a model can read.
#[test]
fn failures_of_tools() {
    let project = Project::new();
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "read_file", "arguments": { "file_path": "no/such.rs" } }
    });
    let mut literal = project.connect_with(&["--s3-errors"]);
    literal.answer(&initialize());
    let answer = literal.answer(&call);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Reading failed: ") && message.contains("no/such.rs"), "{message}");
    let mut usual = project.connect_with(&[]);
    usual.answer(&initialize());
    let answer = usual.answer(&call);
    assert_eq!(
        (&answer["result"]["isError"], &answer["result"]["content"][0]["text"]),
        (&json!(true), &json!(message))
    );
}
