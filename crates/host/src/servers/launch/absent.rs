//! Stands in for a built-in server that this program does not bring.

use toolbay_protocol::{ErrorCode, ErrorObject, Message, error};
use toolbay_transport::{Incoming, memory};

use crate::InProcess;

/// A server that refuses everything and says why: that is then what its status tells.
pub(super) fn server() -> InProcess {
    std::sync::Arc::new(|tasks| {
        let (mut inside, outside) = memory::pair(tasks);
        tasks.spawn(async move {
            let why = ErrorObject::new(
                ErrorCode::METHOD_NOT_FOUND,
                "this program has no built-in servers; run `toolbay`, or give the host a `Connector` that brings them",
            );
            while let Some(message) = inside.incoming.recv().await {
                if let Incoming::Message(Message::Request(request)) = message
                    && inside.outgoing.send(error(Some(&request.id), &why).into()).await.is_err()
                {
                    return;
                }
            }
        });
        outside
    })
}
