//! Crashes, restarts, the end.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use toolbay_upstream::{
    CallError, Endpoint, RestartMode, RevisionPolicy, ServerSettings, StopGrace, Timeouts, UpstreamState,
};

use crate::harness::{Harness, call, hanging, scripted};

/// A server that takes a second to start and whose lives then last so many seconds; after the last one it stays.
fn mortal(lives: &'static [u64]) -> Endpoint {
    scripted(move |life, mut script| async move {
        let end = lives.get(life).copied();
        sleep(Duration::from_secs(1)).await;
        let serve = async {
            loop {
                let asked = script.until("tools/call").await;
                script.answer(&asked, json!({"life": life})).await;
            }
        };
        match end {
            Some(0) => {} // it does not even shake hands
            Some(seconds) => {
                let _ = timeout(Duration::from_secs(seconds), serve).await;
            }
            None => serve.await,
        }
    })
}

fn legacy(settings: &mut ServerSettings) {
    settings.revision = RevisionPolicy::Legacy;
}

/// One line per change of state, with the second in which it happened, up to `until`.
async fn states(source: Endpoint, until: u64, change: impl FnOnce(&mut ServerSettings)) -> String {
    let start = Instant::now();
    let harness = Harness::new(source, |settings| {
        legacy(settings);
        change(settings);
    });
    let mut status = harness.server.status();
    let mut log = String::new();
    let mut last = String::new();
    let watch = async {
        loop {
            let line = match &status.borrow_and_update().state {
                UpstreamState::Starting { attempt, .. } => format!("Starting, attempt {attempt}"),
                UpstreamState::Backoff { until, .. } => {
                    format!("Backoff {}", about(until.saturating_duration_since(Instant::now())))
                }
                UpstreamState::Failed { failure } => format!("Failed: {failure}"),
                other => format!("{other:?}"),
            };
            if line != last {
                log.push_str(&format!("{:>3}s {line}\n", start.elapsed().as_secs()));
                last = line;
            }
            if status.changed().await.is_err() {
                return;
            }
        }
    };
    let _ = timeout(Duration::from_secs(until), watch).await;
    log
}

/// A delay without its spread of a fifth either way.
fn about(delay: Duration) -> String {
    let whole = [0.0, 1.0, 2.0, 5.0, 10.0, 30.0];
    let seconds = delay.as_secs_f64();
    let fits = whole.into_iter().find(|whole| (seconds - whole).abs() <= whole * 0.2 + 0.002);
    fits.map_or_else(|| format!("{seconds}s"), |whole| format!("about {whole}s"))
}

