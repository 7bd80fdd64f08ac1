//! Proxies.

use std::ffi::OsStr;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_testkit::{HttpScript, SupportedRevisions, TestServer, TlsFront};
use toolbay_transport::{
    Connection, Incoming,
    http::client::{ConnectOptions, HttpError, Proxies, Target, connect},
};

use super::{request, target, value};

/// Names nowhere: only the proxy can know where it is.
const ELSEWHERE: &str = "server.invalid";

fn through(proxy: &str, url: &str) -> Target {
    let variables = [("ALL_PROXY", proxy)];
    let get =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsStr::new(*value));
    Target {
        route: ConnectOptions { proxies: Proxies::from_variables(get), ..ConnectOptions::default() },
        ..target(url)
    }
}

async fn ask(target: Target) -> (Incoming, Connection) {
    let mut wire = connect(target, Default::default(), &TaskTracker::new());
    wire.outgoing.send(request(1).to_string().into()).await.unwrap();
    (wire.incoming.recv().await.unwrap(), wire)
}

fn authority(url: &str) -> &str {
    url.trim_start_matches("http://").trim_end_matches("/mcp")
}

#[tokio::test]
async fn a_plain_request_is_sent_on_by_the_proxy() {
    let proxy = HttpScript::start(&TaskTracker::new(), |asked, answering| async move {
        answering.result(&asked, json!({"asked": asked.path})).await;
    })
    .await
    .unwrap();
    let url = format!("http://{ELSEWHERE}/mcp");
    let login = format!("http://me:s3cret@{}", authority(&proxy.url));
    let (Incoming::Message(answer), _wire) = ask(through(&login, &url)).await else { panic!() };
    assert_eq!(value(&answer)["result"]["asked"], url, "the proxy needs the whole URL");
    assert_eq!(proxy.requests()[0].header("proxy-authorization"), "Basic bWU6czNjcmV0");
    assert_eq!(proxy.requests()[0].header("host"), ELSEWHERE);
}

/// A proxy that digs tunnels, wherever to, to `behind`; returns its address.
async fn tunnels(tasks: &TaskTracker, behind: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tasks.spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                tokio::io::AsyncReadExt::read_exact(&mut client, &mut byte).await.unwrap();
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
            assert!(head.starts_with("connect server.invalid:443"), "{head}");
            let answer = match head.contains("proxy-authorization: basic bwu6cznjcmv0") {
                true => "HTTP/1.1 200 OK\r\n\r\n",
                false => "HTTP/1.1 407 Who are you\r\n\r\n",
            };
            tokio::io::AsyncWriteExt::write_all(&mut client, answer.as_bytes()).await.unwrap();
            if answer.contains("200") {
                let mut server = TcpStream::connect(&behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        }
    });
    address
}

#[tokio::test]
async fn loopback_is_reached_past_the_proxy() {
    let tasks = TaskTracker::new();
    let url = TestServer::new("near")
        .revisions(SupportedRevisions::Both)
        .start_http(&tasks, CancellationToken::new())
        .await
        .unwrap();
    let (told, _wire) = ask(through("http://127.0.0.1:9", &url)).await;
    assert!(matches!(told, Incoming::Message(_)), "{told:?}");
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let tasks = TaskTracker::new();
    let url = TestServer::new("far")
        .revisions(SupportedRevisions::Both)
        .start_http(&tasks, CancellationToken::new())
        .await
        .unwrap();
    let front = TlsFront::start(&tasks, authority(&url).parse().unwrap(), &["h2"]).await.unwrap();
    let behind = front.url.trim_start_matches("https://").trim_end_matches("/mcp").to_owned();
    let tunnel = tunnels(&tasks, behind).await;
    let far = format!("https://{ELSEWHERE}/mcp");
    // The tunnel reaches the server, whose certificate is for another name: TLS is from end to end.
    let mut trusting = through(&format!("http://me:s3cret@{tunnel}"), &far);
    trusting.route.ca = super::connections::certificates();
    let (Incoming::Lost { why, .. }, _wire) = ask(trusting).await else { panic!() };
    assert!(why.to_string().contains("certificate not valid for name"), "{why}");
    let (Incoming::Lost { why, .. }, _wire) = ask(through(&format!("http://{tunnel}"), &far)).await else {
        panic!()
    };
    let said = why.to_string();
    assert!(said.contains(&format!("through the proxy http://{tunnel}/: ")), "{said}");
    assert!(said.contains("authorization"), "{said}");
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_named() {
    for (proxy, said) in [
        ("http://me:s3cret@127.0.0.1:9", "through the proxy http://127.0.0.1:9/: "),
        ("socks5://127.0.0.1:9", "only proxies with `http://` URLs are supported"),
    ] {
        let (Incoming::Lost { why, .. }, _wire) = ask(through(proxy, "http://server.invalid/mcp")).await
        else {
            panic!()
        };
        assert!(matches!(why, HttpError::Unreachable { .. }), "{why:?}");
        assert!(why.to_string().contains(said) && !why.to_string().contains("s3cret"), "{why}");
    }
}
