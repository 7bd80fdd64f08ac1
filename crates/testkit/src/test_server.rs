//! A server that does what a test tells it to.

mod answer;
mod change;
mod connection;
mod context;
mod demo;
mod handle;
mod http;
mod listen;
mod methods;
mod offers;
mod page;
mod requesting;
mod revisions;
mod server_request;
mod session;
mod shared;
mod template;
mod work;

use std::{fmt, future::Future, io, path::Path, sync::Arc};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::Revision;
use toolbay_transport::{Connection, memory, stdio};

pub use context::ToolContext;
pub use handle::TestServerHandle;
use offers::{Completion, Prompt, Run, Template, Tool, at_once, in_time};
use revisions::RevisionSet;
pub use revisions::SupportedRevisions;
pub use server_request::{ElicitResult, ServerRequest, ServerRequestError};
use shared::Shared;

use crate::listen as wires;

/// Why a tool failed; any error or text will do. The client gets it as a result with `isError`.
pub type ToolError = Box<dyn std::error::Error + Send + Sync>;
/// What a tool gives: an object with `content` is sent as it is, anything else as `structuredContent` and as text.
pub type ToolResult = Result<Value, ToolError>;

/// An MCP server for tests, of legacy and modern revisions, that runs in memory, over stdio, HTTP of any kind or WebSocket.
///
/// Clones are the same server: each connection is served on its own, all are notified of changes.
///
/// ```
/// use serde_json::json;
/// use tokio_util::task::TaskTracker;
/// use toolbay_testkit::{ElicitResult, TestServer};
/// use toolbay_transport::Incoming;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = TestServer::new("calculator")
///     .with_tool("add", |args| Ok(json!({"sum": args["a"].as_i64().unwrap_or(0) + 1})))
///     .with_tool("fail", |_| Err("no such luck".into()))
///     .with_async_tool("slow", |_, context| async move {
///         context.progress(1.0, 2.0).await;
///         Ok(json!("done"))
///     })
///     .with_async_tool("greet", |_, context| async move {
///         let name = json!({"type": "object", "properties": {"name": {"type": "string"}}});
///         match context.elicit("What is your name?", name).await? {
///             ElicitResult::Accepted(form) => Ok(json!(format!("Hello, {}!", form["name"]))),
///             ElicitResult::Declined | ElicitResult::Cancelled => Ok(json!("Hello!")),
///         }
///     })
///     .with_resource("test://readme", "Read me.")
///     .with_prompt("greet", |args| json!(format!("Say hello to {}.", args["name"])));
/// let handle = server.handle();
/// let tasks = TaskTracker::new();
///
/// // Any client will do; here it is two queues.
/// let mut connection = server.in_memory(&tasks);
/// let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// connection.outgoing.send(ping.to_owned().into()).await?;
/// let Some(Incoming::Message(response)) = connection.incoming.recv().await else { panic!("no response") };
/// assert_eq!(response.text(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
/// assert_eq!(handle.received(), [ping]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TestServer {
    shared: Arc<Shared>,
}

impl TestServer {
    /// A server that offers nothing yet and supports all revisions.
    pub fn new(name: impl Into<String>) -> Self {
        Self { shared: Arc::new(Shared::new(name.into())) }
    }

    /// The server of `toolbay-test-server`, without the tools that only make sense in a process of its own: see
    /// that program.
    pub fn demo() -> Self {
        demo::server()
    }

    /// Adds a tool that takes any object, in the place of one with the same name.
    pub fn with_tool<F>(self, name: impl Into<String>, run: F) -> Self
    where
        F: Fn(Value) -> ToolResult + Send + Sync + 'static,
    {
        self.with_tool_schema(name, json!({"type": "object"}), run)
    }

    /// Adds a tool with an input schema. The server does not check it: that is for tests to see.
    pub fn with_tool_schema<F>(self, name: impl Into<String>, schema: Value, run: F) -> Self
    where
        F: Fn(Value) -> ToolResult + Send + Sync + 'static,
    {
        self.shared.offers().put_tool(Tool::new(name.into(), schema, Run::Work(at_once(run))));
        self
    }

