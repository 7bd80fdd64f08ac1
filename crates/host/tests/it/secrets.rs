//! Servers whose settings refer to secrets, in virtual time. The argument of a server, a secret, is the name of its tool.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::{Instant, sleep};
use toolbay_config::ServerConfig;
use toolbay_host::{Host, HostOptions, Incomplete, SecretLookup};

use crate::troupe::{Troupe, config};

/// A server that needs a secret.
fn needing(name: &str, secret: &str) -> ServerConfig {
    let entry = json!({
        "command": "actor", "args": [format!("${{secret:{secret}}}")],
        "toolbay": { "secrets_in_args": true, "heartbeat": 0 },
    });
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    toolbay_config::parse(&text, Path::new("mcp.json")).unwrap().servers.remove(0)
}

fn tools(host: &Host, server: &str) -> Vec<String> {
    host.status(server).unwrap().tools().iter().map(|tool| tool.name().to_owned()).collect()
}

fn failure(host: &Host, server: &str) -> String {
    host.status(server).unwrap().state.failure().map(|failure| failure.to_string()).unwrap_or_default()
}

/// A store with one value, which takes a second to answer, and how often it was asked.
fn store(value: &Arc<Mutex<Option<&'static str>>>) -> (SecretLookup, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (value, counted) = (value.clone(), count.clone());
    let lookup = SecretLookup::new(move |name| {
        let (value, counted) = (value.clone(), counted.clone());
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_secs(1)).await;
            let value = *value.lock().unwrap();
            let missing = || Incomplete { reason: format!("{name} is not there"), may_change: true };
            value.map(str::to_owned).ok_or_else(missing)
        }
    });
    (lookup, count)
}

fn options(troupe: &Arc<Troupe>, secrets: Option<SecretLookup>) -> HostOptions {
    HostOptions { secrets, ..troupe.options() }
}

#[tokio::test(start_paused = true)]
async fn servers_that_start_together_share_a_lookup_and_each_start_has_its_own() {
    let (troupe, value) = (Arc::new(Troupe::default()), Arc::new(Mutex::new(Some("first"))));
    let (lookup, count) = store(&value);
    let host =
        Host::start(&[needing("a", "S"), needing("b", "S")], Vec::new(), &options(&troupe, Some(lookup)));
    host.settled().await;
    assert_eq!((tools(&host, "a"), tools(&host, "b")), (vec!["first".to_owned()], vec!["first".to_owned()]));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    *value.lock().unwrap() = Some("second");
    host.restart_server("a").await.unwrap();
    host.wait_for("a").await.unwrap();
    assert_eq!((tools(&host, "a"), tools(&host, "b")), (vec!["second".to_owned()], vec!["first".to_owned()]));
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let shown = format!("{:?}", host.statuses());
    assert!(shown.contains("${secret:S}"), "the configuration has the reference: {shown}");
    host.stop(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_hangs_delays_no_other_server_and_no_command() {
    let troupe = Arc::new(Troupe::default());
    let lookup = SecretLookup::new(|_| std::future::pending());
    let servers = [needing("stuck", "S"), needing("late", "S"), config("plain", &["t"])];
    let host = Host::start(&servers, Vec::new(), &options(&troupe, Some(lookup)));
    let began = Instant::now();
    assert!(host.wait_for("plain").await.unwrap().is_up());
    host.stop_server("stuck").await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    host.wait_for("late").await.unwrap();
    assert_eq!(failure(&host, "late"), "its secrets were not available within 30 s");
    assert_eq!(troupe.lives("stuck") + troupe.lives("late"), 0, "nothing was started without its secret");
    host.stop(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_secret_is_looked_for_again() {
    let (troupe, value) = (Arc::new(Troupe::default()), Arc::new(Mutex::new(None)));
    let (lookup, count) = store(&value);
    let host = Host::start(&[needing("a", "S")], Vec::new(), &options(&troupe, Some(lookup)));
    assert!(!host.wait_for("a").await.unwrap().is_up());
    assert_eq!(failure(&host, "a"), "S is not there");
    sleep(Duration::from_secs(120)).await;
    assert!((3..6).contains(&count.load(Ordering::Relaxed)), "not too often: {count:?}");
    *value.lock().unwrap() = Some("found");
    sleep(Duration::from_secs(40)).await;
    assert_eq!(tools(&host, "a"), ["found"]);
    host.stop(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_lookup_a_reference_is_never_taken_for_a_value() {
    let troupe = Arc::new(Troupe::default());
    let host = Host::start(&[needing("a", "S")], Vec::new(), &options(&troupe, None));
    host.settled().await;
    assert_eq!(failure(&host, "a"), "it refers to secrets, and this program has no lookup for them");
    assert_eq!(troupe.lives("a"), 0);
    host.stop(Duration::from_secs(5)).await;
}