#[tokio::test(start_paused = true)]
async fn a_crashing_server_is_restarted_at_once_then_after_a_while_then_not_at_all() {
    let fixed = |settings: &mut ServerSettings| {
        settings.restart = RestartMode::Fixed { delay: Duration::from_secs(5) }
    };
    insta::assert_snapshot!(states(mortal(&[3, 3, 3]), 60, fixed).await, @r"
     0s Starting, attempt 1
     1s Running
     4s Backoff about 5s
     9s Starting, attempt 2
    10s Running
    13s Backoff about 5s
    18s Starting, attempt 3
    19s Running
    22s Backoff about 5s
    27s Starting, attempt 4
    28s Running
    ");
    insta::assert_snapshot!(states(mortal(&[0; 20]), 60, fixed).await, @r"
     0s Starting, attempt 1
     1s Starting, attempt 2
     2s Starting, attempt 3
     3s Starting, attempt 4
     4s Starting, attempt 5
     6s Backoff about 5s
    11s Starting, attempt 6
    12s Backoff about 5s
    17s Starting, attempt 7
    18s Backoff about 5s
    23s Starting, attempt 8
    24s Backoff about 5s
    29s Starting, attempt 9
    30s Failed: it closed the connection during the handshake
    ");
}

/// The spread of the delays is random, so the seconds are left out.
#[tokio::test(start_paused = true)]
async fn delays_grow() {
    let log = states(mortal(&[1, 1, 1, 1]), 60, |_| {}).await;
    let without_times: Vec<&str> = log.lines().map(|line| &line[5..]).collect();
    insta::assert_snapshot!(without_times.join("\n"), @r"
    Starting, attempt 1
    Running
    Starting, attempt 2
    Running
    Backoff about 1s
    Starting, attempt 3
    Running
    Backoff about 2s
    Starting, attempt 4
    Running
    Backoff about 5s
    Starting, attempt 5
    Running
    ");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_well_for_a_minute_starts_with_a_clean_record() {
    let log = states(mortal(&[1, 100, 100]), 300, |_| {}).await;
    let without_times: Vec<&str> = log.lines().map(|line| &line[5..]).collect();
    insta::assert_snapshot!(without_times.join("\n"), @r"
    Starting, attempt 1
    Running
    Starting, attempt 2
    Running
    Starting, attempt 2
    Running
    Starting, attempt 2
    Running
    ");
}

#[tokio::test(start_paused = true)]
async fn a_call_made_in_backoff_gets_its_response_after_the_restart() {
    let harness = Harness::new(mortal(&[1, 1]), legacy);
    harness.until(|status| matches!(status.state, UpstreamState::Backoff { .. })).await;
    let answer = harness.call("t").await.unwrap();
    assert_eq!(answer["result"]["life"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_backoff_waits_no_longer_than_its_deadline() {
    let harness = Harness::new(mortal(&[1]), |settings| {
        legacy(settings);
        settings.restart = RestartMode::Fixed { delay: Duration::from_secs(50) };
        settings.timeouts = Timeouts { idle: Duration::from_secs(3), ..Timeouts::default() };
    });
    harness.until(|status| matches!(status.state, UpstreamState::Backoff { .. })).await;
    let started = Instant::now();
    let error = harness.call("t").await.unwrap_err();
    assert!(matches!(error, CallError::NotReady { .. }), "{error}");
    assert_eq!(started.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_in_backoff_is_never_sent() {
    for _ in 0..20 {
        let harness = Harness::new(mortal(&[1, 1]), legacy);
        harness.until(|status| matches!(status.state, UpstreamState::Backoff { .. })).await;
        drop(harness.server.call(call("t")));
        harness.call("t").await.unwrap();
        assert_eq!(harness.server.counts().calls, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_server_fails_calls_at_once_until_it_is_started_again() {
    let harness = Harness::new(mortal(&[0; 9]), legacy);
    let early = harness.server.call(call("t"));
    let status = harness.until(|status| matches!(status.state, UpstreamState::Failed { .. })).await;
    assert_eq!(status.starts, 9);
    let error = early.await.unwrap_err();
    assert!(matches!(error, CallError::Down { .. }), "a call that waited learns it too: {error}");
    let started = Instant::now();
    let error = harness.call("t").await.unwrap_err();
    assert!(matches!(error, CallError::Down { .. }), "{error}");
    assert!(error.hint().unwrap().contains("toolbay restart s"));
    assert_eq!(started.elapsed(), Duration::ZERO);
    harness.server.restart().await;
    let answer = harness.call("t").await.unwrap();
    assert_eq!(answer["result"]["life"], 9);
}

#[tokio::test(start_paused = true)]
async fn a_restart_clears_the_record_and_fails_running_calls() {
    let harness = Harness::new(mortal(&[]), legacy);
    assert_eq!(harness.call("t").await.unwrap()["result"]["life"], 0);
    harness.server.restart().await;
    harness.until(|status| status.starts == 2 && matches!(status.state, UpstreamState::Running)).await;
    assert_eq!(harness.call("t").await.unwrap()["result"]["life"], 1);

    let harness = Harness::ready(&hanging()).await;
    let running = harness.server.call(call("hang"));
    crate::harness::eventually("it runs", || harness.server.counts().in_flight == 1).await;
    harness.server.restart().await;
    let error = running.await.unwrap_err();
    assert!(matches!(error, CallError::Died { .. }), "{error}");
    harness.call("quick").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_server_offers_stays_known_while_it_restarts() {
    let harness = Harness::new(mortal(&[1, 1]), legacy);
    let status = harness.until(|status| matches!(status.state, UpstreamState::Backoff { .. })).await;
    assert_eq!(status.catalog.list(toolbay_upstream::CatalogKind::Tools).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_the_supervisor_and_all_waiting_calls() {
    let harness = Harness::ready(&hanging()).await;
    let running = harness.server.call(call("hang"));
    let other = harness.server.clone();
    drop(harness.server);
    sleep(Duration::from_secs(1)).await;
    assert!(matches!(other.status().borrow().state, UpstreamState::Running), "a handle is left");
    let mut status = other.status();
    drop(other);
    assert!(matches!(running.await, Err(CallError::Died { .. })));
    let _ = status.wait_for(|status| matches!(status.state, UpstreamState::Stopped { .. })).await;
    harness.tasks.close();
    timeout(Duration::from_secs(10), harness.tasks.wait()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn stop_ends_a_server_in_every_state() {
    for lives in [&[][..], &[1, 1], &[0; 9]] {
        let harness = Harness::new(mortal(lives), legacy);
        harness.until(|status| !matches!(status.state, UpstreamState::Starting { .. })).await;
        sleep(Duration::from_secs(2)).await;
        harness.server.stop();
        harness.until(|status| matches!(status.state, UpstreamState::Stopped { .. })).await;
        assert!(matches!(harness.call("t").await, Err(CallError::Stopped { .. })));
    }
}

/// The attempts within the start timeout are one start; a server that hangs has only one of them.
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_reported_after_its_first_attempt() {
    let mute = || {
        scripted(|_, mut script| async move {
            loop {
                script.next().await;
            }
        })
    };
    let fixed = |settings: &mut ServerSettings| {
        settings.restart = RestartMode::Fixed { delay: Duration::from_secs(5) }
    };
    insta::assert_snapshot!(states(mute(), 33, fixed).await, @r"
     0s Starting, attempt 1
    30s Backoff about 5s
    ");
    let never = |settings: &mut ServerSettings| settings.restart = RestartMode::Never;
    insta::assert_snapshot!(states(mortal(&[3]), 60, never).await, @r"
     0s Starting, attempt 1
     1s Running
     4s Failed: it closed the connection while serving
    ");
}

fn process(command: &str, args: &[&str]) -> Endpoint {
    let launch = toolbay_upstream::Launch {
        name: "s".to_owned(),
        command: command.into(),
        args: args.iter().map(Into::into).collect(),
        env: Default::default(),
        cwd: None,
        stderr: toolbay_upstream::StderrPolicy::Capture,
    };
    Endpoint::Process(Box::new(toolbay_upstream::ProcessEndpoint {
        launch,
        shim: toolbay_upstream::Shim::none(),
        grace: StopGrace::default(),
        max_message: 1024,
    }))
}

/// The stderr of an earlier process is not repeated, and a crash is logged in one line.
#[tokio::test]
async fn the_stderr_tail_is_that_of_the_last_process() {
    let script = "echo starting >&2; echo 'Traceback (most recent call last):' >&2; echo 'ValueError: boom' >&2; exit 1";
    let harness = Harness::new(process("/bin/sh", &["-c", script]), legacy);
    let status = harness.until(|status| matches!(status.state, UpstreamState::Backoff { .. })).await;
    assert_eq!(status.starts, 5);
    let failure = status.state.failure().unwrap();
    assert_eq!(failure.to_string().matches("ValueError: boom").count(), 1, "{failure}");
    assert_eq!(failure.summary(), "it exited during the handshake (exit code 1): ValueError: boom");
    let log = harness.server.log().since(0);
    let told: Vec<_> = log.iter().filter(|line| line.text.contains("it exited")).collect();
    assert!(told.len() == 5 && told.iter().all(|line| !line.text.contains('\n')), "{told:?}");
}

/// A command that cannot start fails at once, and is not tried again and again.
#[tokio::test]
async fn a_command_that_does_not_exist_is_hopeless() {
    let harness = Harness::new(process("/no/such/command", &[]), |_| {});
    let status = harness.until(|status| matches!(status.state, UpstreamState::Failed { .. })).await;
    assert_eq!(status.starts, 1);
}
