//! Records of calls in the audit log, where there is one.
//!
//! A record is written when a call has ended and before its client gets the response; of a call that may destroy something, another one
//! before it is sent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Instant, SystemTime},
};

use toolbay_audit::{AuditLog, AuditRecord, CallOutcome, RecordKind, Recorded};
use toolbay_host::RequestTarget;
use toolbay_protocol::{Request, redact};

use crate::{
    connected_clients::name_of,
    error,
    request::{call::FinalResponse, client::RequestClient},
};

/// Longer arguments are not recorded.
const MAX_ARGUMENTS: usize = 16 * 1024;

/// A call that is recorded. Dropping it before it has ended records that it was cancelled.
pub(crate) struct AuditedCall {
    log: Arc<AuditLog>,
    /// A number that its records share.
    call: u64,
    began: Instant,
    client: RequestClient,
    request: Arc<Request>,
    /// What it calls, by the name that the client uses.
    name: Option<String>,
    target: RequestTarget,
    is_recorded: bool,
}

impl AuditedCall {
    pub(crate) fn new(log: &Arc<AuditLog>, client: &RequestClient, request: &Arc<Request>) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        let call = &request.call;
        let name = call.string_param("name").or_else(|| call.string_param("uri"));
        Self {
            log: log.clone(),
            call: CALLS.fetch_add(1, Ordering::Relaxed),
            began: Instant::now(),
            name: name.map(|name| name.into_owned()),
            target: client.host.target_of(request),
            client: client.clone(),
            request: request.clone(),
            is_recorded: false,
        }
    }

    /// Whether it must not be sent before it is recorded: it may destroy something, or nothing could be recorded just now and
    /// calls that cannot be recorded are refused.
    pub(crate) fn is_recorded_first(&self) -> bool {
        self.target.may_destroy || self.log.refusal().is_some()
    }

    /// Records that it will be sent now. Returns the response if it must not be.
    pub(crate) async fn start(&mut self) -> Result<(), FinalResponse> {
        let written = self.write(RecordKind::Start, None, 0);
        match written.await {
            Recorded::Yes => Ok(()),
            Recorded::Blocked(why) => {
                self.is_recorded = true; // as far as that is possible
                Err(self.refused(&why))
            }
        }
    }

    /// Records how it ended. Returns what its client gets.
    pub(crate) async fn finish(mut self, response: FinalResponse) -> FinalResponse {
        self.is_recorded = true;
        match self.write(RecordKind::End, Some(response.outcome), response.text.len()).await {
            Recorded::Yes => response,
            Recorded::Blocked(why) => self.refused(&why),
        }
    }

    fn refused(&self, why: &str) -> FinalResponse {
        FinalResponse::error(Some(&self.request.id), &error::not_recorded(why))
    }

    fn write(
        &self,
        kind: RecordKind,
        outcome: Option<CallOutcome>,
        bytes_out: usize,
    ) -> impl Future<Output = Recorded> + Send + use<> {
        self.with_record(kind, outcome, bytes_out, |record| self.log.write(record))
    }

    fn with_record<T>(
        &self,
        kind: RecordKind,
        outcome: Option<CallOutcome>,
        bytes_out: usize,
        write: impl FnOnce(&AuditRecord<'_>) -> T,
    ) -> T {
        let (call, access) = (&self.request.call, &self.client.access);
        let client = name_of(self.client.identity.info());
        let arguments = self.log.settings().arguments.then(|| self.arguments()).flatten();
        write(&AuditRecord {
            kind,
            call: self.call,
            time: SystemTime::now(),
            principal: access.principal.as_str(),
            client: client.as_deref(),
            profile: access.rights.profile.as_deref(),
            method: call.method(),
            server: self.target.server.as_ref().map(|server| server.as_str()),
            target: self.name.as_deref(),
            own_name: self.target.own_name.as_deref(),
            rule: None,
            outcome,
            bytes_in: call.text.len(),
            bytes_out,
            micros: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            arguments: arguments.as_deref(),
        })
    }

    /// The arguments without secrets, on one line.
    fn arguments(&self) -> Option<String> {
        let call = &self.request.call;
        let text = call.raw(call.param("arguments")?);
        if text.len() > MAX_ARGUMENTS {
            return Some(format!("\"({} bytes)\"", text.len()));
        }
        let shown = redact::json(text);
        let known = self.client.host.hide_secrets(&shown).into_owned();
        Some(known.replace(['\n', '\r'], " "))
    }
}

impl Drop for AuditedCall {
    fn drop(&mut self) {
        if !self.is_recorded {
            self.with_record(RecordKind::End, Some(CallOutcome::Cancelled), 0, |record| {
                self.log.write_later(record)
            });
        }
    }
}
