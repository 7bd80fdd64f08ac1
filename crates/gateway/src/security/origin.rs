//! Where a page comes from, as browsers say it.

use std::str::FromStr;

use crate::security::origin_guard::host_and_port;

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
    Anybody,
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
            return Err(InvalidOrigin::Anybody);
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
        assert_eq!("null".parse::<Origin>(), Err(InvalidOrigin::Anybody));
        assert_eq!("*".parse::<Origin>(), Err(InvalidOrigin::Anybody));
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
