//! A hub as a process, seen from outside: what fault tests and `cargo xtask bench faults` drive.
//!
//! Nothing here shares code with the hub. Everything blocks and has a deadline; nothing waits "to be safe".

mod client;
mod http1;
mod http2;
mod hub;
mod lines;
mod pipe;
mod process;
mod revision_client;
mod setup;
mod web_server;

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

pub use client::{Client, Disconnect, Events, Reply};
pub use http2::Http2Request;
pub use hub::{Baseline, Hub, kill};
pub use lines::Lines;
pub use pipe::Pipe;
pub use process::{Process, cpu_time, fds, processes};
pub use revision_client::{
    ClientResponse, Exchange, Pending, Profile, Respond, RevisionClient, Subscriptions, accepting, declining,
    refusing,
};
pub use setup::{Programs, Setup};
pub use web_server::WebServer;

/// Far more than anything takes on the slowest machine; only what never comes takes that long.
pub const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Looks again and again until there is something to see, and gives it.
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        if start.elapsed() > TIMEOUT {
            bail!("not within {} s: {what}", TIMEOUT.as_secs());
        }
        thread::sleep(LOOK_EVERY);
    }
}
