//! `toolbay-echo stdio` or `toolbay-echo http|sse|ws --port N`: a raw MCP echo server.

use std::fs::File;
use std::os::fd::AsFd;

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use toolbay_bench::echo;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            // Not `std::io::stdout`: its line buffer would split every write.
            let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
            let output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
            Ok(echo::serve_stdio(input, output)?)
        }
        [transport @ ("http" | "sse" | "ws"), "--port", port] => {
            listen(transport, port.parse().context("--port takes a number")?)
        }
        _ => bail!("usage: toolbay-echo stdio | http|sse|ws --port N"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn listen(transport: &str, port: u16) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    match transport {
        "sse" => echo::serve_sse(listener).await,
        "ws" => echo::serve_ws(listener).await,
        _ => echo::serve_http(listener).await?,
    }
    Ok(())
}
