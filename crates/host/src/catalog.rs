//! The merged catalog of all servers, and which server owns which name.

pub(crate) mod builder;
pub(crate) mod cache;
mod naming;
mod output_rules;
mod output_schema;
mod pages;
mod quarantine;
mod repair;
pub(crate) mod review;
mod root_schema;
mod simple_schema;
mod table;
pub(crate) mod ttl;
mod uri_template;
mod user_interaction;
mod validate;
mod validation_cost;

pub use naming::{Naming, qualified_uri, slugs};
pub(crate) use naming::{exposed, slug_of};
pub use output_rules::{OutputCheck, OutputRules};
pub use pages::{ListPages, list_page};
pub use quarantine::Quarantined;
pub(crate) use quarantine::{CheckedTool, UncheckedTools};
pub use review::{CatalogReview, CatalogSource, HiddenItem, ReviewedCatalog};
pub use table::{ListedTool, ResourceRoute, Route, RouteTable, ServerPart};
pub use validate::Validator;
