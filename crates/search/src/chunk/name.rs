//! Names of definitions in grammars that do not mark them.

use std::ops::Range;

use tree_sitter::Node;

use super::grammar::Members;
use super::{ChunkKind, Language};

/// Names longer than this are no names.
const LONGEST: usize = 120;

/// A definition as found in the tree.
pub(super) struct FoundDefinition<'t> {
    pub(super) node: Node<'t>,
    pub(super) kind: ChunkKind,
    pub(super) keyword: &'static str,
    pub(super) members: Members,
    pub(super) name: String,
    pub(super) qualifier: Option<String>,
}

/// A name, and the scope written before it.
pub(super) type Name = (String, Option<String>);

/// The name of a definition; none if it has none, as a declaration without a body in C.
pub(super) fn of(language: Language, node: Node<'_>, text: &str) -> Option<Name> {
    match (language, node.kind()) {
        (
            Language::C | Language::Cpp,
            "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier",
        ) => {
            node.child_by_field_name("body")?;
            plain(node.child_by_field_name("name")?, text)
        }
        (Language::C | Language::Cpp, "function_definition" | "type_definition") => {
            declared(node.child_by_field_name("declarator")?, text)
        }
        (Language::Rust, "impl_item") => plain(node.child_by_field_name("type")?, text),
        (Language::Go, "method_declaration") => {
            let (name, _) = plain(node.child_by_field_name("name")?, text)?;
            let receiver =
                node.child_by_field_name("receiver").and_then(|receiver| receiver_type(receiver, text));
            Some((name, receiver))
        }
        (Language::Ruby, "singleton_method") => {
            let (name, _) = plain(node.child_by_field_name("name")?, text)?;
            let object = node.child_by_field_name("object").and_then(|object| plain(object, text));
            Some((name, object.map(|(name, _)| name).filter(|name| name != "self")))
        }
        (Language::Kotlin, "property_declaration") => plain(first(node, "variable_declaration")?, text),
        (Language::Kotlin, "type_alias") => plain(node.child_by_field_name("type")?, text),
        (Language::Scala, "val_definition" | "var_definition") => {
            plain(node.child_by_field_name("pattern")?, text)
        }
        (Language::Zig, "test_declaration") => {
            plain(first(node, "string").or_else(|| first(node, "identifier"))?, text)
        }
        _ => plain(node.child_by_field_name("name")?, text),
    }
}

/// Kind and keyword of a definition whose grammar has one node for several.
pub(super) fn refined(
    language: Language,
    node: Node<'_>,
    text: &str,
    kind: ChunkKind,
    keyword: &'static str,
) -> (ChunkKind, &'static str) {
    match (language, node.kind()) {
        (Language::Go, "type_spec") => match node.child_by_field_name("type").map(|inner| inner.kind()) {
            Some("struct_type") => (ChunkKind::Struct, keyword),
            Some("interface_type") => (ChunkKind::Interface, keyword),
            _ => (kind, keyword),
        },
        (Language::Swift, "class_declaration") => {
            let word =
                node.child_by_field_name("declaration_kind").and_then(|word| text.get(word.byte_range()));
            match word {
                Some("struct") => (ChunkKind::Struct, "struct"),
                Some("enum") => (ChunkKind::Enum, "enum"),
                Some("extension") => (ChunkKind::Impl, "extension"),
                Some("actor") => (ChunkKind::Class, "actor"),
                _ => (kind, keyword),
            }
        }
        (Language::Kotlin, "class_declaration") => {
            let mut cursor = node.walk();
            match node.children(&mut cursor).any(|child| child.kind() == "interface") {
                true => (ChunkKind::Interface, "interface"),
                false => (kind, keyword),
            }
        }
        _ => (kind, keyword),
    }
}

