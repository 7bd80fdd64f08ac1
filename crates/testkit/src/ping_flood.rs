//! WebSocket pings without end, from a peer that never reads the pongs.

use std::{
    io::{ErrorKind, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Result, bail};
use tungstenite::ClientRequestBuilder;

/// The longest payload that a ping may have.
const PAYLOAD: usize = 125;
/// A peer that takes nothing for so long has stopped to read.
const NOT_READ: Duration = Duration::from_secs(2);

/// A client on `/ws` of a hub that sent pings and read nothing; its connection stays open until it is dropped.
#[derive(Debug)]
pub struct PingFlood {
    _stream: TcpStream,
    /// How many pings were taken before the hub stopped to read.
    pub sent: usize,
}

impl PingFlood {
    /// Connects and sends up to `count` pings.
    pub fn start(hub: SocketAddr, count: usize) -> Result<Self> {
        let request = ClientRequestBuilder::new(format!("ws://{hub}/ws").parse()?).with_sub_protocol("mcp");
        let mut stream = match tungstenite::client(request, TcpStream::connect(hub)?) {
            Ok((socket, _)) => socket.into_inner(),
            Err(error) => bail!("no WebSocket: {error}"),
        };
        // A mask of zeros changes nothing.
        let sent = send_pings(&mut stream, count, Some([0; 4]))?;
        Ok(Self { _stream: stream, sent })
    }
}

/// Sends pings until `count` are sent or the peer stops to read; returns how many were sent whole.
pub(crate) fn send_pings(stream: &mut TcpStream, count: usize, mask: Option<[u8; 4]>) -> Result<usize> {
    stream.set_write_timeout(Some(NOT_READ))?;
    let length = u8::try_from(PAYLOAD)?;
    let mut ping = match mask {
        Some(mask) => [&[0x89, 0x80 | length], &mask[..]].concat(),
        None => vec![0x89, length],
    };
    ping.extend([b'p'; PAYLOAD]);
    for sent in 0..count {
        match stream.write_all(&ping) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(sent);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}
