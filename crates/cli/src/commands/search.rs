//! `toolbay search`: searches code by meaning or by text.

mod show;

use std::{path::PathBuf, sync::atomic::AtomicBool};

use toolbay_builtin::codebase::{CodeError, SearchByEmbedding, SearchCode, Strings};
use toolbay_search::{
    codebase::Codebase,
    semantic,
    text::{self, Case},
};

use super::index;
use crate::{
    app::{
        codebases::{OpenTrees, failed, folder, show_secrets},
        context::Context,
        error::CliError,
    },
    args::SearchArgs,
};

/// How many results are shown by default.
const BY_MEANING: usize = 10;
const OF_TEXT: usize = 1000;

pub(crate) async fn run(context: &Context, args: &SearchArgs) -> Result<(), CliError> {
    let (root, within) = place(args)?;
    if args.text.is_none() {
        index::refresh(context, &root, show_secrets(args.secrets)).await?;
    }
    let tree = OpenTrees::once(context).tree(&root, show_secrets(args.secrets), None);
    let query = Query::new(args, within);
    let searched = tokio::task::spawn_blocking(move || query.search(&*tree.get()?));
    let found = tokio::select! {
        // The thread ends with us.
        () = context.stop.cancelled() => return Err(CliError::Interrupted),
        found = searched => found.map_err(std::io::Error::other)?.map_err(failed)?,
    };
    show::show(&context.out, args, &found)
}

/// The folder to search in, and the file in it, if one was given.
fn place(args: &SearchArgs) -> Result<(PathBuf, Option<String>), CliError> {
    // With `--text`, the first argument is the path.
    let typed = match (&args.text, &args.path) {
        (Some(_), None) => args.question.as_ref().map(PathBuf::from),
        (Some(_), Some(_)) => {
            return Err(CliError::usage("`--text PATTERN` takes one PATH and no QUERY"));
        }
        (None, path) => path.clone(),
    };
    let Some(file) = typed.as_deref().filter(|path| path.is_file()) else {
        return Ok((folder(typed.as_deref())?, None));
    };
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok((folder(parent)?, name))
}

enum Query {
    Text(SearchCode),
    Semantic(SearchByEmbedding),
}

/// The results of a search.
enum SearchResults {
    Text(text::Results),
    Semantic(semantic::Results),
}

impl Query {
    fn new(args: &SearchArgs, path: Option<String>) -> Self {
        let glob = Strings(args.glob.clone());
        match &args.text {
            Some(pattern) => Self::Text(SearchCode {
                query: pattern.clone(),
                max_results: Some(args.max_results.unwrap_or(OF_TEXT)),
                regex: !args.fixed_strings,
                case: match (args.ignore_case, args.case_sensitive) {
                    (true, _) => Case::Insensitive,
                    (_, true) => Case::Sensitive,
                    (false, false) => Case::Smart,
                },
                word: args.word_regexp,
                glob,
                path,
                context: u32::try_from(args.context).unwrap_or(u32::MAX),
                offset: args.offset,
            }),
            None => Self::Semantic(SearchByEmbedding {
                query: args.question.clone().unwrap_or_default(),
                max_results: Some(args.max_results.unwrap_or(BY_MEANING)),
                path,
                glob,
                language: args.language.clone(),
                max_tokens: None,
                offset: args.offset,
            }),
        }
    }

    fn search(&self, codebase: &Codebase) -> Result<SearchResults, CodeError> {
        let cancelled = AtomicBool::new(false);
        Ok(match self {
            Self::Text(query) => SearchResults::Text(query.search(codebase, &cancelled)?),
            Self::Semantic(query) => SearchResults::Semantic(query.search(codebase, &cancelled)?),
        })
    }
}
