//! Clients of every revision in front of servers of every revision, with all that they can do.
//!
//! What is seen becomes the table `docs/compatibility.md`. A feature that does not work where it should fails the test; a table
//! that is not what was seen fails it, too, and is regenerated with `TOOLBAY_UPDATE=1`.

mod table;

use std::{path::Path, thread};

use anyhow::{Context, Result, ensure};
use toolbay_protocol::Revision;
use toolbay_testkit::features::{FEATURES, Support};

use crate::harness::{Back, Front, Stage};

/// Other transports are tried in `transports.rs`, with fewer revisions.
const FRONTS: [Front; 2] = [Front::Http, Front::Stdio];
const BACKS: [Back; 2] = [Back::Http, Back::Stdio];

/// One client, one server, one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    back: Back,
    front: Front,
    client: Revision,
    server: Revision,
    feature: &'static str,
}

#[test]
fn every_revision_in_front_of_every_other() -> Result<()> {
    let stages = thread::scope(|scope| {
        // Clients come one after the other: on a server's pipes nothing says whose question or log message one is.
        let pairs = BACKS.into_iter().flat_map(|back| Revision::ALL.map(|server| (back, server)));
        let stages: Vec<_> =
            pairs.map(|(back, server)| scope.spawn(move || see_server(server, back))).collect();
        let seen = stages.into_iter().map(|stage| stage.join().expect("it returns its failures"));
        seen.collect::<Vec<_>>()
    });
    let (mut seen, mut red) = (Vec::new(), Vec::new());
    for stage in stages {
        for (cell, outcome) in stage? {
            match outcome {
                Ok(it) => seen.push((cell, it)),
                Err(error) => red.push(format!("{cell:?}: {error:#}")),
            }
        }
    }
    ensure!(red.is_empty(), "{} cells do not work:\n\n{}", red.len(), red.join("\n\n"));
    table::check(&seen)
}

type Outcome = (Cell, Result<Support>);

/// Tries all clients and features with a server of one revision.
fn see_server(server: Revision, back: Back) -> Result<Vec<Outcome>> {
    let stage = Stage::new(server, back).with_context(|| format!("a hub with a server of {server}"))?;
    let mut outcomes = Vec::new();
    for front in FRONTS {
        for client in Revision::ALL {
            let cell = |feature| Cell { back, front, client, server, feature };
            let seen = stage.see(front, client, FEATURES);
            outcomes.extend(seen.into_iter().map(|(feature, seen)| (cell(feature), seen)));
        }
    }
    Ok(outcomes)
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
