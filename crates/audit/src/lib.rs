//! The audit log: who called what, and how it ended.
//!
//! Records are lines of JSON. Each holds the hash of the line before it, so that a line that is changed, removed, added or moved breaks
//! the chain. A second file, the head, has the number and the hash of the last record, so that lines cannot be cut off at the end, and those of
//! the first that is kept, so that rotation can be told from removal. [`verify`] checks all of that. None of it protects against
//! the owner of the files, who can write a whole new chain.
//!
//! [`AuditLog`] writes on a thread of its own, all records that wait in one write. A record is written before its caller goes on; the head is
//! written after the records, so that a process that is killed leaves at most a head that is older.
//!
//! Every process writes a set of files of its own ([`FileSet`]), which is locked: hubs never wait for each other, and cannot interleave records.

#![forbid(unsafe_code)]

mod chain;
mod file_set;
mod log;
mod record;
mod verify;

pub use file_set::{AuditError, FileSet, file_sets};
pub use log::{AuditLog, AuditSettings, AuditState, OnFailure, Recorded};
pub use record::{AuditRecord, CallOutcome, RecordKind, UnknownOutcome};
pub use verify::{Verification, verify};
