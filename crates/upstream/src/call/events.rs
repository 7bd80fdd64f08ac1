//! Events of a call: what the server sends before the response.
//!
//! Nearly every call has such a channel and nearly none is used, so it costs next to nothing until the first event.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use crate::CallEvent;
use parking_lot::Mutex;

/// How many events may wait for a slow caller before some are left out.
const LIMIT: usize = 64;

/// The server's end.
#[derive(Debug)]
pub struct CallEventSender(Arc<Mutex<EventQueueState>>);

/// The caller's end.
#[derive(Debug)]
pub struct CallEvents(Arc<Mutex<EventQueueState>>);

#[derive(Debug, Default)]
struct EventQueueState {
    queue: VecDeque<CallEvent>,
    reader: Option<Waker>,
    senders: usize,
    is_read: bool,
}

/// The receiver is gone, or reads too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRejected;

/// Creates both ends of the channel.
pub fn events() -> (CallEventSender, CallEvents) {
    let shared =
        Arc::new(Mutex::new(EventQueueState { senders: 1, is_read: true, ..EventQueueState::default() }));
    (CallEventSender(shared.clone()), CallEvents(shared))
}

impl CallEventSender {
    /// Sends an event to the caller; never waits.
    ///
    /// # Errors
    ///
    /// When the receiver is gone, or the queue is full.
    pub fn send(&self, event: CallEvent) -> Result<(), EventRejected> {
        let mut state = self.0.lock();
        if !state.is_read || state.queue.len() >= LIMIT {
            return Err(EventRejected);
        }
        state.queue.push_back(event);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }
}

impl CallEvents {
    /// The next event; nothing once the last sender is gone. Cancel safe.
    pub async fn recv(&mut self) -> Option<CallEvent> {
        std::future::poll_fn(|context| self.poll_recv(context)).await
    }

    /// An event that is there now.
    pub fn try_recv(&mut self) -> Option<CallEvent> {
        self.0.lock().queue.pop_front()
    }

    /// As [`CallEvents::recv`].
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        let mut state = self.0.lock();
        if let Some(event) = state.queue.pop_front() {
            return Poll::Ready(Some(event));
        }
        if state.senders == 0 {
            return Poll::Ready(None);
        }
        match &mut state.reader {
            Some(reader) => reader.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Clone for CallEventSender {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(self.0.clone())
    }
}

impl Drop for CallEventSender {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        let reader = if state.senders == 0 { state.reader.take() } else { None };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Drop for CallEvents {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_read = false;
        // What will not be read is dropped now: a server request in it is then refused.
        let unread = std::mem::take(&mut state.queue);
        drop(state);
        drop(unread);
    }
}

#[cfg(test)]
mod tests {
    use toolbay_protocol::{Message, notification};

    use super::*;

    fn event() -> CallEvent {
        let Ok(Message::Notification(sent)) = Message::parse(notification("x", None)) else { panic!("one") };
        CallEvent::Log(sent)
    }

    #[tokio::test]
    async fn a_reader_is_woken_and_learns_the_end() {
        let (sender, mut events) = events();
        let second = sender.clone();
        drop(sender);
        let sent = async {
            tokio::task::yield_now().await;
            second.send(event()).unwrap();
            tokio::task::yield_now().await;
            drop(second);
        };
        let (received, ()) = tokio::join!(async { (events.recv().await, events.recv().await) }, sent);
        assert!(matches!(received, (Some(CallEvent::Log(_)), None)));
    }

    #[test]
    fn nothing_waits_for_those_who_do_not_read() {
        let (sender, mut slow) = events();
        let taken = (0..2 * LIMIT).filter(|_| sender.send(event()).is_ok()).count();
        assert_eq!(taken, LIMIT);
        assert!(slow.try_recv().is_some());
        assert_eq!(sender.send(event()), Ok(()));
        drop(slow);
        assert_eq!(sender.send(event()), Err(EventRejected));
        assert_eq!(sender.0.lock().queue.len(), 0);
    }
}
