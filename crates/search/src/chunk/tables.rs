//! The languages we parse: which nodes of each grammar are definitions, and of what kind.

use tree_sitter_language::LanguageFn;

use super::grammar::Members::{Closed, Open};
use super::grammar::Role::{self, Binding, Comment, Item, Prefix, Wrap};
use super::{Kind, Language};

/// How one language is read.
pub(super) struct Table {
    pub(super) grammar: LanguageFn,
    pub(super) roles: &'static [(&'static str, Role)],
}

/// The table of a language, if we parse it.
pub(super) fn table(language: Language) -> Option<Table> {
    let (grammar, roles) = match language {
        Language::C => (tree_sitter_c::LANGUAGE, C),
        Language::Go => (tree_sitter_go::LANGUAGE, GO),
        Language::JavaScript => (tree_sitter_javascript::LANGUAGE, JAVASCRIPT),
        Language::Php => (tree_sitter_php::LANGUAGE_PHP, PHP),
        Language::Python => (tree_sitter_python::LANGUAGE, PYTHON),
        Language::Ruby => (tree_sitter_ruby::LANGUAGE, RUBY),
        Language::Rust => (tree_sitter_rust::LANGUAGE, RUST),
        Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX, JAVASCRIPT),
        Language::TypeScript => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT, JAVASCRIPT),
        _ => return None,
    };
    Some(Table { grammar, roles })
}

type Roles = &'static [(&'static str, Role)];

const C: Roles = &[
    ("comment", Comment),
    ("function_definition", Item(Kind::Function, "", Closed)),
    ("struct_specifier", Item(Kind::Struct, "struct", Closed)),
    ("union_specifier", Item(Kind::Struct, "union", Closed)),
    ("enum_specifier", Item(Kind::Enum, "enum", Closed)),
    ("type_definition", Item(Kind::Type, "typedef", Closed)),
    ("preproc_def", Item(Kind::Macro, "#define", Closed)),
    ("preproc_function_def", Item(Kind::Macro, "#define", Closed)),
    ("declaration", Binding),
    ("preproc_if", Role::Open),
    ("preproc_ifdef", Role::Open),
    ("preproc_else", Role::Open),
    ("preproc_elif", Role::Open),
    ("linkage_specification", Role::Open),
    ("declaration_list", Role::Open),
];

const GO: Roles = &[
    ("comment", Comment),
    ("function_declaration", Item(Kind::Function, "func", Closed)),
    ("method_declaration", Item(Kind::Method, "func", Closed)),
    ("type_declaration", Wrap),
    ("type_spec", Item(Kind::Type, "type", Closed)),
    ("type_alias", Item(Kind::Type, "type", Closed)),
    ("const_declaration", Wrap),
    ("const_spec", Item(Kind::Value, "const", Closed)),
    ("var_declaration", Wrap),
    ("var_spec_list", Wrap),
    ("var_spec", Item(Kind::Value, "var", Closed)),
];

/// JavaScript, and what TypeScript adds.
const JAVASCRIPT: Roles = &[
    ("comment", Comment),
    ("decorator", Prefix),
    ("export_statement", Wrap),
    ("ambient_declaration", Wrap),
    ("function_declaration", Item(Kind::Function, "function", Closed)),
    ("generator_function_declaration", Item(Kind::Function, "function*", Closed)),
    ("function_signature", Item(Kind::Function, "function", Closed)),
    ("class_declaration", Item(Kind::Class, "class", Open)),
    ("abstract_class_declaration", Item(Kind::Class, "class", Open)),
    ("class_body", Role::Open),
    ("method_definition", Item(Kind::Method, "", Closed)),
    ("abstract_method_signature", Item(Kind::Method, "", Closed)),
    ("interface_declaration", Item(Kind::Interface, "interface", Closed)),
    ("type_alias_declaration", Item(Kind::Type, "type", Closed)),
    ("enum_declaration", Item(Kind::Enum, "enum", Closed)),
    ("internal_module", Item(Kind::Module, "namespace", Open)),
    ("module", Item(Kind::Module, "module", Open)),
    ("lexical_declaration", Binding),
    ("variable_declaration", Binding),
    ("field_definition", Binding),
    ("public_field_definition", Binding),
    ("pair", Binding),
    ("expression_statement", Binding),
];

const PHP: Roles = &[
    ("comment", Comment),
    ("namespace_definition", Item(Kind::Module, "namespace", Open)),
    ("class_declaration", Item(Kind::Class, "class", Open)),
    ("interface_declaration", Item(Kind::Interface, "interface", Open)),
    ("trait_declaration", Item(Kind::Interface, "trait", Open)),
    ("enum_declaration", Item(Kind::Enum, "enum", Open)),
    ("declaration_list", Role::Open),
    ("enum_declaration_list", Role::Open),
    ("function_definition", Item(Kind::Function, "function", Closed)),
    ("method_declaration", Item(Kind::Method, "function", Closed)),
];

const PYTHON: Roles = &[
    ("comment", Comment),
    ("decorated_definition", Wrap),
    ("class_definition", Item(Kind::Class, "class", Open)),
    ("function_definition", Item(Kind::Function, "def", Closed)),
    ("block", Role::Open),
    ("expression_statement", Binding),
];

const RUBY: Roles = &[
    ("comment", Comment),
    ("module", Item(Kind::Module, "module", Open)),
    ("class", Item(Kind::Class, "class", Open)),
    ("singleton_class", Role::Open),
    ("body_statement", Role::Open),
    ("method", Item(Kind::Function, "def", Closed)),
    ("singleton_method", Item(Kind::Function, "def", Closed)),
];

const RUST: Roles = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("attribute_item", Prefix),
    ("function_item", Item(Kind::Function, "fn", Closed)),
    ("function_signature_item", Item(Kind::Function, "fn", Closed)),
    ("struct_item", Item(Kind::Struct, "struct", Closed)),
    ("union_item", Item(Kind::Struct, "union", Closed)),
    ("enum_item", Item(Kind::Enum, "enum", Closed)),
    ("trait_item", Item(Kind::Interface, "trait", Open)),
    ("impl_item", Item(Kind::Impl, "impl", Open)),
    ("mod_item", Item(Kind::Module, "mod", Open)),
    ("foreign_mod_item", Role::Open),
    ("declaration_list", Role::Open),
    ("type_item", Item(Kind::Type, "type", Closed)),
    ("const_item", Item(Kind::Value, "const", Closed)),
    ("static_item", Item(Kind::Value, "static", Closed)),
    ("macro_definition", Item(Kind::Macro, "macro_rules!", Closed)),
];
