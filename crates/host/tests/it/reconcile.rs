//! The lives of servers as a host tells them, on a clock of their own.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use toolbay_config::{
    Permission, Restart, ServerConfig, ServerOptions, Sharing, Start, ToolFilter, ToolOptions, Validate,
};
use toolbay_host::{ApplyReport, CatalogKind, Host, HostEventKind, HostOptions, ServerError};

use crate::{
    test_host::{names, text_of},
    troupe::{Troupe, config},
};

/// A host over a troupe, with a diary of all that happens.
struct Stage {
    troupe: Arc<Troupe>,
    host: Host,
    events: toolbay_host::HostEvents,
    began: Instant,
}

impl Stage {
    fn set(servers: &[ServerConfig]) -> Self {
        Self::with(servers, |_| {})
    }

    fn with(servers: &[ServerConfig], prepare: impl FnOnce(&Troupe)) -> Self {
        let troupe = Arc::new(Troupe::default());
        prepare(&troupe);
        let options = troupe.options();
        let host = Host::start(&[], Vec::new(), &options);
        let events = host.events();
        let stage = Self { troupe, events, began: Instant::now(), host };
        futures_util::FutureExt::now_or_never(stage.host.apply(servers)).expect("nothing to wait for");
        stage
    }

    /// What happened within `seconds` from now, a line each.
    async fn diary(&mut self, seconds: u64) -> String {
        let mut lines = String::new();
        let end = Instant::now() + Duration::from_secs(seconds);
        while let Ok(Some(event)) = tokio::time::timeout_at(end, self.events.next()).await {
            let at = self.began.elapsed().as_millis();
            let what = match event.kind {
                HostEventKind::State { server, state } => format!("{server} {state}"),
                HostEventKind::Removed { server } => format!("{server} removed"),
                HostEventKind::Applied(_) => "applied".to_owned(),
                HostEventKind::Rejected { problems } => format!("rejected {}", problems[0]),
                other => format!("{other:?}"),
            };
            lines.push_str(&format!("{:>7.1} {}\n", at as f64 / 1000.0, what.replace("\n", " ")));
        }
        lines
    }

    async fn call(&self, tool: &str, ms: u64) -> Result<String, String> {
        text_of(&self.host, tool, ms).await
    }

    fn tools(&self) -> Vec<String> {
        names(&self.host.table(), CatalogKind::Tools)
    }
}

fn with(config: ServerConfig, change: impl FnOnce(&mut ServerOptions)) -> ServerConfig {
    let mut config = config;
    change(&mut config.tuning);
    config
}

