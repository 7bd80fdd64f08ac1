//! Who calls.

use std::{fmt, sync::Arc};

/// Who calls: the owner of the hub, a hub token, a local user, or a user of an issuer. Cheap to clone and to compare.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Option<Arc<str>>);

impl Principal {
    /// The one whose hub it is: all rights. Also everyone where the hub asks for no token.
    pub const OWNER: Self = Self(None);

    /// A token that the hub issued, by its name.
    pub fn hub_token(name: &str) -> Self {
        Self(Some(format!("token:{name}").into()))
    }

    /// Another user of this machine, on a Unix socket.
    pub fn local_user(uid: u32) -> Self {
        Self(Some(format!("uid:{uid}").into()))
    }

    /// A user that an issuer knows. Both parts count: two issuers may know the same subject.
    pub fn user(issuer: &str, subject: &str) -> Self {
        Self(Some(format!("user:{issuer}#{subject}").into()))
    }

    /// The name for people, logs and keys of stores: `owner`, `token:NAME`, `uid:1000`, `user:ISSUER#SUBJECT`.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("owner")
    }

    /// Whether it is the owner of the hub.
    pub fn is_owner(&self) -> bool {
        self.0.is_none()
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
