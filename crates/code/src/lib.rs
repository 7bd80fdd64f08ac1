//! Code mode: a model writes JavaScript that calls tools, so that loops, joins and filters over their results cost no context.
//!
//! The code runs with QuickJS in a process of its own: the program that uses this crate, started again as a function of the sandbox.
//! That process has no files, no network, no environment and few system calls; all it can do is to send lines to its parent and to
//! read others. A new process is used for every run, so nothing of one run is seen by another.
//!
//! ```text
//! caller ── CodeRunner ──────────── helper of the sandbox ── engine
//!           answers calls of tools   watches memory           runs the code
//!             └──────────── pipes: lines of JSON ───────────────┘
//! ```
//!
//! # Invariants
//!
//! - Code never runs in the process of the hub. Without the feature `engine`, that process does not even know how to.
//! - What comes from the engine is taken for hostile: lengths, numbers and the order of its messages are checked, and a run that does
//!   not keep to them is ended.
//! - The engine names tools; whoever answers ([`ToolCaller`]) decides which of them the caller may use.
//! - Dropping the future of a run ends its process and cancels its calls.

#![forbid(unsafe_code)]

#[cfg(feature = "engine")]
mod engine;
mod lines;
mod messages;
mod runner;
mod typescript;

/// The name of the engine among the functions of the sandbox.
const ENGINE: &str = "code";

#[cfg(feature = "engine")]
pub use engine::function;
pub use runner::{CodeError, CodeOptions, CodeRunner, Finished, ToolCall, ToolCaller, ToolReply};
pub use typescript::{ToolSignature, declarations};
