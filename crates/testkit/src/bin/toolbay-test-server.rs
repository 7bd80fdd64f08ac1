//! The demonstration server as a program: stdio, or on a port of this machine Streamable HTTP, HTTP+SSE or WebSocket.
//!
//! Tools: `echo` {text}, `add` {a, b}, `sleep` {ms, progress_ms}, `raw` {json}, `mirror`, `log` {count, level, text},
//! `counter`, `fail` {text}, `kinds`, `progress` {steps, text}, `hang` {key}, `fate` {key}, `update` {uri}, `change` {list, name},
//! `env` {name}, `pid`, `crash` {code}. Those that ask: `elicit` {text}, `elicit_several`, `elicit_rounds` {rounds},
//! `elicit_url` {url}, `visit` {url}, `sample` {text}, `list_roots`, `ask_everything`, `pause`; the prompt `interview` and
//! the resource `test://asked` ask, too.

use std::process::ExitCode;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolbay_testkit::{SupportedRevisions, TestServer};

const USAGE: &str = "usage: toolbay-test-server [--revisions legacy|modern|both] [--revision YYYY-MM-DD] [--page-size N] \
                     [--log-received FILE] [--http PORT | --sse PORT | --ws PORT]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve(std::env::args().skip(1)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

async fn serve(mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let mut server = with_process_tools(TestServer::demo());
    let mut door: Option<(String, u16)> = None;
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag} is unknown or wants a value"))?;
        let not_a_number = |_| format!("{flag} {value}: not a number that fits");
        server = match flag.as_str() {
            "--revisions" => server.revisions(supported(&value)?),
            "--revision" => {
                server.revision(value.parse().map_err(|error| format!("{flag} {value}: {error}"))?)
            }
            "--page-size" => server.page_size(value.parse().map_err(not_a_number)?),
            "--log-received" => server.log_received(value),
            "--http" | "--sse" | "--ws" => {
                door = Some((flag.clone(), value.parse().map_err(not_a_number)?));
                server
            }
            _ => return Err(format!("unknown flag {flag}")),
        };
    }
    let Some((door, port)) = door else {
        server.serve_stdio().await;
        return Ok(());
    };
    let listener =
        tokio::net::TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let stop = CancellationToken::new();
    match door.as_str() {
        "--sse" => {
            eprintln!("http://{address}/sse");
            server.serve_sse(listener, stop).await;
        }
        "--ws" => {
            eprintln!("ws://{address}/ws");
            server.serve_ws(listener, stop).await;
        }
        _ => {
            eprintln!("http://{address}/mcp");
            server.serve_http(listener, stop).await;
        }
    }
    Ok(())
}

fn supported(name: &str) -> Result<SupportedRevisions, String> {
    match name {
        "legacy" => Ok(SupportedRevisions::Legacy),
        "modern" => Ok(SupportedRevisions::Modern),
        "both" => Ok(SupportedRevisions::Both),
        other => Err(format!("--revisions {other}: legacy, modern or both")),
    }
}

/// Tools about the process, which would be about the test itself if they ran in it.
fn with_process_tools(server: TestServer) -> TestServer {
    server
        .with_tool("pid", |_| Ok(json!({"pid": std::process::id()})))
        .with_tool("crash", |args| {
            eprintln!("about to crash");
            std::process::exit(args["code"].as_i64().and_then(|code| code.try_into().ok()).unwrap_or(7))
        })
        .with_tool("env", |args| {
            #[expect(clippy::disallowed_methods, reason = "shows what the server was given")]
            let all: serde_json::Map<String, serde_json::Value> =
                std::env::vars().map(|(name, value)| (name, value.into())).collect();
            match args["name"].as_str() {
                Some(name) => Ok(json!({"value": all.get(name)})),
                None => Ok(all.into()),
            }
        })
}
