//! The definitions of a text, with their comments and scopes, and the places where it may be cut.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use super::grammar::{Grammar, Members, Role, grammar, parse};
use super::name::{self, FoundDefinition};
use super::{ChunkKind, Language, MAX, TARGET};

/// Nesting beyond this is not looked into.
const DEEPEST: usize = 100;

/// What a text defines, in order.
#[derive(Debug, Default)]
pub struct Outline {
    /// The definitions.
    pub items: Vec<Item>,
    /// Where the text may be cut, in ascending order.
    pub(super) cuts: Vec<Cut>,
}

/// A definition.
#[derive(Debug)]
pub struct Item {
    /// Where it is, with the comment and attributes before it.
    pub whole: Range<usize>,
    /// Its comment, before it or, as in Python, the first node in it.
    pub doc: Option<Range<usize>>,
    /// What it defines.
    pub kind: ChunkKind,
    /// The word of the language that it begins with.
    pub keyword: &'static str,
    /// Its name.
    pub name: String,
    /// A scope written in the name itself: `Foo` of `void Foo::bar()`.
    pub qualifier: Option<String>,
    /// The definition around it.
    pub parent: Option<usize>,
    pub(super) members: Members,
}

/// A place where the text may be cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) at: usize,
    /// The definition that begins here.
    pub(super) item: Option<usize>,
    /// The definition that the place is in.
    pub(super) owner: Option<usize>,
}

/// The outline of a text; none if its language is not parsed, or the text defies the parser.
pub fn outline(language: Language, text: &str) -> Option<Outline> {
    let grammar = grammar(language)?;
    let tree = parse(grammar, text)?;
    let mut walk = Walk { grammar, language, text, outline: Outline::default() };
    walk.list(&mut tree.walk(), None, 0, Pending::default());
    Some(walk.outline)
}

struct Walk<'a> {
    grammar: &'a Grammar,
    language: Language,
    text: &'a str,
    outline: Outline,
}

/// Comments and attributes that wait for what they belong to.
#[derive(Default)]
struct Pending {
    start: Option<usize>,
    end: usize,
    doc: Option<Range<usize>>,
}

