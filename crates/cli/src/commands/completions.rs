//! `toolbay completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::{Shell as Dialect, generate};
use serde_json::json;

use crate::{
    app::{context::Context, error::CliError},
    args::{CompletionsArgs, LowArgs, Shell},
};

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Result<(), CliError> {
    let (name, dialect) = match args.shell {
        Shell::Bash => ("bash", Dialect::Bash),
        Shell::Fish => ("fish", Dialect::Fish),
        Shell::Zsh => ("zsh", Dialect::Zsh),
    };
    let mut script = Vec::new();
    generate(dialect, &mut LowArgs::command(), env!("CARGO_PKG_NAME"), &mut script);
    let out = &context.out;
    if out.json {
        let script = String::from_utf8_lossy(&script);
        return Ok(out.json_object(&json!({ "shell": name, "script": script }))?);
    }
    if out.stdout_is_terminal {
        out.note(how_to(args.shell));
    }
    Ok(out.bytes(&script)?)
}

/// A comment for users who see the script on their terminal.
fn how_to(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "add to ~/.bashrc: source <(toolbay completions bash)",
        Shell::Fish => "run once: toolbay completions fish > ~/.config/fish/completions/toolbay.fish",
        Shell::Zsh => "add to ~/.zshrc, after compinit: source <(toolbay completions zsh)",
    }
}
