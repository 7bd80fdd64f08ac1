//! Variables that decide what code runs, whom programs trust, or where they connect.

/// Names after which a program loads, starts, trusts or reaches something else; a trailing `*` stands for any ending, a
/// leading one for any beginning. No such list is complete: an approval binds every variable, this is about what is
/// shown first and may not come from a file that nobody was shown.
const POWERFUL: [&str; 84] = [
    "*_PROXY",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BASH_ENV",
    "BROWSER",
    "BUNDLE_*",
    "BUN_*",
    "CARGO_*",
    "CLASSPATH",
    "CONTAINERS_*",
    "CONTAINER_HOST",
    "CORECLR_*",
    "COREPACK_*",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "DENO_*",
    "DOCKER_*",
    "DOTNET_*",
    "DYLD_*",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GEM_*",
    "GIT_ASKPASS",
    "GIT_CONFIG*",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SSH*",
    "GIT_SSL_*",
    "GIT_TEMPLATE_DIR",
    "GOBIN",
    "GOENV",
    "GOFLAGS",
    "GOINSECURE",
    "GONOSUMDB",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GOSUMDB",
    "GOTOOL*",
    "HOME",
    "IFS",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KUBECONFIG",
    "LD_*",
    "LESSCLOSE",
    "LESSOPEN",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "NPM_CONFIG_*",
    "OPENSSL_*",
    "PAGER",
    "PATH",
    "PERL5*",
    "PERLLIB",
    "PIPX_*",
    "PIP_*",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHON*",
    "REQUESTS_CA_BUNDLE",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC*",
    "RUSTUP_*",
    "SHELLOPTS",
    "SSH_ASKPASS*",
    "SSL_CERT_*",
    "TMPDIR",
    "UV_*",
    "VISUAL",
    "XDG_CONFIG_*",
    "XDG_DATA_*",
    "YARN_*",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "__PYVENV_LAUNCHER__",
];

/// Whether the value of this variable can make a harmless command run, trust or reach something else. Some programs read
/// such names in any case.
pub fn decides_what_runs(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    POWERFUL.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(ending), _) => name.ends_with(ending),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::decides_what_runs;

    #[test]
    fn names_are_known_in_any_case() {
        for name in
            ["PATH", "Npm_Config_registry", "https_proxy", "NODE_OPTIONS", "BUN_OPTIONS", "OPENSSL_CONF"]
        {
            assert!(decides_what_runs(name), "{name}");
        }
        for name in ["FOO", "API_TOKEN", "PATHS", "NODE_ENV", "GOOGLE_API_KEY", "MY_PATH"] {
            assert!(!decides_what_runs(name), "{name}");
        }
    }
}
