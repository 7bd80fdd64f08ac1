//! Finding variables in a text.

use super::{Keyword, MissingValue, TemplatePart, ValueSource, Variable};

/// How variables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Not at all.
    Plain,
    /// `${VAR}` and `${VAR:-default}`, and the syntax of editors where it is unambiguous.
    Claude,
    /// `${env:VAR}`, `${input:id}`, `${workspaceFolder}` and the like; without a value they expand to nothing.
    Editor,
    /// `$VAR` too.
    Dollar,
    /// `{env:VAR}` and `{file:path}`.
    OpenCode,
    /// Our own: as Claude, and before `{` two `$` are one that begins no variable.
    Native,
}

pub(super) fn parts(text: &str, style: Style) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        let dollars = dollars_at(rest);
        if style == Style::Native && dollars > 1 && rest[dollars..].starts_with('{') {
            literal.push_str(&rest[..dollars / 2]);
            rest = &rest[dollars - dollars % 2..];
            if dollars.is_multiple_of(2) {
                literal.push('{');
                rest = &rest[1..];
            }
        } else if let Some((variable, length)) = variable(rest, style) {
            if !literal.is_empty() {
                parts.push(TemplatePart::Literal(std::mem::take(&mut literal)));
            }
            parts.push(TemplatePart::Variable(variable));
            rest = &rest[length..];
        } else {
            literal.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() || parts.is_empty() {
        parts.push(TemplatePart::Literal(literal));
    }
    parts
}

/// A text that is no variable, for our own style.
pub(super) fn escape(text: &str, comes_before_variable: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let dollars = dollars_at(rest);
        let after = &rest[dollars..];
        let could_begin = after.starts_with('{') || (after.is_empty() && comes_before_variable);
        out.push_str(&rest[..dollars]);
        if could_begin {
            out.push_str(&rest[..dollars]);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn dollars_at(text: &str) -> usize {
    text.len() - text.trim_start_matches('$').len()
}

/// The variable at the beginning of a text, and its length.
fn variable(text: &str, style: Style) -> Option<(Variable, usize)> {
    if let Some(found) = secret(text) {
        return Some(found);
    }
    let (source, default, length) = match style {
        Style::Plain => return None,
        Style::OpenCode => {
            let inner = between(text, "{")?;
            let source = inner
                .strip_prefix("env:")
                .filter(|name| is_name(name))
                .map(|name| ValueSource::Env(name.to_owned()))
                .or_else(|| inner.strip_prefix("file:").map(|path| ValueSource::File(path.to_owned())))?;
            (source, None, inner.len() + 2)
        }
        _ => match between(text, "${") {
            Some(inner) => {
                let (source, default) = braced(inner, style)?;
                (source, default, inner.len() + 3)
            }
            None if style == Style::Dollar => {
                let name = name_at(text.strip_prefix('$')?)?;
                (ValueSource::Env(name.to_owned()), None, name.len() + 1)
            }
            None => return None,
        },
    };
    let empties = style == Style::Editor && matches!(source, ValueSource::Env(_));
    let lack = if empties { MissingValue::Empties } else { MissingValue::Stays };
    Some((Variable { source, default, written: text[..length].to_owned(), lack }, length))
}

/// A reference to a secret of the user, which is written alike in all styles.
fn secret(text: &str) -> Option<(Variable, usize)> {
    let inner = between(text, "${")?;
    let source = ValueSource::Secret(inner.strip_prefix("secret:")?.parse().ok()?);
    let length = inner.len() + 3;
    let written = text[..length].to_owned();
    Some((Variable { source, default: None, written, lack: MissingValue::Stays }, length))
}

/// Parses the text in the braces of `${…}`.
fn braced(inner: &str, style: Style) -> Option<(ValueSource, Option<String>)> {
    if let Some((name, default)) = inner.split_once(":-")
        && style != Style::Editor
        && is_name(name)
    {
        return Some((ValueSource::Env(name.to_owned()), Some(default.to_owned())));
    }
    let source = match inner.split_once(':') {
        Some(("env", name)) if is_name(name) => ValueSource::Env(name.to_owned()),
        Some(("input", id)) if !id.is_empty() => ValueSource::Input(id.to_owned()),
        Some(("file", path)) if !path.is_empty() => ValueSource::File(path.to_owned()),
        Some(_) => return None,
        None => match (word(inner), inner.strip_prefix("user_config.")) {
            (Some(word), _) => ValueSource::Word(word),
            (None, Some(key)) => ValueSource::Input(key.to_owned()),
            (None, None) if style != Style::Editor && is_name(inner) => ValueSource::Env(inner.to_owned()),
            (None, None) => return None,
        },
    };
    Some((source, None))
}

fn word(name: &str) -> Option<Keyword> {
    Some(match name {
        "workspaceFolder" | "workspaceRoot" | "CLAUDE_PROJECT_DIR" => Keyword::Workspace,
        "workspaceFolderBasename" => Keyword::WorkspaceName,
        "userHome" => Keyword::Home,
        "pathSeparator" | "/" => Keyword::Separator,
        "CLAUDE_PLUGIN_ROOT" | "__dirname" | "extensionPath" => Keyword::Folder,
        _ => return None,
    })
}

fn between<'a>(text: &'a str, open: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(open)?;
    Some(&rest[..rest.find('}')?])
}

fn is_name(text: &str) -> bool {
    name_at(text) == Some(text)
}

/// The name at the beginning of a text.
fn name_at(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = &text[..end];
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(name)
}
