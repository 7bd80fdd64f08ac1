//! Moves messages between the queues of a [`Connection`](crate::Connection) and a WebSocket.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{
    Sink, SinkExt, Stream, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    pin,
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        protocol::{
            Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{Data, OpCode},
            },
        },
    },
};

use toolbay_protocol::Rope;

use super::{
    close::CloseReason,
    keepalive::{ActivityStream, PeerActivity},
};
use crate::{Incoming, Outgoing};

/// Longer messages are sent in frames of this length, so that nothing holds a second copy of a long one.
const FRAME: usize = 64 * 1024;
/// Read at once; every connection keeps so much.
const READ: usize = 8 * 1024;
/// What may wait to be written: a batch that is full, the frame that filled it, and pongs.
const MAX_UNWRITTEN: usize = 4 * FRAME;
/// How many messages may share a write.
const BATCH: usize = 64;
/// How long the end of a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to read what the peer sent before it closed.
const FINAL_READ: Duration = Duration::from_secs(1);

type Socket<S> = WebSocketStream<ActivityStream<S>>;

/// Our end of a connection.
pub(super) struct WebSocketTask {
    /// What is to be sent.
    pub(super) texts: mpsc::Receiver<Outgoing>,
    /// What was taken from `texts` and not sent yet, the next one last.
    pub(super) taken: Vec<Outgoing>,
    pub(super) messages: mpsc::Sender<Incoming>,
}

impl WebSocketTask {
    pub(super) fn new(texts: mpsc::Receiver<Outgoing>, messages: mpsc::Sender<Incoming>) -> Self {
        Self { texts, taken: Vec::new(), messages }
    }

    /// Delivers something to the other end of the connection, if it is there.
    pub(super) async fn deliver(&self, incoming: Incoming) {
        let _ = self.messages.send(incoming).await;
    }

    /// Resolves when the receiver was dropped.
    pub(super) async fn abandoned(&self) {
        self.messages.closed().await;
    }

    /// Serves a connection to its end. What was not sent then is left in `taken`, in order, and in `texts`.
    pub(super) async fn run<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: S,
        role: Role,
        max_message: usize,
    ) -> CloseReason {
        let activity = PeerActivity::new();
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .write_buffer_size(FRAME)
            .max_write_buffer_size(MAX_UNWRITTEN)
            .max_message_size(Some(max_message))
            .max_frame_size(Some(max_message));
        let stream = ActivityStream::new(stream, activity.clone());
        let socket = WebSocketStream::from_raw_socket(stream, role, Some(config)).await;
        let (mut sink, mut stream) = socket.split();
        let end = self.until_end(&mut sink, &mut stream, &activity).await;
        self.taken.reverse();
        if let Ok(socket) = sink.reunite(stream) {
            // A peer that takes no leave is left.
            let _ = timeout(CLOSE_TIMEOUT, close(socket, &end, max_message, &self.messages, &activity)).await;
        }
        end
    }

    async fn until_end<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        sink: &mut SplitSink<Socket<S>, Message>,
        stream: &mut SplitStream<Socket<S>>,
        activity: &PeerActivity,
    ) -> CloseReason {
        let reading = read(stream, &self.messages, activity);
        let writing = write(sink, &mut self.texts, &mut self.taken, activity);
        pin!(reading, writing);
        tokio::select! {
            end = &mut reading => end,
            silence = activity.stopped() => CloseReason::Silent(silence),
            written = writing => match written {
                Ok(()) => CloseReason::Left,
                // What it sent before it closed may still arrive, and so may the reason.
                Err(error) => timeout(FINAL_READ, reading).await.unwrap_or_else(|_| error.into()),
            },
        }
    }
}

/// Delivers what arrives. Goes on reading without a receiver: the peer may still send a close frame.
async fn read(
    stream: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
    messages: &mpsc::Sender<Incoming>,
    activity: &PeerActivity,
) -> CloseReason {
    loop {
        let slot = activity.without(messages.reserve()).await;
        let text: Bytes = match stream.next().await {
            Some(Ok(Message::Text(text))) => text.into(),
            Some(Ok(Message::Binary(_))) => return CloseReason::unsupported(),
            Some(Ok(Message::Close(frame))) => return CloseReason::Closed(frame),
            Some(Ok(Message::Ping(_))) => {
                activity.pinged().await;
                continue;
            }
            Some(Ok(Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Err(error)) => return error.into(),
            None => return CloseReason::Closed(None),
        };
        if let Ok(slot) = slot {
            slot.send(Incoming::read(text));
        }
    }
}

/// Sends what is queued, and pings, until all senders were dropped.
async fn write(
    sink: &mut (impl Sink<Message, Error = Error> + Unpin),
    texts: &mut mpsc::Receiver<Outgoing>,
    taken: &mut Vec<Outgoing>,
    activity: &PeerActivity,
) -> Result<(), Error> {
    loop {
        tokio::select! {
            count = texts.recv_many(taken, BATCH) => if count == 0 {
                return Ok(());
            },
            () = activity.wants_ping() => sink.feed(Message::Ping(Bytes::new())).await?,
            () = activity.wants_flush() => {}
        }
        taken.reverse();
        while let Some(message) = taken.pop() {
            send(sink, message.into_text()).await?;
        }
        sink.flush().await?;
        activity.flushed();
    }
}

/// Sends one message; a long one in pieces, which is the same to the peer.
async fn send(sink: &mut (impl Sink<Message, Error = Error> + Unpin), text: Rope) -> Result<(), Error> {
    if text.len() <= FRAME {
        return sink.feed(frame(text.into_bytes(), Data::Text, true)).await;
    }
    let mut rest = text.len();
    let mut opcode = Data::Text;
    for mut piece in text.into_pieces() {
        while !piece.is_empty() {
            let next = piece.split_to(piece.len().min(FRAME));
            rest -= next.len();
            sink.feed(frame(next, opcode, rest == 0)).await?;
            opcode = Data::Continue;
        }
    }
    Ok(())
}

/// A frame of a text. Texts of messages are UTF-8, or they would be none.
fn frame(text: Bytes, opcode: Data, is_last: bool) -> Message {
    Message::Frame(Frame::message(text, OpCode::Data(opcode), is_last))
}

/// Says why we go, if the peer does not know, and waits until it knows.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    mut socket: Socket<S>,
    end: &CloseReason,
    max_message: usize,
    messages: &mpsc::Sender<Incoming>,
    activity: &PeerActivity,
) {
    if let Some(close_frame) = end.close_frame(max_message)
        && socket.close(Some(close_frame)).await.is_err()
    {
        return;
    }
    match end {
        // What the peer sent before still arrives.
        CloseReason::Left => {
            let _ = read(&mut socket, messages, activity).await;
            while socket.next().await.is_some() {}
        }
        CloseReason::Closed(_) => while socket.next().await.is_some() {},
        // What follows cannot be read, but closing a connection with unread input would discard our close frame.
        CloseReason::TooLong | CloseReason::Garbled { .. } => {
            let _ = socket.get_mut().shutdown().await; // says that nothing follows, where that can be said
            let mut waste = vec![0; READ];
            while matches!(socket.get_mut().read(&mut waste).await, Ok(1..)) {}
        }
        CloseReason::Broken(_) | CloseReason::Silent(_) => {}
    }
}
