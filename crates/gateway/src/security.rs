//! Who may connect: origins, tokens and local users.

pub(crate) mod local_user;
pub(crate) mod origin;
pub(crate) mod origin_guard;
pub(crate) mod token;
pub(crate) mod token_failures;
