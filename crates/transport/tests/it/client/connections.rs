//! Connections: how many, for how long, and what happens when nothing is heard on them.

use std::{net::SocketAddr, time::Duration};

use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::json;
use tokio::time::{Instant, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_testkit::{FaultProxy, SupportedRevisions, TestServer, TlsFront, Toxics};
use toolbay_transport::{
    Connection, Incoming,
    http::client::{ConnectOptions, HttpError, HttpTimeouts, Target, connect},
};

use super::{PATIENCE, Stage, request, target, value};

/// Those that a [`TlsFront`] has.
pub(crate) fn certificates() -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from_pem_slice(TlsFront::CERTIFICATE.as_bytes()).unwrap()]
}

async fn server(tasks: &TaskTracker) -> SocketAddr {
    let server =
        TestServer::new("kept").revisions(SupportedRevisions::Both).with_tool("ok", |_| Ok(json!("ok")));
    let url = server.start_http(tasks, CancellationToken::new()).await.unwrap();
    url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap()
}

fn at(address: SocketAddr) -> Target {
    target(&format!("http://{address}/mcp"))
}

/// A client that gives up after a moment.
fn hasty(address: SocketAddr) -> Target {
    let timeouts = HttpTimeouts { first_byte: Duration::from_millis(300), ..HttpTimeouts::default() };
    Target { route: ConnectOptions { timeouts, ..ConnectOptions::default() }, ..at(address) }
}

async fn send(wire: &Connection, id: u64) {
    wire.outgoing.send(request(id).to_string().into()).await.unwrap();
}

async fn next(wire: &mut Connection) -> Incoming {
    timeout(PATIENCE, wire.incoming.recv()).await.expect("nothing came").expect("the wire ended")
}

async fn response_to(wire: &mut Connection, id: u64) {
    send(wire, id).await;
    match next(wire).await {
        Incoming::Message(message) => assert_eq!(value(&message)["id"], id),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let tasks = TaskTracker::new();
    let proxy = FaultProxy::start(&tasks, server(&tasks).await).await.unwrap();
    let mut wire = connect(at(proxy.address()), Default::default(), &tasks);
    for id in 1..=20 {
        response_to(&mut wire, id).await;
    }
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn http_2_over_tls_needs_one_connection_for_everything() {
    let tasks = TaskTracker::new();
    for (protocols, is_one) in [(&["h2", "http/1.1"][..], true), (&["http/1.1"][..], false)] {
        let behind = FaultProxy::start(&tasks, server(&tasks).await).await.unwrap();
        let front = TlsFront::start(&tasks, behind.address(), protocols).await.unwrap();
        let route = ConnectOptions { ca: certificates(), ..ConnectOptions::default() };
        let mut wire = connect(Target { route, ..target(&front.url) }, Default::default(), &tasks);
        response_to(&mut wire, 1).await;
        // So that all are there before any is answered.
        behind.to_client(Toxics::latency(Duration::from_millis(200), Duration::ZERO));
        for id in 2..=20 {
            send(&wire, id).await;
        }
        for _ in 2..=20 {
            assert!(matches!(next(&mut wire).await, Incoming::Message(_)));
        }
        assert_eq!(front.accepted() == 1, is_one, "{protocols:?}: {} connections", front.accepted());
    }
}

#[tokio::test]
async fn a_stranger_with_a_certificate_is_not_believed() {
    let tasks = TaskTracker::new();
    let front = TlsFront::start(&tasks, server(&tasks).await, &["h2"]).await.unwrap();
    let mut wire = connect(target(&front.url), Default::default(), &tasks);
    send(&wire, 1).await;
    let Incoming::Lost { why, .. } = next(&mut wire).await else { panic!() };
    assert!(why.to_string().contains("certificate"), "{why}");
}

#[tokio::test]
async fn a_server_that_accepts_and_sends_nothing_is_unreachable() {
    let tasks = TaskTracker::new();
    let silent = FaultProxy::start(&tasks, SocketAddr::from(([127, 0, 0, 1], 9))).await.unwrap();
    silent.black_hole();
    let timeouts = HttpTimeouts { connect: Duration::from_millis(300), ..HttpTimeouts::default() };
    let url = format!("https://localhost:{}/mcp", silent.address().port());
    let target = Target { route: ConnectOptions { timeouts, ..ConnectOptions::default() }, ..target(&url) };
    let (mut wire, asked) = (connect(target, Default::default(), &tasks), Instant::now());
    send(&wire, 1).await;
    let Incoming::Lost { why, unsent } = next(&mut wire).await else { panic!() };
    assert!(why.to_string().contains("no connection within 0.3 s (`connect_timeout`)"), "{why}");
    assert_eq!(unsent.len(), 1, "it was never sent");
    assert!(asked.elapsed() < Duration::from_secs(5), "after {:?}", asked.elapsed());
}

#[tokio::test]
async fn a_response_that_does_not_begin_fails_and_the_next_request_gets_a_new_connection() {
    let tasks = TaskTracker::new();
    let proxy = FaultProxy::start(&tasks, server(&tasks).await).await.unwrap();
    let mut wire = connect(hasty(proxy.address()), Default::default(), &tasks);
    response_to(&mut wire, 1).await;
    proxy.black_hole();
    send(&wire, 2).await;
    let Incoming::Failed { why: HttpError::Slow { .. }, .. } = next(&mut wire).await else { panic!() };
    proxy.heal();
    response_to(&mut wire, 3).await;
    assert_eq!(proxy.accepted(), 2);
}

#[tokio::test]
async fn a_request_that_is_cancelled_in_silence_takes_the_connections_with_it() {
    let tasks = TaskTracker::new();
    let behind = FaultProxy::start(&tasks, server(&tasks).await).await.unwrap();
    let front = TlsFront::start(&tasks, behind.address(), &["h2"]).await.unwrap();
    let route = ConnectOptions { ca: certificates(), ..ConnectOptions::default() };
    let mut wire = connect(Target { route, ..target(&front.url) }, Default::default(), &tasks);
    response_to(&mut wire, 1).await;
    behind.black_hole();
    send(&wire, 2).await;
    // Nothing tells when it was sent; what is cancelled sooner was never sent.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    wire.outgoing.send(cancel.to_string().into()).await.unwrap();
    // Only what is on the old connection stays in the hole.
    let hole = behind.accepted();
    response_past(&mut wire, &behind).await;
    assert!(behind.accepted() > hole, "the dead connection was used again");
}

/// Heals the way for new connections only: what hangs in the old ones stays there.
async fn response_past(wire: &mut Connection, behind: &FaultProxy) {
    send(wire, 3).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    behind.heal();
    match next(wire).await {
        Incoming::Message(message) => assert_eq!(value(&message)["id"], 3),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up_if_so_configured() {
    let mut stage = Stage::new(|_, mut answering| async move {
        answering.stream().await;
        answering.raw(": ping\n\n").await;
        answering.closed().await;
    })
    .await;
    let timeouts = HttpTimeouts { stream_idle: Some(Duration::from_millis(200)), ..HttpTimeouts::default() };
    let target = Target {
        route: ConnectOptions { timeouts, ..ConnectOptions::default() },
        ..target(&stage.server.url)
    };
    stage.wire = connect(target, Default::default(), &stage.tasks);
    stage.send(request(1)).await;
    let why = stage.failure(1).await.to_string();
    assert!(why.contains("nothing came for 0.2 s (`stream_idle_timeout`)"), "{why}");
}
