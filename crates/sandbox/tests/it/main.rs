//! Sandboxes, with a real program in them that tries to get out, and real targets outside.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "helpers are started as a hub starts them")]

mod escapes; // files, sockets, processes
mod exhaustion; // memory, processes, disks
mod functions; // functions of the program in place of others
mod leftovers; // daemons, kills
mod world; // targets, users and levels
