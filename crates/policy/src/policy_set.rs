//! All profiles and rules of a hub.

use std::sync::Arc;

use crate::{Policy, Profile};

/// All profiles and rules of a hub.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicySet {
    profiles: Vec<Arc<Profile>>,
    rules: Policy,
    /// Whether clients get profiles by their names.
    is_by_client: bool,
}

impl PolicySet {
    /// These profiles, each name once, and these rules.
    pub fn new(profiles: Vec<Profile>, rules: Policy) -> Self {
        let is_by_client = profiles.iter().any(|profile| !profile.clients.is_empty());
        Self { profiles: profiles.into_iter().map(Arc::new).collect(), rules, is_by_client }
    }

    /// The profiles, in the order of the configuration.
    pub fn profiles(&self) -> &[Arc<Profile>] {
        &self.profiles
    }

    /// The profile of that name.
    pub fn profile(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles.iter().find(|profile| profile.name.as_str() == name)
    }

    /// Whether clients get profiles by their names.
    pub fn is_by_client(&self) -> bool {
        self.is_by_client
    }

    /// The first profile that is for a client with that name.
    pub fn profile_of_client(&self, client: &str) -> Option<&Arc<Profile>> {
        self.profiles.iter().find(|profile| profile.is_for_client(client))
    }

    /// The rules.
    pub fn rules(&self) -> &Policy {
        &self.rules
    }
}
