//! Thirteen small programs, one per example of the documents that Toolbay was designed from, written from `docs/library.md` alone:
//! they use `toolbay_agent`, `tokio` and `serde_json`, and nothing else.
//!
//! | program | example |
//! |---|---|
//! | `context_server_lifecycle` | Zed: `ContextServer` is created, started, used and stopped |
//! | `extension_server` | Zed: `ContextServerConfiguration::from_settings` and the descriptor registry |
//! | `store_that_follows_settings` | Zed: the store starts enabled servers and observes the settings |
//! | `recovery` | Zed: a server that failed is logged and restarted |
//! | `limits` | Zed: a command with a timeout per request |
//! | `mock_server` | Zed: `TestContextServer` with tools, and the test of the store's lifecycle |
//! | `check_server_status` | Zed: the status of every server is logged |
//! | `request_serialization` | Kode: `McpRequest` as JSON |
//! | `start_servers` | Kode: `McpClient` starts servers, lists tools and calls one |
//! | `tool_wrapper` | Kode: `McpToolWrapper` in a tool registry |
//! | `manager` | `McpManager`: background start, tools, execution, server info, shutdown |
//! | `registry` | Sage: `McpRegistry` registers servers, aggregates and unregisters |
//! | `builder` | Sage: `SageBuilder` with two stdio servers |

use std::{fs, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolbay_agent::{Agent, Client, Error, StdioConfig};

use crate::clients::test_server;

fn command() -> String {
    test_server().to_str().unwrap().to_owned()
}

async fn context_server_lifecycle(command: &str, root: &Path) -> Result<Value, Error> {
    let server =
        Client::stdio(command).args(["--page-size", "3"]).cwd(root).inherit_env().name("filesystem").build();
    server.initialize().await?;
    assert!(!server.list_tools().await?.is_empty());
    let sum = server.call_tool("add", json!({"a": 1, "b": 2})).await?.structured()?;
    let _notifications = server.notifications();
    server.close().await;
    Ok(sum)
}

#[tokio::test]
async fn a_context_server_is_created_started_used_and_stopped() {
    let sum = context_server_lifecycle(&command(), Path::new("/")).await.unwrap();
    assert_eq!(sum["sum"], 3);
}

async fn extension_server(manifest: &str, settings: &Path) -> Result<Agent, Error> {
    let descriptors = toolbay_agent::config::read_manifest("filesystem", manifest)?;
    for source in &descriptors.sources {
        let descriptor = source.descriptor();
        eprintln!("{}: {:?}", descriptor.name, descriptor.description);
    }
    Agent::builder().inherit_env().extension_manifest(manifest).config_file(settings).build().await
}

#[tokio::test]
async fn an_extension_server_is_resolved_from_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.json");
    let entry = json!({"enabled": true, "settings": {"rootPath": "/workspace", "allowedPaths": ["/tmp"]}});
    fs::write(&settings, json!({"context_servers": {"mcp-server-filesystem": entry}}).to_string()).unwrap();
    let manifest = json!({"context_servers": {"mcp-server-filesystem": {
        "command": {"path": command(), "args": []},
        "settings_schema": {"type": "object", "properties": {"rootPath": {"type": "string"},
            "allowedPaths": {"type": "array", "items": {"type": "string"}}}},
        "installation_instructions": "Run `npm install -g @modelcontextprotocol/server-filesystem`",
    }}});
    let agent = extension_server(&manifest.to_string(), &settings).await.unwrap();
    assert!(agent.status("mcp-server-filesystem").unwrap().state.is_up());
    agent.shutdown(Duration::from_secs(10)).await;
}

async fn store_that_follows_settings(settings: &Path) -> Result<Agent, Error> {
    Agent::builder().inherit_env().follow_config_file(settings).build().await
}

#[tokio::test]
async fn enabled_servers_are_started() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.json");
    let servers = json!({"on": {"command": command(), "enabled": true}, "off": {"command": command(), "enabled": false}});
    fs::write(&settings, json!({"context_servers": servers}).to_string()).unwrap();
    let store = store_that_follows_settings(&settings).await.unwrap();
    let running: Vec<String> = store.running().iter().map(|server| server.name().to_string()).collect();
    assert_eq!(running, ["on"]);
    store.shutdown(Duration::from_secs(10)).await;
}

