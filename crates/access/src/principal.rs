//! Who calls.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// Who calls: the owner of the hub, a hub token, a local user, or a user of an issuer. Cheap to clone, to compare and to
/// look up, because that is done for every call.
#[derive(Clone, PartialEq, Eq)]
pub struct Principal(Option<Arc<NamedPrincipal>>);

/// Invariant: `hash` is that of `name`.
#[derive(PartialEq, Eq)]
struct NamedPrincipal {
    hash: u64,
    name: String,
}

impl Principal {
    /// The one whose hub it is: all rights. Also everyone where the hub asks for no token.
    pub const OWNER: Self = Self(None);

    /// A token that the hub issued, by its name.
    pub fn hub_token(name: &str) -> Self {
        Self::named(format!("token:{name}"))
    }

    /// Another user of this machine, on a Unix socket.
    pub fn local_user(uid: u32) -> Self {
        Self::named(format!("uid:{uid}"))
    }

    /// A user that an issuer knows. Both parts count: two issuers may know the same subject.
    pub fn user(issuer: &str, subject: &str) -> Self {
        Self::named(format!("user:{issuer}#{subject}"))
    }

    fn named(name: String) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(Some(Arc::new(NamedPrincipal { hash: hasher.finish(), name })))
    }

    /// The name for people, logs and keys of stores: `owner`, `token:NAME`, `uid:1000`, `user:ISSUER#SUBJECT`.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("owner", |named| &named.name)
    }

    /// Whether it is the owner of the hub.
    pub fn is_owner(&self) -> bool {
        self.0.is_none()
    }
}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.as_ref().map_or(0, |named| named.hash));
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({})", self.as_str())
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Principal;

    #[test]
    fn principals_of_different_kinds_are_never_equal() {
        let all = [
            Principal::OWNER,
            Principal::hub_token("a"),
            Principal::local_user(1),
            Principal::user("https://a", "1"),
            Principal::user("https://b", "1"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().skip(at + 1).all(|other| one != other && one.as_str() != other.as_str()));
        }
        assert!(all[0].is_owner() && !all[1].is_owner());
    }
}
