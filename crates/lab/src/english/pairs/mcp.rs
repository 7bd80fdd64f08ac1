//! MCP servers of the Python registry: what their READMEs and their code say about each tool, and what users may ask.

use std::{collections::BTreeMap, fs};

use anyhow::Result;

use super::{
    Kind, Pair, files,
    markdown::{first_sentence, plain},
    pair,
};
use crate::packages::Source;

/// Of one package at most so many of each kind.
const MOST: usize = 60;
/// Larger files are made by programs.
const LARGEST_FILE: u64 = 400_000;
/// A tool is described in so many bytes after its name.
const NEAR: usize = 400;

/// A server as its package describes it.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) summary: String,
    /// Paragraphs of the README.
    paragraphs: Vec<String>,
    /// What a user may ask, by the examples of the README.
    pub(crate) prompts: Vec<String>,
    /// Tools as the README lists them, and as the code defines them.
    pub(crate) listed: Vec<Tool>,
    pub(crate) defined: Vec<Tool>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Vec<String>,
}

impl Package {
    /// Reads an unpacked wheel; nothing if it has no description.
    pub(crate) fn read(source: &Source) -> Result<Option<Self>> {
        let is_small = |path: &str| fs::metadata(path).is_ok_and(|about| about.len() <= LARGEST_FILE);
        let Some(metadata) =
            files(&source.folder, &|path| path.ends_with(".dist-info/METADATA")).into_iter().next()
        else {
            return Ok(None);
        };
        let metadata = String::from_utf8_lossy(&fs::read(metadata)?).replace("\r\n", "\n");
        let (head, readme) = metadata.split_once("\n\n").unwrap_or((&metadata, ""));
        let summary = head.lines().find_map(|line| line.strip_prefix("Summary: ")).unwrap_or_default();
        let mut package = Self { name: source.package.clone(), summary: plain(summary), ..Self::default() };
        package.read_readme(readme);
        for file in files(&source.folder, &|path| path.ends_with(".py") && is_small(path)) {
            let code = String::from_utf8_lossy(&fs::read(file)?).replace("\r\n", "\n");
            package.defined.extend(functions(&code));
            package.defined.extend(declarations(&code));
        }
        let mut by_name: BTreeMap<String, Tool> = BTreeMap::new();
        for tool in package.defined.drain(..) {
            by_name.entry(tool.name.clone()).or_insert(tool);
        }
        package.defined = by_name.into_values().collect();
        Ok(Some(package))
    }

    /// What is learned from it.
    pub(super) fn pairs(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let about = format!("{} {}", self.title(), self.summary);
        for tool in self.defined.iter().take(MOST) {
            let first = first_sentence(&tool.description);
            pairs.extend(pair(Kind::Tool, &self.name, &tool.name, &tool.description));
            let rest = tool.description[first.len().min(tool.description.len())..].trim();
            if rest.split_whitespace().count() > 4 {
                pairs.extend(pair(
                    Kind::Tool,
                    &self.name,
                    &format!("{} {}", tool.name, tool.parameters.join(" ")),
                    rest,
                ));
            }
        }
        for tool in self.listed.iter().take(MOST) {
            // The same tool in other words, where the code has it; otherwise its name.
            let defined = self.defined.iter().find(|defined| defined.name == tool.name);
            let other = defined.map_or_else(
                || tool.name.clone(),
                |defined| format!("{} {}", defined.name, defined.description),
            );
            pairs.extend(pair(Kind::Tool, &self.name, &tool.description, &other));
        }
        for prompt in self.prompts.iter().take(MOST / 3) {
            pairs.extend(pair(Kind::Prompt, &self.name, prompt, &about));
        }
        for paragraph in self.paragraphs.iter().take(5) {
            pairs.extend(pair(Kind::Readme, &self.name, &about, paragraph));
        }
        pairs
    }

    /// Its name without the words that all have.
    fn title(&self) -> String {
        let name = self.name.trim_start_matches("mcp/");
        let words = name
            .split(['-', '_', '.'])
            .filter(|word| !["mcp", "server", "py", "python", "tool", "tools"].contains(word));
        words.collect::<Vec<_>>().join(" ")
    }

