//! Where a connection comes from.

pub(crate) mod completion;
pub(crate) mod detect;

use std::{fmt, sync::Arc};

use tokio_util::task::TaskTracker;
use toolbay_supervise::{Launch, LogRing, ProcessHandle, Shim, StopGrace, spawn_logging_to};
use toolbay_transport::{
    Connection, custom,
    http::client::{self, HeaderRules, RequestAuthorizer, Target},
    legacy_sse, stdio, websocket,
};

use crate::{endpoint::detect::ServerProtocol, error::Failure};

/// How to reach a server.
#[derive(Clone)]
pub enum Endpoint {
    /// A child process, on its standard streams.
    Process(Box<ProcessEndpoint>),
    /// A server at a URL. Its protocol is detected, and remembered for as long as the server is used.
    Auto(Box<Target>),
    /// A server at a URL, over Streamable HTTP.
    Http(Box<Target>),
    /// A server at a URL, over HTTP+SSE of 2024-11-05.
    Sse(Box<Target>),
    /// A server at a URL, over WebSocket.
    WebSocket(Box<Target>),
    /// A task of this process; called once per connection.
    InProcess(Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>),
    /// A server behind a transport that others brought.
    Custom(Arc<dyn custom::Transport>),
}

/// A child process and how to run it.
#[derive(Debug, Clone)]
pub struct ProcessEndpoint {
    /// What to run.
    pub launch: Launch,
    /// How its tree is kept together.
    pub shim: Shim,
    /// How long it may take to stop.
    pub grace: StopGrace,
    /// The longest line it may write.
    pub max_message: usize,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(source) => source.fmt(f),
            Self::Auto(target) | Self::Http(target) | Self::Sse(target) | Self::WebSocket(target) => {
                target.fmt(f)
            }
            Self::InProcess(_) => f.write_str("InProcess"),
            Self::Custom(transport) => write!(f, "Custom({})", transport.name()),
        }
    }
}

/// An open connection.
pub(crate) struct OpenedConnection {
    pub(crate) connection: Connection,
    pub(crate) process: Option<ProcessHandle>,
    /// Where arguments are repeated in headers, which ones.
    pub(crate) rules: Option<Arc<HeaderRules>>,
}

impl Endpoint {
    /// Opens a connection with one of the protocols of [`ProtocolDetection`](crate::endpoint::detect::ProtocolDetection); a
    /// process is only spawned, a URL not even called.
    pub(crate) fn open(
        &self,
        protocol: ServerProtocol,
        log: &Arc<LogRing>,
        tasks: &TaskTracker,
    ) -> Result<OpenedConnection, Failure> {
        let connection = match self {
            Self::Process(source) => {
                let process =
                    spawn_logging_to(log.clone(), &source.launch, &source.shim, source.grace, tasks)
                        .map_err(|error| Failure::Spawn { source: Arc::new(error) })?;
                let connection = stdio::connect(process.stdout, process.stdin, source.max_message, tasks);
                return Ok(OpenedConnection { connection, process: Some(process.handle), rules: None });
            }
            Self::Auto(target) | Self::Http(target) | Self::Sse(target) | Self::WebSocket(target) => {
                let target = (**target).clone();
                match protocol {
                    ServerProtocol::Sse => legacy_sse::connect(target, tasks),
                    ServerProtocol::WebSocket => websocket::connect(target, tasks),
                    _ => {
                        let rules = Arc::new(HeaderRules::default());
                        let connection = client::connect(target, rules.clone(), tasks);
                        return Ok(OpenedConnection { connection, process: None, rules: Some(rules) });
                    }
                }
            }
            Self::InProcess(connect) => connect(tasks),
            Self::Custom(transport) => custom::connect(transport.clone(), tasks),
        };
        Ok(OpenedConnection { connection, process: None, rules: None })
    }

    /// What authorizes requests to the server, if anything does.
    pub fn authorizer(&self) -> Option<&Arc<dyn RequestAuthorizer>> {
        match self {
            Self::Auto(target) | Self::Http(target) | Self::Sse(target) | Self::WebSocket(target) => {
                target.authorizer.as_ref()
            }
            Self::Process(_) | Self::InProcess(_) | Self::Custom(_) => None,
        }
    }

    /// Whether the server has a connection of its own, which we neither begin nor end.
    pub(crate) fn is_remote(&self) -> bool {
        !matches!(self, Self::Process(_) | Self::InProcess(_))
    }
}
