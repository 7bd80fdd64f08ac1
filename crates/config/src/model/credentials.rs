//! Whose credentials a server has.

use crate::{
    OAuthGrant, ServerConfig, ServerEndpoint,
    redact::{has_secret, is_secret, is_secret_name},
};

impl ServerConfig {
    /// Whether the entry of the server has credentials: a token in a header or a variable, for example, or a grant that needs no
    /// user. Then all who use the server act as the owner of these credentials.
    ///
    /// Built-in servers do not count: their keys pay for searches and open nothing that belongs to a person.
    pub fn has_credentials(&self) -> bool {
        match &self.endpoint {
            ServerEndpoint::BuiltIn(_) => false,
            // Whatever the name of the place, a secret is one.
            _ if !self.secrets.is_empty() => true,
            ServerEndpoint::Command(command) => {
                let is_secret_flag = |argument: &String| {
                    let flag = argument.split('=').next().filter(|flag| flag.starts_with('-'));
                    flag.is_some_and(is_secret_name) || has_secret(argument)
                };
                command.env.iter().any(|(name, value)| is_secret(name, value))
                    || command.args.iter().any(is_secret_flag)
            }
            ServerEndpoint::Url(remote) => {
                let mut headers = remote.headers.iter();
                headers.any(|(name, value)| is_secret(name.as_str(), value.to_str().unwrap_or_default()))
                    || has_secret(&remote.url.to_string())
                    || remote.oauth.grant != OAuthGrant::AuthorizationCode
            }
        }
    }
}
