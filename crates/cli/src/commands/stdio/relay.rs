//! A relay between a client on stdin and stdout and the shared hub.
//!
//! Lines are forwarded unchanged. When the hub is lost, the relay joins or starts another one and replays the state that it needs
//! ([`ReplayState`]); the client only sees an error for each of its pending requests. Meanwhile nothing is read from the client, so
//! the queue is bounded.
//!
//! A hub that was killed is replaced at once, because its client may wait for a notification. One that was stopped by a command is not
//! started again before the client sends something. When the client belongs to another hub, because its project was approved, the relay
//! switches as soon as nothing runs.

use std::{io, pin::Pin, time::Duration};

use bytes::Bytes;
use tokio::{io::AsyncWriteExt, net::UnixStream};
use toolbay_policy::Exposure;

use super::{
    BoxReader, BoxWriter, FLUSH,
    lines::{Ending, Input, LinePiece, Output, each},
    link::{self, HubLink, introduction},
    replay::{ReplayState, Verdict},
    stdin, stdout,
};
use crate::app::{
    context::Context,
    error::CliError,
    hub::{self, HubPlan},
    shared_hub::{ShareError, SharedHub},
};

/// How many bytes may wait to be written before nothing more is read.
const MOST_UNSENT: usize = 256 * 1024;
/// The longest line of a client that is looked at; longer ones are handed on, and refused by the hub.
const LONGEST_OF_CLIENT: usize = 64 * 1024 * 1024;
/// The longest line of a hub that is looked at.
const LONGEST_OF_HUB: usize = 1024 * 1024 * 1024;
/// How many hubs in a row may be lost without a response before the servers run in this process.
const MOST_LOSSES: u32 = 3;
/// How often the relay looks for a hub that another process may have started.
const LOOK: Duration = Duration::from_secs(1);

/// Resolves when the client belongs to another hub.
type Membership<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Option<UnixStream>, ShareError>> + 'a>>;

/// A client and its hub.
pub(super) struct Relay<'a> {
    context: &'a Context,
    plan: HubPlan,
    /// Which tools the client is listed, if it says so.
    exposure: Option<Exposure>,
    input: Input,
    stdin: BoxReader,
    stdout: BoxWriter,
    to_client: Output,
    to_hub: Output,
    conversation: ReplayState,
    hub: Option<HubLink>,
    from_hub: Input,
    /// How the connection to the last hub ended.
    ending: Ending,
    /// Whether the last hub was stopped by a command.
    was_stopped: bool,
    /// Whether the hub has sent anything.
    has_spoken: bool,
    losses: u32,
    /// Whether there was a hub before.
    is_repeated: bool,
    /// For as long as the client belongs to the hub that it is connected to.
    membership: Option<Membership<'a>>,
}

