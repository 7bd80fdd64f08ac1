//! A connection that was opened.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolbay_host::{HostRequest, Routed};
use toolbay_upstream::{Call, Failure, ServerHandle, UpstreamState, start};

use super::{ClientInner, notifications::forward};
use crate::{Error, call::CallTarget};

/// How many notifications may wait for being passed on.
const UPDATES: usize = 256;
/// How long a server may take to end: stdin closed, SIGTERM, SIGKILL, and some more.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct OpenClient {
    pub(super) handle: ServerHandle,
    tasks: TaskTracker,
}

impl OpenClient {
    /// `roots` is what the server is told about its folders whenever it asks, as JSON text of an array.
    pub(super) fn start(shared: &ClientInner, roots: Option<String>) -> Result<Self, Error> {
        let (mut settings, source) = shared.setup.ready(&shared.name)?;
        settings.roots = roots.or(settings.roots);
        let tasks = TaskTracker::new();
        let (updates, updated) = mpsc::channel(UPDATES);
        let handle = start(settings, source, updates, &tasks);
        tasks.spawn(forward(updated, handle.status(), shared.notifications.clone()));
        Ok(Self { handle, tasks })
    }

    /// Waits until the server is up, or known not to be; then why, unless it was stopped.
    pub(super) async fn settled(&self) -> Result<(), Option<Arc<Failure>>> {
        let mut status = self.handle.status();
        let settled = status.wait_for(|status| !matches!(status.state, UpstreamState::Starting { .. })).await;
        match settled.as_deref().map(|status| &status.state) {
            Ok(UpstreamState::Running) => Ok(()),
            Ok(state) => Err(state.failure().cloned()),
            Err(_) => Err(None),
        }
    }

    pub(super) async fn stop(&self) {
        self.handle.stop();
        self.tasks.close();
        if tokio::time::timeout(STOP_PATIENCE, self.tasks.wait()).await.is_err() {
            tracing::warn!(server = %self.handle.name(), "it did not end in time");
        }
    }
}

impl CallTarget for OpenClient {
    fn send(&self, asked: HostRequest) -> Routed {
        let HostRequest { request, caller, events, resumes: _ } = asked;
        let only_as_task = request.call.param("task").is_some();
        Routed::Sent(self.handle.call(Call {
            request,
            revision: caller.revision,
            renamed: Default::default(),
            client: caller.identity,
            caller: caller.id,
            events,
            may_be_asked: caller.may_be_asked,
            logs: caller.logs,
            only_as_task,
            awaits_tasks: caller.awaits_tasks,
            timeouts: None,
        }))
    }

    fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }
}