/// Restarts servers that failed, until `attempts` were made.
async fn recovery(agent: Agent, pause: Duration, mut attempts: u32) {
    while attempts > 0 {
        for status in agent.statuses() {
            if let Some(failure) = status.state.failure() {
                eprintln!("server {} failed: {failure}", status.name);
                tokio::time::sleep(pause).await;
                let _ = agent.restart_server(status.name.as_str()).await;
                attempts -= 1;
            }
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_failed_is_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("works");
    let script = format!("test -e {0} && exec {1}; touch {0}; sleep 0.1; exit 1", flag.display(), command());
    let config = StdioConfig::new("sh")
        .args(["-c", &script])
        .with_options(|options| options.restart_delay = Some(Duration::from_secs(60)));
    let agent = Agent::builder().inherit_env().server("flaky", config).build().await.unwrap();
    if !agent.status("flaky").unwrap().state.is_up() {
        recovery(agent.clone(), Duration::from_millis(10), 1).await;
    }
    assert!(agent.wait_for("flaky").await.unwrap().is_up());
    agent.shutdown(Duration::from_secs(10)).await;
}

async fn limits(command: &str, timeout: Duration) -> Result<Agent, Error> {
    let config = StdioConfig::new(command).idle_timeout(timeout).total_timeout(timeout);
    Agent::builder().inherit_env().server("server", config).build().await
}

#[tokio::test]
async fn a_request_has_a_timeout() {
    let agent = limits(&command(), Duration::from_millis(200)).await.unwrap();
    let error = agent.call_tool("server__sleep", json!({"ms": 60_000})).await.unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error:?}");
    agent.shutdown(Duration::from_secs(10)).await;
}

async fn mock_server() -> Result<Agent, Error> {
    use toolbay_agent::tool_fn;
    let schema = json!({"type": "object"});
    let read = tool_fn("read_file", "Reads.", schema.clone(), |_| async { Ok("file contents".to_owned()) });
    let write = tool_fn("write_file", "Writes.", schema, |_| async { Ok(String::new()) });
    Agent::builder().tools("test", vec![read, write]).build().await
}

#[tokio::test]
async fn a_store_is_tested_with_a_mock_server() {
    let store = mock_server().await.unwrap();
    assert!(matches!(store.status("test").unwrap().state, toolbay_agent::ServerState::Running));
    let read = store.call_tool("test__read_file", Value::Null).await.unwrap();
    assert_eq!(read.to_text(), "file contents");
    store.stop_server("test").await.unwrap();
    assert!(matches!(store.status("test").unwrap().state, toolbay_agent::ServerState::Stopped { .. }));
}

fn check_server_status(agent: &Agent) -> Vec<String> {
    agent.statuses().iter().map(|status| format!("Server {}: {}", status.name, status.state)).collect()
}

#[tokio::test]
async fn the_status_of_every_server_is_listed() {
    assert_eq!(check_server_status(&mock_server().await.unwrap()), ["Server test: ready"]);
}

fn request_serialization() -> Result<String, toolbay_agent::message::ParseError> {
    Ok(toolbay_agent::message::Message::request("1", "tools/list", Value::Null)?.to_string())
}

#[test]
fn a_request_is_serialized() {
    let json = request_serialization().unwrap();
    assert!(json.contains("\"method\":\"tools/list\"") && json.contains("\"id\":\"1\""), "{json}");
}

async fn start_servers(servers: Vec<(&str, StdioConfig)>) -> Result<Agent, Error> {
    let client = Agent::builder().inherit_env().client_info("kode-rust", "0.1.0").build().await?;
    for (name, config) in servers {
        client.add_server(name, config).await?;
    }
    Ok(client)
}

#[tokio::test]
async fn servers_are_started_by_name_and_configuration() {
    let client = start_servers(vec![("test", StdioConfig::new(command()))]).await.unwrap();
    assert!(client.server_names().iter().any(|name| name.as_str() == "test"));
    assert!(!client.server("test").unwrap().list_tools().await.unwrap().is_empty());
    let sum: Value =
        client.call_tool_on("test", "add", json!({"a": 1, "b": 2})).await.unwrap().structured().unwrap();
    assert_eq!(sum["sum"], 3);
    let unknown = client.call_tool_on("nobody", "add", Value::Null).await.unwrap_err();
    assert!(matches!(unknown, Error::ServerNotFound { .. }));
    client.shutdown(Duration::from_secs(10)).await;
}

async fn tool_wrapper(agent: &Agent, name: &str, arguments: Value) -> Option<(String, bool)> {
    let registry: Vec<Arc<dyn toolbay_agent::Tool>> = agent.as_tools();
    let tool = registry.iter().find(|tool| tool.name() == name)?;
    let output = tool.execute(arguments, &toolbay_agent::ToolContext::new()).await;
    Some((output.text, output.is_error))
}

#[tokio::test]
async fn tools_of_servers_are_tools_like_others() {
    let agent = mock_server().await.unwrap();
    let (text, is_error) = tool_wrapper(&agent, "test__read_file", json!({})).await.unwrap();
    assert_eq!((text.as_str(), is_error), ("file contents", false));
}

async fn manager(config: &Path) -> Result<(usize, String, Vec<(String, usize)>), Error> {
    let manager =
        Agent::builder().inherit_env().config_file(config).wait_timeout(Duration::ZERO).build().await?;
    manager.settled().await;
    let tools = manager.all_tools().len();
    let text = manager.call_tool("shell__add", json!({"a": 1, "b": 2})).await?.to_text();
    let info =
        manager.statuses().iter().map(|status| (status.name.to_string(), status.tools().len())).collect();
    manager.shutdown(Duration::from_secs(2)).await;
    Ok((tools, text, info))
}

#[tokio::test]
async fn servers_are_managed_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mcp.json");
    fs::write(&config, json!({"mcpServers": {"shell": {"command": command()}}}).to_string()).unwrap();
    let (tools, text, info) = manager(&config).await.unwrap();
    assert!(tools > 0 && text.contains('3'), "{text}");
    assert_eq!(info, [("shell".to_owned(), tools)]);
}

