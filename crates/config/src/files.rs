//! Files that configuration consists of: read safely, written atomically, owned by the user.

pub(crate) mod ownership;
pub(crate) mod replace;
pub(crate) mod small;
