//! Ids of tasks in messages of servers.

use std::collections::VecDeque;

use bytes::Bytes;
use toolbay_protocol::{
    Message, Notification, Outcome, Response, Revision, ServerName, Span, Splice, encode_string, meta,
    model::Item,
};

use crate::tasks::{Task, TaskProtocol, TaskSeal};

/// The task that a call became, as the server knows it; none if the response is no task.
pub(crate) fn task_of(response: &Response, revision: Revision, server: &ServerName) -> Option<Task> {
    let kind = TaskProtocol::of(revision)?;
    let id = match kind {
        TaskProtocol::Extension => {
            let says_so = |span: &Span| response.raw(*span) == "\"task\"";
            response.result_field("resultType").filter(says_so)?;
            response.result_field("taskId")?
        }
        TaskProtocol::Experiment => inside(&response.text, response.result_field("task")?, "taskId")?,
    };
    let id = response.raw(id);
    id.starts_with('"').then(|| Task { server: server.clone(), kind, id: id.to_owned() })
}

/// What is needed to give a client the ids of one server's tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sealing<'a> {
    pub(crate) seal: &'a TaskSeal,
    /// The client's.
    pub(crate) principal: &'a str,
    pub(crate) server: &'a ServerName,
    pub(crate) kind: TaskProtocol,
}

impl Sealing<'_> {
    /// A response with the ids that the client gets; none if there are no ids in it.
    pub(crate) fn response(&self, response: &Response) -> Option<Box<Response>> {
        let Outcome::Result { meta, .. } = &response.outcome else { return None };
        let text = &response.text;
        let task = response.result_field("task").and_then(|task| inside(text, task, "taskId"));
        let related = meta.as_ref().and_then(|meta| meta.get(text, meta::RELATED_TASK));
        let related = related.and_then(|related| inside(text, related, "taskId"));
        let splice = self.edits(text, [response.result_field("taskId"), task, related])?;
        match Message::parse(response.edited(splice).into_bytes()) {
            Ok(Message::Response(response)) => Some(response),
            _ => None, // one string in the place of another
        }
    }

    /// A notification with the ids that the client gets; none if there are no ids in it.
    pub(crate) fn notification(&self, notification: &Notification) -> Option<Box<Notification>> {
        let related = notification.meta(meta::RELATED_TASK);
        let related = related.and_then(|related| inside(&notification.text, related, "taskId"));
        let splice = self.edits(&notification.text, [notification.param("taskId"), related])?;
        match Message::parse(notification.edited(splice).into_bytes()) {
            Ok(Message::Notification(notification)) => Some(notification),
            _ => None, // one string in the place of another
        }
    }

    /// The id that the client gets for one that the server wrote (both as JSON strings).
    pub(crate) fn id(&self, id: &str) -> Option<String> {
        self.plain_id(id).map(|sealed| encode_string(&sealed))
    }

    /// As [`Sealing::id`], as plain text.
    pub(crate) fn plain_id(&self, id: &str) -> Option<String> {
        let task = Task { server: self.server.clone(), kind: self.kind, id: id.to_owned() };
        self.seal.close(&task, self.principal)
    }

    fn edits<'a>(
        &self,
        text: &'a Bytes,
        places: impl IntoIterator<Item = Option<Span>>,
    ) -> Option<Splice<'a>> {
        let mut splice = Splice::new(text);
        let mut any = false;
        for place in places.into_iter().flatten() {
            let id = std::str::from_utf8(&text[place.range()]).ok().filter(|id| id.starts_with('"'));
            if let Some(sealed) = id.and_then(|id| self.id(id)) {
                splice.replace(place, sealed);
                any = true;
            }
        }
        any.then_some(splice)
    }
}

/// Where a field of an object inside a message stands.
fn inside(text: &Bytes, object: Span, field: &str) -> Option<Span> {
    let span = Item::parse(text.slice(object.range())).ok()?.span(field)?;
    Some(Span { start: span.start + object.start, end: span.end + object.start })
}

/// How many tasks are kept; the oldest are dropped first, and can still be polled.
const MAX_KNOWN: usize = 1024;

/// The tasks that a session knows of, with the ids that the client has, so that it is notified of those and of no others.
#[derive(Debug, Default)]
pub(crate) struct KnownTasks(VecDeque<(Task, String)>);

impl KnownTasks {
    pub(crate) fn add(&mut self, task: Task, id: String) {
        if self.0.iter().any(|(known, _)| *known == task) {
            return;
        }
        if self.0.len() >= MAX_KNOWN {
            self.0.pop_front();
        }
        self.0.push_back((task, id));
    }

    /// What a server says of a task, with the client's id; nothing if the client does not know the task.
    pub(crate) fn with_client_id(
        &self,
        server: &ServerName,
        notification: &Notification,
    ) -> Option<Box<Notification>> {
        let place = notification.param("taskId")?;
        let is_it = |task: &Task| task.server == *server && task.id == notification.raw(place);
        let (_, id) = self.0.iter().find(|(task, _)| is_it(task))?;
        let mut splice = Splice::new(&notification.text);
        splice.replace(place, encode_string(id));
        match Message::parse(notification.edited(splice).into_bytes()) {
            Ok(Message::Notification(notification)) => Some(notification),
            _ => None, // one string in the place of another
        }
    }
}
