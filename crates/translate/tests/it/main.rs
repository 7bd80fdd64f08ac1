//! Messages of one revision in another.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod capabilities; // which server requests clients support
mod errors; // codes, and the error that becomes `input_required`
mod input_required; // what a server requires, and the retry
mod large; // messages made to exhaust us
mod random; // any message between any two revisions
mod related_task; // the task a message belongs to
mod requests; // requests to a server
mod responses; // responses between legacy and modern, and notifications
mod results; // content that older clients do not know
mod server_requests; // server requests, and their responses
mod text; // messages from text, for the other files
mod tools; // definitions of tools
mod untagged; // notifications without the tag of a subscription
