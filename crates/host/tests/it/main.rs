//! Many servers as one, tested over wires in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod absent; // calls to servers that do not run
mod adapters; // tools in the formats of model APIs
mod any_schema; // whatever a schema says, the dialects hold
mod arguments; // checked before they are sent
mod asking; // what servers ask in the middle of a call, and who answers
mod bay; // a host to test with
mod building; // a host in a few lines
mod caching; // how long merged lists may be kept
mod calls; // what a program asks of a host
mod clients; // one connection without a host
mod custom; // a transport of one's own, as the example shows it
mod errors; // what went wrong, whose fault it is, and what to do
mod examples; // they do what they say
mod long_calls; // what a server does only as a task
mod names; // who is called what
mod outputs; // results whole and as views, and how long they may be
mod page_of_names; // it says nothing that is not there
mod quarantine; // what may enter the table
mod resources; // who has a URI, and completions
mod roots; // servers that are bound to a folder
mod simulation; // whatever happens, in whatever order
mod starts; // the attempts of a start, and what those see who wait
mod store; // the lives of servers, on a clock of their own
mod tables; // pages, changes, unknown names
mod tools; // what agents run
mod troupe; // servers that do what a test wants
