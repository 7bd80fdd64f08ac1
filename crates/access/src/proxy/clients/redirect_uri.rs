//! Where clients may be answered.

use url::{Host, Url};

use super::MAX_REDIRECT_URI;

/// Who gets what is sent to a redirect URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum RedirectKind {
    /// A site.
    Web,
    /// A program that listens on the machine of the user.
    Loopback,
    /// A program that registered a scheme on the machine of the user.
    Scheme,
}

impl RedirectKind {
    /// What kind a URI is, or why it is refused. `schemes` are those that the owner of the hub allows.
    pub(in crate::proxy) fn of(uri: &str, schemes: &[String]) -> Result<Self, &'static str> {
        if uri.len() > MAX_REDIRECT_URI {
            return Err("is too long");
        }
        if uri
            .chars()
            .any(|character| character.is_control() || character.is_whitespace() || character == '\\')
        {
            return Err("has characters that no URI may have");
        }
        let url = Url::parse(uri).map_err(|_| "is not a valid URI")?;
        if url.fragment().is_some() {
            return Err("has a fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("has a user name or password");
        }
        match url.scheme() {
            "https" => Ok(Self::Web),
            "http" if is_loopback(&url) => Ok(Self::Loopback),
            "http" => Err("must use `https`"),
            scheme if schemes.iter().any(|allowed| allowed.eq_ignore_ascii_case(scheme)) => Ok(Self::Scheme),
            _ => Err(
                "must use `https`, or `http` on the user's machine; the owner of the hub can allow other schemes with \
                      `redirect_schemes`",
            ),
        }
    }
}

/// Whether a URI is the one that was registered.
pub(super) fn matches(registered: &str, given: &str) -> bool {
    registered == given
        || without_port(registered).is_some_and(|one| without_port(given).is_some_and(|other| one == other))
}

/// A loopback URI as it is but for its port.
fn without_port(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "http" && is_loopback(url))?;
    let authority = uri.strip_prefix("http://")?;
    let end = authority.find(['/', '?', '#']).unwrap_or(authority.len());
    let (authority, rest) = authority.split_at(end);
    let host = match url.port() {
        Some(port) => authority.strip_suffix(&format!(":{port}"))?,
        None => authority,
    };
    Some(format!("{host} {rest}"))
}

/// Whether a URL names the machine of the one who opens it.
pub(in crate::proxy) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_answered() {
        let schemes = ["cursor".to_owned()];
        for (uri, expected) in [
            ("https://app.example/cb", Some(RedirectKind::Web)),
            ("http://127.0.0.1/cb", Some(RedirectKind::Loopback)),
            ("http://localhost:33418/cb?x=1", Some(RedirectKind::Loopback)),
            ("http://[::1]:1/", Some(RedirectKind::Loopback)),
            ("cursor://anysphere.cursor-mcp/oauth/callback", Some(RedirectKind::Scheme)),
            ("http://app.example/cb", None),
            ("http://localhost.evil.example/cb", None),
            ("http://127.0.0.1.nip.io/cb", None),
            ("https://app.example/cb#x", None),
            ("https://good.example@evil.example/cb", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("https://app.example\\@evil.example", None),
            ("https://app.example/c\nb", None),
            ("/cb", None),
            ("", None),
        ] {
            assert_eq!(RedirectKind::of(uri, &schemes).ok(), expected, "{uri}");
        }
    }

    #[test]
    fn uris_are_compared_as_texts_but_for_the_port_of_a_local_program() {
        for (registered, given, expected) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb", "https://a.example/cb/", false),
            ("https://a.example/cb", "https://a.example/cb?x=1", false),
            ("https://a.example/cb", "https://A.example/cb", false),
            ("https://a.example/cb", "https://a.example:8443/cb", false),
            ("https://a.example/cb", "https://a.example/x/../cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://localhost:1/cb", "http://localhost:2/cb", true),
            ("http://[::1]/cb", "http://[::1]:9/cb", true),
            ("http://localhost:1/cb", "http://127.0.0.1:1/cb", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb/x", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/x/../cb", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2@evil.example/cb", false),
            ("http://127.0.0.1:1/cb", "http://evil.example:1/cb", false),
        ] {
            assert_eq!(matches(registered, given), expected, "{registered} {given}");
        }
    }
}
