//! A TCP proxy between any client and any server, with faults that can be switched while it runs.
//!
//! ```text
//! client ──to_server──▶ FaultProxy ──to_server──▶ server
//!        ◀─to_client───            ◀─to_client───
//! ```
//!
//! Each direction has [`Toxics`] of its own, which hold for connections that are open already, too: latency, bandwidth
//! and slices change how bytes flow; [`Toxics::held`] in one direction is a half-open connection, in both a black hole;
//! [`Toxics::cut`] ends a connection, by FIN or RST, after so many bytes. The same traffic meets the same faults: jitter
//! is drawn from the number of the connection.

mod connection;
mod toxics;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use tokio::{net::TcpListener, sync::watch};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub use toxics::{Cut, End, Toxics};

/// A proxy; it and all its connections end when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    state: watch::Sender<State>,
    counts: Arc<Counts>,
    _stop: DropGuard,
}

/// What the proxy is to do at the moment.
#[derive(Debug, Clone)]
struct State {
    server: SocketAddr,
    to_server: Toxics,
    to_client: Toxics,
    /// Connections with a lower number are to be reset.
    reset_below: usize,
}

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicUsize,
    open: AtomicUsize,
}

impl FaultProxy {
    /// Forwards a free port of this machine to `server`, on `tasks`; without any fault yet.
    pub async fn start(tasks: &TaskTracker, server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state =
            State { server, to_server: Toxics::default(), to_client: Toxics::default(), reset_below: 0 };
        let (state, seen) = watch::channel(state);
        let (counts, stop) = (Arc::<Counts>::default(), CancellationToken::new());
        tasks.spawn(accept(listener, seen, counts.clone(), stop.clone(), tasks.clone()));
        Ok(Self { address, state, counts, _stop: stop.drop_guard() })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards new connections to another server.
    pub fn redirect(&self, server: SocketAddr) {
        self.state.send_modify(|state| state.server = server);
    }

    /// Sets the faults on the way to the server.
    pub fn to_server(&self, toxics: Toxics) {
        self.state.send_modify(|state| state.to_server = toxics);
    }

    /// Sets the faults on the way to the client.
    pub fn to_client(&self, toxics: Toxics) {
        self.state.send_modify(|state| state.to_client = toxics);
    }

    /// Accepts everything and forwards nothing, neither bytes nor ends.
    pub fn black_hole(&self) {
        self.state
            .send_modify(|state| (state.to_server, state.to_client) = (Toxics::paused(), Toxics::paused()));
    }

    /// Takes all faults away; what was held flows on.
    pub fn heal(&self) {
        self.state
            .send_modify(|state| (state.to_server, state.to_client) = (Toxics::default(), Toxics::default()));
    }

    /// Resets all open connections, on both sides.
    pub fn reset_all(&self) {
        let accepted = self.accepted();
        self.state.send_modify(|state| state.reset_below = accepted);
    }

    /// How many connections there ever were.
    pub fn accepted(&self) -> usize {
        self.counts.accepted.load(Relaxed)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.counts.open.load(Relaxed)
    }
}

async fn accept(
    listener: TcpListener,
    state: watch::Receiver<State>,
    counts: Arc<Counts>,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let client = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => client,
                Err(_) => continue, // that client is gone already
            },
            () = stop.cancelled() => return,
        };
        let number = counts.accepted.fetch_add(1, Relaxed);
        counts.open.fetch_add(1, Relaxed);
        let (state, counts, stop) = (state.clone(), counts.clone(), stop.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = connection::run(client, number, state) => {}
                () = stop.cancelled() => {}
            }
            counts.open.fetch_sub(1, Relaxed);
        });
    }
}
