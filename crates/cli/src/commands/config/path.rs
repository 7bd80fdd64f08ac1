//! `toolbay config path`: which files count.

use serde_json::{Value, json};

use crate::{
    app::{context::Context, error::CliError},
    args::PathArgs,
    configured::{files::Configuration, report::scope, target::TargetFile},
    term::table::{Cell, Look, render},
};

pub(super) fn run(context: &Context, args: &PathArgs) -> Result<(), CliError> {
    if let Some(wanted) = args.scope {
        let path = TargetFile::of(context, Some(wanted))?.path;
        return match context.out.json {
            true => Ok(context.out.json_object(&json!({ "path": path }))?),
            false => Ok(context.out.data(&format!("{}\n", path.display()))?),
        };
    }
    let files = Configuration::find(context)?.files;
    let approvals = context.env.approvals();
    let all = files.iter().map(|file| (scope(file.scope), &file.path));
    let all = all.chain(approvals.iter().map(|path| ("approvals", path)));
    if context.out.json {
        let files: Vec<Value> = all
            .map(|(scope, path)| json!({ "scope": scope, "path": path, "exists": path.is_file() }))
            .collect();
        return Ok(context.out.json_object(&json!({ "files": files }))?);
    }
    let row = |(scope, path): (&'static str, &std::path::PathBuf)| {
        let is_there = path.is_file();
        let presence = if is_there { "there" } else { "missing" };
        let look = if is_there { Look::Good } else { Look::Dim };
        vec![Cell::from(scope), Cell::new(presence, look), path.display().to_string().into()]
    };
    let rows: Vec<Vec<Cell>> = all.map(row).collect();
    for line in render(&rows, context.out.paint) {
        context.out.data(&format!("{line}\n"))?;
    }
    Ok(())
}
