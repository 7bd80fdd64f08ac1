//! The engine of the hub, over connections in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arguments; // checked before they are sent
mod cache_hints; // how long merged lists may be cached
mod names; // names of tools and prompts
mod quarantine; // what may enter the table
mod reconcile; // starts, restarts and changes of the configuration, in virtual time
mod resources; // which server has a URI, and completions
mod roots; // servers that are bound to a folder
mod route_table; // pages, changes, unknown names
mod secrets; // servers that need secrets
mod simulation; // random sequences of events
mod test_host; // a host to test with
#[allow(dead_code, reason = "the tests of the agent library use it, too")]
mod troupe; // servers that do what a test wants
mod unavailable; // calls to servers that do not run
mod views; // what callers see of a host
