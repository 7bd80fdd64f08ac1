//! Packages that are not pinned to a version: what runs tomorrow may differ from what runs today.
//!
//! Most people have many of them, so all together take one line unless more was asked for.

use toolbay_config::ServerConfig;

/// One line for each server with `-v`, else one for all of them.
pub(crate) fn warnings<'a>(
    servers: impl IntoIterator<Item = &'a ServerConfig>,
    is_verbose: bool,
) -> Vec<String> {
    let of = |server: &ServerConfig| Some(format!("server `{}`: {}", server.name, warning(server)?));
    gathered(servers.into_iter().filter_map(of).collect(), is_verbose)
}

/// As [`warnings`], of the lines that there are to say.
pub(crate) fn gathered(lines: Vec<String>, is_verbose: bool) -> Vec<String> {
    match lines.len() {
        0 | 1 => lines,
        _ if is_verbose => lines,
        count => vec![format!("{count} servers are not pinned to a version; -v lists them")],
    }
}

/// The warning about one server, if its package is not pinned.
pub(crate) fn warning(server: &ServerConfig) -> Option<String> {
    let package = server.floating_package()?;
    Some(format!("`{package}` is not pinned to a version, such as `{}`", pinned(server, package)))
}

/// How a version would be written.
fn pinned(server: &ServerConfig, package: &str) -> String {
    let toolbay_config::ServerEndpoint::Command(command) = &server.endpoint else {
        return package.to_owned();
    };
    let program = std::path::Path::new(&command.command).file_name().unwrap_or_default();
    let is_image = program == "docker" || program == "podman";
    let at = if is_image { ':' } else { '@' };
    let scope_ends = package.find('/').unwrap_or_default();
    let name_ends = package[scope_ends..].find(at).map_or(package.len(), |end| scope_ends + end);
    format!("{}{at}1.2.3", &package[..name_ends])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn servers(entries: &str) -> Vec<ServerConfig> {
        let text = format!(r#"{{"mcpServers": {{{entries}}}}}"#);
        toolbay_config::parse(&text, Path::new("mcp.json")).unwrap().servers
    }

    #[test]
    fn many_take_one_line_and_one_says_how_to_pin() {
        let all = servers(
            r#""a": {"command": "npx", "args": ["-y", "@a/b@latest"]}, "b": {"command": "docker", "args": ["run", "x/y"]},
               "c": {"command": "npx", "args": ["-y", "c@1.0.0"]}"#,
        );
        assert_eq!(warnings(&all, false), ["2 servers are not pinned to a version; -v lists them"]);
        assert_eq!(
            warnings(&all, true),
            [
                "server `a`: `@a/b@latest` is not pinned to a version, such as `@a/b@1.2.3`",
                "server `b`: `x/y` is not pinned to a version, such as `x/y:1.2.3`",
            ]
        );
        assert_eq!(warnings(&all[1..], false), warnings(&all[1..], true));
        assert!(warnings(&all[2..], true).is_empty());
    }
}
