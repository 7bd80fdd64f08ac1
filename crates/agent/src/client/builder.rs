//! Builders of clients, one kind per kind of server.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::Path, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use toolbay_config::ServerOptions;
use toolbay_host::{InProcess, completion, server_endpoint, server_settings};
use toolbay_protocol::ServerName;
use toolbay_transport::Connection;
use toolbay_upstream::{Endpoint, ServerSettings, Shim, custom};

use super::{Client, ClientInner, ConnectionSlot, notifications::BEHIND};
use crate::{
    Error, Handlers,
    builder::program_environment,
    call::CallSender,
    config::{HttpConfig, IntoServerConfig, StdioConfig},
};

/// A client that is being described. `S` is the kind of server, which decides what can be set: [`StdioConfig`], [`HttpConfig`],
/// or [`Embedded`] for transports and servers of this program.
///
/// A setting that does not apply does not compile:
///
/// ```compile_fail
/// # use toolbay_agent::Client;
/// Client::http("https://example.com/mcp").cwd("/tmp");
/// ```
///
/// ```compile_fail
/// # use toolbay_agent::Client;
/// Client::stdio("uvx").header("Authorization", "Bearer …");
/// ```
#[must_use = "nothing happens before `connect`, or `build` and `initialize`"]
pub struct ClientBuilder<S> {
    server: S,
    name: String,
    environment: BTreeMap<OsString, OsString>,
    shim: Shim,
    sender: CallSender,
}

/// A server that is reached through this program: a transport of its own, or a server in this process.
#[derive(Clone)]
pub struct Embedded(Endpoint);

/// Which server, and how it is reached.
pub(super) struct ClientSettings {
    server: Result<ClientServer, Error>,
    environment: BTreeMap<OsString, OsString>,
    shim: Shim,
}

/// A server as its client starts it.
#[derive(Debug, Clone)]
pub(crate) enum ClientServer {
    Configured(Box<toolbay_config::ServerConfig>),
    Embedded(Embedded),
}

/// The kinds of servers that a client can be built for.
pub(crate) trait ClientKind {
    fn into_server(self, name: &str) -> Result<ClientServer, Error>;
}

impl Client {
    /// A client of a program that is run and uses its standard streams.
    pub fn stdio(command: impl Into<String>) -> ClientBuilder<StdioConfig> {
        let server = StdioConfig::new(command);
        let name = Path::new(server.command()).file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or("server").to_owned();
        ClientBuilder::new(&name, server)
    }

    /// A client of a server at a URL. Streamable HTTP and HTTP+SSE are told apart; `ws` and `wss` mean WebSocket.
    pub fn http(url: impl Into<String>) -> ClientBuilder<HttpConfig> {
        ClientBuilder::new("server", HttpConfig::new(url))
    }

    /// A client of a server behind a transport of one's own.
    pub fn transport(transport: Arc<dyn custom::Transport>) -> ClientBuilder<Embedded> {
        ClientBuilder::new(transport.name(), Embedded(Endpoint::Custom(transport)))
    }

    /// A client of a server in this process.
    pub fn in_process(server: impl Into<InProcess>) -> ClientBuilder<Embedded> {
        ClientBuilder::new("in-process", Embedded(Endpoint::InProcess(server.into())))
    }

    /// A client at one end of a connection that exists already. When it ends, there is no other.
    pub fn connection(connection: Connection) -> ClientBuilder<Embedded> {
        let connection = Mutex::new(Some(connection));
        let once: InProcess = Arc::new(move |_| {
            let connection = connection.lock().take();
            connection
                .unwrap_or_else(|| Connection { outgoing: mpsc::channel(1).0, incoming: mpsc::channel(1).1 })
        });
        Self::in_process(once)
    }
}

impl<S> ClientBuilder<S> {
    fn new(name: &str, server: S) -> Self {
        Self {
            server,
            name: name.to_owned(),
            environment: BTreeMap::new(),
            shim: Shim::none(),
            sender: CallSender::new(),
        }
    }

    /// Names the server in errors.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the name and version of this program for the server (`clientInfo`).
    pub fn client_info(self, name: &str, version: &str) -> Self {
        Self { sender: self.sender.named(name, version), ..self }
    }

    /// Handles requests of the server. Their capabilities are declared in the handshake.
    pub fn handlers(self, handlers: Handlers) -> Self {
        Self { sender: self.sender.with_handlers(handlers), ..self }
    }

    /// Declares further capabilities (`clientCapabilities`), such as `{"experimental": {…}}`.
    pub fn capabilities(self, capabilities: Value) -> Self {
        Self { sender: self.sender.declaring(capabilities), ..self }
    }

    fn map(self, change: impl FnOnce(S) -> S) -> Self {
        Self { server: change(self.server), ..self }
    }
}

