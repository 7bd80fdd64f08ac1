//! Before a connection: its endpoint gets what is looked up for each start.

use tokio::time::{Instant, timeout};

use super::{CHECK_INTERVAL, DownState, NextStep, Supervisor, SupervisorCommand};
use crate::{Endpoint, Failure, Incomplete, endpoint::detect::ProtocolDetection};

impl Supervisor {
    /// Returns the endpoint for this start, or what to do instead. Commands take effect meanwhile; calls wait.
    pub(super) async fn completed_endpoint(&mut self) -> Result<Endpoint, NextStep> {
        let Some(completion) = &self.settings.completion else { return Ok(self.endpoint.clone()) };
        let limit = self.settings.timeouts.start;
        let completing = timeout(limit, completion.complete(self.endpoint.clone()));
        tokio::pin!(completing);
        loop {
            tokio::select! {
                biased; // a stop is not delayed by a lookup that is over in the same moment
                () = self.inputs.stop.cancelled() => return Err(NextStep::Stop),
                Some(command) = self.inputs.commands.recv() => match command {
                    SupervisorCommand::Stop(done) => {
                        self.inputs.pending_commands.push(done);
                        return Err(NextStep::Idle { wakes: false });
                    }
                    // It is being started.
                    SupervisorCommand::Start(done) | SupervisorCommand::Restart(done) => drop(done),
                    SupervisorCommand::Drain { until } => {
                        self.inputs.drain_until = Some(until);
                        if self.may_leave() {
                            return Err(NextStep::Stop);
                        }
                    }
                    SupervisorCommand::Refresh(_) => {} // a new connection lists everything
                },
                completed = &mut completing => return match completed {
                    Ok(Ok(endpoint)) => {
                        self.detection.retarget(ProtocolDetection::of(&endpoint));
                        Ok(endpoint)
                    }
                    Ok(Err(incomplete)) => Err(self.incomplete(incomplete)),
                    Err(_) => {
                        let reason = format!("its secrets were not available within {} s", limit.as_secs());
                        Err(self.incomplete(Incomplete { reason, may_change: true }))
                    }
                },
            }
        }
    }

    /// The server stays down. A value that may come to be there is looked for now and then, and with calls.
    fn incomplete(&mut self, why: Incomplete) -> NextStep {
        let may_change = why.may_change;
        let failure = self.record_failure(Failure::Incomplete(why));
        let since = Instant::now();
        let outlook = match may_change {
            true => DownState::CheckAgain { since, until: since + CHECK_INTERVAL },
            false => DownState::Hopeless,
        };
        NextStep::Wait { outlook, failure }
    }
}
