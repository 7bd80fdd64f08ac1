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
}