/// What servers have that are started or connected to from here: they depend on the environment of this program.
macro_rules! from_here {
    ($config:ident) => {
        impl ClientBuilder<$config> {
            /// Passes on the environment of this program: see [`AgentBuilder::inherit_env`](crate::AgentBuilder::inherit_env).
            pub fn inherit_env(self) -> Self {
                Self { environment: program_environment(), ..self }
            }

            /// As `inherit_env`, with these variables instead of those of this program.
            pub fn environment(self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
                Self { environment: variables.into_iter().collect(), ..self }
            }

            /// Limits the time from starting to ready.
            pub fn startup_timeout(self, timeout: Duration) -> Self {
                self.map(|server| server.startup_timeout(timeout))
            }

            /// Limits the time of a call without a response or progress; 60 s by default.
            pub fn idle_timeout(self, timeout: Duration) -> Self {
                self.map(|server| server.idle_timeout(timeout))
            }

            /// Limits the time of a call in all; 600 s by default.
            pub fn total_timeout(self, timeout: Duration) -> Self {
                self.map(|server| server.total_timeout(timeout))
            }

            /// Limits the length of a message that the server sends, in bytes.
            pub fn max_message(self, bytes: usize) -> Self {
                self.map(|server| server.max_message(bytes))
            }

            /// Changes any other setting: those under `toolbay` of an entry in a file.
            pub fn with_options(self, change: impl FnOnce(&mut ServerOptions)) -> Self {
                self.map(|server| server.with_options(change))
            }
        }
    };
}

from_here!(StdioConfig);
from_here!(HttpConfig);

impl ClientBuilder<StdioConfig> {
    /// Adds an argument.
    pub fn arg(self, arg: impl Into<String>) -> Self {
        self.map(|server| server.arg(arg))
    }

    /// Adds arguments.
    pub fn args<A: Into<String>>(self, args: impl IntoIterator<Item = A>) -> Self {
        self.map(|server| server.args(args))
    }

    /// Adds a variable to the environment of the server. Its value is never printed.
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.map(|server| server.env(name, value))
    }

    /// Sets the working directory.
    pub fn cwd(self, directory: impl Into<PathBuf>) -> Self {
        self.map(|server| server.cwd(directory))
    }

    /// Keeps the server's process tree together: see [`AgentBuilder`](crate::AgentBuilder#process-trees).
    pub fn shim(self, shim: Shim) -> Self {
        Self { shim, ..self }
    }
}

impl ClientBuilder<HttpConfig> {
    /// Adds a header to every request. Its value is never printed.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.map(|server| server.header(name, value))
    }

    /// Trusts the certificates in a PEM file, besides those of the machine.
    pub fn ca(self, file: impl AsRef<Path>) -> Self {
        self.map(|server| server.ca(file))
    }

    /// Limits the time to connect.
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        self.map(|server| server.connect_timeout(timeout))
    }
}

#[expect(private_bounds, reason = "the kinds of servers are fixed")]
impl<S: ClientKind> ClientBuilder<S> {
    /// Returns the client without connecting it: [`Client::initialize`] does that.
    pub fn build(self) -> Client {
        let notifications = broadcast::Sender::new(BEHIND);
        let shared = ClientInner {
            settings: ClientSettings {
                server: self.server.into_server(&self.name),
                environment: self.environment,
                shim: self.shim,
            },
            name: ServerName::new(self.name),
            slot: Mutex::new(ConnectionSlot::Idle),
            notifications: notifications.clone(),
        };
        let sender = self.sender.observed_by(notifications);
        Client { shared: Arc::new(shared), sender: Arc::new(sender) }
    }

    /// Connects to the server and returns the client once it is initialized.
    ///
    /// # Errors
    ///
    /// As [`Client::initialize`].
    pub async fn connect(self) -> Result<Client, Error> {
        let client = self.build();
        client.initialize().await?;
        Ok(client)
    }
}

impl ClientKind for StdioConfig {
    fn into_server(self, name: &str) -> Result<ClientServer, Error> {
        self.into_server_config(name).map(|config| ClientServer::Configured(config.into()))
    }
}

impl ClientKind for HttpConfig {
    fn into_server(self, name: &str) -> Result<ClientServer, Error> {
        self.into_server_config(name).map(|config| ClientServer::Configured(config.into()))
    }
}

impl ClientKind for Embedded {
    fn into_server(self, _: &str) -> Result<ClientServer, Error> {
        Ok(ClientServer::Embedded(self))
    }
}

impl ClientSettings {
    /// How to reach the server, and how to treat it.
    pub(super) fn ready(&self, name: &ServerName) -> Result<(ServerSettings, Endpoint), Error> {
        match self.server.as_ref().map_err(Clone::clone)? {
            ClientServer::Configured(config) => {
                let mut settings = server_settings(config);
                // A program knows its own values; references to secrets are for configurations.
                let config = Arc::new((**config).clone());
                settings.completion = completion(&config, None, None, &settings.known_secrets);
                Ok((settings, server_endpoint(&config, &self.environment, &self.shim, None)))
            }
            ClientServer::Embedded(Embedded(endpoint)) => {
                Ok((ServerSettings::new(name.clone()), endpoint.clone()))
            }
        }
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Embedded")
    }
}

impl<S> fmt::Debug for ClientBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
