//! The server of a connection: URL, headers, limits.

use std::sync::Arc;

use http::{
    HeaderMap, Uri,
    uri::{PathAndQuery, Scheme},
};

use super::{ConnectOptions, RequestAuthorizer};

/// A server at a URL.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it is; `http` or `https`, for a WebSocket `ws` or `wss`, too.
    pub url: Uri,
    /// Sent with every request. Values that must stay secret are marked so, and are never printed anyway.
    pub headers: HeaderMap,
    /// The longest message it may send.
    pub max_message: usize,
    /// How many requests may run at once; more wait.
    pub max_running: usize,
    /// How connections to it come about.
    pub route: ConnectOptions,
    /// Authorizes requests, where `headers` do not.
    pub authorizer: Option<Arc<dyn RequestAuthorizer>>,
}

/// A URL as people may see it: no credentials, no query.
pub(crate) fn shown(url: &Uri) -> Arc<str> {
    let (scheme, host) = (url.scheme_str().unwrap_or("http"), url.host().unwrap_or_default());
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}{}", url.path()).into()
}

/// The URL under which the same server is reached by HTTP.
pub(super) fn over_http(url: &Uri) -> Uri {
    let scheme = match url.scheme_str() {
        Some("ws") => Scheme::HTTP,
        Some("wss") => Scheme::HTTPS,
        _ => return url.clone(),
    };
    let mut parts = url.clone().into_parts();
    parts.scheme = Some(scheme);
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    Uri::from_parts(parts).unwrap_or_else(|_| url.clone())
}

/// Whether two URLs mean the same server.
pub(crate) fn same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |url: &Uri| {
        url.port_u16().or(match url.scheme_str() {
            Some("https") => Some(443),
            _ => Some(80),
        })
    };
    let host = |url: &Uri| url.host().map(str::to_ascii_lowercase);
    one.scheme() == other.scheme() && host(one) == host(other) && port(one) == port(other)
}

/// The URL that a reference means, seen from `base`.
pub(crate) fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    if location.contains("://") {
        return location.parse().ok();
    }
    if location.starts_with("//") {
        return format!("{scheme}:{location}").parse().ok();
    }
    if location.starts_with('?') {
        return format!("{scheme}://{authority}{}{location}", base.path()).parse().ok();
    }
    if location.starts_with('/') {
        return format!("{scheme}://{authority}{location}").parse().ok();
    }
    let folder = &base.path()[..=base.path().rfind('/')?];
    format!("{scheme}://{authority}{folder}{location}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn people_see_no_credentials_and_no_query() {
        let url = uri("https://user:secret@host:8443/mcp?key=secret");
        assert_eq!(&*shown(&url), "https://host:8443/mcp");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let base = uri("http://Host/mcp");
        for (other, same) in [
            ("http://host:80/x", true),
            ("http://host:81/mcp", false),
            ("https://host/mcp", false),
            ("http://host.evil/mcp", false),
        ] {
            assert_eq!(same_origin(&base, &uri(other)), same, "{other}");
        }
    }

    #[test]
    fn a_web_socket_begins_as_http() {
        for (url, meant) in [
            ("ws://host:1/mcp?q", "http://host:1/mcp?q"),
            ("wss://host", "https://host/"),
            ("https://host/a", "https://host/a"),
        ] {
            assert_eq!(over_http(&uri(url)), uri(meant), "{url}");
        }
    }

    #[test]
    fn a_location_may_be_relative() {
        let base = uri("http://host:1/a/b?q");
        for (location, meant) in [
            ("/mcp/", "http://host:1/mcp/"),
            ("c", "http://host:1/a/c"),
            ("?s=1", "http://host:1/a/b?s=1"),
            ("//other/x", "http://other/x"),
            ("https://other/x", "https://other/x"),
        ] {
            assert_eq!(resolve(&base, location), Some(uri(meant)), "{location}");
        }
    }
}
