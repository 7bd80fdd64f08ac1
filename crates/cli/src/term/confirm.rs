//! Questions to the user on a terminal.

use std::io::{self, IsTerminal};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{
    app::{context::Context, error::CliError},
    term::{output::to_stderr, style::clean},
};

/// Whether the user can be asked: stdin and stderr are a terminal.
pub(crate) fn can_ask(context: &Context) -> bool {
    io::stdin().is_terminal() && context.out.stderr_is_terminal && !context.out.json
}

/// Asks a yes-or-no question. An empty line means no.
pub(crate) async fn confirm(context: &Context, question: &str) -> Result<bool, CliError> {
    let answer = ask(context, &format!("{question} [y/N] ")).await?;
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

/// Asks a question and returns the answer in lower case. Signals end the waiting.
pub(crate) async fn ask(context: &Context, question: &str) -> Result<String, CliError> {
    Ok(read_line(context, question).await?.unwrap_or_default().trim().to_lowercase())
}

/// Asks a question and returns the line that is typed; none at the end of the input. Signals end the waiting.
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

/// Asks for what must not be shown, and returns the line that is typed without its end. Signals end the waiting.
pub(crate) async fn read_hidden(context: &Context, question: &str) -> Result<String, CliError> {
    let hidden = HiddenInput::begin()?;
    let line = read_line(context, question).await;
    drop(hidden);
    // The line break that was typed was not shown, either.
    to_stderr("\n");
    let mut line = line?.unwrap_or_default();
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

/// A terminal that does not show what is typed, until this is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        // What was typed before the question is not an answer to it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &modes)?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