impl Walk<'_> {
    /// Walks the children of the node at the cursor. What waits before a list waits for its first member.
    fn list(
        &mut self,
        cursor: &mut TreeCursor<'_>,
        parent: Option<usize>,
        depth: usize,
        mut pending: Pending,
    ) {
        if depth > DEEPEST || !cursor.goto_first_child() {
            self.take(&mut pending, usize::MAX, parent);
            return;
        }
        loop {
            let node = cursor.node();
            let role = self.grammar.role(node.kind_id());
            match role {
                Role::Comment | Role::Prefix => self.keep(&mut pending, node, role, parent),
                _ if !node.is_named() => {}
                _ => {
                    let before = self.take(&mut pending, node.start_byte(), parent);
                    self.node(cursor, role, before, parent, depth);
                }
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        self.take(&mut pending, self.text.len(), parent);
        cursor.goto_parent();
    }

    /// A comment or attribute joins those before it, or begins anew after a blank line.
    fn keep(&mut self, pending: &mut Pending, node: Node<'_>, role: Role, parent: Option<usize>) {
        let start = node.start_byte();
        if pending.start.is_none() && role == Role::Comment && !self.begins_line(start) {
            return; // It says something about the line that it ends.
        }
        if pending.start.is_some() && self.blank_between(pending.end, start) {
            self.take(pending, usize::MAX, parent);
        }
        pending.start.get_or_insert(start);
        pending.end = node.end_byte();
        if role == Role::Comment || self.is_doc_attribute(node) {
            let from = pending.doc.as_ref().map_or(start, |doc| doc.start);
            pending.doc = Some(from..node.end_byte());
        }
    }

    /// What waits for the node at `start`. If it does not reach it, it stands alone.
    fn take(&mut self, pending: &mut Pending, start: usize, parent: Option<usize>) -> Pending {
        let Some(begin) = pending.start else { return Pending::default() };
        let taken = std::mem::take(pending);
        if start <= self.text.len() && !self.blank_between(taken.end, start) {
            return taken;
        }
        self.cut(begin, None, parent);
        Pending::default()
    }

    fn node(
        &mut self,
        cursor: &mut TreeCursor<'_>,
        role: Role,
        before: Pending,
        parent: Option<usize>,
        depth: usize,
    ) {
        let node = cursor.node();
        let begin = before.start.unwrap_or(node.start_byte());
        // What is already being cut up is cut finer.
        let longest = if self.is_in_closed(parent) { TARGET } else { MAX };
        let is_long = node.end_byte() - begin > longest;
        let Some(found) = self.definition(node, role, parent) else {
            if matches!(role, Role::Open | Role::Wrap | Role::Item(..)) {
                self.list(cursor, parent, depth + 1, before);
                return;
            }
            if begin < node.start_byte() || self.begins_line(begin) {
                self.cut(begin, None, parent);
            }
            if is_long {
                self.list(cursor, parent, depth + 1, Pending::default());
            }
            return;
        };
        let item = self.outline.items.len();
        let kind = match found.kind {
            ChunkKind::Function if found.qualifier.is_some() || self.is_in_type(parent) => ChunkKind::Method,
            kind => kind,
        };
        self.outline.items.push(Item {
            whole: self.line_start(begin)..node.end_byte(),
            doc: name::doc_inside(self.language, found.node).or(before.doc),
            kind,
            keyword: found.keyword,
            name: found.name,
            qualifier: found.qualifier,
            parent,
            members: found.members,
        });
        self.cut(begin, Some(item), parent);
        if found.members == Members::Open || is_long {
            let levels = descend(cursor, found.node);
            self.list(cursor, Some(item), depth + 1, Pending::default());
            for _ in 0..levels {
                cursor.goto_parent();
            }
        }
    }

    /// What a node defines, if it defines something. Values count where they are members, not inside of functions.
    fn definition<'t>(
        &self,
        node: Node<'t>,
        role: Role,
        parent: Option<usize>,
    ) -> Option<FoundDefinition<'t>> {
        let found = match role {
            Role::Wrap => {
                let mut cursor = node.walk();
                let mut inner = node.named_children(&mut cursor).filter_map(|child| {
                    let role = self.grammar.role(child.kind_id());
                    self.definition(child, role, parent)
                });
                let first = inner.next();
                if inner.next().is_some() { None } else { first }
            }
            Role::Item(kind, keyword, members) => {
                let (name, qualifier) = name::of(self.language, node, self.text)?;
                let (kind, keyword) = name::refined(self.language, node, self.text, kind, keyword);
                Some(FoundDefinition { node, kind, keyword, members, name, qualifier })
            }
            Role::Binding => name::binding(node, self.text),
            Role::Call => name::call(node, self.text),
            Role::Plain | Role::Comment | Role::Prefix | Role::Open => None,
        }?;
        (found.kind != ChunkKind::Value || !self.is_in_closed(parent)).then_some(found)
    }

    fn is_in_closed(&self, parent: Option<usize>) -> bool {
        parent.is_some_and(|parent| self.outline.items[parent].members == Members::Closed)
    }

    /// Elixir says it with an attribute: `@doc "…"`.
    fn is_doc_attribute(&self, node: Node<'_>) -> bool {
        self.language == Language::Elixir
            && self.text.get(node.byte_range()).is_some_and(|text| text.starts_with("@doc"))
    }

    fn is_in_type(&self, parent: Option<usize>) -> bool {
        parent.is_some_and(|parent| {
            let kind = self.outline.items[parent].kind;
            matches!(
                kind,
                ChunkKind::Class
                    | ChunkKind::Struct
                    | ChunkKind::Enum
                    | ChunkKind::Interface
                    | ChunkKind::Impl
            )
        })
    }

    fn cut(&mut self, begin: usize, item: Option<usize>, owner: Option<usize>) {
        let at = self.line_start(begin);
        match self.outline.cuts.last_mut() {
            // A list may begin where its first member does: the definition is what counts.
            Some(last) if last.at >= at => {
                if last.item.is_none() {
                    (last.item, last.owner) = (item, owner);
                }
            }
            _ => self.outline.cuts.push(Cut { at, item, owner }),
        }
    }

    /// The start of the line if nothing but space is before `at`, else `at` itself.
    fn line_start(&self, at: usize) -> usize {
        let space =
            self.text.as_bytes()[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = at - space;
        if start == 0 || self.text.as_bytes()[start - 1] == b'\n' { start } else { at }
    }

    fn begins_line(&self, at: usize) -> bool {
        let start = self.line_start(at);
        start == 0 || self.text.as_bytes()[start - 1] == b'\n'
    }

    fn blank_between(&self, end: usize, start: usize) -> bool {
        let bytes = self.text.as_bytes();
        let start = start.min(bytes.len());
        let Some(between) = bytes.get(end..start) else { return false };
        let ends_line = end > 0 && bytes[end - 1] == b'\n';
        memchr::memchr_iter(b'\n', between).count() + usize::from(ends_line) > 1
    }
}

/// Moves the cursor from a shell to the definition in it, and returns how many levels that was.
fn descend(cursor: &mut TreeCursor<'_>, target: Node<'_>) -> usize {
    let mut levels = 0;
    while cursor.node().id() != target.id() {
        if cursor.goto_first_child_for_byte(target.start_byte()).is_none() {
            break;
        }
        levels += 1;
    }
    levels
}
