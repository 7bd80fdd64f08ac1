//! Variables that decide what code runs.

/// Names after which a program loads or starts something else; a trailing `*` stands for any ending.
const POWERFUL: [&str; 43] = [
    "BASH_ENV",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOTNET_STARTUP_HOOKS",
    "DYLD_*",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_CONFIG*",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SSH*",
    "GIT_TEMPLATE_DIR",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_*",
    "PATH",
    "PERL5*",
    "PERLLIB",
    "PIP_*",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "UV_*",
    "XDG_CONFIG_*",
    "_JAVA_OPTIONS",
    "npm_config_*",
];

/// Whether the value of this variable can make a harmless command run something else. Such values
/// are approved with the rest of a launch.
pub(crate) fn decides_what_runs(name: &str) -> bool {
    POWERFUL.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *pattern,
    })
}