    /// Adds a tool that takes time: it can report progress, log and ask its client, and is dropped when its call is
    /// cancelled.
    pub fn with_async_tool<F, R>(self, name: impl Into<String>, run: F) -> Self
    where
        F: Fn(Value, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        let run = Run::Work(in_time(run));
        self.shared.offers().put_tool(Tool::new(name.into(), json!({"type": "object"}), run));
        self
    }

    /// Adds a tool that gets the JSON text of `params` as it arrived, and whose text is the result as it is sent.
    pub fn with_raw_tool<F>(self, name: impl Into<String>, run: F) -> Self
    where
        F: Fn(&str) -> Result<String, ToolError> + Send + Sync + 'static,
    {
        let run = Run::Raw(Arc::new(run));
        self.shared.offers().put_tool(Tool::new(name.into(), json!({"type": "object"}), run));
        self
    }

    /// Changes how a tool is listed: the fields of `more` are added to it, or replace its own.
    pub fn describe_tool(self, name: &str, more: Value) -> Self {
        self.shared.offers().describe_tool(name, more);
        self
    }

    /// Adds a resource with a text.
    pub fn with_resource(self, uri: impl Into<String>, text: impl Into<String>) -> Self {
        self.shared.put_text(uri.into(), text.into());
        self
    }

    /// Adds a resource that takes time, as [`Self::with_async_tool`]; the closure gives the text.
    pub fn with_async_resource<F, R>(self, uri: impl Into<String>, read: F) -> Self
    where
        F: Fn(ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        self.shared.offers().put_resource(uri.into(), in_time(move |_, context| read(context)));
        self
    }

    /// Adds a resource template such as `test://user/{id}`; the closure gets the variables and gives the text.
    pub fn with_resource_template<F>(self, template: impl Into<String>, read: F) -> Self
    where
        F: Fn(Value) -> Result<String, ToolError> + Send + Sync + 'static,
    {
        let read = at_once(move |variables| read(variables).map(Value::from));
        self.shared.offers().templates.push(Template { uri: template.into(), read });
        self
    }

    /// Adds a prompt without declared arguments; the closure gives the messages, or a text of the user.
    pub fn with_prompt<F>(self, name: impl Into<String>, get: F) -> Self
    where
        F: Fn(Value) -> Value + Send + Sync + 'static,
    {
        self.with_prompt_arguments(name, &[], get)
    }

    /// Adds a prompt with required arguments.
    pub fn with_prompt_arguments<F>(self, name: impl Into<String>, required: &[&str], get: F) -> Self
    where
        F: Fn(Value) -> Value + Send + Sync + 'static,
    {
        let required = required.iter().map(|&name| name.to_owned()).collect();
        let get = at_once(move |arguments| Ok(get(arguments)));
        self.shared.offers().put_prompt(Prompt { name: name.into(), required, get });
        self
    }

    /// Adds a prompt that takes time, as [`Self::with_async_tool`]; the closure gives the messages, or a text.
    pub fn with_async_prompt<F, R>(self, name: impl Into<String>, get: F) -> Self
    where
        F: Fn(Value, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        let prompt = Prompt { name: name.into(), required: Vec::new(), get: in_time(get) };
        self.shared.offers().put_prompt(prompt);
        self
    }

    /// Adds values that complete an argument; `reference` is the name of a prompt or the URI of a template.
    pub fn with_completion(
        self,
        reference: impl Into<String>,
        argument: impl Into<String>,
        values: &[&str],
    ) -> Self {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        let completion = Completion { reference: reference.into(), argument: argument.into(), values };
        self.shared.offers().completions.push(completion);
        self
    }

    /// Which clients it understands.
    pub fn revisions(self, supported: SupportedRevisions) -> Self {
        self.shared.settings().spoken = RevisionSet::new(supported);
        self
    }

    /// Supports this revision alone.
    pub fn revision(self, revision: Revision) -> Self {
        self.shared.settings().spoken = RevisionSet::only(revision);
        self
    }

    /// How many items a page of a list has; all of them by default.
    pub fn page_size(self, items: usize) -> Self {
        self.shared.settings().page_size = items.max(1);
        self
    }

