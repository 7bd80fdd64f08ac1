//! Where a page comes from, as browsers say it.

use std::{net::SocketAddr, str::FromStr};

use http::{HeaderMap, HeaderValue, Uri, header};

/// The origin of pages: `SCHEME://HOST[:PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

/// Why a text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrigin {
    /// Every page that hides where it comes from is `null`, and `*` is every page.
    #[error("`*` and `null` would allow any page; name each origin")]
    Unrestricted,
    /// It is not of the form.
    #[error(
        "an origin is SCHEME://HOST[:PORT], such as https://app.example.com or http://localhost:5173, without a path"
    )]
    Malformed,
}

impl Origin {
    /// The host and port of a page that came over HTTP or HTTPS.
    pub(crate) fn web_address(&self) -> Option<(&str, u16)> {
        let usual = usual_port(&self.scheme)?;
        Some((&self.host, self.port.unwrap_or(usual)))
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        if matches!(text, "*" | "null") {
            return Err(InvalidOrigin::Unrestricted);
        }
        let (scheme, authority) = text.split_once("://").ok_or(InvalidOrigin::Malformed)?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let (host, port) = host_and_port(authority).ok_or(InvalidOrigin::Malformed)?;
        let is_host = match authority.strip_prefix('[') {
            Some(_) => host.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                !host.is_empty()
                    && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
            }
        };
        if !is_scheme || !is_host || authority.ends_with(':') {
            return Err(InvalidOrigin::Malformed);
        }
        let scheme = scheme.to_ascii_lowercase();
        // Browsers leave it out.
        let port = port.filter(|port| usual_port(&scheme) != Some(*port));
        Ok(Self { host: host.to_ascii_lowercase(), port, scheme })
    }
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Decides by `Host` and `Origin` alone, before anything else of a request is read: protection against pages in the user's
/// browser.
///
/// A page can make a browser send requests to 127.0.0.1, and with DNS rebinding even read the responses. What it cannot
/// do is lie about `Origin` and `Host`. Pages on other ports of this machine are no better than others: a preview of a
/// cloned repository, a notebook, or a server of another user.
#[derive(Debug)]
pub(crate) struct OriginGuard {
    /// The names under which clients may reach us, whatever the port: in front of us may be a proxy.
    names: Vec<String>,
    /// The hosts and ports of pages that we may have sent ourselves.
    own: Vec<(String, u16)>,
    allowed: Vec<Origin>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OriginVerdict<'a> {
    /// It comes from no page, or from one of ours.
    Own,
    /// It comes from a page of a site that was allowed, with this `Origin`.
    Allowed(&'a HeaderValue),
    /// It is refused, for this reason.
    Refused(&'static str),
}

impl OriginGuard {
    /// Allows the loopback names with the port of the listener, `public_names` (`NAME` or `NAME:PORT`), and pages of the
    /// allowed origins.
    pub(crate) fn new(listener: SocketAddr, public_names: &[String], allowed: Vec<Origin>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let at_listener = loopback.into_iter().chain([listener.ip().to_string()]);
        let mut own: Vec<(String, u16)> = at_listener.map(|name| (name, listener.port())).collect();
        for name in public_names {
            match host_and_port(name) {
                Some((host, Some(port))) => own.push((host.to_owned(), port)),
                Some((host, None)) => {
                    own.extend([listener.port(), 80, 443].map(|port| (host.to_owned(), port)));
                }
                // Kept as it is; no host can have that name.
                None => own.push((name.clone(), listener.port())),
            }
        }
        let mut names: Vec<String> = own.iter().map(|(name, _)| name.clone()).collect();
        names.dedup();
        Self { names, own, allowed }
    }

    /// Whether a request is served.
    pub(crate) fn judge<'a>(&self, uri: &Uri, headers: &'a HeaderMap) -> OriginVerdict<'a> {
        if let Some(reason) = self.foreign_host(uri, headers) {
            return OriginVerdict::Refused(reason);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return OriginVerdict::Own };
        if origins.next().is_some() {
            return OriginVerdict::Refused("more than one Origin header");
        }
        match origin.to_str().ok().and_then(|origin| origin.parse().ok()) {
            Some(page) if self.is_own(&page) => OriginVerdict::Own,
            Some(page) if self.allowed.contains(&page) => OriginVerdict::Allowed(origin),
            _ => OriginVerdict::Refused(
                "the Origin header names another site; start the hub with --allow-origin ORIGIN to allow it",
            ),
        }
    }

    /// Whether `Host` names us, whatever page the request comes from.
    pub(crate) fn is_for_us(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.foreign_host(uri, headers).is_none()
    }

    fn foreign_host(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Some("more than one Host header");
        }
        let authority = uri.authority().map(http::uri::Authority::as_str);
        let named = host.and_then(|host| host.to_str().ok());
        if host.is_some() && named.is_none() {
            return Some("the Host header is not readable");
        }
        // HTTP/2 says :authority, HTTP/1 says Host; whichever is there must be ours.
        if named.is_none() && authority.is_none() {
            return Some("there is no Host header");
        }
        if [named, authority].into_iter().flatten().any(|name| !self.knows(name)) {
            return Some("the Host header names another host");
        }
        None
    }

    /// Whether `host` or `host:port` is one of our names.
    fn knows(&self, authority: &str) -> bool {
        host_and_port(authority)
            .is_some_and(|(host, _)| self.names.iter().any(|name| name.eq_ignore_ascii_case(host)))
    }

    fn is_own(&self, page: &Origin) -> bool {
        let Some((host, port)) = page.web_address() else { return false };
        self.own.iter().any(|(name, own)| *own == port && name.eq_ignore_ascii_case(host))
    }
}

/// The parts of `host`, `host:port`, `[v6]` or `[v6]:port`; the brackets are left out. A port may be empty, as in a URL.
pub(crate) fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']')? {
            (host, "") => (host, None),
            (host, port) => (host, Some(port.strip_prefix(':')?)),
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    match port {
        None | Some("") => Some((host, None)),
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(port.parse().ok()?)))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_send_is_an_origin_and_nothing_else_is() {
        for (text, same) in [
            ("https://App.Example.com", "https://app.example.com:443"),
            ("HTTP://localhost:80", "http://localhost"),
            ("http://[::1]:5173", "http://[::1]:5173"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap(), same.parse().unwrap(), "{text}");
        }
        assert_ne!("http://a".parse::<Origin>(), "https://a".parse());
        assert_ne!("http://a:81".parse::<Origin>(), "http://a".parse());
        assert_eq!("null".parse::<Origin>(), Err(InvalidOrigin::Unrestricted));
        assert_eq!("*".parse::<Origin>(), Err(InvalidOrigin::Unrestricted));
        for text in [
            "",
            "localhost",
            "localhost:5173",
            "http://",
            "http://a/",
            "http://a/b",
            "http://a?b",
            "http://a#b",
            "http://u@a",
            "http://a:",
            "http://a:x",
            "http://a:65536",
            "http://[::1",
            "http://[x]",
            "http://a b",
            "http://a http://b",
            "1http://a",
            "http://*.example.com",
            "http://ä",
        ] {
            assert_eq!(text.parse::<Origin>(), Err(InvalidOrigin::Malformed), "{text}");
        }
    }
}
