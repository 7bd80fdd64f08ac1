//! Who may reach us: protection against pages in the user's browser.
//!
//! A page can make a browser send requests to 127.0.0.1, and with DNS rebinding even read the answers. What it cannot
//! do is lie about `Origin` and `Host`.

use http::{HeaderMap, Uri, header};

/// Decides by `Host` and `Origin` alone, before anything else of a request is read.
#[derive(Debug)]
pub(crate) struct Guard {
    names: Vec<String>,
}

impl Guard {
    /// Allows the loopback names, and `names` besides.
    pub(crate) fn new(names: Vec<String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let names = names.into_iter().map(|name| name.to_ascii_lowercase()).chain(loopback).collect();
        Self { names }
    }

    /// Why a request is refused, if it is.
    pub(crate) fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
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
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = origins.next()?;
        if origins.next().is_some() {
            return Some("more than one Origin header");
        }
        let ours = origin.to_str().ok().and_then(|origin| {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
            Some(self.knows(rest))
        });
        if ours == Some(true) { None } else { Some("the Origin header names another site") }
    }

    /// Whether `host` or `host:port` is one of our names.
    fn knows(&self, authority: &str) -> bool {
        let host = match authority.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((host, port)) if port.is_empty() || is_port(port) => host,
                _ => return false,
            },
            None => match authority.split_once(':') {
                Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
                Some(_) => return false,
                None => authority,
            },
        };
        self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}
