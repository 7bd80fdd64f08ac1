//! One connection: stdio or in memory.

use std::sync::Arc;

use tokio::{
    sync::{broadcast, mpsc},
    task::JoinSet,
};
use toolbay_protocol::{ErrorObject, Message, Rope, error};
use toolbay_transport::{Connection, Incoming, Outgoing};

use super::{
    answer::{Call, respond},
    change::Change,
    session::Session,
    shared::Shared,
};

/// Serves until the client is gone; what still runs then is dropped.
pub(super) async fn serve(shared: Arc<Shared>, wire: Connection) {
    let Connection { outgoing, mut incoming } = wire;
    let session = Arc::new(Session::default());
    let mut running = JoinSet::new();
    running.spawn(tell_changes(shared.changes.subscribe(), session.clone(), outgoing.clone()));
    loop {
        tokio::select! {
            arrived = incoming.recv() => match arrived {
                Some(Incoming::Message(message)) => {
                    shared.record(message.text());
                    take(message, &shared, &session, &outgoing, &mut running);
                }
                Some(Incoming::Refused(refusal)) => {
                    shared.record(refusal.excerpt.as_bytes());
                    let told = ErrorObject::new(refusal.why.code(), refusal.why.to_string());
                    let text = error(refusal.id.as_ref(), &told);
                    running.spawn(send(outgoing.clone(), text.into()));
                }
                Some(other) => unreachable!("only a client of HTTP hears {other:?}"),
                None => return,
            },
            Some(_) = running.join_next() => {}
        }
    }
}

fn take(
    message: Message,
    shared: &Arc<Shared>,
    session: &Arc<Session>,
    outgoing: &mpsc::Sender<Outgoing>,
    running: &mut JoinSet<()>,
) {
    match message {
        Message::Request(request) => {
            let (shared, sink) = (shared.clone(), outgoing.clone());
            let call =
                Call { running: session.begin(&request.id), session: session.clone(), shared, sink, request };
            let outgoing = outgoing.clone();
            running.spawn(async move {
                if let Some(answered) = respond(call).await {
                    send(outgoing, answered.text).await;
                }
            });
        }
        Message::Notification(notification) => session.notice(&notification),
        Message::Response(response) => session.answered(response),
    }
}

async fn tell_changes(
    mut changes: broadcast::Receiver<Change>,
    session: Arc<Session>,
    outgoing: mpsc::Sender<Outgoing>,
) {
    loop {
        match changes.recv().await {
            Ok(change) if session.wants(&change) => send(outgoing.clone(), change.notification(None)).await,
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// Sends, on one line whatever a tool wrote, to a client that may be gone.
async fn send(outgoing: mpsc::Sender<Outgoing>, text: Rope) {
    let _ = outgoing.send(Outgoing::to_client(text.on_one_line())).await;
}
