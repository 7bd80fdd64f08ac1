//! Arguments of `toolbay policy` and `toolbay pending`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicySubcommand {
    /// Explain what would happen to a call: which rule decides, and why those before it do not match
    Test(PolicyTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTestArgs {
    /// Name of the tool, as clients call it
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: String,
    /// Arguments of the call, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,
    /// Who calls: owner, token:NAME, uid:1000, user:ISSUER#SUBJECT
    #[arg(long, value_name = "PRINCIPAL", default_value = "owner")]
    pub(crate) principal: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PendingSubcommand {
    /// List the calls that wait for you
    List,
    /// Let a call be made
    Allow(PendingArgs),
    /// Refuse a call
    Deny(PendingArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PendingArgs {
    /// Number of the call, as in `toolbay pending list`
    pub(crate) id: u64,
}
