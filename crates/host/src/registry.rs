//! What all servers offer, and who owns which name.

mod effort;
mod ingest;
mod naming;
mod output_schema;
mod pages;
mod plain;
mod repair;
mod root;
mod schema;
mod table;
mod template;

pub use ingest::Quarantined;
pub(crate) use ingest::{CheckedTool, UncheckedTools};
pub(crate) use naming::slug_of;
pub use naming::{Naming, qualified_uri, slugs};
pub use pages::list_page;
pub use schema::Validator;
pub use table::{ResourceRoute, Route, RouteTable, ServerPart};
