use super::*;

const FIXED_5: RestartMode = RestartMode::Fixed { delay: Duration::from_secs(5) };

/// Lets a server have its `runs`, each (seconds until ready, seconds in health), restarted when the policy says so.
/// Returns at which second it was started and when the policy gave up.
fn timeline(mode: RestartMode, jitter: f64, runs: &[(u64, u64)]) -> String {
    let mut policy = RestartPolicy::new(mode).with_jitter(move || jitter);
    let zero = Instant::now();
    let mut now = zero;
    let mut starts = Vec::new();
    for &(ready, health) in runs {
        starts.push(format!("{}", (now - zero).as_secs_f64()));
        now += Duration::from_secs(ready);
        if health > 0 {
            policy.on_healthy(now);
        }
        now += Duration::from_secs(health);
        match policy.on_exit(now) {
            RestartDecision::Retry { after } | RestartDecision::Restart { after } => now += after,
            RestartDecision::GiveUp => {
                starts.push("give up".into());
                break;
            }
        }
    }
    starts.join(" ")
}

#[test]
fn a_crash_loop_is_retried_ever_more_slowly_and_then_given_up() {
    let runs = [(0, 0); 9];
    assert_eq!(timeline(RestartMode::Backoff, 0.0, &runs), "0 0 1 3 8 give up");
}

#[test]
fn jitter_spreads_every_delay_by_a_fifth() {
    let runs = [(0, 0); 9];
    assert_eq!(timeline(RestartMode::Backoff, 1.0, &runs), "0 0 1.2 3.6 9.6 give up");
    assert_eq!(timeline(RestartMode::Backoff, -1.0, &runs), "0 0 0.8 2.4 6.4 give up");
}

#[test]
fn slow_failures_never_trip_the_breaker_but_reach_the_longest_delay() {
    let runs = [(30, 0); 8];
    assert_eq!(timeline(RestartMode::Backoff, 0.0, &runs), "0 30 61 93 128 168 228 288");
}

#[test]
fn a_minute_of_health_makes_the_next_failure_the_first() {
    let runs = [(0, 0), (0, 0), (0, 0), (0, 60), (0, 0), (0, 0)];
    assert_eq!(timeline(RestartMode::Backoff, 0.0, &runs), "0 0 1 3 63 64");
}

#[test]
fn less_than_a_minute_of_health_does_not() {
    let runs = [(0, 0), (0, 59), (0, 59), (0, 1)];
    assert_eq!(timeline(RestartMode::Backoff, 0.0, &runs), "0 0 60 121");
}

#[test]
fn a_fixed_delay_is_kept_and_the_breaker_still_holds() {
    let runs = [(1, 0); 9];
    assert_eq!(timeline(FIXED_5, 1.0, &runs), "0 6 12 18 24 give up");
    let runs = [(20, 0); 5];
    assert_eq!(timeline(FIXED_5, 0.0, &runs), "0 25 50 75 100");
}

#[test]
fn a_reset_forgets_everything() {
    let mut policy = RestartPolicy::default().with_jitter(|| 0.0);
    let now = Instant::now();
    for _ in 0..5 {
        policy.on_exit(now);
    }
    assert_eq!(policy.on_exit(now), RestartDecision::GiveUp);
    policy.reset();
    let at_once = RestartDecision::Restart { after: Duration::ZERO };
    assert_eq!(policy.on_exit(now), at_once);
    assert_eq!(policy.failures(), 1);
}

#[test]
fn chance_stays_within_its_bounds() {
    let spreads: Vec<f64> = (0..1000).map(|_| random_spread()).collect();
    assert!(spreads.iter().all(|spread| (-1.0..=1.0).contains(spread)));
    assert!(spreads.iter().any(|&spread| spread > 0.5) && spreads.iter().any(|&spread| spread < -0.5));
}

/// Starts a server that never becomes ready, as often as the policy wants.
fn starts(mode: RestartMode, is_time: bool) -> String {
    let mut policy = RestartPolicy::new(mode).with_jitter(|| 0.0);
    let zero = Instant::now();
    let (mut now, mut starts) = (zero, Vec::new());
    loop {
        starts.push(format!("{:.1}", (now - zero).as_secs_f64()));
        match policy.on_start_failed(now, is_time) {
            RestartDecision::Retry { after } | RestartDecision::Restart { after } => now += after,
            RestartDecision::GiveUp => {
                return format!("{}, {} attempts", starts.join(" "), policy.attempts());
            }
        }
    }
}

#[test]
fn a_start_has_five_quick_attempts_before_it_counts_as_failed() {
    assert_eq!(starts(RestartMode::Backoff, true), "0.0 0.1 0.3 0.7 1.5 2.5 3.5 5.5 10.5, 9 attempts");
    assert_eq!(starts(FIXED_5, true), "0.0 0.1 0.3 0.7 1.5 6.5 11.5 16.5 21.5, 9 attempts");
    assert_eq!(
        starts(RestartMode::Backoff, false),
        "0.0 1.0 2.0 4.0 9.0, 5 attempts",
        "they would take too long"
    );
}

#[test]
fn a_start_after_a_crash_has_one_attempt() {
    let mut policy = RestartPolicy::default().with_jitter(|| 0.0);
    let now = Instant::now();
    policy.on_healthy(now);
    assert_eq!(policy.on_exit(now), RestartDecision::Restart { after: Duration::ZERO });
    assert_eq!(policy.on_start_failed(now, true), RestartDecision::Restart { after: Duration::from_secs(1) });
}

#[test]
fn one_that_is_never_restarted_is_given_up_at_once() {
    assert_eq!(starts(RestartMode::Never, true), "0.0, 1 attempts");
    assert_eq!(timeline(RestartMode::Never, 0.0, &[(1, 100), (1, 1)]), "0 give up");
}