    fn read_readme(&mut self, readme: &str) {
        let (mut is_code, mut heading, mut paragraph) = (false, String::new(), String::new());
        for line in readme.lines().chain([""]) {
            let line = line.trim();
            if line.starts_with("```") {
                is_code = !is_code;
                continue;
            }
            let is_about_asking = ["example", "prompt", "ask", "usage", "try", "quer", "use case"]
                .iter()
                .any(|word| heading.contains(word));
            let asked = if is_about_asking { prompt(line, is_code) } else { None };
            if let Some(prompt) = asked.or_else(|| quoted(line).filter(|_| !is_code)) {
                self.prompts.push(prompt);
                continue;
            }
            if is_code {
                continue;
            }
            if line.starts_with('#') {
                heading = line.to_lowercase();
            } else if let Some(tool) = listed(line) {
                self.listed.push(tool);
            } else if line.starts_with(|c: char| c.is_alphabetic() || c == '*' || c == '`')
                && !line.starts_with("* ")
            {
                paragraph.push(' ');
                paragraph.push_str(line);
                continue;
            }
            let text = plain(&std::mem::take(&mut paragraph));
            if text.split(' ').count() >= 10 {
                self.paragraphs.push(text);
            }
        }
    }
}

/// `- "What is the weather in Rome?"`, `> Find flights to Rome`, `User: …`, and sentences in blocks of code.
fn prompt(line: &str, is_code: bool) -> Option<String> {
    let text = line.trim_start_matches(['-', '*', '>', ' ', '+', '_']);
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ')').trim();
    let quoted = text.strip_prefix(['"', '“', '\'']).and_then(|rest| rest.split(['"', '”']).next());
    let said = ["User:", "You:", "**User:**", "**User**:", "Human:", "Prompt:", "Ask:"];
    let said = said.iter().find_map(|who| text.strip_prefix(who));
    let cited = line.strip_prefix("> ").filter(|text| !text.starts_with(['*', '[', '!', '#', '|']));
    let asked = Some(text).filter(|text| text.ends_with('?') || is_code && text.ends_with(['.', '!']));
    sentence(quoted.or(said).or(cited).or(asked)?)
}

/// A sentence in quotation marks, in the middle of a line.
fn quoted(line: &str) -> Option<String> {
    let text = line.split(['"', '“', '”']).nth(1)?;
    sentence(text).filter(|text| text.starts_with(char::is_uppercase) && text.split(' ').count() > 3)
}

/// Text that a user may write.
fn sentence(text: &str) -> Option<String> {
    let text = plain(text);
    let text = text.trim_matches(['"', '\'', '“', '”', ' ', '*', '_']);
    let is_sentence = (3..=40).contains(&text.split(' ').count()) && !text.contains(['{', '=', ';', '$']);
    is_sentence.then(|| text.to_owned())
}

/// `- **read_file**: Reads a file`, `| `read_file` | Reads a file | … |`.
fn listed(line: &str) -> Option<Tool> {
    let (name, description) = if let Some(row) = line.strip_prefix('|') {
        let mut cells = row.split('|').map(str::trim);
        let name = cells.next()?;
        (name, cells.find(|cell| cell.split(' ').count() > 2)?)
    } else {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.strip_prefix(". ").filter(|_| rest.len() < line.len())
        })?;
        let at = [": ", " - ", " – ", " — ", ":** ", "`: "]
            .iter()
            .filter_map(|mark| Some((item.find(mark)?, mark.len())))
            .min()?;
        (&item[..at.0], &item[at.0 + at.1..])
    };
    let name = name.trim_matches(['*', '`', ' ', ':']);
    let (name, parameters) = name.split_once('(').unwrap_or((name, ""));
    let is_identifier =
        name.contains('_') && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let description = plain(description);
    let words = description.split(' ').count();
    (is_identifier && (3..=80).contains(&words) && name.to_lowercase() == name).then(|| Tool {
        name: name.to_owned(),
        description,
        parameters: parameters
            .trim_end_matches([')', '`', '*'])
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
    })
}

