//! One request, on whatever transport it came.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, timeout_at};
use toolbay_audit::CallOutcome;
use toolbay_code::CodeRunner;
use toolbay_host::Host;
use toolbay_protocol::{Request, method};

use crate::{
    audit::AuditedCall,
    error,
    gateway::Gateway,
    hub_tools::{HubToolCall, run_code},
    request::{
        call::{ClientCall, FinalResponse},
        client::RequestClient,
        stored_result::read_stored,
        subscription::Subscription,
    },
    security::principal_usage::Limited,
};

/// How a request is being answered.
pub(crate) enum Served {
    /// At once.
    Known(FinalResponse),
    /// By a server.
    Running(ClientCall),
    /// With changes, until the client or the hub ends it.
    Listening(Box<Subscription>),
    /// After servers that are starting are ready, or have failed.
    Later(Box<DeferredRequest>),
    /// After it was recorded that it will be sent.
    Recorded(Box<RecordedRequest>),
    /// With this, after some waiting.
    Soon(Pin<Box<dyn Future<Output = FinalResponse> + Send>>),
}

/// A request that waits for servers to come up.
pub(crate) struct DeferredRequest {
    arrival: Pin<Box<dyn Future<Output = ()> + Send>>,
    client: RequestClient,
    request: Arc<Request>,
}

/// A request that is recorded before it is sent.
pub(crate) struct RecordedRequest {
    audited: AuditedCall,
    client: RequestClient,
    call: AcceptedCall,
}

/// A request that goes to a server, or runs code that calls some.
struct AcceptedCall {
    request: Arc<Request>,
    code: Option<Arc<CodeRunner>>,
}

impl DeferredRequest {
    /// Waits, then starts to respond with the servers that are up by then.
    pub(crate) async fn serve(self, gateway: &Arc<Gateway>) -> Served {
        self.arrival.await;
        gateway.serve_now(&self.client, self.request)
    }
}

impl RecordedRequest {
    /// Records it, then starts to respond.
    pub(crate) async fn serve(self, gateway: &Arc<Gateway>) -> Served {
        let Self { mut audited, client, call } = self;
        match audited.start().await {
            Ok(()) => gateway.call_audited(audited, &client, call),
            Err(refused) => Served::Known(refused),
        }
    }
}

impl Gateway {
    /// Starts to respond to a request of a client whose revision is known.
    pub(crate) fn serve(self: &Arc<Self>, client: &RequestClient, request: Arc<Request>) -> Served {
        let within = self.hub_tools.is_on().then(|| self.request_within(client, &request)).flatten();
        let arrival = match client.host.arrival(within.as_ref().unwrap_or(&request)) {
            Some(arrival) => Some(Box::pin(arrival) as Pin<Box<dyn Future<Output = ()> + Send>>),
            None => self.first_list.awaited(&client.host, &request),
        };
        match arrival {
            Some(arrival) => {
                Served::Later(Box::new(DeferredRequest { arrival, client: client.clone(), request }))
            }
            None => self.serve_now(client, request),
        }
    }

