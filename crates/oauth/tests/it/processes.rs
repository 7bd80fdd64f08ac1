use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, Method, StatusCode};
use tempfile::tempdir;
use tokio::process::{Child, Command};
use tokio_util::task::TaskTracker;
use toolbay_oauth::{AddressRule, ClientSettings, Grant, GuardedClient, NextStep};
use toolbay_transport::http::client::ConnectOptions;

use crate::world::{Client, Rules, World};

const PROCESSES: usize = 4;
/// Refused tokens of each process, unless `TOOLBAY_REFRESHES` says otherwise.
const ROUNDS: usize = 50;

/// The authorization server replaces every refresh token and revokes everything if one is used twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_processes_renew_one_token() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    #[expect(clippy::disallowed_methods, reason = "`cargo xtask verify refresh` makes it longer")]
    let rounds = env::var("TOOLBAY_REFRESHES").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let begin = Instant::now();
    let children: Vec<_> = (0..PROCESSES).map(|_| start(&world, directory.path(), rounds)).collect();
    let mut failures = String::new();
    for child in children {
        let output = child.wait_with_output().await.unwrap();
        if !output.status.success() {
            failures.push_str(&String::from_utf8_lossy(&output.stderr));
        }
    }
    // One that fails may be the reason why others do.
    assert!(failures.is_empty(), "{} tokens were used twice\n{failures}", world.state().reused);
    let refreshes = world.requests("/token").len() - 1;
    println!(
        "{PROCESSES} processes, {rounds} refused tokens each, {refreshes} renewals in {:?}",
        begin.elapsed()
    );
    assert_eq!((world.requests("/authorize").len(), world.state().reused), (1, 0));
    assert!((rounds..=PROCESSES * rounds).contains(&refreshes), "{refreshes}");
}

/// What a killed process did not store is lost, and then the user logs in again. But nothing is locked or damaged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_no_lock_and_no_damage() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    for round in 0..5 {
        let before = world.requests("/token").len();
        let mut child = start(&world, directory.path(), usize::MAX);
        while world.requests("/token").len() < before + 5 + round {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        child.kill().await.unwrap();
        world.state().tokens.clear();
        assert_eq!(world.client(directory.path()).call("").await.unwrap(), 200);
    }
    println!("5 killed processes, {} logins", world.requests("/authorize").len());
}

fn start(world: &World, directory: &Path, rounds: usize) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the test itself is the child, and ends with its handle")]
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["processes::one_of_the_processes", "--exact", "--ignored", "--nocapture"]);
    command.env("TOOLBAY_TEST_URL", world.url()).env("TOOLBAY_TEST_STORE", directory);
    command.env("TOOLBAY_TEST_ROUNDS", rounds.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}

#[tokio::test]
#[ignore = "started by the tests above"]
async fn one_of_the_processes() {
    #[expect(clippy::disallowed_methods, reason = "the parent says where everything is")]
    let get = |name: &str| env::var(name).unwrap();
    let tasks = TaskTracker::new();
    let fetch = Arc::new(GuardedClient::new(AddressRule::Loopback, &ConnectOptions::default(), &tasks));
    let (url, store) = (get("TOOLBAY_TEST_URL"), PathBuf::from(get("TOOLBAY_TEST_STORE")));
    let client = Client::new(&url, &store, Grant::Login, ClientSettings::default(), fetch, tasks);
    for _ in 0..get("TOOLBAY_TEST_ROUNDS").parse::<usize>().unwrap() {
        // Every process finds its token refused, whatever the others do.
        let sent = client.authorizer.headers(&Method::POST, &url).await.unwrap();
        let step =
            client.authorizer.refused(StatusCode::UNAUTHORIZED, &url, &sent, &HeaderMap::new(), 0).await;
        assert_eq!(step.unwrap(), NextStep::Retry);
        client.authorizer.accepted(&url, &HeaderMap::new());
    }
    assert_eq!(client.call("").await.unwrap(), 200);
}
