//! A small server, as any client meets it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connection; // requests of both kinds of revisions, progress, cancellation
