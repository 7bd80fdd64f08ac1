//! What servers inherit of our environment.

use std::{collections::BTreeMap, ffi::OsString};

/// Names that servers may inherit; a trailing `*` stands for any ending, a leading one for any beginning.
const INHERITED: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_registry",
    "PIP_INDEX_URL",
    "UV_*",
];

/// The part of `variables` that servers inherit: enough to find programs, mirrors and proxies, none of our secrets.
pub fn inherited(variables: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    let passes = |name: &OsString| {
        name.to_str().is_some_and(|name| {
            INHERITED.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
                (Some(ending), _) => name.ends_with(ending),
                (_, Some(beginning)) => name.starts_with(beginning),
                (None, None) => name == *pattern,
            })
        })
    };
    variables.into_iter().filter(|(name, _)| passes(name)).collect()
}