/// A statement that gives a name to a value.
pub(super) fn binding<'t>(node: Node<'t>, text: &str) -> Option<FoundDefinition<'t>> {
    let found = |kind, keyword, members, (name, qualifier)| FoundDefinition {
        node,
        kind,
        keyword,
        members,
        name,
        qualifier,
    };
    match node.kind() {
        // JavaScript: `const f = () => …`, `static x = …`, `{ f: function () … }`.
        "lexical_declaration" | "variable_declaration" => {
            let Some(declarator) = first(node, "variable_declarator") else {
                return bound_elsewhere(node, text);
            };
            let name = plain(declarator.child_by_field_name("name")?, text)?;
            let (kind, keyword, members) = value(declarator.child_by_field_name("value"));
            Some(found(kind, keyword, members, name))
        }
        "field_definition" | "public_field_definition" | "pair" => {
            let name = node
                .child_by_field_name("property")
                .or_else(|| node.child_by_field_name("name"))
                .or_else(|| node.child_by_field_name("key"))?;
            let (kind, keyword, members) = value(node.child_by_field_name("value"));
            (kind != ChunkKind::Value).then_some(())?;
            Some(found(kind, keyword, members, plain(name, text)?))
        }
        // JavaScript: `exports.f = function …`; Python: `LIMIT = 3`.
        "expression_statement" => {
            let assignment = node.named_child(0)?;
            if assignment.kind() == "internal_module" {
                let (name, qualifier) = of(Language::TypeScript, assignment, text)?;
                let (kind, keyword, members) = (ChunkKind::Module, "namespace", Members::Open);
                return Some(FoundDefinition { node: assignment, kind, keyword, members, name, qualifier });
            }
            matches!(assignment.kind(), "assignment_expression" | "assignment").then_some(())?;
            let left = assignment.child_by_field_name("left")?;
            let (kind, keyword, members) = value(assignment.child_by_field_name("right"));
            if kind == ChunkKind::Value && left.kind() != "identifier" {
                return None;
            }
            Some(found(kind, keyword, members, plain(left, text)?))
        }
        "assignment_statement" => bound_elsewhere(node, text),
        // C: `static const struct ops ops = { … }`.
        "declaration" => {
            let declarator = first(node, "init_declarator")?.child_by_field_name("declarator")?;
            Some(found(ChunkKind::Value, "", Members::Closed, declared(declarator, text)?))
        }
        _ => None,
    }
}

/// Lua: `local f = function …`; Zig: `const Foo = struct { … }`.
fn bound_elsewhere<'t>(node: Node<'t>, text: &str) -> Option<FoundDefinition<'t>> {
    let found = |kind, keyword, members, (name, qualifier)| FoundDefinition {
        node,
        kind,
        keyword,
        members,
        name,
        qualifier,
    };
    let assignment =
        if node.kind() == "assignment_statement" { Some(node) } else { first(node, "assignment_statement") };
    if let Some(assignment) = assignment {
        let value = first(assignment, "expression_list")?.named_child(0)?;
        let name = plain(first(assignment, "variable_list")?.named_child(0)?, text)?;
        return match value.kind() {
            "function_definition" => Some(found(ChunkKind::Function, "function", Members::Closed, name)),
            _ => None,
        };
    }
    let name = plain(first(node, "identifier")?, text)?;
    let mut cursor = node.walk();
    let container = node.named_children(&mut cursor).find_map(|child| match child.kind() {
        "struct_declaration" | "opaque_declaration" => Some((ChunkKind::Struct, "struct")),
        "union_declaration" => Some((ChunkKind::Struct, "union")),
        "enum_declaration" => Some((ChunkKind::Enum, "enum")),
        _ => None,
    });
    Some(match container {
        Some((kind, keyword)) => found(kind, keyword, Members::Open, name),
        None => found(ChunkKind::Value, "", Members::Closed, name),
    })
}

