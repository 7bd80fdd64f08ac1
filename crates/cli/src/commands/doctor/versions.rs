//! Packages that are not pinned to a version.

use toolbay_config::ServerConfig;

use super::finding::Finding;
use crate::{app::context::Context, configured::unpinned};

/// One finding per server for programs and with `-v`, else one for all.
pub(super) fn check(context: &Context, servers: &[&ServerConfig]) -> Vec<Finding> {
    let unpinned: Vec<(&str, String)> = servers
        .iter()
        .filter_map(|server| Some((server.name.as_str(), unpinned::warning(server)?)))
        .collect();
    if context.out.json || context.is_verbose() || unpinned.len() < 2 {
        let finding = |(name, message): (&str, String)| {
            Finding::odd("versions", message).fix("add the version to the package in `args`").about(name)
        };
        return unpinned.into_iter().map(finding).collect();
    }
    let all = unpinned::warnings(servers.iter().copied(), false);
    all.into_iter().map(|message| Finding::odd("versions", message)).collect()
}
