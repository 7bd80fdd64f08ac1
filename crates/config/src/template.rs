//! A text that may name variables, as some format writes them.
//!
//! A template keeps the written text apart from its expansion, so that printed or exported text never holds
//! the value of a variable. Only names of letters, digits and `_` are variables: `${x%y}` of a shell is none.

mod scan;
pub(crate) mod variables;

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    path::Path,
};

use toolbay_protocol::SecretName;

use crate::{
    Input, REDACTED, Variables,
    model::secret_text::{SecretPart, SecretText, reference},
    template::variables::Missing,
};

pub(crate) use scan::Style;

/// A text with variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    Literal(String),
    Variable(Variable),
}

/// A variable, as found in a text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) source: ValueSource,
    pub(crate) default: Option<String>,
    /// How the file writes it; this stays where it has no value.
    pub(crate) written: String,
    /// What becomes of it where it has no value.
    pub(crate) lack: MissingValue,
}

/// What becomes of a variable without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingValue {
    /// It stays as written, and the server will hardly work.
    Stays,
    /// It expands to nothing.
    Empties,
    /// What it is the value of is left out, and the server will hardly work.
    LeavesOut,
    /// What it is the value of is left out, which is fine.
    IsFine,
}

/// Where the value of a variable is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueSource {
    Env(String),
    /// An input of VS Code.
    Input(String),
    /// The content of a file.
    File(String),
    /// A secret of the user.
    Secret(SecretName),
    /// A keyword of the format, such as `workspaceFolder`.
    Word(Keyword),
}

/// Words that formats define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Workspace,
    WorkspaceName,
    Home,
    Separator,
    /// The folder of the file itself.
    Folder,
}

/// Why a template cannot be written in a style.
pub(crate) enum NotExpressible {
    /// It does not support this variable.
    Variable(String),
    /// It would take something for a variable that is none.
    Literal,
}

impl Template {
    /// Finds the variables in a text.
    pub(crate) fn parse(text: &str, style: Style) -> Self {
        Self(scan::parts(text, style))
    }

    /// A text in which nothing is a variable.
    pub(crate) fn literal(text: &str) -> Self {
        Self(vec![TemplatePart::Literal(text.to_owned())])
    }

    /// A template of a prefix and a variable of the environment.
    pub(crate) fn of_env(before: &str, name: &str, lack: MissingValue) -> Self {
        let literal = (!before.is_empty()).then(|| TemplatePart::Literal(before.to_owned()));
        let variable = Variable {
            source: ValueSource::Env(name.to_owned()),
            default: None,
            written: format!("${{{name}}}"),
            lack,
        };
        Self(literal.into_iter().chain([TemplatePart::Variable(variable)]).collect())
    }

