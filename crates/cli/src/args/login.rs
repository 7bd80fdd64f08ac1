//! Arguments of `toolbay login`, `logout` and `auth`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Name of the server
    pub(crate) server: String,
    /// Print the URL instead of opening a browser, and accept the URL that the browser was sent to, on stdin
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Request this scope, too; repeatable
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Name of the server
    pub(crate) server: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthSubcommand {
    /// List the servers you are logged in at: issuer, scopes and expiry
    List,
    /// List the people and clients that are logged in at this hub through `[auth.proxy]`
    Clients,
    /// End logins at this hub: their tokens are refused within a second
    Revoke(RevokeLoginsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RevokeLoginsArgs {
    /// The login, as `toolbay auth clients` shows it; the beginning is enough
    #[arg(required_unless_present = "user", conflicts_with = "user")]
    pub(crate) login: Option<String>,
    /// All logins of this person
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
}
