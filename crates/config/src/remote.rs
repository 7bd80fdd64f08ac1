//! Servers at a URL.

use std::{collections::BTreeMap, fs, path::Path};

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::Remote;

/// Headers that the protocol and the connection set themselves.
const OURS: [&str; 14] = [
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
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Checks what other programs call the transport.
pub(crate) fn check_type(kind: Option<&str>) -> Result<(), String> {
    match kind {
        None | Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => Ok(()),
        Some("sse") => {
            Err("the transport `sse` (HTTP+SSE of 2024-11-05) is not supported yet; if the server \
                            also speaks Streamable HTTP, use `\"type\": \"http\"` and its URL for that"
                .to_owned())
        }
        Some(kind @ ("ws" | "websocket")) => {
            Err(format!("the transport `{kind}` (WebSocket) is not supported yet"))
        }
        Some("stdio") => Err("`type` is `stdio`, which needs a `command`, not a `url`".to_owned()),
        Some(other) => Err(format!("the transport `{other}` is unknown; use `http`")),
    }
}

/// Checks a URL and headers. Errors never show values: they may be secrets.
pub(crate) fn check(
    url: &str,
    headers: &BTreeMap<String, String>,
    ca: Vec<CertificateDer<'static>>,
) -> Result<Remote, String> {
    let uri: Uri = url.trim().parse().map_err(|error| format!("`url` is no URL: {error}"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(scheme @ ("ws" | "wss")) => {
            return Err(format!("`url` begins with `{scheme}`: WebSocket is not supported yet"));
        }
        Some(scheme) => return Err(format!("`url` begins with `{scheme}`; `http` or `https` is needed")),
        None => return Err("`url` must begin with `http://` or `https://`".to_owned()),
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("`url` holds credentials; put them into `headers` instead".to_owned());
    }
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|_| format!("`{name}` is no name of a header"))?;
        if OURS.contains(&name.as_str()) {
            return Err(format!("the header `{name}` is set by the protocol; leave it out"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header `{name}` has characters that no header can carry")
        })?;
        value.set_sensitive(true);
        checked.insert(name, value);
    }
    Ok(Remote { url: uri, headers: checked, ca })
}

/// Reads a file of certificates.
pub(crate) fn read_ca(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("`toolbay.ca`: cannot read {}: {why}", file.display());
    let text = fs::read(file).map_err(|error| failed(&error))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| failed(&error))?;
    if certificates.is_empty() {
        return Err(failed(
            &"there is no certificate in it; a PEM file begins with -----BEGIN CERTIFICATE-----",
        ));
    }
    Ok(certificates)
}
