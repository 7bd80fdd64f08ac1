//! What all servers offer, and who owns which name.

mod ingest;
mod naming;
mod pages;
mod plain;
mod schema;
mod table;
mod template;

pub use ingest::Quarantined;
pub(crate) use naming::slug_of;
pub use naming::{Naming, qualified_uri, slugs};
pub use pages::list_page;
pub use schema::Validator;
pub use table::{Offer, ResourceRoute, Route, Table};
