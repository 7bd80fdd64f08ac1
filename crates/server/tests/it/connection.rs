use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::Instant;
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_server::{Call, CallFuture, Server};

use super::client::{Client, modern};

/// Has tools and no resources.
#[derive(Debug)]
struct Small {
    drain: Duration,
}

impl Server for Small {
    fn name(&self) -> &str {
        "small"
    }

    fn drain(&self) -> Duration {
        self.drain
    }

    fn tools(&self) -> String {
        json!([{ "name": "nothing", "inputSchema": { "type": "object" } }]).to_string()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            match call.tool {
                "nothing" => Ok("{}".to_owned()),
                "half" => {
                    call.progress.send(&json!({ "progress": 0.5 }));
                    Ok(json!({ "content": [], "wanted": call.progress.is_wanted() }).to_string())
                }
                "hang" => std::future::pending().await,
                other => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool `{other}`"))),
            }
        })
    }
}

fn client() -> Client {
    Client::new(Arc::new(Small { drain: Duration::ZERO }))
}

#[tokio::test]
async fn a_legacy_client_shakes_hands_first() {
    let mut client = client();
    assert_eq!(client.request("tools/list", json!({})).await["error"]["message"], "Not initialized");
    let hello = client.request("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "small");
    assert_eq!(hello["result"]["capabilities"], json!({ "tools": {} }));
    assert_eq!(client.request("tools/list", json!({})).await["result"]["tools"][0]["name"], "nothing");
    assert_eq!(client.request("tools/call", json!({ "name": "nothing" })).await["result"], json!({}));
    assert_eq!(client.request("resources/list", json!({})).await["error"]["code"], -32601);
    assert_eq!(client.request("initialize", json!({})).await["error"]["message"], "Already initialized");
}

#[tokio::test]
async fn modern_requests_stand_alone() {
    let mut client = client();
    let found = client.request("server/discover", modern(json!({}))).await;
    assert_eq!(found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "small");
    let nothing = client.request("tools/call", modern(json!({ "name": "nothing" }))).await;
    assert_eq!(nothing["result"], json!({ "resultType": "complete" }));
    let listed = client.request("tools/list", modern(json!({}))).await;
    assert_eq!(listed["result"]["cacheScope"], "private");
}

#[tokio::test]
async fn progress_goes_to_those_who_want_it() {
    let mut client = client();
    let silent = client.request("tools/call", modern(json!({ "name": "half" }))).await;
    assert_eq!(silent["result"]["wanted"], false);
    client.send("tools/call", modern(json!({ "name": "half", "_meta": { "progressToken": 7 } }))).await;
    assert_eq!(client.next().await["params"], json!({ "progressToken": 7, "progress": 0.5 }));
    assert_eq!(client.next().await["result"]["wanted"], true);
}

#[tokio::test]
async fn a_cancelled_call_has_no_response_and_the_server_ends_with_its_client() {
    let mut client = client();
    let id = client.send("tools/call", modern(json!({ "name": "hang" }))).await;
    let params = json!({ "requestId": id });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    client.connection.outgoing.send(cancel.to_string().into()).await.unwrap();
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    client.send("tools/call", modern(json!({ "name": "hang" }))).await;
    let Client { connection, tasks, .. } = client;
    drop(connection);
    tasks.close();
    tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_ends_at_once_when_its_client_is_gone() {
    let mut client = Client::new(Arc::new(Small { drain: Duration::from_secs(30) }));
    client.send("tools/call", modern(json!({ "name": "hang" }))).await;
    assert_eq!(client.request("ping", modern(json!({}))).await["result"], json!({}));
    let start = Instant::now();
    let Client { connection, tasks, .. } = client;
    drop(connection);
    tasks.close();
    tasks.wait().await;
    assert_eq!(start.elapsed(), Duration::ZERO, "nobody waits for the response");
}
