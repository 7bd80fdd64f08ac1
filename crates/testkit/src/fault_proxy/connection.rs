//! One connection through the proxy.

use std::{os::fd::AsFd, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
    time::sleep,
};

use super::{Cut, End, State, Toxics};

/// How much is forwarded at once by default.
const PIECE: usize = 16 * 1024;

/// Which of the two directions.
#[derive(Debug, Clone, Copy)]
enum Way {
    ToServer,
    ToClient,
}

impl Way {
    fn of(self, state: &State) -> Toxics {
        match self {
            Self::ToServer => state.to_server,
            Self::ToClient => state.to_client,
        }
    }
}

/// Forwards until both sides have ended, or the connection is cut.
pub(super) async fn run(mut client: TcpStream, number: usize, mut state: watch::Receiver<State>) {
    // What the proxy does not let through does not reach the server as a connection either.
    let Ok(server) = state.wait_for(|state| !state.to_server.hold).await.map(|state| state.server) else {
        return;
    };
    let Ok(mut server) = TcpStream::connect(server).await else { return reset([&client]) };
    let _ = (client.set_nodelay(true), server.set_nodelay(true)); // small pieces are to stay small
    let end = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let both = async {
            tokio::try_join!(
                forward(from_client, to_server, Way::ToServer, number, state.clone()),
                forward(from_server, to_client, Way::ToClient, number, state.clone()),
            )
        };
        let mut orders = state.clone();
        tokio::select! {
            ended = both => ended.err().unwrap_or(End::Fin),
            Ok(_) = orders.wait_for(|state| number < state.reset_below) => End::Reset,
        }
    };
    if end == End::Reset {
        reset([&client, &server]);
    }
}

/// Forwards one direction until its sender ends it; the error is the end of the whole connection.
async fn forward(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    way: Way,
    number: usize,
    mut state: watch::Receiver<State>,
) -> Result<(), End> {
    let mut buffer = vec![0; PIECE];
    let (mut passed, mut dice) = (0, Dice::new(number, way));
    loop {
        let toxics = passing(&mut state, way).await?;
        check(toxics.cut, passed)?;
        let mut most = toxics.slice.unwrap_or(PIECE).clamp(1, PIECE);
        if let Some(cut) = toxics.cut {
            most = most.min(usize::try_from(cut.after - passed).unwrap_or(PIECE));
        }
        // While nothing comes, the faults may change.
        let length = tokio::select! {
            read = from.read(&mut buffer[..most]) => read.map_err(|_| End::Reset)?,
            changed = state.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Err(End::Fin),
            },
        };
        sleep(delay(toxics, length, &mut dice)).await;
        let toxics = passing(&mut state, way).await?;
        check(toxics.cut, passed)?;
        if length == 0 {
            return to.shutdown().await.map_err(|_| End::Reset);
        }
        to.write_all(&buffer[..length]).await.map_err(|_| End::Reset)?;
        passed += length as u64;
    }
}

/// The faults of the moment, once they let anything pass.
async fn passing(state: &mut watch::Receiver<State>, way: Way) -> Result<Toxics, End> {
    let state = state.wait_for(|state| !way.of(state).hold).await;
    state.map(|state| way.of(&state)).map_err(|_| End::Fin)
}

fn check(cut: Option<Cut>, passed: u64) -> Result<(), End> {
    match cut {
        Some(cut) if passed >= cut.after => Err(cut.end),
        _ => Ok(()),
    }
}

fn delay(toxics: Toxics, length: usize, dice: &mut Dice) -> Duration {
    let jitter = toxics.jitter.mul_f64(if toxics.jitter.is_zero() { 0.0 } else { dice.share() });
    let sending = toxics.bandwidth.map_or(Duration::ZERO, |bandwidth| {
        Duration::from_secs(1).mul_f64(length as f64 / f64::from(bandwidth.max(1)))
    });
    toxics.latency + jitter + sending
}

/// Lets the connections end in a reset as soon as they are dropped.
fn reset<const N: usize>(connections: [&TcpStream; N]) {
    for connection in connections {
        // One that is gone already needs no reset.
        let _ = rustix::net::sockopt::set_socket_linger(connection.as_fd(), Some(Duration::ZERO));
    }
}

/// Always the same numbers for the same connection (xorshift).
struct Dice(u64);

impl Dice {
    fn new(number: usize, way: Way) -> Self {
        Self((number as u64 * 2 + way as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number from 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
