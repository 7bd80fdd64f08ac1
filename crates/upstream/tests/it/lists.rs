//! Pages, limits, changes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_upstream::{CatalogKind, UpstreamStatus};

use crate::harness::{Harness, Script, discovery, eventually, scripted, tools};

fn server_with_tools(count: usize) -> TestServer {
    (0..count).fold(TestServer::new("s"), |server, n| server.with_tool(format!("t{n}"), |_| Ok(json!(1))))
}

fn tool_names(status: &UpstreamStatus) -> Vec<String> {
    let name = |text: &bytes::Bytes| -> String {
        let tool: Value = serde_json::from_slice(text).unwrap();
        tool["name"].as_str().unwrap().to_owned()
    };
    status.catalog.list(CatalogKind::Tools).iter().map(name).collect()
}

#[tokio::test(start_paused = true)]
async fn all_pages_are_listed_in_order() {
    let server = server_with_tools(25).page_size(4);
    let status = Harness::ready(&server).await.until_ready().await;
    let expected: Vec<String> = (0..25).map(|n| format!("t{n}")).collect();
    assert_eq!(tool_names(&status), expected);
    assert_eq!(server.handle().count("tools/list"), 7);
    assert!(status.catalog.problems.is_empty(), "{:?}", status.catalog.problems);
}

#[tokio::test(start_paused = true)]
async fn only_declared_lists_are_requested() {
    let server = server_with_tools(1);
    Harness::ready(&server).await;
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        assert_eq!(server.handle().count(method), 0, "{method}");
    }
    let server = TestServer::demo();
    let harness = Harness::ready(&server).await;
    let status = harness.until_ready().await;
    let counts = CatalogKind::ALL.map(|kind| status.catalog.list(kind).len());
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// A server that answers each `tools/list` with what `page` gives for the cursor.
fn paging(page: fn(Option<u64>) -> Value) -> toolbay_upstream::Endpoint {
    scripted(move |_, mut script: Script| async move {
        loop {
            let asked = script.until("tools/list").await;
            let cursor = asked["params"]["cursor"].as_str().map(|text| text.parse().unwrap());
            script.answer(&asked, page(cursor)).await;
        }
    })
}

async fn listed(page: fn(Option<u64>) -> Value) -> (usize, String) {
    let status = Harness::new(paging(page), |_| {}).until_ready().await;
    (status.catalog.list(CatalogKind::Tools).len(), status.catalog.problems.join("; "))
}

