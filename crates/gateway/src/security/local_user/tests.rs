use std::{
    net::{Ipv6Addr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use rustix::{
    net::sockopt::set_socket_linger,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

use super::*;

/// A connection from this process to itself; the first end is the one that connected.
fn connection(listener: &TcpListener, address: SocketAddr) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(address).unwrap();
    (client, listener.accept().unwrap().0)
}

fn ends(server: &TcpStream) -> SocketAddresses {
    SocketAddresses::new(server.peer_addr().unwrap(), server.local_addr().unwrap())
}

fn us() -> u32 {
    geteuid().as_raw()
}

#[test]
fn the_user_is_found_in_every_family_and_by_either_mechanism() {
    let dual = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap();
    let port = dual.local_addr().unwrap().port();
    let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), port);
    let v4 = TcpListener::bind("127.0.0.1:0").unwrap();
    let v6 = TcpListener::bind("[::1]:0").unwrap();
    for (listener, address) in [
        (&v4, v4.local_addr().unwrap()),
        (&v6, v6.local_addr().unwrap()),
        (&dual, SocketAddr::new("127.0.0.1".parse().unwrap(), port)),
        (&dual, mapped),
    ] {
        let (_client, server) = connection(listener, address);
        assert_eq!(sock_diag::uid_of(ends(&server)).unwrap(), Some(us()), "{address}");
        assert_eq!(proc_net::uid_of(ends(&server)), Some(us()), "{address}");
    }
}

/// Otherwise a client that sends a request and closes at once would be taken for root.
#[test]
fn a_socket_that_was_closed_is_nobodys() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (client, server) = connection(&listener, listener.local_addr().unwrap());
    let ends = ends(&server);
    drop(client); // now it waits for our end to close
    assert!(!matches!(sock_diag::uid_of(ends), Ok(Some(_))));
    assert_eq!(proc_net::uid_of(ends), None);
}

/// The kernel may return a listener for a connection that does not exist.
#[test]
fn a_listener_on_the_same_port_is_not_taken_for_the_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = listener.local_addr().unwrap();
    let ends = SocketAddresses::new(peer, SocketAddr::new(peer.ip(), 1));
    assert!(!matches!(sock_diag::uid_of(ends), Ok(Some(_))));
    assert_eq!(proc_net::uid_of(ends), None);
}

/// What it costs must not grow with the number of clients: it is paid on the hub's only thread.
#[test]
fn with_ten_thousand_connections_a_lookup_takes_at_most_50_microseconds() {
    const CONNECTIONS: usize = 10_000;
    let limit = getrlimit(Resource::Nofile);
    let wanted = Some(2 * CONNECTIONS as u64 + 1_000);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: limit.maximum.max(wanted) });
    // Where that is not ours to raise, there are as many as there can be.
    let room = if raised.is_ok() { CONNECTIONS } else { (limit.current.unwrap_or(1_024) as usize - 500) / 2 };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let open: Vec<_> = (0..CONNECTIONS.min(room)).map(|_| connection(&listener, address)).collect();
    let mut times: Vec<Duration> = open
        .iter()
        .step_by(10)
        .map(|(_, server)| {
            let started = Instant::now();
            let ends = ends(server);
            assert_eq!(sock_diag::uid_of(ends).unwrap(), Some(us()));
            started.elapsed()
        })
        .collect();
    times.sort();
    let median = times[times.len() / 2];
    println!(
        "a lookup with {} connections open: median {median:?}, longest {:?}",
        open.len(),
        times[times.len() - 1]
    );
    for (client, _) in &open {
        // Gone at once, instead of waiting for a minute as 10,000 ports that no other test can use.
        set_socket_linger(client, Some(Duration::ZERO)).unwrap();
    }
    assert!(median <= Duration::from_micros(50), "{median:?}");
}
