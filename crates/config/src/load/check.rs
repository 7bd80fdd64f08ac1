//! Checks of a written server: expands variables and validates.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;
use toolbay_protocol::ServerName;

use crate::{
    Command, OAuthConfig, ReadFiles, Remote, SecretPlace, ServerConfig, ServerEndpoint, ServerOptions,
    Stderr, Variables, WrittenServer,
    files::small::read_small_text,
    format::remote,
    load::expansion::Expansion,
    model::{built_in, oauth, secret_text::reference},
    template::{Template, variables::Missing},
};

/// Shells have variables of their own.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];

/// A server, and which of its variables have no value.
pub(crate) struct Checked {
    pub(crate) server: ServerConfig,
    pub(crate) missing: Vec<Missing>,
}

/// Checks a server; the error is a message for the user. Relative folders start at `base`.
pub(crate) fn check(
    written: &WrittenServer,
    base: &Path,
    usual_cwd: Option<PathBuf>,
    variables: &Variables,
) -> Result<Checked, String> {
    let mut tuning: ServerOptions =
        serde_json::from_value(Value::Object(written.tuning.clone())).map_err(|error| error.to_string())?;
    if let Stderr::File(file) = &mut tuning.stderr {
        *file = base.join(&file);
    }
    let mut expansion = Expansion::new(variables);
    let endpoint = match (&written.command, &written.url) {
        (Some(_), Some(_)) => return Err("`command` and `url` cannot be used together".to_owned()),
        (Some(command), None) => {
            if written.oauth.is_some() {
                return Err("`oauth` is for servers at a `url`".to_owned());
            }
            if tuning.ca.is_some() {
                return Err("`toolbay.ca` is for servers at a `url`".to_owned());
            }
            if let Some(name) =
                written.args.iter().flat_map(Template::secrets).next().filter(|_| !tuning.secrets_in_args)
            {
                return Err(format!(
                    "`args` contain `{}`, but other users can see arguments; use `env`, or set `secrets_in_args = true`",
                    reference(name)
                ));
            }
            let program = program(command, written, base, &mut expansion)?;
            ServerEndpoint::Command(Command { cwd: program.cwd.or(usual_cwd), ..program })
        }
        (None, Some(url)) => {
            let ca = tuning.ca.as_deref().filter(|_| variables.files == ReadFiles::Now);
            let ca = ca.map(|file| remote::read_ca(&base.join(file))).transpose()?;
            let headers = headers(written, &mut expansion)?;
            let oauth = match &written.oauth {
                Some(written) => oauth::check(&oauth_values(written, &mut expansion)?, base)?,
                None => OAuthConfig::default(),
            };
            let url = expansion.url(url);
            let remote = remote::check_remote(&url, Some(written.transport.name()), &headers);
            // An invalid URL is most likely due to a variable in it.
            let remote = remote.map_err(|why| match expansion.missing.first() {
                Some(Missing { name, hint, .. }) => format!("{why}; `{name}` is not set: {hint}"),
                None => why,
            })?;
            ServerEndpoint::Url(Remote { ca: ca.unwrap_or_default(), oauth: oauth.into(), ..remote })
        }
        (None, None) => match &written.built_in {
            Some(written) => {
                let base = usual_cwd.as_deref().unwrap_or(base);
                ServerEndpoint::BuiltIn(built_in::check(written, base, &mut expansion)?)
            }
            None => return Err("`command` or `url` is missing".to_owned()),
        },
    };
    let server = ServerConfig {
        name: ServerName::new(written.name.as_str()),
        endpoint,
        permission: written.permission,
        tuning,
        secrets: expansion.secrets,
    };
    Ok(Checked { server, missing: expansion.missing })
}

fn program(
    command: &Template,
    written: &WrittenServer,
    base: &Path,
    expansion: &mut Expansion<'_>,
) -> Result<Command, String> {
    let command = expansion.plain("command", command)?;
    let is_shell =
        Path::new(&command).file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell));
    let before = expansion.missing.len();
    let arguments = written.args.iter().enumerate();
    let args = arguments.map(|(index, arg)| expansion.secret(SecretPlace::Argument(index), arg)).collect();
    if is_shell {
        expansion.missing.truncate(before);
    }
    let env_file = written.env_file.as_ref().map(|file| expansion.plain("env_file", file)).transpose()?;
    let mut env = match env_file {
        Some(file) if expansion.variables.files == ReadFiles::Now => read_env_file(&base.join(file))?,
        _ => BTreeMap::new(),
    };
    for (name, text) in &written.env {
        let value = expansion.optional(SecretPlace::Variable(name.clone()), text);
        env.extend(value.map(|value| (name.clone(), value)));
    }
    let cwd = written.cwd.as_ref().map(|cwd| expansion.plain("cwd", cwd)).transpose()?;
    let cwd = cwd.map(|cwd| base.join(cwd));
    check_command(Command { command, args, env, cwd })
}

fn headers(
    written: &WrittenServer,
    expansion: &mut Expansion<'_>,
) -> Result<BTreeMap<String, String>, String> {
    let mut headers = BTreeMap::new();
    for (name, text) in &written.headers {
        let place = SecretPlace::Header(remote::header_name(name)?);
        let value = expansion.optional(place, text);
        headers.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(headers)
}

/// The values of `oauth`. Only passwords may be secrets.
fn oauth_values(
    texts: &BTreeMap<String, Template>,
    expansion: &mut Expansion<'_>,
) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    for (key, text) in texts {
        let value = match key.ends_with("secret") {
            true => expansion.optional(SecretPlace::OAuth(key.clone()), text),
            false => Some(expansion.plain(&format!("oauth.{key}"), text)?),
        };
        values.extend(value.map(|value| (key.clone(), value)));
    }
    Ok(values)
}

fn check_command(command: Command) -> Result<Command, String> {
    if command.command.trim().is_empty() {
        return Err("`command` is empty".to_owned());
    }
    let nul = |text: &str| text.contains('\0');
    let env_is_odd =
        command.env.iter().any(|(key, value)| key.is_empty() || key.contains('=') || nul(key) || nul(value));
    if nul(&command.command) || command.args.iter().any(|arg| nul(arg)) || env_is_odd {
        return Err("`command`, `args` and `env` must not contain NUL, nor an `env` name `=`".to_owned());
    }
    Ok(command)
}

/// A larger file is none of these.
const MAX_ENV_FILE: u64 = 1024 * 1024;

/// Reads such a file; the error never shows a value.
pub(crate) fn read_env_file(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("cannot read the env file {}: {why}", path.display());
    let text = read_small_text(path, MAX_ENV_FILE).map_err(|error| failed(&error))?;
    let mut variables = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) =
            line.split_once('=').ok_or_else(|| failed(&format!("line {} has no `=`", number + 1)))?;
        variables.insert(name.trim().to_owned(), value_of(value.trim()));
    }
    Ok(variables)
}

/// A value without its quotes, or without the comment behind it.
fn value_of(text: &str) -> String {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.split_once(quote));
        if let Some((inner, _)) = inner {
            return if quote == '"' { inner.replace("\\n", "\n") } else { inner.to_owned() };
        }
    }
    text.split_once(" #").map_or(text, |(value, _)| value.trim_end()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_from_quotes_and_before_comments() {
        for (written, value) in [
            ("a", "a"),
            ("a b # c", "a b"),
            ("\"a # b\" # c", "a # b"),
            ("'a\\nb'", "a\\nb"),
            ("\"a\\nb\"", "a\nb"),
            ("", ""),
        ] {
            assert_eq!(value_of(written), value, "{written}");
        }
    }
}