    /// Expands it, but for secrets. `missing` collects variables without a value.
    pub(crate) fn expand(&self, variables: &Variables, missing: &mut Vec<Missing>) -> SecretText {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Literal(text) => SecretPart::Text(text.clone()),
            TemplatePart::Variable(Variable { source: ValueSource::Secret(name), .. }) => {
                SecretPart::Secret(name.clone())
            }
            TemplatePart::Variable(variable) => SecretPart::Text(variables.value_of(variable, missing)),
        };
        SecretText(self.0.iter().map(part).collect())
    }

    /// The text with its variables in our own style, and none of their values.
    pub fn shown(&self) -> String {
        let parts = self.0.iter().map(|part| match part {
            TemplatePart::Literal(text) => text.clone(),
            TemplatePart::Variable(variable) => variable.native(),
        });
        parts.collect()
    }

    /// The text in the style of our own file, with literal `${` escaped.
    pub(crate) fn native(&self) -> String {
        let nexts = self.0.iter().skip(1).map(Some).chain([None]);
        let parts = self.0.iter().zip(nexts).map(|(part, next)| match part {
            TemplatePart::Literal(text) => {
                scan::escape(text, matches!(next, Some(TemplatePart::Variable(_))))
            }
            TemplatePart::Variable(variable) => variable.native(),
        });
        parts.collect()
    }

    /// The text for a file of another program.
    pub(crate) fn in_style(&self, style: Style) -> Result<String, NotExpressible> {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Literal(text) => {
                    // What was none must not become one.
                    let is_literal = |part: &TemplatePart| matches!(part, TemplatePart::Literal(_));
                    if !scan::parts(text, style).iter().all(is_literal) {
                        return Err(NotExpressible::Literal);
                    }
                    out.push_str(text);
                }
                TemplatePart::Variable(variable) => {
                    let text = variable.in_style(style);
                    out.push_str(&text.ok_or_else(|| NotExpressible::Variable(variable.native()))?);
                }
            }
        }
        Ok(out)
    }

    /// The text if its variables are all that could be secret in it; else nothing.
    pub(crate) fn without_secrets(&self) -> Option<String> {
        let literals_are_plain = self.0.iter().all(|part| match part {
            // A reference in a style that the format does not know is no secret either.
            TemplatePart::Literal(text) => {
                scan::parts(text, Style::Dollar).iter().all(TemplatePart::is_plain)
            }
            variable => variable.is_plain(),
        });
        literals_are_plain.then(|| self.shown())
    }

    /// A path.
    pub(crate) fn of_path(path: &Path) -> Self {
        Self::literal(&path.display().to_string())
    }

    /// The literals and variables that it consists of.
    pub(crate) fn parts(&self) -> &[TemplatePart] {
        &self.0
    }

    /// The files whose content it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Variable(Variable { source: ValueSource::File(path), .. }) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The secrets that it refers to.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretName> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Variable(Variable { source: ValueSource::Secret(name), .. }) => Some(name),
            _ => None,
        })
    }

    /// Whether it looks as if it referred to a secret, but what is there is no name.
    pub(crate) fn has_invalid_secret(&self) -> bool {
        let is_reference =
            |part: &TemplatePart| matches!(part, TemplatePart::Literal(text) if text.contains("${secret:"));
        self.0.iter().any(is_reference)
    }

    /// The same, with the defaults of inputs in the file.
    pub(crate) fn with_input_defaults(&self, defaults: &BTreeMap<String, String>) -> Self {
        let parts = self.0.iter().cloned().map(|part| match part {
            TemplatePart::Variable(Variable {
                source: ValueSource::Input(id),
                default: None,
                written,
                lack,
            }) => {
                let default = defaults.get(&id).cloned();
                TemplatePart::Variable(Variable { source: ValueSource::Input(id), default, written, lack })
            }
            other => other,
        });
        Self(parts.collect())
    }

    /// The same with paths in place of keywords such as `workspaceFolder`, which mean another path in a file of another folder.
    pub(crate) fn with_places(&self, variables: &Variables) -> Self {
        let parts = self.0.iter().map(|part| match part {
            TemplatePart::Variable(Variable { source: ValueSource::Word(word), .. })
                if *word != Keyword::Home =>
            {
                variables.word(*word).map_or_else(|| part.clone(), TemplatePart::Literal)
            }
            TemplatePart::Variable(Variable { source: ValueSource::File(path), .. }) => {
                let path = variables.path_of(path).display().to_string();
                let written = format!("${{file:{path}}}");
                let source = ValueSource::File(path);
                TemplatePart::Variable(Variable { source, default: None, written, lack: MissingValue::Stays })
            }
            other => other.clone(),
        });
        Self(parts.collect())
    }

    /// The same with secrets in place of inputs without a default: their users were asked for them.
    pub(crate) fn with_secret_inputs(&self, defaults: &BTreeMap<String, String>) -> Self {
        let parts = self.0.iter().map(|part| match part {
            TemplatePart::Variable(Variable { source: ValueSource::Input(id), .. })
                if !defaults.contains_key(id) =>
            {
                Input::variable(id).parse().map_or_else(|_| part.clone(), TemplatePart::secret)
            }
            other => other.clone(),
        });
        Self(parts.collect())
    }

    /// The authentication scheme and the value of a text without variables; the scheme may be empty.
    pub(crate) fn as_credentials(&self) -> Option<(&str, &str)> {
        let [TemplatePart::Literal(text)] = &self.0[..] else { return None };
        match text.split_once(' ') {
            Some((scheme, value)) if is_scheme(scheme) => Some((scheme, value.trim())),
            _ => Some(("", text)),
        }
    }

    /// A secret after an authentication scheme.
    pub(crate) fn of_secret(scheme: &str, name: SecretName) -> Self {
        let scheme = (!scheme.is_empty()).then(|| TemplatePart::Literal(format!("{scheme} ")));
        Self(scheme.into_iter().chain([TemplatePart::secret(name)]).collect())
    }

    /// The same with variables of the environment in place of inputs, which other programs do not have.
    pub(crate) fn with_inputs(&self, defaults: &BTreeMap<String, String>) -> Self {
        let parts = self.0.iter().map(|part| match part {
            TemplatePart::Variable(Variable { source: ValueSource::Input(id), .. }) => {
                let name = Input::variable(id);
                // Only text that ends at the first brace can be written.
                let default = defaults.get(id).filter(|default| !default.contains('}')).cloned();
                let written = format!("${{{name}}}");
                TemplatePart::Variable(Variable {
                    source: ValueSource::Env(name),
                    default,
                    written,
                    lack: MissingValue::Stays,
                })
            }
            other => other.clone(),
        });
        Self(parts.collect())
    }

    /// The ids of the inputs that it uses.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Variable(Variable { source: ValueSource::Input(id), .. }) => Some(id.as_str()),
            _ => None,
        })
    }

    /// Whether it depends on which folder is the workspace.
    pub(crate) fn names_workspace(&self) -> bool {
        let is_workspace = |part: &TemplatePart| {
            let TemplatePart::Variable(variable) = part else { return false };
            matches!(variable.source, ValueSource::Word(Keyword::Workspace | Keyword::WorkspaceName))
        };
        self.0.iter().any(is_workspace)
    }

    /// The same, as a path that does not depend on where it is read.
    pub(crate) fn below(self, folder: &Path) -> Self {
        match self.0.first() {
            Some(TemplatePart::Literal(text)) if !text.starts_with(['/', '~']) && folder.is_absolute() => {
                let folder = TemplatePart::Literal(format!("{}/", folder.display()));
                Self([folder].into_iter().chain(self.0).collect())
            }
            _ => self,
        }
    }

    /// The prefix and the name, if this is a prefix and one variable of the environment.
    pub(crate) fn as_env(&self) -> Option<(&str, &str)> {
        let (before, variable) = match &self.0[..] {
            [TemplatePart::Variable(variable)] => ("", variable),
            [TemplatePart::Literal(before), TemplatePart::Variable(variable)] => (before.as_str(), variable),
            _ => return None,
        };
        match (&variable.source, &variable.default) {
            (ValueSource::Env(name), None) => Some((before, name)),
            _ => None,
        }
    }
}

