//! The library for agents, tested over connections in memory and with real processes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod absent; // calls to servers that do not run
mod adapters; // tools in the formats of model APIs
mod any_schema; // whatever a schema says, the dialects hold
mod asking; // what servers ask in the middle of a call, and who answers
mod building; // a host in a few lines
mod calls; // what a program asks of a host
mod clients; // one connection without a host
mod custom; // a transport of one's own, as the example shows it
mod errors; // what went wrong, whose fault it is, and what to do
mod examples; // they do what they say
mod exports; // how many names the root has
mod following; // configuration files that are followed
mod long_calls; // what a server does only as a task
mod outputs; // results whole and as views, and how long they may be
mod page_of_names; // it says nothing that is not there
mod programs; // thirteen programs, written from the guide alone
mod servers; // servers of a running agent
mod starts; // the attempts of a start, and what those see who wait
#[path = "../../../host/tests/it/test_host.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod test_host; // a host to test with
mod tools; // what agents run
#[path = "../../../host/tests/it/troupe.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod troupe; // servers that do what a test wants

/// An agent with these servers, all up.
async fn agent(
    servers: &[(&str, &toolbay_testkit::TestServer)],
    naming: toolbay_agent::Naming,
) -> toolbay_agent::Agent {
    toolbay_agent::Agent::new(test_host::host(servers, naming).await)
}
