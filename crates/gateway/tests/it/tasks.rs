//! Calls that go on after their answer.

mod awaited; // tasks whose client gets only their end
mod experiment; // the tasks of 2025-11-25, from end to end
mod legacy_worker; // a server of 2025-11-25 that works on tasks
mod modern; // the extension, from end to end
pub(crate) mod worker; // a server of the stateless era that works on tasks