    /// As [`Gateway::serve`], where nothing need be waited for any more.
    pub(crate) fn serve_now(self: &Arc<Self>, client: &RequestClient, request: Arc<Request>) -> Served {
        let (request, code) = match self.hub_tool_call(client, &request) {
            None => (request, None),
            Some(HubToolCall::Forwarded(request)) => (request, None),
            Some(HubToolCall::Code(runner)) => (request, Some(runner)),
            Some(HubToolCall::Answered(response)) => return Served::Known(response),
            Some(HubToolCall::Soon(response)) => return Served::Soon(response),
        };
        let has_listen = client.revision.features().has_listen();
        if has_listen && request.call.method() == method::LISTEN {
            return match Subscription::open(self, client, &request) {
                Ok(subscription) => Served::Listening(Box::new(subscription)),
                Err(error) => Served::Known(FinalResponse::error(Some(&request.id), &error)),
            };
        }
        match request.call.method() {
            method::RESOURCES_SUBSCRIBE if !has_listen => {
                return self.subscribe(client, &request);
            }
            method::RESOURCES_UNSUBSCRIBE if !has_listen => {
                return self.unsubscribe(client, &request);
            }
            _ => {}
        }
        if request.call.method() == method::RESOURCES_READ
            && let Some(store) = self.stored_result(client, &request)
        {
            return match self.usage.take(&client.access.principal, Limited::Calls) {
                Ok(usage) => Served::Soon(read_stored(store, client.revision, request, usage)),
                Err(limit) => {
                    Served::Known(FinalResponse::error(Some(&request.id), &error::limit_reached(&limit)))
                }
            };
        }
        if let Some(known) = self.known(client, &request) {
            if let Some(session) = &client.session {
                session.mark_used();
            }
            return Served::Known(match known {
                Ok(result) => FinalResponse::result(&request.id, &result),
                Err(error) => FinalResponse::error(Some(&request.id), &error),
            });
        }
        let call = AcceptedCall { request, code };
        match &self.options.audit {
            None => self.call(client, call),
            Some(log) => {
                let audited = AuditedCall::new(log, client, &call.request);
                match audited.is_recorded_first() {
                    true => {
                        let client = client.clone();
                        Served::Recorded(Box::new(RecordedRequest { audited, client, call }))
                    }
                    false => self.call_audited(audited, client, call),
                }
            }
        }
    }

    /// Sends a request to its server, and records how it ends before it is answered.
    fn call_audited(
        self: &Arc<Self>,
        audited: AuditedCall,
        client: &RequestClient,
        call: AcceptedCall,
    ) -> Served {
        match self.call(client, call) {
            Served::Known(response) => Served::Soon(Box::pin(audited.finish(response))),
            Served::Running(call) => Served::Running(call.audited(audited)),
            other => other,
        }
    }

    /// Sends a request to its server.
    fn call(self: &Arc<Self>, client: &RequestClient, call: AcceptedCall) -> Served {
        let AcceptedCall { request, code } = call;
        let running = client.session.as_ref().map(|session| session.enter(&request.id)).transpose();
        let running = match running {
            Ok(running) => running,
            Err(why) => {
                return Served::Known(FinalResponse::error(Some(&request.id), &error::not_entered(why)));
            }
        };
        let usage = match self.usage.take(&client.access.principal, Limited::Calls) {
            Ok(usage) => usage,
            Err(limit) => {
                let refused = FinalResponse::error(Some(&request.id), &error::limit_reached(&limit));
                return Served::Known(refused.with_outcome(CallOutcome::Denied));
            }
        };
        let started = match code {
            None => ClientCall::start(self, client, request, running),
            Some(runner) => run_code::start(self, &runner, client, &request, running),
        };
        match started {
            Ok(call) => Served::Running(call.counted(usage)),
            Err(response) => Served::Known(response),
        }
    }
}

/// The first list of a hub that does not know all of its servers yet.
///
/// Lists are answered from memory. Right after the start, memory has nothing of servers without a cached catalog, and
/// several clients never ask again: so the first requests for a list wait a little for those of them that are starting.
#[derive(Debug)]
pub(crate) struct FirstList {
    wait: Duration,
    /// Set by the first request for a list; others that come until then wait no longer than it.
    until: OnceLock<Instant>,
    is_over: AtomicBool,
}

impl FirstList {
    pub(crate) fn new(wait: Duration) -> Self {
        Self { wait, until: OnceLock::new(), is_over: AtomicBool::new(wait.is_zero()) }
    }

    /// What a request waits for before it is answered; nothing where it is answered at once.
    pub(crate) fn awaited(
        &self,
        host: &Host,
        request: &Request,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        if !is_list(request.call.method()) || self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let until = *self.until.get_or_init(|| Instant::now() + self.wait);
        let Some(settled) = host.first_catalogs().filter(|_| Instant::now() < until) else {
            self.is_over.store(true, Ordering::Relaxed);
            return None;
        };
        Some(Box::pin(async move { drop(timeout_at(until, settled).await) }))
    }
}

fn is_list(method_name: &str) -> bool {
    matches!(
        method_name,
        method::TOOLS_LIST | method::RESOURCES_LIST | method::RESOURCE_TEMPLATES_LIST | method::PROMPTS_LIST
    )
}
