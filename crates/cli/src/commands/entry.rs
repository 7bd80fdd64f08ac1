//! `toolbay remove`, `enable` and `disable`: changes of one entry, in the file that has it.

use serde_json::json;
use toolbay_config::{Edit, Permission, edit, scope::Scope};

use crate::{
    app::{context::Context, error::CliError},
    args::EntryArgs,
    configured::{
        files::Configuration,
        report::{ConfiguredServers, scope, short_path},
        target::TargetFile,
    },
};

/// `toolbay remove`: removes a server from its file.
pub(crate) fn remove(context: &Context, args: &EntryArgs) -> Result<(), CliError> {
    let file = change(context, args, Edit::Remove(&args.name), "removed")?;
    if file.scope == Scope::Project {
        // A later server of this name is another one.
        let configuration = Configuration::find(context)?;
        configuration.approvals().forget(&configuration.project, &args.name)?;
    }
    Ok(())
}

/// Changes the entry of a server in its file and reports it; a running hub follows by itself.
fn change(context: &Context, args: &EntryArgs, what: Edit<'_>, done: &str) -> Result<TargetFile, CliError> {
    let file = TargetFile::with(context, &args.name, args.scope)?;
    let edited = edit(&file.path, None, &[what])?;
    let done = if edited.backup.is_some() { done } else { "unchanged" };
    if context.out.json {
        context.out.json_object(&json!({
            "name": args.name, "change": done, "file": file.path, "scope": scope(file.scope),
        }))?;
    } else {
        context.out.note(&format!("{}: {done} in {}", args.name, short_path(context, &file.path)));
    }
    Ok(file)
}

/// `toolbay enable`: allows a server to run.
pub(crate) fn enable(context: &Context, args: &EntryArgs) -> Result<(), CliError> {
    change(context, args, Edit::Enable(&args.name), "enabled")?;
    let survey = ConfiguredServers::read_silently(context)?;
    if survey.find(&args.name).is_some_and(|placed| placed.server.permission == Permission::Pending) {
        context
            .out
            .note(&format!("it came with this project; approve it with `toolbay approve {}`", args.name));
    }
    Ok(())
}

/// `toolbay disable`: keeps a server from running.
pub(crate) fn disable(context: &Context, args: &EntryArgs) -> Result<(), CliError> {
    change(context, args, Edit::Disable(&args.name), "disabled").map(|_| ())
}
