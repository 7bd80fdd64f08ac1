//! Arguments that are repeated in headers.

use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolbay_testkit::HttpScript;
use toolbay_upstream::CatalogKind;

use super::{PATIENCE, at};
use crate::harness::{Harness, call_with, discovery};

#[tokio::test]
async fn tools_say_which_and_those_that_say_it_wrongly_are_left_out() {
    let server = HttpScript::start(&TaskTracker::new(), |asked, answering| async move {
        let tool = |name: &str, header: &str| {
            json!({"name": name, "inputSchema": {"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": header}}}})
        };
        match asked.rpc() {
            "server/discover" => answering.result(&asked, discovery()).await,
            "tools/list" => {
                answering.result(&asked, json!({"tools": [tool("good", "Region"), tool("bad", "")]})).await
            }
            "tools/call" => answering.result(&asked, json!({"content": []})).await,
            _ => std::future::pending().await,
        }
    })
    .await
    .unwrap();
    let harness = Harness::new(at(&server.url), |_| {});
    let status = timeout(PATIENCE, harness.until_ready()).await.unwrap();
    assert_eq!(status.catalog.list(CatalogKind::Tools).len(), 1);
    let [problem] = &status.catalog.problems[..] else { panic!("{:?}", status.catalog.problems) };
    assert!(problem.contains("`bad` is not offered"), "{problem}");

    harness.server.call(call_with("good", &json!({"region": "us-west1"}))).await.unwrap();
    let asked = server.requests();
    let call = asked.iter().find(|asked| asked.rpc() == "tools/call").unwrap();
    assert_eq!((call.header("mcp-name"), call.header("mcp-param-region")), ("good", "us-west1"));
}