#[tokio::test(start_paused = true)]
async fn lists_that_never_end_are_cut_and_the_rest_of_the_server_works() {
    // Every page says there is another.
    let (items, problem) = listed(|cursor| {
        let next = cursor.unwrap_or(0) + 1;
        let mut page = tools(&[&format!("t{next}")]);
        page["nextCursor"] = json!(next.to_string());
        page
    })
    .await;
    assert_eq!(items, 100, "{problem}");
    assert!(problem.contains("100 pages"), "{problem}");
    // The cursors run in a circle.
    let (items, problem) = listed(|_| {
        let mut page = tools(&["t"]);
        page["nextCursor"] = json!("7");
        page
    })
    .await;
    assert_eq!(items, 1);
    assert!(problem.contains("repeated"), "{problem}");
    // Too many items.
    let (items, problem) = listed(|_| {
        let names: Vec<String> = (0..3000).map(|number| format!("t{number}")).collect();
        tools(&names.iter().map(String::as_str).collect::<Vec<_>>())
    })
    .await;
    assert_eq!(items, 2048);
    assert!(problem.contains("2048"), "{problem}");
    // Too many bytes.
    let (items, problem) = listed(|cursor| {
        let large = "x".repeat(1024 * 1024);
        let next = (cursor.unwrap_or(0) + 1).to_string();
        let mut page = json!({"tools": [{"name": next, "description": large, "inputSchema": {}}]});
        page["nextCursor"] = json!(next);
        page
    })
    .await;
    assert_eq!(items, 7);
    assert!(problem.contains("bytes"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_none_is_a_problem_of_that_list_alone() {
    for (page, expected) in [
        ((|_| json!({})) as fn(Option<u64>) -> Value, "has no `tools`"),
        (|_| json!({"tools": {}}), "not an array"),
    ] {
        let (items, problem) = listed(page).await;
        assert_eq!(items, 0);
        assert!(problem.contains(expected), "{problem}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_listed_again_by_legacy_and_modern_servers() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = server_with_tools(1).revisions(era);
        let harness = Harness::ready(&server).await;
        if era == SupportedRevisions::Modern {
            eventually("we listen", || server.handle().count("subscriptions/listen") == 1).await;
        }
        server.handle().add_tool("new", |_| Ok(json!(1)));
        let status = harness.until(|status| tool_names(status).len() == 2).await;
        assert_eq!(tool_names(&status), ["t0", "new"], "{era:?}");
        server.handle().remove_tool("t0");
        harness.until(|status| tool_names(status) == ["new"]).await;
    }
}

/// F17.
#[tokio::test(start_paused = true)]
async fn ten_thousand_changes_in_a_second_cause_few_list_requests() {
    let (told, mut asked) = tokio::sync::mpsc::channel(64);
    let source = scripted(move |_, mut script| {
        let told = told.clone();
        async move {
            let list = script.until("tools/list").await;
            script.answer(&list, tools(&["t"])).await;
            for burst in 0..100 {
                for _ in 0..100 {
                    script
                        .send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
                        .await;
                }
                sleep(Duration::from_millis(10)).await;
                let _ = burst;
            }
            loop {
                let list = script.until("tools/list").await;
                let _ = told.send(()).await;
                script.answer(&list, tools(&["t", "new"])).await;
            }
        }
    });
    let harness = Harness::new(source, |_| {});
    harness.until(|status| tool_names(status).len() == 2).await;
    sleep(Duration::from_secs(5)).await;
    let mut lists = 0;
    while asked.try_recv().is_ok() {
        lists += 1;
    }
    assert!((1..=5).contains(&lists), "{lists} lists");
}

/// As the storm, but with a server that answers lists while it storms.
#[tokio::test(start_paused = true)]
async fn a_change_every_millisecond_is_gathered() {
    let server = server_with_tools(1);
    let harness = Harness::ready(&server).await;
    for n in 0..1000 {
        server.handle().add_tool(format!("n{}", n % 10), |_| Ok(json!(1)));
        sleep(Duration::from_millis(1)).await;
    }
    harness.until(|status| tool_names(status).len() == 11).await;
    sleep(Duration::from_secs(2)).await;
    let lists = server.handle().count("tools/list") - 1;
    assert!((1..=5).contains(&lists), "{lists} lists");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_later_keeps_what_is_known() {
    let source = scripted(|_, mut script| async move {
        let list = script.until("tools/list").await;
        script.answer(&list, tools(&["t"])).await;
        script.send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
        let list = script.until("tools/list").await;
        script.refuse(&list, -32603).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    let status = harness.until(|status| !status.catalog.problems.is_empty()).await;
    assert_eq!(tool_names(&status), ["t"]);
    assert!(status.catalog.problems[0].starts_with("tools/list: error -32603"));
}

/// One unanswered list must not make us deaf to all later changes.
#[tokio::test(start_paused = true)]
async fn a_list_without_a_response_does_not_stop_later_ones() {
    let source = scripted(|_, mut script| async move {
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let list = script.until("tools/list").await;
        script.answer(&list, tools(&["t"])).await;
        script.send(changed.clone()).await;
        script.until("tools/list").await; // not answered
        sleep(Duration::from_secs(100)).await;
        script.send(changed).await;
        let list = script.until("tools/list").await;
        script.answer(&list, tools(&["t", "new"])).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    let fresh = harness.until(|status| tool_names(status).len() == 2);
    tokio::time::timeout(Duration::from_secs(1000), fresh).await.unwrap();
}

/// In the new era nobody is told of what changes before the subscription, so we look once more when it stands.
#[tokio::test(start_paused = true)]
async fn a_change_between_the_list_and_the_subscription_is_not_lost() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        script.answer(&probe, discovery()).await;
        let list = script.next().await;
        script.answer(&list, tools(&["t"])).await;
        let listen = script.next().await;
        assert_eq!(listen["method"], "subscriptions/listen");
        let params =
            json!({"_meta": {"io.modelcontextprotocol/subscriptionId": listen["id"]}, "notifications": {}});
        let method = "notifications/subscriptions/acknowledged";
        script.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
        let list = script.until("tools/list").await;
        script.answer(&list, tools(&["t", "new"])).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    let fresh = harness.until(|status| tool_names(status).len() == 2);
    tokio::time::timeout(Duration::from_secs(10), fresh).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_refuses_to_be_listened_to_works() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        script.answer(&probe, discovery()).await;
        let asked = script.until("tools/call").await;
        script.answer(&asked, json!({"content": []})).await;
        script.until("never").await;
    });
    Harness::new(source, |_| {}).call("t").await.unwrap();
}
