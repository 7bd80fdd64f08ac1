//! Every transport of clients with every transport of servers: all have the same features.

use std::thread;

use anyhow::{Context, Result, ensure};
use toolbay_protocol::Revision;
use toolbay_testkit::features::{FEATURES, VOLUME};

use crate::harness::{Back, Front, Stage};

/// The newest legacy and the newest modern revision.
const REVISIONS: [Revision; 2] = [Revision::LATEST_LEGACY, Revision::LATEST];

/// What a transport can get wrong; all else is tried with all revisions in `matrix.rs`.
const TRIED: [&str; 9] = [
    "tools",
    "errors",
    "progress",
    "cancel",
    "logging",
    "elicitation: form",
    "elicitation: several rounds",
    "subscriptions",
    "list changes",
];

#[test]
fn every_front_with_every_server() -> Result<()> {
    let red: Vec<String> = thread::scope(|scope| {
        let stages: Vec<_> = Back::ALL.map(|back| scope.spawn(move || see_back(back))).into();
        let seen = stages.into_iter().map(|stage| stage.join().expect("it returns its failures"));
        seen.collect::<Result<Vec<_>>>().map(|all| all.concat())
    })?;
    ensure!(red.is_empty(), "{} do not work:\n\n{}", red.len(), red.join("\n\n"));
    Ok(())
}

/// Tries all fronts with servers behind one transport; gives what does not work.
fn see_back(back: Back) -> Result<Vec<String>> {
    let mut red = Vec::new();
    // HTTP+SSE ended with 2024-11-05; no server offers a modern revision there.
    let servers = if back == Back::Sse { &REVISIONS[..1] } else { &REVISIONS[..] };
    let tried = || FEATURES.iter().filter(|feature| TRIED.contains(&feature.name));
    ensure!(tried().count() == TRIED.len(), "a feature has another name");
    for &server in servers {
        let stage = Stage::new(server, back).with_context(|| format!("{back:?}: a server of {server}"))?;
        for front in Front::ALL {
            for client in REVISIONS {
                let seen = stage.see(front, client, VOLUME.iter().chain(tried()));
                red.extend(seen.into_iter().filter_map(|(feature, seen)| {
                    let error = seen.err()?;
                    Some(format!("{front:?} {client} → {back:?} {server}: {feature}: {error:#}"))
                }));
            }
        }
    }
    Ok(red)
}
