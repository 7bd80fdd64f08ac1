//! Every feature, with client and server of the same revision and nothing in between.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use toolbay_protocol::Revision;
use toolbay_testkit::{
    features::{FEATURES, FeatureContext, Support},
    harness::{Pipe, Profile, RevisionClient, WebServer},
};

const TEST_SERVER: &str = env!("CARGO_BIN_EXE_toolbay-test-server");
const PATIENCE: Duration = Duration::from_secs(10);

/// Tries all features; gives those that lack, and fails with all that should have worked.
fn lacking(
    revision: Revision,
    open: &dyn Fn(Profile) -> Result<RevisionClient>,
) -> Result<Vec<(&'static str, Support)>> {
    let mut client = open(Profile::new(revision, "Ada"))?;
    let mut lacking = Vec::new();
    for feature in FEATURES {
        let mut place =
            FeatureContext { client: &mut client, server: revision, prefix: "", tag: "here", open };
        let seen = (feature.check)(&mut place).with_context(|| format!("{revision}: {}", feature.name))?;
        if seen != Support::Works {
            lacking.push((feature.name, seen));
        }
    }
    Ok(lacking)
}

/// Which features a revision lacks when both sides speak it.
fn expected(revision: Revision) -> Vec<(&'static str, Support)> {
    let lack = |name: &'static str| {
        let (is_there, seen) = match name {
            "elicitation: URL" | "elicitation: URL first" => {
                (revision >= Revision::V2025_11_25, Support::ServerLacksIt)
            }
            "retry without a server request" => (revision.is_modern(), Support::ServerLacksIt),
            "cancel while a server request is open" => (!revision.is_modern(), Support::ServerLacksIt),
            "server requests answered with an error" => (!revision.is_modern(), Support::ClientLacksIt),
            name if name.starts_with("elicitation") || name.starts_with("server requests") => {
                (revision >= Revision::V2025_06_18, Support::ServerLacksIt)
            }
            _ => (true, Support::Works),
        };
        (!is_there).then_some((name, seen))
    };
    FEATURES.iter().filter_map(|feature| lack(feature.name)).collect()
}

#[test]
fn each_revision_on_stdio() -> Result<()> {
    for revision in Revision::ALL {
        let open = |profile: Profile| {
            let pipe = Pipe::run(Path::new(TEST_SERVER), &["--revision", revision.as_str()])?;
            profile.timeout(PATIENCE).over(pipe)
        };
        assert_eq!(lacking(revision, &open)?, expected(revision), "{revision}");
    }
    Ok(())
}

#[test]
fn each_revision_over_http() -> Result<()> {
    for revision in Revision::ALL {
        let server = WebServer::run(Path::new(TEST_SERVER), &["--revision", revision.as_str()], "--http")?;
        let open = |profile: Profile| profile.timeout(PATIENCE).over_http(server.address()?);
        assert_eq!(lacking(revision, &open)?, expected(revision), "{revision}");
    }
    Ok(())
}

#[test]
fn a_server_of_one_revision_speaks_no_other() -> Result<()> {
    for server in Revision::ALL {
        for client in Revision::ALL.into_iter().filter(|client| *client != server) {
            let pipe = Pipe::run(Path::new(TEST_SERVER), &["--revision", server.as_str()])?;
            let error = Profile::new(client, "Ada").timeout(PATIENCE).over(pipe).err();
            let error = format!("{:#}", error.with_context(|| format!("{client} at {server}"))?);
            let (is_client_modern, is_server_modern) = (client.is_modern(), server.is_modern());
            let expected = match (is_client_modern, is_server_modern) {
                (false, false) => format!("it wants to speak \"{server}\""),
                (true, false) => "-32601".to_owned(),
                (_, true) => "-32022".to_owned(),
            };
            ensure!(error.contains(&expected), "{client} at {server}: {error}");
        }
    }
    Ok(())
}
