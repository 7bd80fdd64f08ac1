//! Which servers are reached through which proxy.

use std::{ffi::OsStr, fmt, net::IpAddr, sync::Arc};

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// The proxies that a machine's environment names. Loopback is never reached through one.
#[derive(Clone, Default)]
pub struct Proxies(Option<Arc<Matcher>>);

impl Proxies {
    /// Takes them from environment variables as curl does: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, each
    /// also in lower case.
    pub fn from_variables<'a>(get: impl Fn(&str) -> Option<&'a OsStr>) -> Self {
        let get = |name: &str| {
            let named = get(name).or_else(|| get(&name.to_ascii_lowercase()));
            named.and_then(OsStr::to_str).unwrap_or_default().to_owned()
        };
        let [http, https, all] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(get);
        if [&http, &https, &all].into_iter().all(String::is_empty) {
            return Self::default();
        }
        let matcher = Matcher::builder().http(http).https(https).all(all).no(get("NO_PROXY"));
        Self(Some(Arc::new(matcher.build())))
    }

    /// The proxy for a URL, if there is one.
    pub(super) fn of(&self, url: &Uri) -> Option<Intercept> {
        let matcher = self.0.as_ref()?;
        let host = url.host()?.trim_matches(['[', ']']);
        let is_loopback = host.parse::<IpAddr>().map_or_else(
            |_| {
                let host = host.trim_end_matches('.').to_ascii_lowercase();
                host == "localhost" || host.ends_with(".localhost")
            },
            |address| address.to_canonical().is_loopback(),
        );
        if is_loopback { None } else { matcher.intercept(url) }
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs of proxies may hold passwords.
        f.debug_tuple("Proxies").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &'static str)], url: &str) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let proxies = Proxies::from_variables(|name| find(name).map(|(_, value)| OsStr::new(*value)));
        proxies.of(&url.parse().unwrap()).map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn variables_count_in_either_case_and_by_scheme() {
        let both = [("https_proxy", "http://safe:1"), ("HTTP_PROXY", "plain:2")];
        assert_eq!(proxy(&both, "https://host/x").as_deref(), Some("http://safe:1/"));
        assert_eq!(proxy(&both, "http://host/x").as_deref(), Some("http://plain:2/"));
        let all = [("ALL_PROXY", "http://all:3"), ("no_proxy", "a.example, 10.0.0.0/8")];
        assert_eq!(proxy(&all, "http://host/x").as_deref(), Some("http://all:3/"));
        for beside in ["https://a.example/x", "https://b.a.example/x", "http://10.1.2.3/x"] {
            assert_eq!(proxy(&all, beside), None, "{beside}");
        }
        assert_eq!(proxy(&[], "http://host/x"), None);
    }

    #[test]
    fn loopback_is_never_reached_through_a_proxy() {
        let all = [("ALL_PROXY", "http://all:3")];
        for url in [
            "http://127.0.0.1:4100/mcp",
            "http://127.8.9.1/",
            "https://localhost/",
            "http://LOCALHOST.:1/",
            "http://x.localhost/",
            "http://[::1]:1/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert_eq!(proxy(&all, url), None, "{url}");
        }
        assert!(proxy(&all, "http://localhost.example/").is_some());
    }

    #[test]
    fn passwords_are_not_shown() {
        let proxies = Proxies::from_variables(|_| Some(OsStr::new("http://me:s3cret@proxy:1")));
        assert!(!format!("{proxies:?}").contains("s3cret"));
    }
}
