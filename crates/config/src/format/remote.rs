//! Servers at a URL.

use std::{collections::BTreeMap, path::Path};

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::{Remote, Transport, files::small::read_small};

/// The certificates of a whole system fit.
const MAX_CA_FILE: u64 = 4 * 1024 * 1024;

/// Headers that the protocol and the connection set themselves.
const OURS: [&str; 19] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Checks a URL, its type and headers.
///
/// # Errors
///
/// When a server cannot be reached so. Values are never shown: they may be secrets.
pub fn check_remote(
    url: &str,
    kind: Option<&str>,
    headers: &BTreeMap<String, String>,
) -> Result<Remote, String> {
    let transport = match transport_kind(kind)? {
        TransportKind::Unsaid => Transport::Auto,
        TransportKind::Url(transport) => transport,
        TransportKind::Stdio | TransportKind::BuiltIn(_) => {
            return Err("`type` requires a `command`, not a `url`".to_owned());
        }
    };
    let uri: Uri = url.trim().parse().map_err(|error| format!("`url` is not a valid URL: {error}"))?;
    match (uri.scheme_str(), transport) {
        (Some("http" | "https"), _) => {}
        (Some("ws" | "wss"), Transport::Auto | Transport::WebSocket) => {}
        (Some(scheme @ ("ws" | "wss")), _) => {
            let kind = transport.name();
            return Err(format!(
                "`url` begins with `{scheme}`, which means WebSocket, but `type` is `{kind}`"
            ));
        }
        (Some(scheme), _) => {
            return Err(format!("`url` begins with `{scheme}`; `http`, `https`, `ws` or `wss` is needed"));
        }
        (None, _) => {
            return Err("`url` must begin with `http://`, `https://`, `ws://` or `wss://`".to_owned());
        }
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("`url` contains credentials; put them into `headers` instead".to_owned());
    }
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let name = header_name(name)?;
        if OURS.contains(&name.as_str()) {
            return Err(format!("the header `{name}` is set by the protocol; leave it out"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header `{name}` contains characters that are not allowed in a header")
        })?;
        value.set_sensitive(true);
        checked.insert(name, value);
    }
    Ok(Remote { url: uri, transport, headers: checked, ca: Vec::new(), oauth: Box::default() })
}

/// Checks the name of a header.
pub(crate) fn header_name(name: &str) -> Result<HeaderName, String> {
    name.parse().map_err(|_| format!("`{name}` is not a valid header name"))
}

/// Reads a file of certificates.
pub(crate) fn read_ca(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("`toolbay.ca`: cannot read {}: {why}", file.display());
    let text = read_small(file, MAX_CA_FILE).map_err(|error| failed(&error))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| failed(&error))?;
    if certificates.is_empty() {
        return Err(failed(
            &"there is no certificate in it; a PEM file begins with -----BEGIN CERTIFICATE-----",
        ));
    }
    Ok(certificates)
}

/// The meaning of `type` in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportKind<'a> {
    /// Nothing.
    Unsaid,
    /// A program.
    Stdio,
    /// A URL.
    Url(Transport),
    /// A part of the program whose file it is.
    BuiltIn(&'a str),
}

pub(crate) fn transport_kind(word: Option<&str>) -> Result<TransportKind<'_>, String> {
    Ok(match word {
        None => TransportKind::Unsaid,
        Some("stdio" | "local") => TransportKind::Stdio,
        Some("auto" | "remote") => TransportKind::Url(Transport::Auto),
        Some("http" | "https" | "streamable-http" | "streamableHttp" | "streamable_http") => {
            TransportKind::Url(Transport::Http)
        }
        Some("sse") => TransportKind::Url(Transport::Sse),
        Some("ws" | "wss" | "websocket") => TransportKind::Url(Transport::WebSocket),
        Some(word @ ("sdk" | "builtin" | "platform" | "frontend" | "inline_python")) => {
            TransportKind::BuiltIn(word)
        }
        Some(other) => {
            return Err(format!(
                "unknown transport `{other}`; use `stdio`, `http`, `sse` or `ws`, or omit `type` to detect it"
            ));
        }
    })
}

impl Transport {
    /// Its name in files and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }
}
