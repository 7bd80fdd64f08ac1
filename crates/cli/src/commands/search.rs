//! `toolbay search`: code by what it does, or by its text.

mod line;
mod show;
mod words;

use std::path::PathBuf;

use toolbay_builtin::codebase::{
    Case, Code, CodeError, MeaningAnswer, MeaningQuery, TextAnswer, TextQuery, TreeWork,
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

/// How many results are shown unless said.
const BY_MEANING: usize = 10;
const OF_TEXT: usize = 1000;

pub(crate) async fn run(context: &Context, args: &SearchArgs) -> Result<(), CliError> {
    let (root, within) = place(args)?;
    if args.text.is_none() {
        index::refresh(context, &root, show_secrets(args.secrets)).await?;
    }
    let tree = OpenTrees::once(context).tree(&root, show_secrets(args.secrets), None);
    let question = Question::of(args, within);
    let searched = tokio::task::spawn_blocking(move || {
        let tree = tree.tree()?;
        question.ask(&*tree, &TreeWork::alone(tree.clone()))
    });
    let found = tokio::select! {
        // The thread ends with us.
        () = context.stop.cancelled() => return Err(CliError::Interrupted),
        found = searched => found.map_err(std::io::Error::other)?.map_err(failed)?,
    };
    show::show(&context.out, args, &found)
}

/// The folder to search in, and what in it, if that is a file.
fn place(args: &SearchArgs) -> Result<(PathBuf, Option<String>), CliError> {
    // With `--text`, what stands first is the place.
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

enum Question {
    Text(TextQuery),
    Meaning(MeaningQuery),
}

/// What was found.
enum SearchResults {
    Text(TextAnswer),
    Meaning(MeaningAnswer),
}

impl Question {
    fn of(args: &SearchArgs, path: Option<String>) -> Self {
        let globs = args.glob.clone();
        match &args.text {
            Some(pattern) => Self::Text(TextQuery {
                pattern: pattern.clone(),
                regex: !args.fixed_strings,
                case: match (args.ignore_case, args.case_sensitive) {
                    (true, _) => Case::Insensitive,
                    (_, true) => Case::Sensitive,
                    (false, false) => Case::Smart,
                },
                word: args.word_regexp,
                globs,
                path,
                context: args.context,
                offset: args.offset,
                limit: args.max_results.unwrap_or(OF_TEXT),
            }),
            None => Self::Meaning(MeaningQuery {
                query: args.question.clone().unwrap_or_default(),
                globs,
                path,
                language: args.language.clone(),
                offset: args.offset,
                limit: args.max_results.unwrap_or(BY_MEANING),
            }),
        }
    }

    fn ask(&self, tree: &dyn Code, work: &TreeWork) -> Result<SearchResults, CodeError> {
        Ok(match self {
            Self::Text(query) => SearchResults::Text(tree.search_text(query, work)?),
            Self::Meaning(query) => SearchResults::Meaning(tree.search_meaning(query, work)?),
        })
    }
}