    /// How long clients of modern revisions may cache its lists, and whether for others, too; by default 0 and no.
    pub fn caching(self, ttl_ms: u64, is_public: bool) -> Self {
        self.shared.settings().caching = (ttl_ms, is_public);
        self
    }

    /// Announces changes of its tools only, not of its other lists.
    pub fn with_tool_changes_only(self) -> Self {
        self.shared.offers().announces_tools_only = true;
        self
    }

    /// What it tells models about itself.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.shared.settings().instructions = Some(text.into());
        self
    }

    /// Also appends everything that arrives to a file, a line each.
    pub fn log_received(self, file: impl AsRef<Path>) -> Self {
        self.shared.settings().received_file = Some(file.as_ref().to_owned());
        self
    }

    /// For changing and watching it while it runs.
    pub fn handle(&self) -> TestServerHandle {
        TestServerHandle { shared: self.shared.clone() }
    }

    /// Serves a new connection in this process, on `tasks`, and gives the client's end of it.
    pub fn in_memory(&self, tasks: &TaskTracker) -> Connection {
        let (ours, theirs) = memory::pair(tasks);
        tasks.spawn(connection::serve(self.shared.clone(), ours));
        theirs
    }

    /// The same server for hosts, agents and clients, each connection served in this process.
    pub fn in_process(&self) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
        let server = self.clone();
        Arc::new(move |tasks| server.in_memory(tasks))
    }

    /// Serves stdin and stdout until stdin ends.
    pub async fn serve_stdio(&self) {
        let tasks = TaskTracker::new();
        let wire = stdio::connect(tokio::io::stdin(), tokio::io::stdout(), stdio::MAX_MESSAGE, &tasks);
        connection::serve(self.shared.clone(), wire).await;
        tasks.close();
        tasks.wait().await; // for what is still to be written
    }

    /// Serves Streamable HTTP, on any path, until `stop`: sessions for legacy clients, none for modern ones.
    pub async fn serve_http(&self, listener: TcpListener, stop: CancellationToken) {
        http::serve(self.shared.clone(), listener, stop).await;
    }

    /// Serves Streamable HTTP on a free port of this machine, on `tasks`, until `stop`; gives the URL.
    pub async fn start_http(&self, tasks: &TaskTracker, stop: CancellationToken) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        tasks.spawn(http::serve(self.shared.clone(), listener, stop));
        Ok(url)
    }

    /// Serves HTTP+SSE of 2024-11-05 until `stop`: a stream for each GET, and POSTs to what its first event names.
    pub async fn serve_sse(&self, listener: TcpListener, stop: CancellationToken) {
        wires::sse::serve(self.each_wire(), listener, stop).await;
    }

    /// Serves HTTP+SSE on a free port of this machine, on `tasks`, until `stop`; gives the URL.
    pub async fn start_sse(&self, tasks: &TaskTracker, stop: CancellationToken) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/sse", listener.local_addr()?);
        tasks.spawn(wires::sse::serve(self.each_wire(), listener, stop));
        Ok(url)
    }

    /// Serves WebSocket, on any path, until `stop`.
    pub async fn serve_ws(&self, listener: TcpListener, stop: CancellationToken) {
        wires::ws::serve(self.each_wire(), listener, stop).await;
    }

    /// Serves one client.
    fn each_wire(
        &self,
    ) -> impl Fn(Connection) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Clone + use<> {
        let shared = self.shared.clone();
        move |wire| Box::pin(connection::serve(shared.clone(), wire))
    }

    /// Serves WebSocket on a free port of this machine, on `tasks`, until `stop`; gives the URL.
    pub async fn start_ws(&self, tasks: &TaskTracker, stop: CancellationToken) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("ws://{}/ws", listener.local_addr()?);
        tasks.spawn(wires::ws::serve(self.each_wire(), listener, stop));
        Ok(url)
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServer").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

/// So that a test server is given wherever a server in this process is expected.
impl From<TestServer> for Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    fn from(server: TestServer) -> Self {
        server.in_process()
    }
}
