//! Reloading: changes of configuration files are applied within a second.

use std::time::Duration;

use toolbay_config::{
    AuditSection, AuthSection, ConfigError, HubFile, WatchMethod, scope::Reading, watch_files,
};
use toolbay_gateway::Gateway;
use toolbay_host::{ApplyReport, ConfigProblem, Host};
use toolbay_policy::PolicySet;

use crate::{
    app::{context::Context, hub::policy_set},
    configured::files::Configuration,
    term::output::Output,
};

/// Files on a disk take milliseconds. Those on a network that is down may block for ever, which is reported.
const READ_DEADLINE: Duration = Duration::from_secs(5);

/// Applies every change of the files; never ends.
pub(crate) async fn follow(
    context: &Context,
    mut configuration: Configuration,
    host: &Host,
    gateway: Option<&Gateway>,
) {
    // Not the host's: it waits for its tasks before this is dropped.
    let mut watch = watch_files(&configuration.paths(), &context.tasks);
    if let WatchMethod::Polled { reason } = watch.method() {
        tracing::warn!("configuration files are polled every second: {reason}");
    }
    let mut settings: Option<(HubFile, AuthSection, AuditSection)> = None;
    let mut policy: Option<PolicySet> = None;
    loop {
        // Read after the watch has begun, so that no change is missed.
        let reading;
        (configuration, reading) = read(context, configuration, host).await;
        let complaints = complaints(&reading);
        let complained = std::mem::replace(&mut configuration.complained, complaints.clone());
        for complaint in complaints.iter().filter(|complaint| !complained.contains(*complaint)) {
            context.out.warn(&format!("{complaint}; the last valid version stays in effect"));
        }
        if !complaints.is_empty() {
            host.reject(&complaints);
        } else if !complained.is_empty() {
            context.out.note("the configuration is valid again");
            host.accept();
        }
        // Rules that cannot be used leave those in effect that are.
        let set = policy_set(&reading.profiles, &reading.policy);
        if let Some((gateway, set)) = gateway.zip(set).filter(|(_, set)| policy.as_ref() != Some(set)) {
            // The first time, the hub has just been started with them.
            if policy.is_some() {
                context.out.note("configuration: profiles and policy changed");
                gateway.set_policy(set.clone());
            }
            policy = Some(set);
        }
        // Limits of results are those of the servers, which get them at once.
        let now = (
            HubFile { max_result: None, ..reading.hub.clone() },
            reading.auth.clone(),
            reading.audit.clone(),
        );
        if settings.as_ref().is_some_and(|before| *before != now) {
            context.out.note(
                "configuration: changes of `[hub]`, `[auth]` and `[audit]` take effect when the hub is restarted",
            );
        }
        settings = Some(now);
        let servers = configuration.servers(reading);
        report(&context.out, &host.apply(&servers).await);
        // What was approved meanwhile.
        host.review_again();
        watch.changed().await;
    }
}

/// Reads the files off the thread that serves clients, however long that takes.
async fn read(context: &Context, configuration: Configuration, host: &Host) -> (Configuration, Reading) {
    let mut late = None;
    let (mut configuration, reading) = read_beside(
        READ_DEADLINE,
        move || {
            let mut configuration = configuration;
            let reading = configuration.read();
            (configuration, reading)
        },
        || {
            let complaint = ConfigProblem::general(format!(
                "reading the configuration takes longer than {} s; is one of its files on an unreachable network drive?",
                READ_DEADLINE.as_secs()
            ));
            context.out.warn(&complaint.message);
            host.reject(std::slice::from_ref(&complaint));
            late = Some(complaint);
        },
    )
    .await;
    configuration.complained.extend(late);
    (configuration, reading)
}

/// Does work that may block on a thread of its own, and warns once if it is late.
async fn read_beside<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
    say_late: impl FnOnce(),
) -> T {
    let mut work = tokio::task::spawn_blocking(work);
    let done = match tokio::time::timeout(deadline, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            say_late();
            work.await
        }
    };
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime ends, and this with it.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// The problems of files and entries.
pub(crate) fn complaints(reading: &Reading) -> Vec<ConfigProblem> {
    let errors = reading.errors.iter().map(|error: &ConfigError| ConfigProblem::general(error.to_string()));
    let problems = reading.problems.iter().map(|(path, problem)| ConfigProblem {
        server: problem.server.clone(),
        message: format!("{}:{problem}", path.display()),
    });
    let approvals = reading.approvals.clone().map(ConfigProblem::general);
    errors.chain(problems).chain(approvals).collect()
}

fn report(out: &Output, applied: &ApplyReport) {
    for (servers, what) in [
        (&applied.added, "added"),
        (&applied.removed, "removed"),
        (&applied.replaced, "changed, restarting"),
        (&applied.adjusted, "changed"),
    ] {
        for server in servers {
            out.note(&format!("configuration: {server} {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc,
        time::{Duration, Instant},
    };

    use super::read_beside;

    /// A file that blocks, as on a network that is down.
    #[tokio::test]
    async fn a_read_that_hangs_blocks_no_other_and_is_reported() {
        let (release, stuck) = mpsc::channel::<u8>();
        let mut late = false;
        let began = Instant::now();
        let reading = read_beside(
            Duration::from_millis(20),
            move || stuck.recv().unwrap(),
            || {
                late = true;
                // Other tasks of this thread go on.
                release.send(7).unwrap();
            },
        );
        assert_eq!(tokio::time::timeout(Duration::from_secs(30), reading).await, Ok(7));
        assert!(late && began.elapsed() >= Duration::from_millis(20));
    }
}
