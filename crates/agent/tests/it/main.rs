//! The library for agents, tested over connections in memory and with real processes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod absent; // calls to servers that do not run
mod adapters; // tools in the formats of model APIs
mod any_schema; // random schemas in the dialects of model APIs
mod building; // what the builder takes
mod calls; // tools, resources, prompts, completions
mod clients; // one connection without an agent
mod custom; // the example of a custom transport
mod errors; // errors, faults and hints
mod examples; // the other examples
mod exports; // how many names the root has
mod following; // configuration files that are followed
mod long_calls; // calls that a server runs only as a task
mod outputs; // results whole and as views, and how long they may be
mod page_of_names; // the migration page names only what exists
mod programs; // thirteen programs, written from the guide alone
mod secrets; // values of `${secret:NAME}`
mod server_requests; // sampling, elicitation and roots, and their handlers
mod servers; // servers of a running agent
mod starts; // the attempts of a start
#[path = "../../../host/tests/it/test_host.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod test_host; // an engine to test with
mod tools; // tools of servers and of the program
#[path = "../../../host/tests/it/troupe.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod troupe; // fake servers

/// An agent with these servers, all up.
async fn agent(
    servers: &[(&str, &toolbay_testkit::TestServer)],
    naming: toolbay_agent::Naming,
) -> toolbay_agent::Agent {
    toolbay_agent::Agent::new(test_host::host(servers, naming).await)
}
