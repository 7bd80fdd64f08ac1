//! What a caller may do.

use std::{collections::BTreeSet, sync::Arc};

pub use toolbay_protocol::Tier;
pub(crate) use toolbay_protocol::UnknownTier;

use crate::authenticator::Refusal;

/// What a caller may do. The default is everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// The most that it may change, by the annotations of tools.
    pub tier: Tier,
    /// The servers that it may use; none for all.
    pub servers: Option<Arc<BTreeSet<String>>>,
    /// The profile that it gets; none for what it asks for.
    pub profile: Option<Arc<str>>,
}

impl Rights {
    /// Whether it may use a server.
    pub fn allows_server(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|servers| servers.contains(server))
    }

    /// Limits it to a profile, if there is one.
    ///
    /// # Errors
    ///
    /// If it is limited to another one.
    pub(crate) fn bind(&mut self, profile: Option<&str>) -> Result<(), Refusal> {
        match (self.profile.as_deref(), profile) {
            (_, None) => Ok(()),
            (None, Some(profile)) => {
                self.profile = Some(profile.into());
                Ok(())
            }
            (Some(one), Some(other)) if one == other => Ok(()),
            (Some(_), Some(_)) => {
                Err(Refusal::NotAllowed("the token is for the endpoint of another profile".to_owned()))
            }
        }
    }

    /// Whether nothing is forbidden.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_limit_what_they_name() {
        let rights = Rights { servers: Some(Arc::new(BTreeSet::from(["a".into()]))), ..Rights::default() };
        assert!(rights.allows_server("a") && !rights.allows_server("b") && !rights.is_unlimited());
        assert!(Rights::default().allows_server("b") && Rights::default().is_unlimited());
    }
}
