//! `toolbay-forward --port N -- command…`: the bare forwarder of bytes that proxies are measured against.

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::task::LocalSet;
use toolbay_bench::forward;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [option, port, dashes, command @ ..] = &args[..] else {
        bail!("usage: toolbay-forward --port N -- command…");
    };
    if option != "--port" || dashes != "--" {
        bail!("usage: toolbay-forward --port N -- command…");
    }
    run(port.parse().context("--port takes a number")?, command)
}

#[tokio::main(flavor = "current_thread")]
async fn run(port: u16, command: &[String]) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    LocalSet::new().run_until(forward::serve(listener, command)).await
}
