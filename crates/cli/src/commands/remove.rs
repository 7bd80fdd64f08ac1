//! `toolbay remove`: a server goes from the file that has it. And what all commands share that change an entry in place.

use serde_json::json;
use toolbay_config::{Edit, edit, scope::Scope};

use crate::{
    app::{context::Context, error::CliError},
    args::EntryArgs,
    configured::{
        files::Configuration,
        report::{scope, short_path},
        target::TargetFile,
    },
};

pub(crate) fn run(context: &Context, args: &EntryArgs) -> Result<(), CliError> {
    let file = change(context, args, Edit::Remove(&args.name), "removed")?;
    if file.scope == Scope::Project {
        // Whatever comes under this name later is another one.
        let configuration = Configuration::find(context)?;
        configuration.approvals().forget(&configuration.project, &args.name)?;
    }
    Ok(())
}

/// Changes the entry of a server where it stands and tells so; a running hub follows by itself.
pub(super) fn change(
    context: &Context,
    args: &EntryArgs,
    what: Edit<'_>,
    done: &str,
) -> Result<TargetFile, CliError> {
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