/// Literals may be secrets.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template")
            .field(&self.without_secrets().unwrap_or_else(|| REDACTED.to_owned()))
            .finish()
    }
}

impl TemplatePart {
    /// A reference to a secret.
    fn secret(name: SecretName) -> Self {
        let written = reference(&name);
        let (source, lack) = (ValueSource::Secret(name), MissingValue::Stays);
        Self::Variable(Variable { source, default: None, written, lack })
    }

    /// Whether it holds nothing that could be a secret.
    fn is_plain(&self) -> bool {
        match self {
            Self::Literal(text) => is_scheme(text),
            Self::Variable(variable) => variable.default.as_deref().is_none_or(str::is_empty),
        }
    }
}

/// Whether a text is only an authentication scheme, such as `Bearer`.
pub(crate) fn is_scheme(text: &str) -> bool {
    matches!(text.trim(), "" | "Bearer" | "Basic" | "Token" | "token" | "ApiKey")
}

impl Variable {
    pub(crate) fn native(&self) -> String {
        let mut out = format!("${{{}", self.source.name());
        if let Some(default) = &self.default {
            let _ = write!(out, ":-{default}");
        }
        out.push('}');
        out
    }

    fn in_style(&self, style: Style) -> Option<String> {
        match (style, &self.source, &self.default) {
            (Style::Native, ..) => Some(self.native()),
            // Another program would take it for the value.
            (_, ValueSource::Secret(_), _) => None,
            (Style::Claude, ValueSource::Env(_), _) => Some(self.native()),
            (Style::Dollar, ValueSource::Env(name), None) => Some(format!("${{{name}}}")),
            (Style::Editor, ValueSource::Env(name), None) => Some(format!("${{env:{name}}}")),
            (Style::Editor, _, None) => Some(self.native()),
            (Style::OpenCode, ValueSource::Env(name), None) => Some(format!("{{env:{name}}}")),
            (Style::OpenCode, ValueSource::File(path), None) => Some(format!("{{file:{path}}}")),
            _ => None,
        }
    }
}

impl ValueSource {
    /// The text between `${` and `}` in our own style.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Env(name) => name.clone(),
            Self::Input(id) => format!("input:{id}"),
            Self::File(path) => format!("file:{path}"),
            Self::Secret(name) => format!("secret:{name}"),
            Self::Word(word) => word.name().to_owned(),
        }
    }
}

impl Keyword {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspaceFolder",
            Self::WorkspaceName => "workspaceFolderBasename",
            Self::Home => "userHome",
            Self::Separator => "pathSeparator",
            Self::Folder => "__dirname",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a template is made of, however it was written.
    fn meaning(template: &Template) -> Vec<String> {
        let parts = template.0.iter().map(|part| match part {
            TemplatePart::Literal(text) => format!("text {text}"),
            TemplatePart::Variable(variable) => {
                format!("variable {:?} {:?}", variable.source, variable.default)
            }
        });
        parts.collect()
    }

    /// All short texts of the characters that matter.
    fn texts() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut longest = all.clone();
        for _ in 0..6 {
            longest =
                longest.iter().flat_map(|text| ['$', '{', '}', 'A'].map(|c| format!("{text}{c}"))).collect();
            all.extend(longest.iter().cloned());
        }
        all.extend(
            ["$${env:A}", "$${A:-x}$", "{env:A}${A}", "${A:-$}{", "${workspaceFolder}$${"].map(str::to_owned),
        );
        all
    }

    #[test]
    fn our_own_style_can_say_everything() {
        for style in
            [Style::Plain, Style::Claude, Style::Editor, Style::Dollar, Style::OpenCode, Style::Native]
        {
            for text in texts() {
                let template = Template::parse(&text, style);
                let native = template.native();
                let back = Template::parse(&native, Style::Native);
                assert_eq!(meaning(&back), meaning(&template), "{style:?} {text} -> {native}");
            }
        }
    }
}
