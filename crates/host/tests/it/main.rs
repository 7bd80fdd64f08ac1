//! Many servers as one, tested over wires in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod absent; // calls to servers that do not run
mod arguments; // checked before they are sent
mod bay; // a host to test with
mod caching; // how long merged lists may be kept
mod names; // who is called what
mod quarantine; // what may enter the table
mod resources; // who has a URI, and completions
mod roots; // servers that are bound to a folder
mod simulation; // whatever happens, in whatever order
mod store; // the lives of servers, on a clock of their own
mod tables; // pages, changes, unknown names
#[allow(dead_code, reason = "the tests of the agent library use it, too")]
mod troupe; // servers that do what a test wants
