//! Pages, changes, unknown names.

use std::sync::Arc;

use serde_json::json;
use toolbay_config::Validate;
use toolbay_host::{CatalogKind, HostChange, Naming, RouteTable};

use crate::test_host::{ask, eventually, host, items, names, offers, server};

#[tokio::test(start_paused = true)]
async fn a_long_list_comes_in_pages_of_at_most_a_mebibyte() {
    let tools: Vec<String> = (0..300).map(|n| format!("tool{n}")).collect();
    let mut long = server("s", &tools.iter().map(String::as_str).collect::<Vec<_>>());
    for tool in &tools {
        long = long.describe_tool(tool, json!({"description": "x".repeat(8000)}));
    }
    let host = host(&[("s", &long)], Naming::Prefix).await;
    let table = host.table();
    let mut cursor = None;
    let mut pages = 0;
    loop {
        let (page, next) = table.page(CatalogKind::Tools, cursor.as_deref()).unwrap();
        assert!(page.len() <= 1024 * 1024 + 2, "{}", page.len());
        pages += 1;
        let Some(next) = next else { break };
        cursor = Some(next);
    }
    assert_eq!(pages, 3);
    let listed = names(&table, CatalogKind::Tools);
    let expected: Vec<String> = tools.iter().map(|tool| format!("s__{tool}")).collect();
    assert_eq!(listed, expected);
    // A cursor of an older list, or of nobody, is not ours.
    let newer = RouteTable::new(&offers(&host, Validate::Enforce), Naming::Prefix, [99; 4]);
    assert!(newer.page(CatalogKind::Tools, cursor.as_deref()).is_none());
    for odd in ["", "1", "x.y", "1.99", "99.-1", "99.999", "1.1.1"] {
        assert!(newer.page(CatalogKind::Tools, Some(odd)).is_none(), "{odd}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_without_servers_and_one_before_the_first_is_up_have_an_empty_page_of_everything() {
    for kind in CatalogKind::ALL {
        assert!(items(&RouteTable::default(), kind).is_empty());
    }
    let host = host(&[], Naming::Prefix).await;
    for kind in CatalogKind::ALL {
        assert!(items(&host.table(), kind).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_in_hand_stays_as_it_was_while_the_host_moves_on() {
    let changing = server("s", &["old"]);
    let host = host(&[("s", &changing)], Naming::Prefix).await;
    let mut changes = host.changes();
    let before = host.table();
    changing.handle().add_tool("new", |_| Ok(json!(1)));
    assert!(matches!(changes.recv().await.unwrap(), HostChange::List(CatalogKind::Tools)));
    // Whoever is told of a change finds it.
    let after = host.table();
    assert_eq!((before.count(CatalogKind::Tools), after.count(CatalogKind::Tools)), (1, 2));
    assert!(before.tool("s__new").is_none() && after.tool("s__new").is_some());
    assert!(after.version(CatalogKind::Tools) > before.version(CatalogKind::Tools));
    assert_eq!(after.version(CatalogKind::Prompts), before.version(CatalogKind::Prompts));
}

/// Readers on other threads never see a list and routes that do not belong together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_is_whole() {
    let changing = server("s", &["fixed"]);
    let host = host(&[("s", &changing)], Naming::Prefix).await;
    eventually("it is up", || host.table().count(CatalogKind::Tools) == 1).await;
    let reader = host.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let mut seen = 0;
        let mut last: Option<Arc<RouteTable>> = None;
        let started = std::time::Instant::now();
        while seen < 3 && started.elapsed().as_secs() < 20 {
            let table = reader.table();
            for name in names(&table, CatalogKind::Tools) {
                assert!(table.tool(&name).is_some());
            }
            assert_eq!(names(&table, CatalogKind::Tools).len(), table.count(CatalogKind::Tools));
            if last
                .as_ref()
                .is_none_or(|last| last.version(CatalogKind::Tools) != table.version(CatalogKind::Tools))
            {
                seen += 1;
            }
            last = Some(table);
        }
        seen
    });
    let mut n = 0;
    while !checked.is_finished() {
        changing.handle().add_tool(format!("t{n}"), |_| Ok(json!(1)));
        n += 1;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(checked.await.unwrap(), 3);
}

/// However the tasks are scheduled, no server is overlooked, and `settled` waits for its tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_host_shows_every_server() {
    let servers: Vec<_> = (0..8).map(|_| server("s", &["t"])).collect();
    let named = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..50 {
        let list: Vec<_> = named.iter().copied().zip(&servers).collect();
        let host = host(&list, Naming::Prefix).await;
        assert_eq!(host.table().count(CatalogKind::Tools), 8);
        host.stop(std::time::Duration::from_secs(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_refused_with_what_may_have_been_meant() {
    let host = host(&[("github", &server("g", &["create_issue", "list_issues"]))], Naming::Prefix).await;
    for (asked, meant) in [
        ("create_issue", "github__create_issue"),
        ("gitlab__create_issue", "github__create_issue"),
        ("issue", "github__create_issue`, `github__list_issues"),
    ] {
        let refused = ask(&host, "tools/call", json!({"name": asked})).await;
        assert_eq!(refused["error"]["code"], -32602);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{message}");
    }
    let refused = ask(&host, "tools/call", json!({"name": "zzz"})).await;
    assert_eq!(refused["error"]["message"], "no server offers the tool `zzz`");
    let refused = ask(&host, "prompts/get", json!({"name": "zzz"})).await;
    assert_eq!(refused["error"]["message"], "no server offers the prompt `zzz`");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_takes_nothing_from_the_others() {
    let (good, bad) = (server("good", &["t"]), server("bad", &["t"]));
    let host = host(&[("good", &good), ("bad", &bad)], Naming::Prefix).await;
    host.server("bad").unwrap().restart().await;
    assert_eq!(crate::test_host::owner(&host, "good__t").await, "good");
    assert_eq!(names(&host.table(), CatalogKind::Tools), ["good__t", "bad__t"], "its tools do not flicker");
}