#[tokio::test(start_paused = true)]
async fn a_server_comes_up_step_by_step_and_goes_down() {
    let mut stage =
        Stage::with(&[config("a", &["t"])], |troupe| troupe.start_ms.store(1500, Ordering::Relaxed));
    insta::assert_snapshot!(stage.diary(5).await, @r"
    0.0 a starting (while spawning, attempt 1)
    0.0 applied
    0.0 a starting (during the handshake, attempt 1)
    1.5 a starting (while listing its catalog, attempt 1)
    1.5 a ready
    ");
    stage.host.stop_server("a").await.unwrap();
    insta::assert_snapshot!(stage.diary(5).await, @r"
    5.0 a stopping
    5.0 a stopped
    ");
    assert!(stage.tools().is_empty());
    stage.host.start_server("a").await.unwrap();
    insta::assert_snapshot!(stage.diary(5).await, @r"
    10.0 a starting (while spawning, attempt 1)
    10.0 a starting (during the handshake, attempt 1)
    11.5 a starting (while listing its catalog, attempt 1)
    11.5 a ready
    ");
    assert_eq!(stage.tools(), ["a__t"]);
}

/// Whoever gave an order need not look twice.
#[tokio::test(start_paused = true)]
async fn an_order_took_effect_when_it_returns() {
    let stage = Stage::with(&[config("a", &["t"])], |troupe| troupe.start_ms.store(1500, Ordering::Relaxed));
    let (host, began) = (&stage.host, Instant::now());
    let word = || host.status("a").unwrap().state.word();
    assert!(host.wait_for("a").await.unwrap().is_up());
    host.stop_server("a").await.unwrap();
    assert_eq!((word(), stage.tools()), ("stopped", vec![]));
    host.start_server("a").await.unwrap();
    assert_eq!(word(), "starting");
    assert!(host.wait_for("a").await.unwrap().is_up());
    host.restart_server("a").await.unwrap();
    assert_eq!(word(), "starting");
    assert!(host.wait_for("a").await.unwrap().is_up());
    assert_eq!((stage.troupe.lives("a"), host.status("a").unwrap().starts), (3, 3), "it is the new one");
    host.disable_server("a").await.unwrap();
    assert_eq!((word(), stage.tools()), ("disabled", vec![]));
    host.enable_server("a").await.unwrap();
    assert_eq!(word(), "starting", "an order never waits for the start itself");
    assert!(host.wait_for("a").await.unwrap().is_up());
    let off = ServerConfig { permission: Permission::Disabled, ..config("a", &["t"]) };
    host.apply(&[off]).await;
    assert_eq!(word(), "disabled");
    assert_eq!(began.elapsed().as_secs(), 6, "four starts, and nothing else took time");
}

/// What a client has for itself ends with its server, too.
#[tokio::test(start_paused = true)]
async fn an_order_is_for_all_processes_of_a_server() {
    let own = with(config("a", &["t"]), |tuning| tuning.instances = Sharing::PerSession);
    let stage = Stage::set(&[own]);
    stage.host.wait_for("a").await.unwrap();
    stage.call("a__t", 0).await.unwrap();
    stage.call("a__t", 0).await.unwrap();
    assert_eq!(stage.troupe.lives("a"), 2);
    stage.host.restart_server("a").await.unwrap();
    stage.host.wait_for("a").await.unwrap();
    let answered = [stage.call("a__t", 0).await.unwrap(), stage.call("a__t", 0).await.unwrap()];
    assert_eq!(answered, ["t of life 3 of a", "t of life 4 of a"]);
}

/// Acceptance check 7.
#[tokio::test(start_paused = true)]
async fn a_late_server_delays_no_other_and_joins_when_it_is_ready() {
    let mut stage = Stage::set(&[config("quick", &["t"])]);
    stage.diary(1).await;
    stage.troupe.start_ms.store(45_000, Ordering::Relaxed);
    let late = with(config("late", &["t"]), |tuning| tuning.startup_timeout = Some(Duration::from_secs(120)));
    let mut changes = stage.host.changes();
    stage.host.apply(&[config("quick", &["t"]), late]).await;
    assert!(stage.call("quick__t", 0).await.is_ok());
    assert_eq!(stage.tools(), ["quick__t"]);
    let asked = Instant::now();
    assert!(matches!(changes.recv().await, Ok(toolbay_host::HostChange::List(CatalogKind::Tools))));
    assert_eq!(asked.elapsed().as_secs(), 45);
    assert_eq!(stage.tools(), ["quick__t", "late__t"]);
    assert!(stage.diary(1).await.contains("46.0 late ready"));
}

#[tokio::test(start_paused = true)]
async fn a_crashing_server_is_restarted_until_it_is_given_up() {
    let steady =
        with(config("a", &["t", "crash"]), |tuning| tuning.restart_delay = Some(Duration::from_secs(5)));
    let mut stage = Stage::set(&[steady]);
    stage.diary(100).await;
    stage.troupe.is_broken.store(true, Ordering::Relaxed);
    stage.call("a__crash", 0).await.unwrap_err();
    insta::assert_snapshot!(stage.diary(60).await, @r"
    100.0 a failed, next attempt in 5 s: it closed the connection while serving
    105.0 a starting (while spawning, attempt 2)
    105.0 a starting (during the handshake, attempt 2)
    105.0 a starting (while spawning, attempt 2)
    105.0 a starting (during the handshake, attempt 2)
    105.0 a failed, next attempt in 5 s: it closed the connection during the handshake
    110.0 a starting (while spawning, attempt 3)
    110.0 a starting (during the handshake, attempt 3)
    110.0 a failed, next attempt in 5 s: it closed the connection during the handshake
    115.0 a starting (while spawning, attempt 4)
    115.0 a starting (during the handshake, attempt 4)
    115.0 a failed, next attempt in 5 s: it closed the connection during the handshake
    120.0 a starting (while spawning, attempt 5)
    120.0 a starting (during the handshake, attempt 5)
    120.0 a failed: it closed the connection during the handshake
    ");
    stage.troupe.is_broken.store(false, Ordering::Relaxed);
    stage.host.restart_server("a").await.unwrap();
    insta::assert_snapshot!(stage.diary(60).await, @r"
    160.0 a starting (while spawning, attempt 1)
    160.0 a starting (during the handshake, attempt 1)
    160.0 a starting (while listing its catalog, attempt 1)
    160.0 a ready
    ");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_restarted_stays_down_until_it_is_started() {
    let once = with(config("a", &["t", "crash"]), |tuning| {
        tuning.restart = Restart::Never;
        tuning.restart_delay = Some(Duration::from_secs(5));
    });
    let mut stage = Stage::set(&[once]);
    stage.diary(100).await;
    stage.call("a__crash", 0).await.unwrap_err();
    insta::assert_snapshot!(stage.diary(600).await, @"100.0 a failed: it closed the connection while serving");
    stage.host.restart_server("a").await.unwrap();
    assert!(stage.diary(60).await.ends_with("a ready\n"));
}

#[tokio::test(start_paused = true)]
async fn a_server_is_switched_off_and_on() {
    let off = ServerConfig { permission: Permission::Disabled, ..config("off", &["t"]) };
    let new = ServerConfig { permission: Permission::Pending, ..config("new", &["t"]) };
    let mut stage = Stage::set(&[off, new]);
    insta::assert_snapshot!(stage.diary(5).await, @r"
    0.0 off disabled
    0.0 new needs approval
    0.0 applied
    ");
    assert_eq!(stage.troupe.lives("off") + stage.troupe.lives("new"), 0, "they are inert");
    assert!(matches!(stage.host.start_server("off").await, Err(ServerError::Disabled(_))));
    assert!(matches!(stage.host.restart_server("new").await, Err(ServerError::Pending(_))));
    assert!(matches!(stage.host.start_server("nobody").await, Err(ServerError::Unknown(_))));
    let refused = stage.call("off__t", 0).await.unwrap_err();
    assert!(refused.contains("`off` is disabled\nhint: enable it with `toolbay enable off`"), "{refused}");
    let refused = stage.call("new__t", 0).await.unwrap_err();
    assert!(refused.contains("`new` needs approval"), "{refused}");
    stage.host.enable_server("off").await.unwrap();
    stage.diary(5).await;
    assert_eq!(stage.tools(), ["off__t"]);
    stage.host.disable_server("off").await.unwrap();
    insta::assert_snapshot!(stage.diary(5).await, @r"
    10.0 off stopping
    10.0 off disabled
    ");
    assert!(stage.tools().is_empty());
}

/// What was seen on another day is listed before the server is up, and a call for it waits.
#[tokio::test(start_paused = true)]
async fn catalogs_are_cached() {
    let folder = tempfile::tempdir().unwrap();
    let troupe = Arc::new(Troupe::default());
    let options = HostOptions { cache: Some(folder.path().join("cache")), ..troupe.options() };
    let servers = [config("a", &["t"]), config("b", &["u"])];
    let first = Host::start(&servers, Vec::new(), &options);
    first.settled().await;
    first.stop(Duration::from_secs(10)).await;
    troupe.start_ms.store(20_000, Ordering::Relaxed);
    let edited = [config("a", &["t"]), config("b", &["v"])];
    let second = Host::start(&edited, Vec::new(), &options);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(names(&second.table(), CatalogKind::Tools), ["a__t"], "`b` is launched otherwise now");
    let asked = Instant::now();
    assert_eq!(text_of(&second, "a__t", 0).await.unwrap(), "t of life 2 of a");
    assert_eq!(asked.elapsed().as_secs(), 19);
    second.settled().await;
    assert_eq!(names(&second.table(), CatalogKind::Tools), ["a__t", "b__v"]);
    second.stop(Duration::from_secs(10)).await;
    // A file that somebody broke is none.
    for file in std::fs::read_dir(folder.path().join("cache")).unwrap() {
        std::fs::write(file.unwrap().path(), "{").unwrap();
    }
    let third = Host::start(&edited, Vec::new(), &options);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(names(&third.table(), CatalogKind::Tools), [""; 0]);
}

/// What was kept is listed without another look at it, so nothing unfit may be kept.
#[tokio::test(start_paused = true)]
async fn invalid_items_are_not_cached() {
    let folder = tempfile::tempdir().unwrap();
    let troupe = Arc::new(Troupe::default());
    let options = HostOptions { cache: Some(folder.path().to_owned()), ..troupe.options() };
    let unfit = "x".repeat(200);
    let servers = [config("a", &["t", &unfit])];
    let first = Host::start(&servers, Vec::new(), &options);
    first.settled().await;
    assert_eq!(first.table().quarantined.len(), 1);
    first.stop(Duration::from_secs(10)).await;
    troupe.start_ms.store(20_000, Ordering::Relaxed);
    let second = Host::start(&servers, Vec::new(), &options);
    assert_eq!(names(&second.table(), CatalogKind::Tools), ["a__t"], "before anything else happens");
    assert!(second.table().quarantined.is_empty());
    second.settled().await;
    assert_eq!(names(&second.table(), CatalogKind::Tools), ["a__t"]);
    assert_eq!(second.table().quarantined.len(), 1, "the server still has it");
    second.stop(Duration::from_secs(10)).await;
}

/// Acceptance checks 10 and 11: what runs finishes on the old process, the new one serves from then on, and nobody else
/// notices.
#[tokio::test(start_paused = true)]
async fn an_edit_restarts_what_it_changes_and_fails_no_call() {
    let servers: Vec<ServerConfig> = (0..50).map(|n| config(&format!("s{n}"), &["t"])).collect();
    let mut stage = Stage::set(&servers);
    stage.diary(5).await;
    assert_eq!(stage.tools().len(), 50);
    let mut edited = servers.clone();
    edited[7] = config("s7", &["t", "u"]);
    let (old, other) = (stage.call("s7__t", 3000), stage.call("s8__t", 3000));
    let edit = async {
        sleep(Duration::from_secs(1)).await;
        let applied = stage.host.apply(&edited).await;
        let replaced = ApplyReport { replaced: vec![edited[7].name.clone()], ..ApplyReport::default() };
        assert_eq!(applied, replaced);
        sleep(Duration::from_millis(100)).await;
        assert_eq!(stage.call("s7__u", 0).await.unwrap(), "u of life 2 of s7");
    };
    let (old, other, ()) = tokio::join!(old, other, edit);
    assert_eq!(old.unwrap(), "t of life 1 of s7");
    assert_eq!(other.unwrap(), "t of life 1 of s8");
    assert!((0..50).all(|n| stage.troupe.lives(&format!("s{n}")) == if n == 7 { 2 } else { 1 }));
    let told = stage.diary(20).await;
    assert!(told.lines().all(|line| line.contains(" s7 ") || line.contains("applied")), "{told}");
    assert!(!told.contains("stopp"), "the one that was replaced is nobody's business: {told}");
    assert_eq!(stage.host.apply(&edited).await, ApplyReport::default(), "nothing changed");
}

#[tokio::test(start_paused = true)]
async fn changes_of_the_presentation_restart_no_server() {
    let plain = config("a", &["read", "write", "slow"]);
    let mut stage = Stage::set(std::slice::from_ref(&plain));
    stage.diary(5).await;
    let filtered = with(plain.clone(), |tuning| {
        tuning.tools = ToolFilter { allow: None, deny: vec!["wr*".to_owned()] };
        tuning.validate = Validate::Off;
        let soon = ToolOptions { idle_timeout: Some(Duration::from_secs(1)), ..ToolOptions::default() };
        tuning.tool.insert("slow".to_owned(), soon);
    });
    let applied = stage.host.apply(&[filtered]).await;
    assert_eq!(applied.adjusted.len(), 1, "{applied:?}");
    stage.diary(1).await;
    assert_eq!(stage.tools(), ["a__read", "a__slow"]);
    assert_eq!(stage.troupe.lives("a"), 1);
    assert!(stage.call("a__read", 5000).await.is_ok());
    let late = stage.call("a__slow", 5000).await.unwrap_err();
    assert!(late.contains("no response or progress for 1 s"), "{late}");
    stage.host.apply(&[]).await;
    stage.diary(20).await;
    assert!(stage.tools().is_empty() && stage.host.statuses().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_used_rarely_sleeps_and_wakes() {
    let rare = with(config("a", &["t"]), |tuning| {
        tuning.start = Start::OnDemand;
        tuning.idle_stop = Some(Duration::from_secs(60));
        tuning.idle_timeout = Some(Duration::from_secs(50));
    });
    let mut stage = Stage::set(&[rare]);
    insta::assert_snapshot!(stage.diary(100).await, @r"
     0.0 a starting (while spawning, attempt 1)
     0.0 applied
     0.0 a starting (during the handshake, attempt 1)
     0.0 a starting (while listing its catalog, attempt 1)
     0.0 a ready
    60.0 a stopping
    60.0 a asleep
    ");
    assert_eq!(stage.tools(), ["a__t"], "it is offered while it sleeps");
    assert_eq!(stage.call("a__t", 0).await.unwrap(), "t of life 2 of a");
    assert!(stage.call("a__t", 200_000).await.unwrap_err().contains("timed out"));
    insta::assert_snapshot!(stage.diary(100).await, @r"
    150.0 a starting (while spawning, attempt 1)
    150.0 a starting (during the handshake, attempt 1)
    150.0 a starting (while listing its catalog, attempt 1)
    150.0 a ready
    220.0 a stopping
    220.0 a asleep
    ");
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_without_a_call_is_found_out() {
    let watched = with(config("a", &["t"]), |tuning| tuning.heartbeat = Some(Duration::from_secs(30)));
    let mut stage = Stage::set(&[watched]);
    stage.diary(100).await;
    assert!(stage.troupe.pings.load(Ordering::Relaxed) > 0);
    stage.troupe.is_mute.store(true, Ordering::Relaxed);
    stage.diary(100).await;
    let log = stage.host.server("a").unwrap().log().tail(100);
    assert!(log.iter().any(|line| line.text.contains("keep-alive ping within 30 s")), "{log:?}");
    stage.troupe.is_mute.store(false, Ordering::Relaxed);
    stage.diary(100).await;
    assert!(stage.host.status("a").unwrap().state.is_up());
}

#[tokio::test(start_paused = true)]
async fn one_that_never_answers_a_heartbeat_is_left_alone() {
    let watched = with(config("a", &["t"]), |tuning| tuning.heartbeat = Some(Duration::from_secs(30)));
    let mut stage = Stage::set(&[watched]);
    stage.diary(1).await;
    stage.troupe.is_mute.store(true, Ordering::Relaxed);
    assert_eq!(stage.diary(1000).await, "");
}

#[tokio::test(start_paused = true)]
async fn clients_have_processes_as_the_configuration_says() {
    let sharing = |name: &str, sharing| with(config(name, &["t"]), |tuning| tuning.instances = sharing);
    let mut stage = Stage::set(&[
        sharing("shared", Sharing::Shared),
        sharing("own", Sharing::PerSession),
        sharing("pool", Sharing::Pool(3.try_into().unwrap())),
    ]);
    stage.diary(5).await;
    for (server, processes) in [("shared", 1), ("own", 5), ("pool", 3)] {
        let tool = format!("{server}__t");
        // Each call is of a client of its own.
        let calls = (0..5).map(|_| stage.call(&tool, 1000));
        let answers = futures_util::future::join_all(calls).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(stage.troupe.lives(server), processes, "{server}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_misses_events_and_blocks_no_sender() {
    let mut stage = Stage::set(&[config("a", &["t"])]);
    for _ in 0..500 {
        stage.host.stop_server("a").await.unwrap();
        stage.host.start_server("a").await.unwrap();
        stage.host.wait_for("a").await.unwrap();
    }
    let first = stage.events.next().await.unwrap();
    let HostEventKind::Missed { count } = first.kind else { panic!("{first:?}") };
    assert_eq!(first.revision, count);
    let mut last = first.revision;
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(1), stage.events.next()).await {
        assert_eq!(event.revision, last + 1, "there are no gaps");
        last = event.revision;
    }
    assert_eq!(last, stage.host.revision());
}
