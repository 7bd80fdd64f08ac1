//! Where clients reach the hub.

use std::{fmt, str::FromStr};

use url::{Host, Url};

/// The paths at which clients speak MCP.
const ENDPOINTS: [&str; 3] = ["/mcp", "/sse", "/ws"];
/// What comes before the name of a profile.
const PROFILE: &str = "/p/";
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The URL under which clients reach the hub, without the path of an endpoint: `https://hub.example.com`, or with a path if a
/// proxy before the hub has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    /// Empty, or with a slash at its beginning and none at its end.
    prefix: String,
    authority: String,
    is_loopback: bool,
}

/// Why a text is no public URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPublicUrl {
    /// It is not a URL of a web server.
    #[error("it must be a URL such as https://hub.example.com")]
    Malformed,
    /// Tokens could be read on the way.
    #[error("it must begin with https://, except on this machine")]
    Insecure,
    /// It has more than a path.
    #[error("it must have no query, fragment, user name or password")]
    Superfluous,
}

impl PublicUrl {
    /// The URL itself, without a slash at its end.
    pub fn base(&self) -> String {
        format!("{}{}", self.origin, self.prefix)
    }

    /// The URLs of all endpoints, which are the names of the hub in tokens.
    pub fn endpoints(&self) -> Vec<String> {
        ENDPOINTS.iter().map(|path| self.endpoint(path)).collect()
    }

    /// The URL of the endpoint that a request to `path` belongs to.
    pub fn endpoint(&self, path: &str) -> String {
        format!("{}{}{}", self.origin, self.prefix, endpoint_of(path))
    }

    /// Where the metadata of the endpoint is that a request to `path` belongs to (RFC 9728).
    pub fn metadata_url(&self, path: &str) -> String {
        format!("{}{WELL_KNOWN}{}{}", self.origin, self.prefix, endpoint_of(path))
    }

    /// The endpoint whose metadata is at a path; at the root it is that of `/mcp`.
    pub fn endpoint_of_metadata(&self, path: &str) -> Option<String> {
        let endpoint = path.strip_prefix(WELL_KNOWN)?;
        let endpoint = endpoint.strip_prefix(&self.prefix).unwrap_or(endpoint);
        match endpoint {
            "" | "/" => Some(self.endpoint("/mcp")),
            _ => is_endpoint(endpoint).then(|| self.endpoint(endpoint)),
        }
    }

    /// The host, with the port if it is not the usual one.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }
}

/// Requests belong to the endpoint at their path, those of HTTP+SSE to that of the stream, and all others to `/mcp`.
fn endpoint_of(path: &str) -> &str {
    match path {
        "/messages" => "/sse",
        _ if is_endpoint(path) => path,
        _ => "/mcp",
    }
}

/// Whether clients speak MCP at a path: each profile has endpoints of its own. Whether there is a profile is not for everyone to know.
fn is_endpoint(path: &str) -> bool {
    ENDPOINTS.into_iter().any(|endpoint| {
        let Some(rest) = path.strip_prefix(endpoint) else { return false };
        let name = rest.strip_prefix(PROFILE);
        rest.is_empty() || name.is_some_and(is_profile_name)
    })
}

/// The profile that a URL of an endpoint names.
pub(crate) fn profile_of_endpoint(url: &str) -> Option<&str> {
    let (endpoint, name) = url.rsplit_once(PROFILE)?;
    let is_ours = ENDPOINTS.iter().any(|path| endpoint.ends_with(path)) && is_profile_name(name);
    is_ours.then_some(name)
}

