//! Answers as server-sent events.

use std::{collections::VecDeque, future::Future, pin::Pin, sync::Arc};

use futures_util::{Stream, stream};
use tokio::sync::{broadcast, mpsc};
use toolbay_protocol::Rope;
use toolbay_transport::Outgoing;
use toolbay_transport::http::event;

use crate::test_server::{answer::Answered, session::Session, shared::Shared};

type Work = Pin<Box<dyn Future<Output = Option<Answered>> + Send>>;

/// A request at work, and what it has to say until then. Dropped with the body when the client goes away.
pub(super) struct Streaming {
    work: Option<Work>,
    events: mpsc::Receiver<Outgoing>,
    queue: VecDeque<Rope>,
}

impl Streaming {
    pub(super) fn new(work: Work, events: mpsc::Receiver<Outgoing>) -> Self {
        Self { work: Some(work), events, queue: VecDeque::new() }
    }

    /// Works until there is something to say; gives the answer if that comes first.
    pub(super) async fn first(mut self) -> Result<Self, Option<Answered>> {
        let answered = self.step().await;
        if self.queue.is_empty() {
            return Err(answered);
        }
        self.queue.extend(answered.map(|answered| answered.text));
        Ok(self)
    }

    pub(super) fn into_events(self) -> impl Stream<Item = Rope> + Send {
        stream::unfold(self, async |mut this| {
            while this.queue.is_empty() && this.work.is_some() {
                let answered = this.step().await;
                this.queue.extend(answered.map(|answered| answered.text));
            }
            let text = this.queue.pop_front()?;
            Some((event(text.on_one_line()), this))
        })
    }

    /// Queues the next message, or gives the answer behind all that were sent before it.
    async fn step(&mut self) -> Option<Answered> {
        let work = self.work.as_mut()?;
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => {
                self.queue.push_back(event.into_text());
                None
            }
            answered = work => {
                self.work = None;
                while let Ok(event) = self.events.try_recv() {
                    self.queue.push_back(event.into_text());
                }
                answered
            }
        }
    }
}

/// The GET stream of a legacy client.
pub(super) fn changes(shared: &Shared, session: Arc<Session>) -> impl Stream<Item = Rope> + Send + use<> {
    let changes = shared.changes.subscribe();
    stream::unfold((changes, session), async |(mut changes, session)| {
        loop {
            match changes.recv().await {
                Ok(change) if session.wants(&change) => {
                    return Some((event(change.notification(None)), (changes, session)));
                }
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    })
}
