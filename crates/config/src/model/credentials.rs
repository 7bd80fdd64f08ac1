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

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn credentials_of_an_entry_are_recognized() {
        for (entry, expected) in [
            ("command = 'x'", false),
            ("command = 'x'\nenv = { PATH = '/bin' }", false),
            ("command = 'x'\nenv = { GITHUB_TOKEN = 'abc' }", true),
            ("command = 'x'\nargs = ['--api-key', 'abc']", true),
            ("command = 'x'\nargs = ['--api-key=abc']", true),
            ("command = 'x'\nargs = ['--verbose', '/a/b', '8080']", false),
            ("url = 'https://h/mcp'", false),
            ("url = 'http://127.0.0.1:34567/mcp'", false),
            ("url = 'https://h/mcp'\nheaders = { Authorization = 'Bearer abc' }", true),
            ("url = 'https://h/mcp'\nheaders = { X-Api-Key = 'abc' }", true),
            ("url = 'https://h/mcp'\nheaders = { X-Team = 'blue' }", false),
            ("url = 'https://h/mcp?api_key=abc'", true),
            (
                "url = 'https://h/mcp'\noauth = { grant = 'client_credentials', client_id = 'a', client_secret = 'b' }",
                true,
            ),
            ("url = 'https://h/mcp'\noauth = { client_id = 'a' }", false),
            ("builtin = 'time'", false),
        ] {
            let text = format!("[servers.s]\n{entry}\n");
            let file = crate::parse(&text, Path::new("toolbay.toml")).unwrap();
            assert!(file.problems.is_empty(), "{entry}: {:?}", file.problems);
            assert_eq!(file.servers[0].has_credentials(), expected, "{entry}");
        }
    }
}
