//! How connections to a server come about, and how long things may take on them.

use std::time::Duration;

use rustls::pki_types::CertificateDer;

use super::Proxies;

/// The way to a server.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Trusted besides those whom the machine trusts.
    pub ca: Vec<CertificateDer<'static>>,
    /// Proxies that may lie on the way.
    pub proxies: Proxies,
    /// How long things may take.
    pub timeouts: HttpTimeouts,
}

/// How long things may take on the way to a server. Calls have deadlines of their own, which mostly end them sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// Until there is a connection, TLS and proxy included.
    pub connect: Duration,
    /// From sending a request until the head of its answer.
    pub first_byte: Duration,
    /// How long a stream of events may be silent. Servers need not say anything for hours, so by default it may be for
    /// ever: a peer that is gone is noticed by the keep-alive of TCP.
    pub stream_idle: Option<Duration>,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: Duration::from_secs(600), stream_idle: None }
    }
}
