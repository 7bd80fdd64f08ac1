//! Random crashes, edits, orders and calls, thousands of times over, each time in another order that a seed repeats.
//!
//! Whatever happens: every call ends exactly once, an answer is that of the tool which was called, nothing is left over, and
//! once the trouble is over all is as the last configuration says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};
use toolbay_config::{Permission, ServerConfig, Sharing, Start};
use toolbay_host::{CatalogKind, Host};

use crate::{
    test_host::{names, text_of},
    troupe::{Troupe, config},
};

const STEPS: usize = 60;
const SERVERS: usize = 5;
const TOOLS: [&str; 3] = ["t", "u", "crash"];

#[test]
fn every_call_ends_exactly_once() {
    play_all(0..250);
}

#[test]
#[ignore = "takes minutes"]
fn every_call_ends_exactly_once_thousands_of_times() {
    play_all(250..5000);
}

fn play_all(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let ended = std::panic::catch_unwind(|| runtime.block_on(play(Dice(seed))));
        assert!(ended.is_ok(), "it went wrong with seed {seed}");
    }
}

/// Numbers that look random and come again with the same seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn server(&mut self) -> String {
        format!("s{}", self.roll(SERVERS))
    }

    fn configuration(&mut self) -> Vec<ServerConfig> {
        let mut servers = Vec::new();
        for number in 0..SERVERS {
            if self.roll(4) == 0 {
                continue;
            }
            let mut server = config(&format!("s{number}"), &TOOLS[self.roll(2)..]);
            server.permission =
                [Permission::Enabled, Permission::Enabled, Permission::Disabled][self.roll(3)];
            server.tuning.start = [Start::Eager, Start::OnDemand][self.roll(2)];
            server.tuning.idle_stop = [None, Some(Duration::from_secs(5))][self.roll(2)];
            server.tuning.heartbeat = Some(Duration::from_secs([0, 3][self.roll(2)]));
            server.tuning.idle_timeout = Some(Duration::from_secs(20));
            server.tuning.instances =
                [Sharing::Shared, Sharing::PerSession, Sharing::Pool(2.try_into().unwrap())][self.roll(3)];
            servers.push(server);
        }
        servers
    }
}

async fn play(mut dice: Dice) {
    let troupe = Arc::new(Troupe::default());
    troupe.start_ms.store(dice.roll(3000) as u64, Ordering::Relaxed);
    let mut servers = dice.configuration();
    let host = Host::start(&servers, Vec::new(), &troupe.options());
    let mut calls = JoinSet::new();
    let (made, ended) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    for _ in 0..STEPS {
        sleep(Duration::from_millis(dice.roll(2000) as u64)).await;
        match dice.roll(12) {
            0 | 1 => {
                servers = dice.configuration();
                host.apply(&servers).await;
            }
            2 => troupe.is_broken.store(dice.roll(2) == 0, Ordering::Relaxed),
            3 => troupe.is_mute.store(dice.roll(4) == 0, Ordering::Relaxed),
            // Whether there is such a server now is up to chance.
            4 => drop(host.stop_server(&dice.server()).await),
            5 => drop(host.start_server(&dice.server()).await),
            6 => drop(host.restart_server(&dice.server()).await),
            _ => {
                for _ in 0..dice.roll(8) {
                    let (server, tool, ms) = (dice.server(), TOOLS[dice.roll(3)], dice.roll(8000) as u64);
                    let (host, ended) = (host.clone(), ended.clone());
                    made.fetch_add(1, Ordering::Relaxed);
                    calls.spawn(async move {
                        let answer = text_of(&host, &format!("{server}__{tool}"), ms).await;
                        ended.fetch_add(1, Ordering::Relaxed);
                        if let Ok(text) = answer {
                            let (what, whose) = text.split_once(" of life ").unwrap();
                            assert_eq!(what, tool);
                            assert!(whose.ends_with(&format!(" of {server}")), "{whose} is not of {server}");
                        }
                    });
                }
            }
        }
    }
    troupe.is_broken.store(false, Ordering::Relaxed);
    troupe.is_mute.store(false, Ordering::Relaxed);
    let all = async {
        while let Some(call) = calls.join_next().await {
            call.unwrap()
        }
    };
    tokio::time::timeout(Duration::from_secs(700), all).await.expect("every call ends");
    assert_eq!(made.into_inner(), ended.load(Ordering::Relaxed));
    settle(&host, &servers).await;
    host.stop(Duration::from_secs(60)).await;
    assert!(host.tasks().is_empty(), "something goes on after the end");
}

/// Once nothing is wrong any more, all is as the configuration says.
async fn settle(host: &Host, servers: &[ServerConfig]) {
    for server in servers {
        // It may have been stopped by an order, or given up; those who are off stay off.
        let _ = host.restart_server(server.name.as_str()).await;
    }
    sleep(Duration::from_secs(30)).await;
    let mut expected = Vec::new();
    for server in servers.iter().filter(|server| server.permission == Permission::Enabled) {
        let status = host.status(server.name.as_str()).unwrap();
        assert!(status.state.is_offered(), "{}: {}", server.name, status.state);
        assert_eq!((status.counts.in_flight, status.counts.waiting), (0, 0), "{}", server.name);
        let toolbay_config::ServerEndpoint::Command(command) = &server.endpoint else { unreachable!() };
        expected.extend(command.args.iter().map(|tool| format!("{}__{tool}", server.name)));
    }
    assert_eq!(names(&host.table(), CatalogKind::Tools), expected);
}
