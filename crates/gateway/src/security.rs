//! Who may connect: origins, tokens and local users.

pub(crate) mod local_user;
pub(crate) mod origin;
pub(crate) mod principal_usage;
pub(crate) mod protected_resource;
pub(crate) mod token_failures;
