//! Clients of every revision in front of servers of every revision, with all that they can do.
//!
//! What is seen becomes the table `docs/MATRIX.md`. A feature that does not work where it should fails the test; a table
//! that is not what was seen fails it, too, and is written anew with `TOOLBAY_UPDATE=1`.

mod stage;
mod table;

use std::{path::Path, thread};

use anyhow::{Context, Result, ensure};
use toolbay_protocol::Revision;
use toolbay_testkit::{
    features::{FEATURES, Feature, Place, Seen},
    harness::Profile,
};

use stage::{Back, Front, Stage};

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
        let pairs = Back::ALL.into_iter().flat_map(|back| Revision::ALL.map(|server| (back, server)));
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

type Outcome = (Cell, Result<Seen>);

/// Tries all clients and features with a server of one revision.
fn see_server(server: Revision, back: Back) -> Result<Vec<Outcome>> {
    let stage = Stage::new(server, back).with_context(|| format!("a hub with a server of {server}"))?;
    let mut outcomes = Vec::new();
    for front in Front::ALL {
        for client in Revision::ALL {
            outcomes.extend(see_client(&stage, front, client));
        }
    }
    Ok(outcomes)
}

fn see_client(stage: &Stage, front: Front, client: Revision) -> Vec<Outcome> {
    let cell = |feature: &Feature| Cell {
        back: stage.back,
        front,
        client,
        server: stage.server,
        feature: feature.name,
    };
    let open = |profile: Profile| stage.open(front, profile);
    let tag = format!("{front:?}-{client}").to_lowercase();
    let mut kept = None;
    let mut see = |feature: &Feature| -> Result<Seen> {
        let mut client = match kept.take() {
            Some(client) => client,
            None => open(Profile::new(client, "Ada"))?,
        };
        let mut place =
            Place { client: &mut client, server: stage.server, prefix: "it__", tag: &tag, open: &open };
        let seen = (feature.see)(&mut place)?;
        kept = Some(client); // one that saw something wrong is not used again
        Ok(seen)
    };
    FEATURES.iter().map(|feature| (cell(feature), see(feature))).collect()
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
