//! Declared prompts.

use std::sync::Arc;

use serde_json::json;
use toolbay_server::{Prompt, PromptArguments, PromptText, ToolServer, Toolset};

use super::client::{Client, modern};

#[derive(Debug)]
struct Greeter(&'static str);

async fn greet(greeter: Arc<Greeter>, arguments: PromptArguments) -> PromptText {
    let text = format!("{} {}", greeter.0, arguments["name"]);
    PromptText { description: "A greeting".into(), text }
}

#[tokio::test]
async fn prompts_are_listed_and_made() {
    let prompt = Prompt::new("greet", greet).description("Greets").argument("name", "Whom to greet");
    let server = ToolServer::new("greeter", Greeter("Hello,"), Toolset::new([])).prompt(prompt);
    let mut client = Client::new(Arc::new(server));
    let found = client.request("server/discover", modern(json!({}))).await;
    assert_eq!(found["result"]["capabilities"], json!({ "prompts": {}, "tools": {} }));
    let listed = client.request("prompts/list", modern(json!({}))).await;
    let argument = json!({ "name": "name", "description": "Whom to greet", "required": true });
    let expected = json!([{ "name": "greet", "description": "Greets", "arguments": [argument] }]);
    assert_eq!(listed["result"]["prompts"], expected);
    let mut get = async |name: &str, arguments| {
        let params = modern(json!({ "name": name, "arguments": arguments }));
        client.request("prompts/get", params).await
    };
    let made = get("greet", json!({ "name": "Ada" })).await;
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello, Ada" } });
    let expected = json!({ "description": "A greeting", "messages": [message], "resultType": "complete" });
    assert_eq!(made["result"], expected);
    for (name, arguments, expected) in [
        ("greet", json!({}), "argument `name` of prompt `greet` is required"),
        ("other", json!({}), "Unknown prompt: other"),
    ] {
        let refused = get(name, arguments).await;
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["message"]),
            (&json!(-32602), &json!(expected))
        );
    }
    let refused = get("greet", json!({ "name": 1 })).await;
    assert_eq!(refused["error"]["code"], -32602);
}
