//! The tasks that a session knows of, so that it hears of those and of no others.

use std::collections::VecDeque;

use toolbay_protocol::{Message, Notification, ServerName, Splice, encode_string};

use super::Task;

/// How many; the oldest are forgotten first, and can still be asked for.
const MAX_KNOWN: usize = 1024;

/// Tasks with the ids that the client has.
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
    pub(crate) fn told(&self, server: &ServerName, notification: &Notification) -> Option<Box<Notification>> {
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
