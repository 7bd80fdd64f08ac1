//! Protected resource metadata (RFC 9728): which authorization servers a server trusts, and how it is named there.

use serde::Deserialize;
use url::Url;

use super::{origin, read};
use crate::{challenge::Challenge, error::OAuthError, http_client::Fetch};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[derive(Debug, Deserialize)]
pub(super) struct ProtectedResource {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) dpop_bound_access_tokens_required: bool,
}

/// Finds the metadata of a server: where the challenge says, else beside its path, else at the root.
pub(super) async fn find(
    fetch: &dyn Fetch,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, OAuthError> {
    for url in challenge.resource_metadata.iter().cloned().chain(well_known(server)) {
        if let Some(found) = read::<ProtectedResource>(fetch, &url).await? {
            return match includes(&found.resource, server) {
                true => Ok(Some(found)),
                false => Err(OAuthError::WrongResource {
                    url,
                    resource: found.resource,
                    server: canonical(server),
                }),
            };
        }
    }
    Ok(None)
}

fn well_known(server: &Url) -> Vec<String> {
    let (origin, path) = (origin(server), server.path().trim_end_matches('/'));
    let mut urls = vec![format!("{origin}{WELL_KNOWN}")];
    if !path.is_empty() {
        urls.insert(0, format!("{origin}{WELL_KNOWN}{path}"));
    }
    urls
}

/// Whether a server belongs to a resource: the same origin, and a path that is the resource's or below it.
fn includes(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (outer, inner) = (resource.path().trim_end_matches('/'), server.path());
    let is_below = inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.fragment().is_none() && resource.origin() == server.origin() && is_below
}

/// The name of a server that has no metadata: its URL without query and fragment, and without the slash of an empty path.
pub(super) fn canonical(server: &Url) -> String {
    format!("{}{}", origin(server), if server.path() == "/" { "" } else { server.path() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_includes_what_is_below_its_path() {
        let server = Url::parse("https://Host/a/mcp?key=1").unwrap();
        for (resource, expected) in [
            ("https://host", true),
            ("https://host/", true),
            ("https://host:443/a/", true),
            ("https://host/a/mcp", true),
            ("https://host/a/mcp/", true),
            ("https://host/a/m", false),
            ("https://host/a/mcp/x", false),
            ("http://host/a", false),
            ("https://host:444/a", false),
            ("https://host.evil/a", false),
            ("https://host/a#x", false),
            ("host", false),
        ] {
            assert_eq!(includes(resource, &server), expected, "{resource}");
        }
    }

    #[test]
    fn metadata_is_looked_for_beside_the_path_and_at_the_root() {
        let urls = |server| well_known(&Url::parse(server).unwrap());
        assert_eq!(
            urls("https://h:1/a/mcp/?q"),
            [
                "https://h:1/.well-known/oauth-protected-resource/a/mcp",
                "https://h:1/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(urls("https://h/"), ["https://h/.well-known/oauth-protected-resource"]);
    }
}
