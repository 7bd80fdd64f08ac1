//! `toolbay import`: copies servers of other clients to our own file, after showing them and asking.

mod plan;
mod secrets;
mod sources;

use std::{net::SocketAddr, path::PathBuf};

use http::Uri;
use serde_json::{Value, json};
use toolbay_config::{Edit, ReadFiles, WrittenServer, edit, load_with};

use crate::{
    app::{context::Context, cycle::OwnHub, error::CliError, hub::DEFAULT_ADDRESS, session},
    args::{ImportArgs, SecretsArg},
    configured::{
        describe::target,
        edit::approve,
        files::variables,
        report::{self, scope, short_path},
        target::TargetFile,
    },
    term::{
        confirm::{can_ask, confirm},
        style::clean_line,
        table::{Cell, Look, print},
    },
};
use plan::{Candidate, ImportStatus};
pub(super) use sources::{folders, unknown_client};

pub(crate) async fn run(context: &Context, args: &ImportArgs) -> Result<(), CliError> {
    let file = TargetFile::of(context, args.put.scope)?;
    let mut sources = sources::find(context, args)?;
    if args.prefer_builtin {
        sources.prefer_built_in(context);
    }
    let own = own_hub(context, &file).await?;
    let candidates = plan::plan(context, &file, &sources.found, &own, args.replace)?;
    let chosen: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| candidate.is_taken).collect();
    if !context.out.json {
        show(context, &candidates)?;
    }
    let is_written = !args.put.dry_run && !chosen.is_empty();
    if is_written {
        allow(context, args, &file, chosen.len()).await.inspect_err(|_| {
            // With `--json`, the servers that were found are printed, too.
            if context.out.json {
                let _ = report(context, &file, &candidates, false);
            }
        })?;
        let mut servers: Vec<WrittenServer> =
            chosen.iter().map(|candidate| candidate.written.clone()).collect();
        let moved = secrets::move_to_store(
            context,
            &mut servers,
            args.secrets.or(args.put.yes.then_some(SecretsArg::Copy)),
        )
        .await?;
        if moved > 0 {
            context
                .out
                .note(&format!("{moved} secret{} moved to the store", if moved == 1 { "" } else { "s" }));
        }
        let edits: Vec<Edit<'_>> = servers.iter().map(Edit::Put).collect();
        edit(&file.path, None, &edits)?;
        for candidate in &chosen {
            approve(context, &file, &candidate.written.name)?;
        }
    }
    if context.out.json {
        return report(context, &file, &candidates, is_written);
    }
    let count = counted(chosen.len());
    let path = short_path(context, &file.path);
    context.out.note(&match (is_written, candidates.is_empty()) {
        (true, _) => format!("{count} imported into {path}"),
        (false, true) => nothing(context, args, &sources.looked_at),
        (false, false) if chosen.is_empty() => "nothing to import".to_owned(),
        (false, false) => format!("{count} would be imported into {path}"),
    });
    Ok(())
}

/// The addresses of the hub of a file: the default one, those of its `[hub]`, and those of a running hub.
async fn own_hub(context: &Context, file: &TargetFile) -> Result<OwnHub, CliError> {
    let named = context.args.global.config.as_ref().and_then(|config| config.canonicalize().ok());
    let written = load_with(&file.path, &variables(context, ReadFiles::Never)).unwrap_or_default();
    let own = OwnHub { named, folder: std::env::current_dir()?, addresses: vec![DEFAULT_ADDRESS] };
    let mut own = own.listening(&written.hub.listen);
    if let Ok(hub) = session::running_here(context).await
        && let Ok(snapshot) = hub.snapshot().await
    {
        let url = snapshot.url.and_then(|url| url.parse::<Uri>().ok());
        let address = url.and_then(|url| url.authority()?.as_str().parse::<SocketAddr>().ok());
        own.addresses.extend(address);
    }
    Ok(own)
}

async fn allow(
    context: &Context,
    args: &ImportArgs,
    file: &TargetFile,
    count: usize,
) -> Result<(), CliError> {
    if args.put.yes {
        return Ok(());
    }
    if !can_ask(context) {
        return Err(CliError::Usage {
            message: "cannot ask for confirmation: not a terminal".to_owned(),
            hint: Some("pass --yes to import without confirmation".to_owned()),
        });
    }
    let question = format!("Import {} into {}?", counted(count), short_path(context, &file.path));
    if confirm(context, &question).await? { Ok(()) } else { Err(CliError::Declined) }
}

/// The folders that were searched without a result.
fn nothing(context: &Context, args: &ImportArgs, looked_at: &[PathBuf]) -> String {
    let is_listed = args.from.is_some() || args.file.is_some() || context.is_verbose();
    match (is_listed, looked_at.len()) {
        (_, 0) => "no servers found".to_owned(),
        (false, count) => format!("no servers found; looked at {count} files (-v lists them)"),
        (true, _) => {
            let paths: Vec<String> = looked_at.iter().map(|path| short_path(context, path)).collect();
            format!("no servers found; looked at: {}", paths.join(", "))
        }
    }
}

fn counted(count: usize) -> String {
    format!("{count} server{}", if count == 1 { "" } else { "s" })
}

fn show(context: &Context, candidates: &[Candidate<'_>]) -> Result<(), CliError> {
    let row = |candidate: &Candidate<'_>| {
        let look = match candidate.status {
            ImportStatus::New => Look::Good,
            ImportStatus::Changed | ImportStatus::Conflict => Look::Busy,
            ImportStatus::Unusable => Look::Bad,
            ImportStatus::Same | ImportStatus::Hub => Look::Dim,
        };
        vec![
            Cell::new(candidate.status.word(), look),
            Cell::new(clean_line(&candidate.written.name), Look::Bold),
            candidate.client.into(),
            short_path(context, candidate.path).into(),
            target(&candidate.written.normalized()).into(),
        ]
    };
    let head = ["", "NAME", "OF", "FILE", "COMMAND OR URL"].map(|text| Cell::new(text, Look::Dim)).to_vec();
    if !candidates.is_empty() {
        let rows: Vec<Vec<Cell>> = std::iter::once(head).chain(candidates.iter().map(row)).collect();
        print(context, &rows, "")?;
    }
    for candidate in candidates {
        for note in &candidate.notes {
            context.out.warn(&format!("server `{}`: {note}", candidate.written.name));
        }
    }
    let unpinned = candidates.iter().filter_map(|candidate| {
        Some(format!("server `{}`: {}", candidate.written.name, candidate.unpinned.as_ref()?))
    });
    for warning in report::gathered(unpinned.collect(), context.is_verbose()) {
        context.out.warn(&warning);
    }
    Ok(())
}

fn report(
    context: &Context,
    file: &TargetFile,
    candidates: &[Candidate<'_>],
    is_written: bool,
) -> Result<(), CliError> {
    let servers: Vec<Value> = candidates
        .iter()
        .map(|candidate| {
            json!({
                "status": candidate.status.word(),
                "imported": is_written && candidate.is_taken,
                "client": candidate.client,
                "file": candidate.path,
                "server": candidate.written.normalized(),
                "notes": candidate.notes.iter().chain(&candidate.unpinned).collect::<Vec<_>>(),
            })
        })
        .collect();
    Ok(context.out.json_object(&json!({
        "file": file.path, "scope": scope(file.scope), "written": is_written, "servers": servers,
    }))?)
}