/// Elixir's definitions are calls: `defmodule Foo do`, `def bar(x) do`.
pub(super) fn call<'t>(node: Node<'t>, text: &str) -> Option<FoundDefinition<'t>> {
    let target = node.child_by_field_name("target")?;
    let (kind, keyword, members) = match text.get(target.byte_range())? {
        "defmodule" => (ChunkKind::Module, "defmodule", Members::Open),
        "defprotocol" => (ChunkKind::Interface, "defprotocol", Members::Open),
        "defimpl" => (ChunkKind::Impl, "defimpl", Members::Open),
        "def" => (ChunkKind::Function, "def", Members::Closed),
        "defp" => (ChunkKind::Function, "defp", Members::Closed),
        "defmacro" => (ChunkKind::Macro, "defmacro", Members::Closed),
        "defmacrop" => (ChunkKind::Macro, "defmacrop", Members::Closed),
        _ => return None,
    };
    let arguments = first(node, "arguments")?;
    let mut head = arguments.named_child(0)?;
    // `def f(x) when x > 0`: the head is the left of `when`, its name the target of the call.
    while let Some(inner) = head.child_by_field_name("left").or_else(|| head.child_by_field_name("target")) {
        head = inner;
    }
    let (name, qualifier) = plain(head, text)?;
    Some(FoundDefinition { node, kind, keyword, members, name, qualifier })
}

/// The comment that is the first node inside of a definition: Python's docstring.
pub(super) fn doc_inside(language: Language, node: Node<'_>) -> Option<Range<usize>> {
    if language != Language::Python {
        return None;
    }
    let first = node.child_by_field_name("body")?.named_child(0)?;
    let string = if first.kind() == "expression_statement" { first.named_child(0)? } else { first };
    (string.kind() == "string").then(|| string.byte_range())
}

/// What a bound value makes of its name.
fn value(node: Option<Node<'_>>) -> (ChunkKind, &'static str, Members) {
    match node.map(|node| node.kind()) {
        Some("arrow_function" | "function_expression" | "generator_function" | "function") => {
            (ChunkKind::Function, "function", Members::Closed)
        }
        Some("class") => (ChunkKind::Class, "class", Members::Open),
        _ => (ChunkKind::Value, "", Members::Closed),
    }
}

/// Follows the declarators of C down to the name.
fn declared(mut node: Node<'_>, text: &str) -> Option<Name> {
    let mut scope = None;
    loop {
        node = match node.kind() {
            "qualified_identifier" => {
                scope = node.child_by_field_name("scope").and_then(|scope| plain(scope, text)).or(scope);
                node.child_by_field_name("name")?
            }
            "identifier" | "field_identifier" | "type_identifier" | "operator_name" | "destructor_name"
            | "primitive_type" => {
                let (name, _) = plain(node, text)?;
                return Some((name, scope.map(|(scope, _)| scope)));
            }
            _ => match node.child_by_field_name("declarator") {
                Some(inner) => inner,
                None => node.named_child(0)?,
            },
        };
    }
}

/// `T` of Go's `(t *T[K])`.
fn receiver_type(receiver: Node<'_>, text: &str) -> Option<String> {
    let mut node = first(receiver, "parameter_declaration")?.child_by_field_name("type")?;
    while node.kind() != "type_identifier" {
        node = node.child_by_field_name("type").or_else(|| node.named_child(0))?;
    }
    text.get(node.byte_range()).map(str::to_owned)
}

fn first<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| child.kind() == kind)
}

/// A node's text as a name: without type arguments and quotes, the scope before it taken off.
fn plain(node: Node<'_>, text: &str) -> Option<Name> {
    let whole = text.get(node.byte_range())?;
    let end = whole.find(['<', '[', '(', '{', '\n']).filter(|end| *end > 0).unwrap_or(whole.len());
    let whole = if whole.starts_with("operator") { whole } else { &whole[..end] };
    let whole =
        whole.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&' | '*' | ':'));
    let (scope, name) = match whole.rfind(['.', ':', '#']) {
        Some(at) => (whole[..at].trim_end_matches([':', '.', '#']), &whole[at + 1..]),
        None => ("", whole),
    };
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let scope = scope.trim_end_matches(".prototype").rsplit(['.', ':', '#']).next().unwrap_or_default();
    let says_something = !scope.is_empty()
        && scope.len() <= LONGEST
        && !matches!(scope, "exports" | "module" | "self" | "this" | "window" | "crate" | "super");
    Some((name.to_owned(), says_something.then(|| scope.to_owned())))
}
