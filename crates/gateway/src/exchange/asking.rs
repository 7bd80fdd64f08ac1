//! A server with a handshake asks something in the middle of a call.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll},
};

use tokio::sync::oneshot;
use toolbay_host::{Question, Reply};
use toolbay_protocol::method;
use toolbay_translate as translate;

use super::{Exchange, Final, Source};
use crate::{
    park::{self, GATHER, answerable},
    questions::Put,
    reply,
    seal::Binding,
};

/// Questions that the client was asked in messages of their own, and has not answered yet.
#[derive(Default)]
pub(super) struct Asking(Vec<Open>);

struct Open {
    id: u64,
    reply: oneshot::Receiver<Reply>,
    asker: Asker,
}

/// Who wants to know.
pub(super) enum Asker {
    /// A server that waits in the middle of the call.
    Server(Box<Question>),
    /// One that gets the answers in a request of ours: under this key, in answer to this method.
    Retry { key: String, method: String },
}

impl Asking {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, put: Put, asker: Asker) {
        self.0.push(Open { id: put.id, reply: put.reply, asker });
    }
}

/// An id for an elicitation, for clients that want one.
pub(super) fn elicitation_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("elicitation-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Exchange {
    /// Takes a question to the client, in the way of its era.
    pub(super) fn question(&mut self, question: Question) {
        let Some(session) = &self.client.session else {
            // The end of this request is the question.
            self.gathered.push(question);
            self.gathering.get_or_insert_with(|| Box::pin(tokio::time::sleep(GATHER)));
            return;
        };
        if !self.client.can_answer(question.method(), question.params()) {
            return question.refuse();
        }
        let (asked, from) = (question.method(), question.revision);
        let put =
            translate::question(asked, question.params(), from, self.client.revision, &elicitation_id())
                .ok()
                .and_then(|params| session.ask(asked, &self.with_sealed_question(params)));
        match put {
            Some(put) => {
                self.due.push_back(put.text.clone().into());
                self.asking.add(put, Asker::Server(Box::new(question)));
            }
            None => question.refuse(),
        }
    }

    /// Looks for answers of the client; says whether something happened.
    pub(super) fn poll_asking(&mut self, context: &mut Context<'_>) -> bool {
        let mut index = 0;
        let mut happened = false;
        while let Some(open) = self.asking.0.get_mut(index) {
            if let Poll::Ready(reply) = Pin::new(&mut open.reply).poll(context) {
                let Open { asker, .. } = self.asking.0.swap_remove(index);
                self.replied(asker, reply.ok());
                happened = true;
            } else if let Asker::Server(question) = &mut open.asker
                && question.poll_withdrawn(context).is_ready()
            {
                let params = format!(r#"{{"requestId":{}}}"#, open.id);
                self.due.push_back(toolbay_protocol::notification(method::CANCELLED, Some(&params)).into());
                self.asking.0.swap_remove(index);
                happened = true;
            } else {
                index += 1;
            }
        }
        happened
    }

    fn replied(&mut self, asker: Asker, reply: Option<Reply>) {
        match (asker, reply) {
            (Asker::Server(question), Some(Reply::Result(result))) => {
                let (from, to) = (self.client.revision, question.revision);
                let result = translate::question_answer(question.method(), &result, from, to);
                let task = question.params().and_then(translate::related_task);
                // An answer says which task it is about, too.
                question.answer(Reply::Result(match task {
                    Some(id) => translate::with_related_task(&result, &id),
                    None => result,
                }));
            }
            (Asker::Server(question), Some(error)) => question.answer(error),
            (Asker::Server(_), None) => {} // dropping the question tells the server
            (Asker::Retry { key, method }, reply) => self.answered_for_retry(key, &method, reply),
        }
    }

    /// Ends this request with the questions that were gathered; the call waits for the answers. What the client
    /// cannot be asked is refused, and if that is all of it, the call goes on.
    pub(super) fn park(&mut self) -> Option<Final> {
        self.gathering = None;
        let abilities = self.client.abilities();
        let (questions, refused) = answerable(std::mem::take(&mut self.gathered), abilities);
        if questions.is_empty() {
            refused.into_iter().for_each(Question::refuse);
            return None;
        }
        let source = std::mem::replace(&mut self.source, Source::Gone);
        let Source::Call(live) = source else {
            return Some(self.failed(&reply::too_many_questions()));
        };
        let binding = Binding::of(self.client.principal(), &self.request.call);
        let asker = park::Asker { revision: self.client.revision, abilities, binding };
        let parked = self.gateway.lot.park(live, questions, asker);
        // Only now, so that what the server makes of it finds the call parked.
        refused.into_iter().for_each(Question::refuse);
        Some(match parked {
            Ok(result) => Final::result(self.id(), &result),
            Err(_) => self.failed(&reply::too_many_questions()),
        })
    }
}
