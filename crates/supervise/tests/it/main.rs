//! Real processes: shells, sleepers, daemons.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod flood; // stderr in any amount
mod killed; // kill -9 of the host and of the shim
mod leaks; // descriptors and tasks after many runs
mod login_shell; // asking shells for their environment
mod rotating_file; // a log that does not grow for ever
mod start; // what runs, and what cannot
mod stop; // stop, kill, drop, with everything below
mod support; // starting servers, looking at /proc
