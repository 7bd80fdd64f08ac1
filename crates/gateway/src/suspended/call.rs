//! One parked call.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use toolbay_host::{CallEvent, ClientReply, ServerRequest};
use toolbay_protocol::{ErrorCode, ErrorObject, encode_string};
use toolbay_translate::{self as translate, InputRequest, InputRequired};

use super::{
    LinkEnd, RETURN_TIME, ResumeRequest, SuspendedRequest, THINKING_TIME, answerable, link::RequestLink,
};
use crate::{
    request::call::live::{LiveCall, LiveEvent},
    seal::{SealedContent, StateSeal},
};

/// Servers that ask several things at once send them one after the other.
pub(crate) const GATHER: Duration = Duration::from_millis(10);

/// A call, the questions of its server, and the request that waits for it now.
pub(super) struct SuspendedCall {
    id: u64,
    /// Gone once it has ended.
    live: Option<LiveCall>,
    asker: SuspendedRequest,
    seal: Arc<StateSeal>,
    round: u32,
    /// What the client was asked in this round, by key.
    open: Vec<(String, ServerRequest)>,
    /// What the server asked since, and when that is asked in turn.
    arrived: Vec<ServerRequest>,
    gathers_until: Instant,
    asked_so_far: usize,
    /// The round answered last, and the digest of its answers.
    answered: Option<(u32, u64)>,
    /// What became of those answers.
    outcome: Option<LinkEnd>,
    attached: Option<RequestLink>,
    /// The last sign of progress while nobody was attached.
    progress: Option<CallEvent>,
    deadline: Instant,
}

impl SuspendedCall {
    pub(super) fn new(id: u64, live: LiveCall, asker: SuspendedRequest, seal: Arc<StateSeal>) -> Self {
        Self {
            id,
            live: Some(live),
            asker,
            seal,
            round: 0,
            open: Vec::new(),
            arrived: Vec::new(),
            gathers_until: Instant::now(),
            asked_so_far: 0,
            answered: None,
            outcome: None,
            attached: None,
            progress: None,
            deadline: Instant::now() + THINKING_TIME,
        }
    }

    /// Starts a round with more questions: the result that asks them all.
    pub(super) fn ask(&mut self, questions: Vec<ServerRequest>) -> String {
        for question in questions {
            self.asked_so_far += 1;
            self.open.push((format!("question-{}", self.asked_so_far), question));
        }
        self.round += 1;
        self.deadline = Instant::now() + THINKING_TIME;
        let request = |(key, question): &(String, ServerRequest)| {
            let (asked, from) = (question.method(), question.revision);
            let params =
                translate::translate_server_request(asked, question.params(), from, self.asker.revision, key);
            InputRequest { key: key.clone(), method: asked.to_owned(), params: params.ok() }
        };
        let requests = self.open.iter().map(request).collect();
        let carried = SealedContent::Park { id: self.id, round: self.round };
        // Without randomness nothing can be sealed, and the retry will be refused.
        let state = self.seal.close(carried, THINKING_TIME, &self.asker.binding).unwrap_or_default();
        InputRequired { requests, request_state: Some(encode_string(&state)) }.to_result()
    }

    /// Lives until the call has ended and its end was kept long enough, or until nobody wants it any more.
    pub(super) async fn run(&mut self, mut inbox: mpsc::Receiver<ResumeRequest>) {
        loop {
            let is_gathering = self.open.is_empty() && !self.arrived.is_empty();
            tokio::select! {
                attach = inbox.recv() => match attach {
                    Some(attach) => self.attach(attach),
                    None => return,
                },
                happening = next(&mut self.live) => self.take(happening),
                () = sleep_until(self.gathers_until), if is_gathering => self.ask_what_arrived(),
                () = left(&mut self.attached) => {
                    self.attached = None;
                    self.deadline = Instant::now() + RETURN_TIME;
                }
                () = sleep_until(self.deadline), if self.attached.is_none() => return,
            }
        }
    }

    fn attach(&mut self, attach: ResumeRequest) {
        let ResumeRequest { round, mut answers, digest, attached } = attach;
        if self.answered == Some((round, digest)) {
            return self.attach_again(attached);
        }
        if self.live.is_none() && round == self.round && self.answered.is_none_or(|(last, _)| last < round) {
            // The server did not wait for the answers.
            self.answered = Some((round, digest));
            return self.attach_again(attached);
        }
        if round != self.round || self.open.is_empty() {
            let message =
                "this `requestState` was used before, with other answers; send the request anew without it";
            let refused = LinkEnd::Refused(ErrorObject::new(ErrorCode::INVALID_PARAMS, message));
            let _ = attached.ended.send(refused); // it may be gone again
            return;
        }
        self.answered = Some((round, digest));
        self.outcome = None;
        for (key, question) in std::mem::take(&mut self.open) {
            match answers.remove(&key) {
                Some(result) => {
                    let (from, to) = (self.asker.revision, question.revision);
                    let result = translate::translate_client_response(question.method(), &result, from, to);
                    let task = question.params().and_then(translate::related_task);
                    question.respond(ClientReply::Result(match task {
                        Some(id) => translate::with_related_task(&result, &id),
                        None => result,
                    }));
                }
                None => self.open.push((key, question)),
            }
        }
        self.attach_again(attached);
        if !self.open.is_empty() {
            // What is missing is asked for once more.
            let asked = self.ask(Vec::new());
            self.publish(LinkEnd::Asked(asked));
        }
    }

    /// A newer request takes the place of an older one.
    fn attach_again(&mut self, attached: RequestLink) {
        if let Some(progress) = self.progress.take() {
            let _ = attached.events.send(progress);
        }
        match &self.outcome {
            Some(outcome) => {
                let _ = attached.ended.send(outcome.clone()); // it may be gone again
            }
            None => self.attached = Some(attached),
        }
    }

    fn take(&mut self, happening: LiveEvent) {
        match happening {
            LiveEvent::Event(CallEvent::Question(question)) => {
                if self.arrived.is_empty() {
                    self.gathers_until = Instant::now() + GATHER;
                }
                self.arrived.push(*question);
            }
            LiveEvent::Event(event) => match &self.attached {
                Some(attached) => drop(attached.events.send(event)),
                None if matches!(event, CallEvent::Progress(_)) => self.progress = Some(event),
                None => {}
            },
            LiveEvent::Ended(outcome) => {
                self.live = None;
                self.open.clear();
                self.deadline = Instant::now() + RETURN_TIME;
                self.publish(outcome.map_or_else(LinkEnd::Failed, LinkEnd::Answered));
            }
        }
    }

    fn ask_what_arrived(&mut self) {
        let (questions, refused) = answerable(std::mem::take(&mut self.arrived), self.asker.abilities);
        if !questions.is_empty() {
            let asked = self.ask(questions);
            self.publish(LinkEnd::Asked(asked));
        }
        refused.into_iter().for_each(ServerRequest::refuse);
    }

    /// Tells the request that waits, or the one that will come back.
    fn publish(&mut self, ended: LinkEnd) {
        if let Some(attached) = self.attached.take() {
            let _ = attached.ended.send(ended.clone()); // it may just have gone; then it comes back
        }
        self.outcome = Some(ended);
    }
}

async fn next(live: &mut Option<LiveCall>) -> LiveEvent {
    match live {
        Some(live) => live.next().await,
        None => std::future::pending().await,
    }
}

/// Resolves when the request that waits goes away.
async fn left(attached: &mut Option<RequestLink>) {
    match attached {
        Some(attached) => attached.ended.closed().await,
        None => std::future::pending().await,
    }
}