/// Functions below a decorator `@….tool…`, with their docstrings.
fn functions(code: &str) -> Vec<Tool> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("\n@") {
        let decorator = code[at + 2..].lines().next().unwrap_or_default();
        let name = decorator.split('(').next().unwrap_or_default();
        if !(name == "tool" || name.ends_with(".tool")) {
            continue;
        }
        let Some((start, head)) = code[at..].find("def ").map(|start| (start, &code[at + start + 4..]))
        else {
            continue;
        };
        if start > NEAR * 4 {
            continue;
        }
        let Some((name, rest)) = head.split_once('(') else { continue };
        let Some((arguments, body)) = rest.split_once("):").or_else(|| rest.split_once(") ->")) else {
            continue;
        };
        let Some(begin) = body.find("\"\"\"").filter(|begin| *begin < NEAR) else { continue };
        let Some((text, _)) = body[begin + 3..].split_once("\"\"\"") else { continue };
        // The sections of a docstring are about parameters.
        let text = text
            .split("\n\n")
            .take_while(|part| !part.trim_start().starts_with("Args"))
            .collect::<Vec<_>>()
            .join(" ");
        let text = text.split("Args:").next().unwrap_or_default();
        let parameters = arguments.split(',').filter_map(|argument| argument.split(':').next());
        let parameters = parameters
            .map(str::trim)
            .filter(|name| !["", "self", "ctx", "context"].contains(name) && name.len() < 40);
        let description = plain(text);
        if name.len() < 60 && description.split(' ').count() > 2 {
            found.push(Tool {
                name: name.to_owned(),
                description,
                parameters: parameters.map(str::to_owned).collect(),
            });
        }
    }
    found
}

/// `Tool(name="read_file", description="Reads a file", …)`, and the same as a dictionary.
fn declarations(code: &str) -> Vec<Tool> {
    let mut found = Vec::new();
    for mark in ["name=\"", "\"name\": \"", "name='"] {
        for (at, _) in code.match_indices(mark) {
            let rest = &code[at + mark.len()..];
            let Some((name, rest)) = rest.split_once(['"', '\'']) else { continue };
            let is_name = name.contains('_')
                && name.len() < 60
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let near = &rest[..rest.floor_char_boundary(60)];
            let Some(at) = near.find("description").filter(|_| is_name) else { continue };
            let rest = &rest[at + "description".len()..];
            let near = &rest[..rest.floor_char_boundary(NEAR * 3)];
            let Some(open) = near.find(['"', '\'']).filter(|open| *open < 30) else { continue };
            let triple = near[open..].starts_with("\"\"\"");
            let (end, start) = if triple { ("\"\"\"", open + 3) } else { (&near[open..=open], open + 1) };
            let Some((text, _)) = near[start..].split_once(end) else { continue };
            let description = plain(&text.replace("\\n", " "));
            if description.split(' ').count() > 2 {
                found.push(Tool { name: name.to_owned(), description, parameters: Vec::new() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str, parameters: &[&str]) -> Tool {
        let parameters = parameters.iter().map(|name| (*name).to_owned()).collect();
        Tool { name: name.to_owned(), description: description.to_owned(), parameters }
    }

    #[test]
    fn tools_are_found_in_code() {
        let code = "import x\n\n@mcp.tool(name='a')\nasync def get_weather(city: str, ctx: Context) -> str:\n    \"\"\"Get the *weather* of a city.\n\n    Args:\n        city: where\n    \"\"\"\n";
        assert_eq!(functions(code), [tool("get_weather", "Get the weather of a city.", &["city"])]);
        let code = "Tool(\n  name=\"read_file\",\n  description=\"Reads a whole file\",\n)";
        assert_eq!(declarations(code), [tool("read_file", "Reads a whole file", &[])]);
    }

    #[test]
    fn tools_and_prompts_are_found_in_readmes() {
        let expected = tool("read_file", "Reads a whole file", &[""]);
        for line in [
            "- `read_file`: Reads a whole file",
            "| `read_file` | Reads a whole file | - |",
            "2. **read_file** - Reads a whole file",
        ] {
            assert_eq!(listed(line), Some(expected.clone()), "{line}");
        }
        assert_eq!(listed("- Fast: Reads a whole file"), None);
        for line in [
            "- \"What is the weather?\"",
            "> What is the weather?",
            "User: What is the weather?",
            "1. What is the weather?",
        ] {
            assert_eq!(prompt(line, false).as_deref(), Some("What is the weather?"), "{line}");
        }
        assert_eq!(quoted("Then say \"Find flights to Rome\".").as_deref(), Some("Find flights to Rome"));
        assert_eq!(quoted("set \"a: b\""), None);
        let mut package = Package::default();
        package.read_readme("# A\nThis is a server that finds out everything about the weather of any town.\n\n## Example prompts\n- \"Will it rain in Rome?\"\n\n## Tools\n- `get_rain`: Says when it rains\n");
        assert_eq!((package.paragraphs.len(), package.prompts.len(), package.listed.len()), (1, 1, 1));
    }
}
