//! How long merged lists may be kept.

use std::{sync::Arc, time::Duration};

use toolbay_host::{CacheHints, CatalogKind, Host, HostOptions, InProcess};
use toolbay_protocol::ServerName;
use toolbay_testkit::SupportedRevisions;
use toolbay_transport::memory;

use crate::test_host::server;

#[tokio::test(start_paused = true)]
async fn lists_are_not_cacheable_while_a_server_is_starting() {
    let quick = server("quick", &["t"]).revisions(SupportedRevisions::Legacy);
    let quick: InProcess = Arc::new(move |tasks| quick.in_memory(tasks));
    // It never says a word.
    let silent: InProcess = Arc::new(|tasks| {
        let (ours, theirs) = memory::pair(tasks);
        tasks.spawn(async move {
            let _open = ours;
            std::future::pending::<()>().await;
        });
        theirs
    });
    let servers = vec![(ServerName::new("quick"), quick), (ServerName::new("silent"), silent)];
    let options = HostOptions::default();
    let host = Host::start(&[], servers, &options);
    let table_is_there = || host.table().count(CatalogKind::Tools) == 1;
    crate::test_host::eventually("the quick one is up", table_is_there).await;
    let nothing = CacheHints { ttl: Some(Duration::ZERO), is_public: false };
    assert_eq!((host.list_hints(CatalogKind::Tools), host.identity_hints()), (nothing, nothing));
    // It is given up after a while, and tried again.
    let is_waiting = || !host.is_starting();
    for _ in 0..200 {
        if is_waiting() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(is_waiting());
    assert_eq!(
        host.list_hints(CatalogKind::Tools),
        CacheHints { ttl: Some(Duration::from_secs(60)), is_public: false }
    );
}
