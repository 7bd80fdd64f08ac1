//! A hub of the libraries, whose server is a task beside it.

use std::{
    io::BufReader,
    net::SocketAddr,
    os::unix::net::UnixStream,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::{net::TcpListener, runtime};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::{Host, HostOptions, InProcess, Shim};
use toolbay_protocol::{Revision, ServerName};
use toolbay_testkit::TestServer;
use toolbay_transport::stdio::{MAX_MESSAGE, connect};

/// Runs on a thread of its own until it is dropped.
pub(super) struct MemoryHub {
    address: SocketAddr,
    gateway: Arc<Gateway>,
    runtime: runtime::Handle,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl MemoryHub {
    pub(super) fn start(server: Revision) -> Result<Self> {
        let stop = CancellationToken::new();
        let (sender, started) = mpsc::channel();
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let handle = runtime.handle().clone();
            runtime.block_on(async {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                let host = host(server);
                host.settled().await;
                let gateway = Gateway::new(host.clone(), GatewayOptions::default());
                let _ = sender.send((listener.local_addr().unwrap(), gateway.clone(), handle));
                gateway.serve_http(listener, stopped).await;
                host.stop(Duration::from_secs(5)).await;
            });
        });
        let (address, gateway, runtime) = started.recv().context("the hub does not start")?;
        Ok(Self { address, gateway, runtime, stop, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client's end of a socket on which one message follows another, as on stdin and stdout.
    pub(super) fn socket(&self) -> Result<BufReader<UnixStream>> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let (gateway, stop) = (self.gateway.clone(), self.stop.clone());
        let tasks = TaskTracker::new();
        self.runtime.spawn(async move {
            let (reader, writer) = tokio::net::UnixStream::from_std(theirs).unwrap().into_split();
            gateway.serve_connection(connect(reader, writer, MAX_MESSAGE, &tasks), stop).await;
        });
        Ok(BufReader::new(ours))
    }
}

impl Drop for MemoryHub {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn host(server: Revision) -> Host {
    let server = TestServer::demo().revision(server);
    let connect: InProcess = Arc::new(move |tasks| server.in_memory(tasks));
    let options = HostOptions { shim: Shim::current_exe(), ..HostOptions::default() };
    Host::start(&[], vec![(ServerName::new("it"), connect)], &options)
}
