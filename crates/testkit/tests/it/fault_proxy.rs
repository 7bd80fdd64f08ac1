//! The fault proxy: each fault alone, switched while connections are open.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;
use toolbay_testkit::{End, FaultProxy, Toxics};

const PATIENCE: Duration = Duration::from_secs(10);
/// Long enough to see that nothing comes.
const QUIET: Duration = Duration::from_millis(200);

/// A proxy in front of a server that sends back what it gets.
async fn echo() -> (FaultProxy, TaskTracker) {
    let tasks = TaskTracker::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = FaultProxy::start(&tasks, listener.local_addr().unwrap()).await.unwrap();
    let connections = tasks.clone();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await; // a reset ends it as well
            });
        }
    });
    (proxy, tasks)
}

async fn connect(proxy: &FaultProxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

async fn says(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut back = vec![0; text.len()];
    timeout(PATIENCE, stream.read_exact(&mut back)).await.expect("nothing came back").unwrap();
    assert_eq!(back, text.as_bytes());
}

async fn is_silent(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    timeout(QUIET, stream.peek(&mut byte)).await.is_err()
}

/// How the connection ends.
async fn end(stream: &mut TcpStream) -> Result<usize, ErrorKind> {
    let mut rest = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it does not end");
    read.map_err(|error| error.kind())
}

#[tokio::test]
async fn without_faults_everything_passes_ends_included() {
    let (proxy, _tasks) = echo().await;
    let mut client = connect(&proxy).await;
    says(&mut client, &"long ".repeat(100_000)).await;
    client.shutdown().await.unwrap();
    assert_eq!(end(&mut client).await, Ok(0));
    assert_eq!(proxy.accepted(), 1);
    timeout(PATIENCE, async {
        while proxy.open() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("the connection is never over");
}

#[tokio::test]
async fn latency_and_bandwidth_take_their_time() {
    let (proxy, _tasks) = echo().await;
    let mut client = connect(&proxy).await;
    let took = async |client: &mut TcpStream, text: &str| {
        let asked = Instant::now();
        says(client, text).await;
        asked.elapsed()
    };
    proxy.to_client(Toxics::latency(Duration::from_millis(150), Duration::from_millis(50)));
    assert!(took(&mut client, "late").await >= Duration::from_millis(150));
    proxy.heal();
    proxy.to_server(Toxics::bandwidth(10_000));
    assert!(took(&mut client, &"x".repeat(2000)).await >= Duration::from_millis(200));
    proxy.heal();
    assert!(took(&mut client, "soon").await < Duration::from_millis(150));
}

#[tokio::test]
async fn slices_are_small_and_nothing_is_lost() {
    let (proxy, _tasks) = echo().await;
    proxy.to_client(Toxics { latency: Duration::from_millis(1), ..Toxics::slices(3) });
    let mut client = connect(&proxy).await;
    client.write_all(b"in small pieces").await.unwrap();
    let (mut all, mut buffer) = (Vec::new(), [0; 64]);
    let first = timeout(PATIENCE, client.read(&mut buffer)).await.unwrap().unwrap();
    assert!(first <= 6, "{first} bytes at once"); // two may meet on the way
    all.extend_from_slice(&buffer[..first]);
    while all.len() < 15 {
        let length = timeout(PATIENCE, client.read(&mut buffer)).await.unwrap().unwrap();
        all.extend_from_slice(&buffer[..length]);
    }
    assert_eq!(all, b"in small pieces");
}

#[tokio::test]
async fn a_black_hole_accepts_and_forwards_nothing_until_healed() {
    let (proxy, _tasks) = echo().await;
    let mut before = connect(&proxy).await;
    says(&mut before, "hello").await;
    proxy.black_hole();
    let mut during = connect(&proxy).await;
    for client in [&mut before, &mut during] {
        client.write_all(b"lost?").await.unwrap();
        assert!(is_silent(client).await);
    }
    proxy.heal();
    for client in [&mut before, &mut during] {
        let mut back = [0; 5];
        timeout(PATIENCE, client.read_exact(&mut back)).await.expect("it stays black").unwrap();
    }
}

#[tokio::test]
async fn half_open_means_one_way_only() {
    let (proxy, _tasks) = echo().await;
    let mut client = connect(&proxy).await;
    says(&mut client, "hello").await;
    proxy.to_client(Toxics::paused());
    client.write_all(b"?").await.unwrap();
    client.shutdown().await.unwrap(); // the server's own end is held, too
    assert!(is_silent(&mut client).await);
    proxy.heal();
    assert_eq!(end(&mut client).await, Ok(1));
}

#[tokio::test]
async fn a_cut_comes_after_so_many_bytes() {
    for (how, expected) in [(End::Fin, Ok(5)), (End::Reset, Err(ErrorKind::ConnectionReset))] {
        let (proxy, _tasks) = echo().await;
        let mut client = connect(&proxy).await;
        proxy.to_client(Toxics::cut(5, how));
        client.write_all(b"too long").await.unwrap();
        assert_eq!(end(&mut client).await, expected, "{how:?}");
        proxy.heal();
        says(&mut connect(&proxy).await, "a new one is fine").await;
    }
}

#[tokio::test]
async fn reset_ends_what_is_open_and_nothing_else() {
    let (proxy, _tasks) = echo().await;
    let mut client = connect(&proxy).await;
    says(&mut client, "hello").await;
    proxy.reset_all();
    assert_eq!(end(&mut client).await, Err(ErrorKind::ConnectionReset));
    says(&mut connect(&proxy).await, "a new one is fine").await;
    assert_eq!(proxy.accepted(), 2);
}

#[tokio::test]
async fn it_ends_with_its_connections_when_dropped() {
    let (proxy, _tasks) = echo().await;
    let mut client = connect(&proxy).await;
    says(&mut client, "hello").await;
    let address = proxy.address();
    drop(proxy);
    assert!(end(&mut client).await.is_ok_and(|rest| rest == 0));
    timeout(PATIENCE, async { while TcpStream::connect(address).await.is_ok() {} })
        .await
        .expect("it goes on");
}
