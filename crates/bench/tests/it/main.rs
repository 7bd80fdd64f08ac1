//! The programs of the bench, tested.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod programs; // echo server, forwarder and load generator against each other
