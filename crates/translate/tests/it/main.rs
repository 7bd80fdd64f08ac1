//! Messages of one revision in another.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers; // what crosses between the eras, and notifications
mod capabilities; // what clients can be asked
mod errors; // codes, and the error that became a question
mod large; // messages made to exhaust us
mod questions; // questions of servers, and their answers
mod random; // any message between any two revisions
mod related; // the task a message belongs to
mod requests; // requests on their way to a server
mod results; // content that older clients do not know
mod rounds; // what is asked, and the retry
mod text; // messages from text, for the other files
mod tools; // definitions of tools
mod untagged; // notifications without the tag of a subscription
