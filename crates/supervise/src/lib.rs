//! Child processes that never outlive us: start, watch, stop, with everything below them.
//!
//! # Theory of operation
//!
//! A server is rarely one process: `npx` starts a shell that starts `node`; some put themselves into the background.
//! Process groups lose those that call `setsid`, and nothing runs in a host that was killed with `kill -9`. So each
//! server gets a **shim**, a tiny process of ours between host and server:
//!
//! ```text
//! host ──control socket── shim (own session, child subreaper)
//!  │                        └─ server (own process group) ─ its children, daemons, …
//!  └──────── pipes: stdin, stdout, stderr ────┘
//! ```
//!
//! The socket's other end is held by the host alone. When it closes, for whatever reason, the shim kills every
//! descendant; orphans cannot escape, because a subreaper inherits them. The server's stdio does not pass through the
//! shim: its descriptors travel over the socket once, and the shim keeps none.
//!
//! The host watches with one task per process ([`spawn`]), which ends with an [`Exit`]. If the shim itself is killed,
//! that task finds what is left by session and by a marker in the environment, and ends it.
//!
//! # Invariants
//!
//! - This crate knows no MCP, and starts no shell but to ask for its environment: a command is one program, never split at
//!   spaces.
//! - A server's environment is what [`Launch`] says, plus the marker; nothing of the host's leaks in.
//! - stderr is always read, however much comes; memory stays within [`LogRing`]'s bounds.
//! - Only children that we started, or that they left behind, are reaped: the host may have others.
//! - When [`ProcessHandle::exited`] resolves, the tree is gone (or cannot be killed by us, which is logged).

mod command;
pub mod daemon;
mod detached;
mod error;
mod exit;
mod log_ring;
mod login_shell;
mod process;
mod procfs;
mod rate;
mod restart;
mod rotating_file;
pub mod shim;
mod spawn;
mod stderr;
mod sweep;
mod tree;
mod watcher;

pub use command::{Launch, StderrPolicy, StopGrace, find_command};
pub use detached::start_detached;
pub use error::{CommandNotFound, SpawnError};
pub use exit::{Exit, ExitCause};
pub use log_ring::{LineFilter, LogLine, LogRing, LogSource};
pub use login_shell::{LoginShell, LoginShellError, login_environment, login_path};
pub use process::{ChildStdin, ChildStdout, Process, ProcessHandle};
pub use restart::{RestartDecision, RestartMode, RestartPolicy};
pub use rotating_file::RotatingFile;
pub use shim::Shim;
pub use spawn::{spawn, spawn_logging_to};
pub use sweep::MARKER;
