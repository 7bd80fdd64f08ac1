//! Asking people.

use std::io::{self, IsTerminal};

use crate::{
    app::{context::Context, error::CliError},
    term::{output::to_stderr, style::clean},
};

/// Whether there is somebody to ask: who reads the question and can type the answer.
pub(crate) fn can_ask(context: &Context) -> bool {
    io::stdin().is_terminal() && context.out.stderr_is_terminal && !context.out.json
}

/// Asks a question that is answered with yes or no; no is what an empty line says.
pub(crate) async fn confirm(context: &Context, question: &str) -> Result<bool, CliError> {
    let answer = ask(context, &format!("{question} [y/N] ")).await?;
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

/// The answer to a question, in small letters. Signals end the waiting.
pub(crate) async fn ask(context: &Context, question: &str) -> Result<String, CliError> {
    Ok(read_line(context, question).await?.unwrap_or_default().trim().to_lowercase())
}

/// The line that somebody types after a question; nothing at the end of the input. Signals end the waiting.
pub(crate) async fn read_line(context: &Context, question: &str) -> Result<Option<String>, CliError> {
    to_stderr(&clean(question));
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|count| (count > 0).then_some(line))
    });
    tokio::select! {
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        line = read => Ok(line.map_err(io::Error::other)??),
    }
}