/// Whether a text has only the characters that names of profiles have.
fn is_profile_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let url = Url::parse(text).map_err(|_| InvalidPublicUrl::Malformed)?;
        let is_loopback = match url.host().ok_or(InvalidPublicUrl::Malformed)? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.to_canonical().is_loopback(),
        };
        match url.scheme() {
            "https" => {}
            "http" if is_loopback => {}
            "http" => return Err(InvalidPublicUrl::Insecure),
            _ => return Err(InvalidPublicUrl::Malformed),
        }
        let has_more = url.query().is_some() || url.fragment().is_some();
        if has_more || !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidPublicUrl::Superfluous);
        }
        let path = url.path().trim_end_matches('/');
        // People paste the URL of the endpoint.
        let prefix = path.strip_suffix("/mcp").unwrap_or(path).to_owned();
        let origin = url.origin().ascii_serialization();
        let authority = origin.split_once("://").map_or("", |(_, authority)| authority).to_owned();
        Ok(Self { origin, prefix, authority, is_loopback })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_written_in_several_ways() {
        for (text, expected) in [
            ("https://Hub.example.com", "https://hub.example.com"),
            ("https://hub.example.com:443/", "https://hub.example.com"),
            ("https://hub.example.com/mcp", "https://hub.example.com"),
            ("https://hub.example.com:8443/tools/", "https://hub.example.com:8443/tools"),
            ("http://localhost:4100", "http://localhost:4100"),
            ("http://[::1]:4100", "http://[::1]:4100"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), expected);
        }
        for (text, why) in [
            ("hub.example.com", InvalidPublicUrl::Malformed),
            ("wss://hub.example.com", InvalidPublicUrl::Malformed),
            ("http://hub.example.com", InvalidPublicUrl::Insecure),
            ("http://0.0.0.0:4100", InvalidPublicUrl::Insecure),
            ("https://a:b@hub.example.com", InvalidPublicUrl::Superfluous),
            ("https://hub.example.com/?x", InvalidPublicUrl::Superfluous),
        ] {
            assert_eq!(text.parse::<PublicUrl>(), Err(why), "{text}");
        }
    }

    #[test]
    fn metadata_is_beside_each_endpoint_and_at_the_root() {
        let url: PublicUrl = "https://h/tools".parse().unwrap();
        assert_eq!(url.endpoints(), ["https://h/tools/mcp", "https://h/tools/sse", "https://h/tools/ws"]);
        assert_eq!(url.endpoint("/messages"), "https://h/tools/sse");
        assert_eq!(profile_of_endpoint("https://h/tools/mcp/p/work"), Some("work"));
        for other in ["https://h/mcp", "https://h/p/work", "https://h/mcp/p/a/b", "https://h/mcp/p/"] {
            assert_eq!(profile_of_endpoint(other), None, "{other}");
        }
        assert_eq!(url.endpoint("/mcp/p/work"), "https://h/tools/mcp/p/work");
        assert_eq!(
            url.metadata_url("/mcp/p/w"),
            "https://h/.well-known/oauth-protected-resource/tools/mcp/p/w"
        );
        assert_eq!(url.metadata_url("/"), "https://h/.well-known/oauth-protected-resource/tools/mcp");
        for (path, endpoint) in [
            ("/.well-known/oauth-protected-resource", Some("https://h/tools/mcp")),
            ("/.well-known/oauth-protected-resource/mcp", Some("https://h/tools/mcp")),
            ("/.well-known/oauth-protected-resource/tools/sse", Some("https://h/tools/sse")),
            ("/.well-known/oauth-protected-resource/ws", Some("https://h/tools/ws")),
            ("/.well-known/oauth-protected-resource/mcp/p/work", Some("https://h/tools/mcp/p/work")),
            ("/.well-known/oauth-protected-resource/tools/ws/p/a-b", Some("https://h/tools/ws/p/a-b")),
            ("/.well-known/oauth-protected-resource/mcp/p/", None),
            ("/.well-known/oauth-protected-resource/mcp/p/a/b", None),
            ("/.well-known/oauth-protected-resource/health", None),
            ("/.well-known/oauth-protected-resourcemcp", None),
            ("/.well-known/openid-configuration", None),
        ] {
            assert_eq!(url.endpoint_of_metadata(path).as_deref(), endpoint, "{path}");
        }
    }
}
