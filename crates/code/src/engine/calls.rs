//! The calls and timers of the code.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use serde_json::value::RawValue;

use super::send;
use crate::messages::{FromEngine, MAX_CALLS, MAX_CALLS_AT_ONCE, MAX_LINE, MAX_TIMERS};

/// How many there are, and which calls wait until others have ended.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last_id: Cell<u64>,
    made: Cell<usize>,
    running: Cell<usize>,
    timers: Cell<usize>,
    waiting: RefCell<VecDeque<WaitingCall>>,
}

#[derive(Debug)]
struct WaitingCall {
    id: u64,
    server: Option<String>,
    name: String,
    arguments: Box<RawValue>,
}

impl Calls {
    /// Calls a tool, now or later. Returns the id of the call.
    pub(super) fn call(
        &self,
        server: Option<String>,
        name: String,
        arguments: String,
    ) -> Result<u64, String> {
        if self.made.get() == MAX_CALLS {
            return Err(format!("a run can call at most {MAX_CALLS} tools"));
        }
        if arguments.len() + name.len() > MAX_LINE / 2 {
            return Err(format!("the arguments of `{name}` are too long"));
        }
        let arguments = RawValue::from_string(arguments).map_err(|error| error.to_string())?;
        self.made.set(self.made.get() + 1);
        let call = WaitingCall { id: self.next_id(), server, name, arguments };
        let id = call.id;
        if self.running.get() < MAX_CALLS_AT_ONCE {
            self.start(call);
        } else {
            self.waiting.borrow_mut().push_back(call);
        }
        Ok(id)
    }

    /// Starts a timer. Returns its id.
    pub(super) fn sleep(&self, milliseconds: f64) -> Result<u64, String> {
        if self.timers.get() == MAX_TIMERS {
            return Err(format!("there can be at most {MAX_TIMERS} timers at once"));
        }
        self.timers.set(self.timers.get() + 1);
        let id = self.next_id();
        // Casts saturate; no run takes as long as the longest.
        send(&FromEngine::Sleep { id, milliseconds: milliseconds.clamp(0.0, 1e9) as u64 });
        Ok(id)
    }

    pub(super) fn call_ended(&self) {
        self.running.set(self.running.get().saturating_sub(1));
        let next = self.waiting.borrow_mut().pop_front();
        if let Some(call) = next {
            self.start(call);
        }
    }

    pub(super) fn timer_ended(&self) {
        self.timers.set(self.timers.get().saturating_sub(1));
    }

    pub(super) fn are_running(&self) -> bool {
        self.running.get() > 0
    }

    pub(super) fn has_timers(&self) -> bool {
        self.timers.get() > 0
    }

    fn start(&self, call: WaitingCall) {
        self.running.set(self.running.get() + 1);
        let WaitingCall { id, server, name, arguments } = call;
        send(&FromEngine::Call {
            id,
            server: server.map(Into::into),
            name: name.into(),
            arguments: &arguments,
        });
    }

    fn next_id(&self) -> u64 {
        self.last_id.set(self.last_id.get() + 1);
        self.last_id.get()
    }
}
