//! A template as a text in which each variable is one character, so that what looks for secrets takes none apart.

use crate::{
    REDACTED,
    template::{Template, TemplatePart, Variable, is_scheme},
};

use super::words::is_token;

/// The first of the characters that stand for variables; they mean nothing to anybody else.
const FIRST: u32 = 0xf0000;
/// How many variables of one text are told apart.
const MOST: usize = 0x7000;

/// A text with a mark for each variable.
pub(super) struct Marked<'a> {
    pub(super) text: String,
    variables: Vec<&'a Variable>,
}

impl<'a> Marked<'a> {
    pub(super) fn of(template: &'a Template) -> Self {
        let mut marked = Self { text: String::new(), variables: Vec::new() };
        for part in template.parts() {
            match part {
                TemplatePart::Literal(text) => text.chars().for_each(|c| match is_mark(c) {
                    true => marked.text.extend(c.escape_unicode()),
                    false => marked.text.push(c),
                }),
                TemplatePart::Variable(variable) if marked.variables.len() < MOST => {
                    marked.text.push(mark(marked.variables.len(), false));
                    marked.variables.push(variable);
                }
                TemplatePart::Variable(_) => marked.text.push_str(REDACTED),
            }
        }
        marked
    }

    /// The whole text, with its variables by name.
    pub(super) fn rendered(&self) -> String {
        self.render(&self.text)
    }

    /// What became of the text, with its variables by name.
    pub(super) fn render(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let index = (c as u32).wrapping_sub(FIRST) as usize;
            match self.variables.get(index / 2).filter(|_| is_mark(c)) {
                None => out.push(c),
                Some(variable) => {
                    let hides = |default: &String| index % 2 == 1 || is_token(default);
                    let default = variable.default.as_ref().filter(|default| !default.is_empty());
                    let shown = default.filter(|default| hides(default)).map(|_| REDACTED.to_owned());
                    let default = shown.or_else(|| variable.default.clone());
                    out.push_str(&Variable { default, ..(*variable).clone() }.native());
                }
            }
        }
        out
    }
}

/// The text with `***` for everything but its variables, whose defaults are hidden too.
pub(super) fn mask(text: &str) -> String {
    let mut out = String::new();
    let mut literal = String::new();
    let flush = |literal: &mut String, out: &mut String| {
        out.push_str(if is_scheme(literal) { literal } else { REDACTED });
        literal.clear();
    };
    for c in text.chars() {
        match is_mark(c) {
            true => {
                flush(&mut literal, &mut out);
                out.push(char::from_u32(c as u32 | 1).unwrap_or(c));
            }
            false => literal.push(c),
        }
    }
    flush(&mut literal, &mut out);
    out
}

fn is_mark(c: char) -> bool {
    (FIRST..FIRST + 2 * MOST as u32).contains(&(c as u32))
}

/// Invariant: an odd mark is that of a variable whose default is hidden.
fn mark(index: usize, is_masked: bool) -> char {
    let code = FIRST + 2 * index as u32 + u32::from(is_masked);
    char::from_u32(code).expect("all of the plane are characters, but for its last two")
}