/// Why the relay ends.
enum End {
    /// The client has disconnected, or has all its responses.
    Client,
    /// A signal or the hub ends it.
    Stopped,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        context: &'a Context,
        plan: HubPlan,
        exposure: Option<Exposure>,
    ) -> Result<Self, CliError> {
        Ok(Self {
            context,
            plan,
            exposure,
            input: Input::new(LONGEST_OF_CLIENT),
            stdin: stdin()?,
            stdout: stdout()?,
            to_client: Output::default(),
            to_hub: Output::default(),
            conversation: ReplayState::default(),
            hub: None,
            from_hub: Input::new(LONGEST_OF_HUB),
            ending: Ending::Closed,
            was_stopped: false,
            has_spoken: false,
            losses: 0,
            is_repeated: false,
            membership: None,
        })
    }

    /// Serves the client until it leaves.
    pub(super) async fn run(mut self) -> Result<(), CliError> {
        let end = loop {
            if self.hub.is_none() {
                match self.connect().await? {
                    Some(link) => self.begin(link)?,
                    None => break End::Client,
                }
            }
            let end = self.hand_on().await;
            if !matches!(end, Some(End::Stopped)) {
                self.tell_losses();
            }
            if let Some(end) = end {
                break end;
            }
            self.hub = None;
            self.losses = if self.has_spoken { 0 } else { self.losses + 1 };
        };
        if matches!(end, End::Client) {
            // The remaining lines, for a client that may not read any more.
            let _ = tokio::time::timeout(FLUSH, async {
                while !self.to_client.is_empty() && self.to_client.write(&mut self.stdout).await.is_ok() {}
            })
            .await;
        }
        if let Some(HubLink { host: Some(host), .. }) = &self.hub {
            hub::stop(host).await;
        }
        Ok(())
    }

    /// Finds a hub, or starts one; nothing if the client leaves before there is one.
    async fn connect(&mut self) -> Result<Option<HubLink>, CliError> {
        // Files may have changed since.
        if self.is_repeated
            && let Ok(plan) = HubPlan::read(self.context)
        {
            self.plan = plan;
        }
        if self.losses >= MOST_LOSSES {
            return self.alone("the background hub exits right after it starts").map(Some);
        }
        let (context, sharing) = (self.context, SharedHub::new(self.context, &self.plan));
        let mut connecting: Option<Connecting<'_>> = None;
        loop {
            let wants_hub = !self.was_stopped || self.input.has_line();
            let attempt = connecting.get_or_insert_with(|| match wants_hub {
                true => Box::pin(async { sharing.join_or_start().await.map(Some) }),
                false => Box::pin(async {
                    tokio::time::sleep(LOOK).await;
                    sharing.join().await
                }),
            });
            tokio::select! {
                connected = attempt => match connected {
                    Ok(Some(hub)) => return Ok(Some(HubLink::to(hub))),
                    Ok(None) => connecting = None,
                    Err(error) => {
                        let log = sharing.log().display().to_string();
                        tracing::debug!(%error, log, "no hub to share");
                        drop(connecting);
                        return self.alone(&describe(&error)).map(Some);
                    }
                },
                () = context.stop.cancelled() => return Ok(None),
                read = self.input.read(&mut self.stdin), if self.was_stopped && !self.input.has_ended && !self.input.has_line() => {
                    read?;
                    if self.input.has_ended && !self.input.has_line() {
                        return Ok(None);
                    }
                    connecting = None;
                }
                written = self.to_client.write(&mut self.stdout), if !self.to_client.is_empty() => {
                    if written.is_err() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Starts a hub in this process, because there is no other.
    fn alone(&self, why: &str) -> Result<HubLink, CliError> {
        self.context.out.warn(&format!("{why}; running the servers for this client only"));
        HubLink::alone(self.context, &self.plan)
    }

    /// Replays the state to a new hub.
    fn begin(&mut self, link: HubLink) -> Result<(), CliError> {
        let (context, identity) = (self.context, self.plan.identity.clone());
        self.membership = match &link.host {
            None => Some(Box::pin(link::ends(context, identity))),
            // A hub in this process is not replaced.
            Some(_) => Some(Box::pin(std::future::pending())),
        };
        self.hub = Some(link);
        self.from_hub = Input::new(LONGEST_OF_HUB);
        (self.was_stopped, self.has_spoken, self.ending) = (false, false, Ending::Closed);
        self.to_hub.add_line(&introduction(self.context, self.exposure)?);
        for line in self.conversation.repeat() {
            self.to_hub.add_line(&line);
        }
        if std::mem::replace(&mut self.is_repeated, true) {
            for line in self.conversation.changes() {
                self.to_client.add_line(&line);
            }
        }
        self.take_from_client();
        Ok(())
    }

    /// Forwards lines in both directions until the hub is lost, which does not end the relay, or the client disconnects.
    async fn hand_on(&mut self) -> Option<End> {
        let Some(link) = &mut self.hub else { return None };
        loop {
            if self.input.has_ended && self.to_hub.is_empty() {
                // The hub finishes running requests, and closes its end.
                if let Some(mut writer) = link.writer.take() {
                    let _ = writer.shutdown().await; // at once: nothing is left to be written
                }
            }
            let is_between_lines = self.from_hub.is_empty() && !self.input.is_within_line();
            let is_idle = || self.to_hub.is_empty() && is_between_lines && self.conversation.is_idle();
            if self.membership.is_none() && !self.input.has_ended && is_idle() {
                return None;
            }
            let has_room = self.to_hub.len() < MOST_UNSENT;
            let has_unsent = !self.to_hub.is_empty() && link.writer.is_some();
            let (writer, to_hub) = (&mut link.writer, &mut self.to_hub);
            let write = async {
                match writer {
                    Some(writer) => to_hub.write(writer).await,
                    None => std::future::pending().await,
                }
            };
            let membership = &mut self.membership;
            let membership_ends = async {
                match membership {
                    Some(membership) => membership.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.context.stop.cancelled() => return Some(End::Stopped),
                () = membership_ends => self.membership = None,
                read = self.input.read(&mut self.stdin), if has_room && !self.input.has_ended => {
                    if read.is_err() {
                        self.input.has_ended = true;
                    }
                    take_from_client(&mut self.input, &mut self.conversation, &mut self.to_hub);
                }
                written = write, if has_unsent => {
                    if let Err(error) = written {
                        self.ending = ending(&error, self.ending);
                        link.writer = None; // its last lines are still to be read
                    }
                }
                read = self.from_hub.read(&mut link.reader), if self.to_client.len() < MOST_UNSENT => {
                    if let Err(error) = read {
                        self.ending = ending(&error, self.ending);
                        self.from_hub.has_ended = true;
                    }
                    while let Some(piece) = self.from_hub.take() {
                        self.has_spoken = true;
                        let goodbye = take_from_hub(piece, &mut self.conversation, &mut self.to_client);
                        self.was_stopped |= goodbye;
                    }
                    if self.from_hub.has_ended {
                        return self.input.has_ended.then_some(End::Client);
                    }
                }
                written = self.to_client.write(&mut self.stdout), if !self.to_client.is_empty() => {
                    if written.is_err() {
                        return Some(End::Client);
                    }
                }
            }
        }
    }

    /// Sends the client errors for what was lost with the hub. Lines that the hub never read go to the next one.
    fn tell_losses(&mut self) {
        let unsent = self.to_hub.take_unread(self.ending);
        for line in each(&Bytes::copy_from_slice(&unsent)) {
            self.conversation.take_back(&line);
        }
        self.input.put_back(unsent);
        for line in self.conversation.lose_hub() {
            self.to_client.add_line(&line);
        }
    }

    fn take_from_client(&mut self) {
        take_from_client(&mut self.input, &mut self.conversation, &mut self.to_hub);
    }
}

/// Hands on the lines of the client.
fn take_from_client(input: &mut Input, conversation: &mut ReplayState, to_hub: &mut Output) {
    while let Some(piece) = input.take() {
        match piece {
            LinePiece::Part(bytes) => to_hub.add(bytes),
            LinePiece::Lines(lines) => sift(lines, to_hub, |line| conversation.client_line(line)),
        }
    }
}

/// Forwards the lines of the hub, and returns whether it announced its end.
fn take_from_hub(piece: LinePiece, conversation: &mut ReplayState, to_client: &mut Output) -> bool {
    let mut goodbye = false;
    match piece {
        LinePiece::Part(bytes) => to_client.add(bytes),
        LinePiece::Lines(lines) => sift(lines, to_client, |line| {
            let verdict = conversation.hub_line(line);
            goodbye |= verdict == Verdict::Goodbye;
            verdict
        }),
    }
    goodbye
}

/// Forwards lines except those that the other side must not see; all at once where there are none.
fn sift(lines: Bytes, to: &mut Output, mut judge: impl FnMut(&Bytes) -> Verdict) {
    let mut from = 0;
    let mut at = 0;
    for line in each(&lines) {
        let end = at + line.len() + 1;
        if !line.is_empty() && judge(&line) != Verdict::HandOn {
            to.add_lines(lines.slice(from..at));
            from = end;
        }
        at = end;
    }
    to.add_lines(lines.slice(from..));
}

/// The error of the socket, which tells how the connection ended. The system reports it once.
fn ending(error: &io::Error, known: Ending) -> Ending {
    if error.kind() == io::ErrorKind::ConnectionReset { Ending::Reset } else { known }
}

/// An error with its causes.
fn describe(error: &ShareError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
