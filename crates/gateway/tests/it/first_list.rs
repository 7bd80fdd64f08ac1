//! The first list of a hub whose servers are still starting, on a clock of its own.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolbay_config::{Command, Permission, ServerConfig, ServerEndpoint, ServerOptions};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::{Connector, Endpoint, Host, HostOptions, InProcess};
use toolbay_protocol::{Message, ServerName};
use toolbay_testkit::TestServer;
use toolbay_transport::{Connection, Incoming, memory};

use crate::test_gateway::{initialize, rpc};

/// A server that answers nothing for so many seconds.
fn late(seconds: u64) -> InProcess {
    let server = TestServer::new("s").with_tool("t", Ok);
    Arc::new(move |tasks| {
        let (ours, theirs) = memory::pair(tasks);
        let server = server.in_memory(tasks);
        tasks.spawn(async move {
            sleep(Duration::from_secs(seconds)).await;
            let (mut from_hub, mut from_server) = (ours.incoming, server.incoming);
            loop {
                let (text, to) = tokio::select! {
                    Some(Incoming::Message(message)) = from_hub.recv() => (message, &server.outgoing),
                    Some(Incoming::Message(message)) = from_server.recv() => (message, &ours.outgoing),
                    else => return,
                };
                if to.send(text.text().clone().into()).await.is_err() {
                    return;
                }
            }
        });
        theirs
    })
}

/// A host whose servers, named after how many seconds they take to answer, are cached below a folder.
fn caching(folder: &Path, servers: &[&str]) -> Host {
    let config = |name: &&str| ServerConfig {
        secrets: Vec::new(),
        name: ServerName::new(*name),
        endpoint: ServerEndpoint::Command(Command {
            command: (*name).to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
        }),
        permission: Permission::Enabled,
        tuning: ServerOptions::default(),
    };
    let connector = Connector::new(|config: &ServerConfig| {
        Some(Endpoint::InProcess(late(config.name.as_str().parse().unwrap())))
    });
    let options =
        HostOptions { cache: Some(folder.to_owned()), connector: Some(connector), ..HostOptions::default() };
    Host::start(&servers.iter().map(config).collect::<Vec<_>>(), Vec::new(), &options)
}

/// One client on a wire that has shaken hands.
struct Talk {
    wire: Connection,
    began: Instant,
}

impl Talk {
    async fn with(servers: &[u64], wait: Duration) -> Self {
        let named = |(index, seconds): (usize, &u64)| (ServerName::new(format!("s{index}")), late(*seconds));
        let host = Host::start(&[], servers.iter().enumerate().map(named).collect(), &HostOptions::default());
        Self::with_host(&host, wait).await
    }

    async fn with_host(host: &Host, wait: Duration) -> Self {
        let options = GatewayOptions { first_list_wait: wait, ..GatewayOptions::default() };
        let gateway = Gateway::new(host.clone(), options);
        let (ours, theirs) = memory::pair(host.tasks());
        host.tasks().spawn(async move { gateway.serve_connection(theirs, CancellationToken::new()).await });
        let mut talk = Self { wire: ours, began: Instant::now() };
        talk.ask(initialize("2025-11-25")).await;
        talk.next().await;
        talk
    }

    async fn ask(&mut self, request: Value) {
        self.wire.outgoing.send(request.to_string().into()).await.unwrap();
    }

    /// The next answer, and after how many milliseconds it came; notifications are passed over.
    async fn next(&mut self) -> (Value, u128) {
        loop {
            let Some(Incoming::Message(message)) = self.wire.incoming.recv().await else {
                panic!("it ended")
            };
            if let Message::Response(response) = &message {
                let answer = serde_json::from_slice(&response.text).unwrap();
                return (answer, self.began.elapsed().as_millis());
            }
        }
    }

    async fn tools(&mut self) -> (usize, u128) {
        self.ask(rpc(1, "tools/list", json!({}))).await;
        let (answer, after) = self.next().await;
        (answer["result"]["tools"].as_array().unwrap().len(), after)
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_list_waits_for_servers_that_are_starting() {
    let mut talk = Talk::with(&[0, 1], Duration::from_secs(2)).await;
    assert_eq!(talk.tools().await, (2, 1000), "no longer than until all are there");
    assert_eq!(talk.tools().await, (2, 1000));
}

#[tokio::test(start_paused = true)]
async fn it_waits_so_long_and_only_once() {
    let mut talk = Talk::with(&[0, 20], Duration::from_secs(2)).await;
    talk.ask(rpc(7, "prompts/list", json!({}))).await;
    talk.ask(rpc(8, "ping", json!({}))).await;
    talk.ask(rpc(9, "tools/call", json!({"name": "s0__t", "arguments": {}}))).await;
    let mut order = Vec::new();
    for _ in 0..3 {
        let (answer, after) = talk.next().await;
        order.push((answer["id"].as_u64().unwrap(), after));
    }
    assert_eq!(order, [(8, 0), (9, 0), (7, 2000)], "what needs no list does not wait");
    assert_eq!(talk.tools().await, (1, 2000), "a hanging server delays no other list");
}

#[tokio::test(start_paused = true)]
async fn zero_switches_it_off() {
    let mut talk = Talk::with(&[1], Duration::ZERO).await;
    assert_eq!(talk.tools().await, (0, 0));
}

/// What is cached is listed at once; what is not is new, and its client may never ask again.
#[tokio::test(start_paused = true)]
async fn a_new_server_beside_cached_ones_is_waited_for_and_they_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let wait = Duration::from_secs(2);
    let first = caching(folder.path(), &["3"]);
    first.settled().await;
    first.stop(Duration::from_secs(10)).await;
    let cached = caching(folder.path(), &["3"]);
    assert_eq!(Talk::with_host(&cached, wait).await.tools().await, (1, 0), "nothing to wait for");
    cached.stop(Duration::from_secs(10)).await;
    let beside = caching(folder.path(), &["3", "1"]);
    assert_eq!(Talk::with_host(&beside, wait).await.tools().await, (2, 1000), "as long as the new one takes");
    beside.stop(Duration::from_secs(10)).await;
}
