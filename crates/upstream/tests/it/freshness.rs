//! How long lists may be kept, and asking again when they ran out.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_upstream::{CacheHints, CatalogKind, UpstreamStatus};

use crate::harness::{Harness, eventually};

fn server(era: SupportedRevisions) -> TestServer {
    TestServer::new("s")
        .with_tool("t", |_| Ok(json!(1)))
        .with_prompt("p", |_| json!("Hello."))
        .caching(30_000, true)
        .with_tool_changes_only()
        .revisions(era)
}

fn hints(status: &UpstreamStatus, kind: CatalogKind) -> Option<(f32, bool)> {
    status
        .list_hints(kind)
        .map(|CacheHints { ttl, is_public }| (ttl.unwrap().as_secs_f32().round(), is_public))
}

#[tokio::test(start_paused = true)]
async fn hints_of_a_modern_server_hold_as_long_as_it_announces_changes() {
    let server = server(SupportedRevisions::Modern);
    let harness = Harness::ready(&server).await;
    sleep(Duration::from_secs(10)).await;
    let status = harness.until_ready().await;
    assert_eq!(hints(&status, CatalogKind::Tools), Some((30.0, true)), "changes would have been announced");
    let (left, is_public) = hints(&status, CatalogKind::Prompts).unwrap();
    assert!((19.0..=21.0).contains(&left) && is_public, "{left}: nobody would have told us");
    assert_eq!(hints(&status, CatalogKind::Resources), None, "there are none");
    assert!(CatalogKind::ALL.iter().all(|kind| !status.is_list_stale(*kind)));
    sleep(Duration::from_secs(30)).await;
    let status = harness.until_ready().await;
    assert_eq!(hints(&status, CatalogKind::Prompts), Some((0.0, true)));
    assert!(status.is_list_stale(CatalogKind::Prompts) && !status.is_list_stale(CatalogKind::Tools));
    assert!(status.is_server_info_stale());
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_gives_no_hints_so_what_it_announces_decides() {
    let server = server(SupportedRevisions::Legacy);
    let status = Harness::ready(&server).await.until_ready().await;
    assert_eq!(status.list_hints(CatalogKind::Tools), Some(CacheHints { ttl: None, is_public: false }));
    assert_eq!(hints(&status, CatalogKind::Prompts), Some((5.0, false)));
    sleep(Duration::from_secs(100)).await;
    assert!(
        CatalogKind::ALL.iter().all(|kind| !status.is_list_stale(*kind)),
        "asking again would tell nothing new"
    );
}

#[tokio::test(start_paused = true)]
async fn what_expired_is_refreshed_once_for_all_readers() {
    let server = server(SupportedRevisions::Modern);
    let harness = Harness::ready(&server).await;
    sleep(Duration::from_secs(40)).await;
    let before = (server.handle().count("prompts/list"), server.handle().count("server/discover"));
    let catalogue = harness.until_ready().await.catalog;
    for _ in 0..100 {
        harness.server.refresh(Some(CatalogKind::Prompts));
        harness.server.refresh(None);
        sleep(Duration::from_millis(1)).await;
    }
    eventually("the list is fresh", || !harness.server.status().borrow().is_list_stale(CatalogKind::Prompts))
        .await;
    eventually("it is known anew", || !harness.server.status().borrow().is_server_info_stale()).await;
    let after = (server.handle().count("prompts/list"), server.handle().count("server/discover"));
    assert_eq!(after, (before.0 + 1, before.1 + 1));
    let same = harness.until_ready().await.catalog;
    assert!(std::sync::Arc::ptr_eq(&catalogue, &same), "nothing changed, so no table is made anew");
}
