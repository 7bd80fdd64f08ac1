//! A server as written, with its paths in full.

use std::path::Path;

use serde_json::{Value, json};

use crate::{BuiltIn, ServerConfig, ServerEndpoint, Stderr, Variables, WrittenServer, template::Template};

/// A server as written, in which nothing depends any more on where the file is.
pub(crate) fn in_full(
    written: &WrittenServer,
    server: &ServerConfig,
    folder: &Path,
    variables: &Variables,
) -> WrittenServer {
    let mut moved = written.clone();
    moved.texts_mut().for_each(|text| *text = text.with_places(variables));
    moved.env_file = moved.env_file.map(|file| file.below(folder));
    // What was said about it, or where the program of this file would run it.
    moved.cwd = match (&server.endpoint, moved.cwd) {
        (_, Some(cwd)) => Some(cwd.below(folder)),
        (ServerEndpoint::Command(command), None) => command.cwd.as_deref().map(Template::of_path),
        (ServerEndpoint::Url(_) | ServerEndpoint::BuiltIn(_), None) => None,
    };
    if let (Some(moved), ServerEndpoint::BuiltIn(BuiltIn::Codebase(codebase))) =
        (&mut moved.built_in, &server.endpoint)
    {
        moved.root = match moved.root.take() {
            Some(root) => Some(root.below(folder)),
            None => Some(Template::of_path(&codebase.root)),
        };
    }
    if let Some(Value::String(file)) = moved.tuning.get_mut("ca") {
        *file = folder.join(&*file).display().to_string();
    }
    if let Stderr::File(file) = &server.tuning.stderr {
        moved.tuning.insert("stderr".to_owned(), json!({ "file": file }));
    }
    moved
}
