//! The gateway as a whole.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolbay_host::Host;
use toolbay_transport::{
    Wire,
    http::{Limits, serve},
};

use crate::{door::Door, guard::Guard, park::Lot, seal::Seal, sessions::Sessions, stdio, tasks::TaskSeal};

/// What a gateway is told.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// The version we claim to be.
    pub version: &'static str,
    /// Host names besides the loopback ones under which clients may reach us.
    pub public_names: Vec<String>,
    /// What one HTTP connection may take.
    pub limits: Limits,
    /// How many sessions there may be, and as many subscriptions of clients without one.
    pub max_sessions: usize,
    /// When an unused session ends.
    pub session_idle: Duration,
    /// Where the key is kept that seals ids of tasks; without it they end with this process.
    pub task_key: Option<PathBuf>,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            public_names: Vec::new(),
            limits: Limits::default(),
            max_sessions: 10_000,
            session_idle: Duration::from_secs(3600),
            task_key: None,
        }
    }
}

/// One host, offered to clients.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) host: Host,
    pub(crate) options: GatewayOptions,
    pub(crate) sessions: Sessions,
    pub(crate) seal: Arc<Seal>,
    pub(crate) lot: Lot,
    pub(crate) task_seal: TaskSeal,
}

impl Gateway {
    /// Offers `host`.
    ///
    /// # Panics
    ///
    /// When the system has no randomness: then nothing that must not be guessed can be made.
    pub fn new(host: Host, options: GatewayOptions) -> Arc<Self> {
        let sessions = Sessions::new(options.max_sessions, options.session_idle);
        let seal = Arc::new(Seal::new().expect("the system has randomness"));
        let lot = Lot::new(seal.clone());
        let task_seal = TaskSeal::new(options.task_key.clone());
        Arc::new(Self { host, options, sessions, seal, lot, task_seal })
    }

    /// Serves HTTP until `stop`, then lets running requests finish.
    pub async fn serve_http(self: &Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let mut names = self.options.public_names.clone();
        names.extend(listener.local_addr().ok().map(|address| address.ip().to_string()));
        let door = Arc::new(Door::new(self.clone(), Guard::new(names), stop.clone()));
        let tasks = tokio_util::task::TaskTracker::new();
        let sweep = async {
            loop {
                tokio::time::sleep(Duration::from_secs(60)).await;
                self.sessions.sweep();
            }
        };
        tokio::select! {
            () = serve(listener, door, self.options.limits.clone(), stop, tasks.clone()) => {}
            () = sweep => {}
        }
        tasks.close();
        tasks.wait().await;
    }

    /// Serves one client on a pair of streams until it closes its end, or until `stop`.
    pub async fn serve_stdio(self: &Arc<Self>, wire: Wire, stop: CancellationToken) {
        stdio::run(self, wire, stop).await;
    }
}
