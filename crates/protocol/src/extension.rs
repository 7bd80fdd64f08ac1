//! Names of protocol extensions that the hub knows.

/// Calls that go on as tasks, in the stateless era.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