async fn registry(command: &str) -> Result<Vec<String>, Error> {
    let registry = Agent::builder().inherit_env().build().await?;
    let info = registry.add_server("server1", StdioConfig::new(command)).await?;
    eprintln!("{} {}", info.name, info.version);
    let client = registry.server("server1")?;
    client.ping().await?;
    let text = registry.call_tool("server1__echo", json!({"text": "hi"})).await?.to_text();
    let resource = registry.read_resource("test://readme").await?.to_text();
    eprintln!("{} tools, {} prompts", registry.all_tools().len(), registry.all_prompts().len());
    registry.remove_server("server1").await?;
    let left = registry.server_names().len();
    registry.shutdown(Duration::from_secs(10)).await;
    Ok(vec![text, resource, left.to_string()])
}

#[tokio::test]
async fn servers_are_registered_and_unregistered() {
    let seen = registry(&command()).await.unwrap();
    assert!(seen[0].contains("hi") && !seen[1].is_empty(), "{seen:?}");
    assert_eq!(seen[2], "0");
}

async fn builder(filesystem: &str, git: &str) -> Result<Agent, Error> {
    Agent::builder()
        .inherit_env()
        .stdio_server("filesystem", filesystem, ["--page-size", "4"])
        .stdio_server("git", git, Vec::<String>::new())
        .build()
        .await
}

#[tokio::test]
async fn tools_of_two_stdio_servers_are_available() {
    let components = builder(&command(), &command()).await.unwrap();
    let tools = components.as_tools();
    for name in ["filesystem__add", "git__add"] {
        assert!(tools.iter().any(|tool| tool.name() == name), "{name}");
    }
    components.shutdown(Duration::from_secs(10)).await;
}
