//! The languages we parse: which nodes of each grammar are definitions, and of what kind.

use tree_sitter_language::LanguageFn;

use super::grammar::Members::{Closed, Open};
use super::grammar::Role::{self, Binding, Call, Comment, Item, Prefix, Wrap};
use super::{ChunkKind, Language};

/// How one language is read.
pub(super) struct Table {
    pub(super) grammar: LanguageFn,
    pub(super) roles: &'static [(&'static str, Role)],
}

/// The table of a language, if we parse it.
pub(super) fn table(language: Language) -> Option<Table> {
    let (grammar, roles) = match language {
        Language::Bash => (tree_sitter_bash::LANGUAGE, BASH),
        Language::C => (tree_sitter_c::LANGUAGE, C),
        Language::Cpp => (tree_sitter_cpp::LANGUAGE, CPP),
        Language::CSharp => (tree_sitter_c_sharp::LANGUAGE, CSHARP),
        Language::Elixir => (tree_sitter_elixir::LANGUAGE, ELIXIR),
        Language::Go => (tree_sitter_go::LANGUAGE, GO),
        Language::Haskell => (tree_sitter_haskell::LANGUAGE, HASKELL),
        Language::Java => (tree_sitter_java::LANGUAGE, JAVA),
        Language::JavaScript => (tree_sitter_javascript::LANGUAGE, JAVASCRIPT),
        Language::Kotlin => (tree_sitter_kotlin_ng::LANGUAGE, KOTLIN),
        Language::Lua => (tree_sitter_lua::LANGUAGE, LUA),
        Language::Php => (tree_sitter_php::LANGUAGE_PHP, PHP),
        Language::Python => (tree_sitter_python::LANGUAGE, PYTHON),
        Language::Ruby => (tree_sitter_ruby::LANGUAGE, RUBY),
        Language::Rust => (tree_sitter_rust::LANGUAGE, RUST),
        Language::Scala => (tree_sitter_scala::LANGUAGE, SCALA),
        Language::Swift => (tree_sitter_swift::LANGUAGE, SWIFT),
        Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX, JAVASCRIPT),
        Language::TypeScript => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT, JAVASCRIPT),
        Language::Zig => (tree_sitter_zig::LANGUAGE, ZIG),
        _ => return None,
    };
    Some(Table { grammar, roles })
}

type Roles = &'static [(&'static str, Role)];

const C: Roles = &[
    ("comment", Comment),
    ("function_definition", Item(ChunkKind::Function, "", Closed)),
    ("struct_specifier", Item(ChunkKind::Struct, "struct", Closed)),
    ("union_specifier", Item(ChunkKind::Struct, "union", Closed)),
    ("enum_specifier", Item(ChunkKind::Enum, "enum", Closed)),
    ("type_definition", Item(ChunkKind::Type, "typedef", Closed)),
    ("preproc_def", Item(ChunkKind::Macro, "#define", Closed)),
    ("preproc_function_def", Item(ChunkKind::Macro, "#define", Closed)),
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
    ("function_declaration", Item(ChunkKind::Function, "func", Closed)),
    ("method_declaration", Item(ChunkKind::Method, "func", Closed)),
    ("type_declaration", Wrap),
    ("type_spec", Item(ChunkKind::Type, "type", Closed)),
    ("type_alias", Item(ChunkKind::Type, "type", Closed)),
    ("const_declaration", Wrap),
    ("const_spec", Item(ChunkKind::Value, "const", Closed)),
    ("var_declaration", Wrap),
    ("var_spec_list", Wrap),
    ("var_spec", Item(ChunkKind::Value, "var", Closed)),
];

/// JavaScript, and what TypeScript adds.
const JAVASCRIPT: Roles = &[
    ("comment", Comment),
    ("decorator", Prefix),
    ("export_statement", Wrap),
    ("ambient_declaration", Wrap),
    ("function_declaration", Item(ChunkKind::Function, "function", Closed)),
    ("generator_function_declaration", Item(ChunkKind::Function, "function*", Closed)),
    ("function_signature", Item(ChunkKind::Function, "function", Closed)),
    ("class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("abstract_class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("class_body", Role::Open),
    ("statement_block", Role::Open),
    ("method_definition", Item(ChunkKind::Method, "", Closed)),
    ("abstract_method_signature", Item(ChunkKind::Method, "", Closed)),
    ("interface_declaration", Item(ChunkKind::Interface, "interface", Closed)),
    ("type_alias_declaration", Item(ChunkKind::Type, "type", Closed)),
    ("enum_declaration", Item(ChunkKind::Enum, "enum", Closed)),
    ("internal_module", Item(ChunkKind::Module, "namespace", Open)),
    ("module", Item(ChunkKind::Module, "module", Open)),
    ("lexical_declaration", Binding),
    ("variable_declaration", Binding),
    ("field_definition", Binding),
    ("public_field_definition", Binding),
    ("pair", Binding),
    ("expression_statement", Binding),
];

const PHP: Roles = &[
    ("comment", Comment),
    ("namespace_definition", Item(ChunkKind::Module, "namespace", Open)),
    ("class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("interface_declaration", Item(ChunkKind::Interface, "interface", Open)),
    ("trait_declaration", Item(ChunkKind::Interface, "trait", Open)),
    ("enum_declaration", Item(ChunkKind::Enum, "enum", Open)),
    ("declaration_list", Role::Open),
    ("enum_declaration_list", Role::Open),
    ("function_definition", Item(ChunkKind::Function, "function", Closed)),
    ("method_declaration", Item(ChunkKind::Method, "function", Closed)),
];

const PYTHON: Roles = &[
    ("comment", Comment),
    ("decorated_definition", Wrap),
    ("class_definition", Item(ChunkKind::Class, "class", Open)),
    ("function_definition", Item(ChunkKind::Function, "def", Closed)),
    ("block", Role::Open),
    ("expression_statement", Binding),
];

const RUBY: Roles = &[
    ("comment", Comment),
    ("module", Item(ChunkKind::Module, "module", Open)),
    ("class", Item(ChunkKind::Class, "class", Open)),
    ("singleton_class", Role::Open),
    ("body_statement", Role::Open),
    ("method", Item(ChunkKind::Function, "def", Closed)),
    ("singleton_method", Item(ChunkKind::Function, "def", Closed)),
];

const RUST: Roles = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("attribute_item", Prefix),
    ("function_item", Item(ChunkKind::Function, "fn", Closed)),
    ("function_signature_item", Item(ChunkKind::Function, "fn", Closed)),
    ("struct_item", Item(ChunkKind::Struct, "struct", Closed)),
    ("union_item", Item(ChunkKind::Struct, "union", Closed)),
    ("enum_item", Item(ChunkKind::Enum, "enum", Closed)),
    ("trait_item", Item(ChunkKind::Interface, "trait", Open)),
    ("impl_item", Item(ChunkKind::Impl, "impl", Open)),
    ("mod_item", Item(ChunkKind::Module, "mod", Open)),
    ("foreign_mod_item", Role::Open),
    ("declaration_list", Role::Open),
    ("type_item", Item(ChunkKind::Type, "type", Closed)),
    ("const_item", Item(ChunkKind::Value, "const", Closed)),
    ("static_item", Item(ChunkKind::Value, "static", Closed)),
    ("macro_definition", Item(ChunkKind::Macro, "macro_rules!", Closed)),
];

const BASH: Roles =
    &[("comment", Comment), ("function_definition", Item(ChunkKind::Function, "function", Closed))];

const CPP: Roles = &[
    ("comment", Comment),
    ("template_declaration", Wrap),
    ("namespace_definition", Item(ChunkKind::Module, "namespace", Open)),
    ("class_specifier", Item(ChunkKind::Class, "class", Open)),
    ("struct_specifier", Item(ChunkKind::Struct, "struct", Open)),
    ("union_specifier", Item(ChunkKind::Struct, "union", Closed)),
    ("enum_specifier", Item(ChunkKind::Enum, "enum", Closed)),
    ("type_definition", Item(ChunkKind::Type, "typedef", Closed)),
    ("alias_declaration", Item(ChunkKind::Type, "using", Closed)),
    ("concept_definition", Item(ChunkKind::Type, "concept", Closed)),
    ("function_definition", Item(ChunkKind::Function, "", Closed)),
    ("preproc_def", Item(ChunkKind::Macro, "#define", Closed)),
    ("preproc_function_def", Item(ChunkKind::Macro, "#define", Closed)),
    ("declaration", Binding),
    ("field_declaration_list", Role::Open),
    ("preproc_if", Role::Open),
    ("preproc_ifdef", Role::Open),
    ("preproc_else", Role::Open),
    ("preproc_elif", Role::Open),
    ("linkage_specification", Role::Open),
    ("declaration_list", Role::Open),
];

const CSHARP: Roles = &[
    ("comment", Comment),
    ("namespace_declaration", Item(ChunkKind::Module, "namespace", Open)),
    ("class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("struct_declaration", Item(ChunkKind::Struct, "struct", Open)),
    ("record_declaration", Item(ChunkKind::Class, "record", Open)),
    ("interface_declaration", Item(ChunkKind::Interface, "interface", Open)),
    ("enum_declaration", Item(ChunkKind::Enum, "enum", Closed)),
    ("delegate_declaration", Item(ChunkKind::Type, "delegate", Closed)),
    ("method_declaration", Item(ChunkKind::Method, "", Closed)),
    ("constructor_declaration", Item(ChunkKind::Method, "", Closed)),
    ("destructor_declaration", Item(ChunkKind::Method, "~", Closed)),
    ("local_function_statement", Item(ChunkKind::Function, "", Closed)),
    ("property_declaration", Item(ChunkKind::Value, "", Closed)),
    ("event_declaration", Item(ChunkKind::Value, "event", Closed)),
    ("declaration_list", Role::Open),
    ("preproc_if", Role::Open),
];

const ELIXIR: Roles =
    &[("comment", Comment), ("unary_operator", Prefix), ("call", Call), ("do_block", Role::Open)];

const HASKELL: Roles = &[
    ("comment", Comment),
    ("haddock", Comment),
    ("signature", Prefix),
    ("declarations", Role::Open),
    ("class_declarations", Role::Open),
    ("instance_declarations", Role::Open),
    ("function", Item(ChunkKind::Function, "", Closed)),
    ("bind", Item(ChunkKind::Function, "", Closed)),
    ("data_type", Item(ChunkKind::Type, "data", Closed)),
    ("newtype", Item(ChunkKind::Type, "newtype", Closed)),
    ("type_synomym", Item(ChunkKind::Type, "type", Closed)),
    ("class", Item(ChunkKind::Interface, "class", Open)),
    ("instance", Item(ChunkKind::Impl, "instance", Open)),
];

const JAVA: Roles = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("record_declaration", Item(ChunkKind::Class, "record", Open)),
    ("interface_declaration", Item(ChunkKind::Interface, "interface", Open)),
    ("annotation_type_declaration", Item(ChunkKind::Interface, "@interface", Open)),
    ("enum_declaration", Item(ChunkKind::Enum, "enum", Open)),
    ("method_declaration", Item(ChunkKind::Method, "", Closed)),
    ("constructor_declaration", Item(ChunkKind::Method, "", Closed)),
    ("compact_constructor_declaration", Item(ChunkKind::Method, "", Closed)),
    ("class_body", Role::Open),
    ("interface_body", Role::Open),
    ("annotation_type_body", Role::Open),
    ("enum_body", Role::Open),
    ("enum_body_declarations", Role::Open),
];

const KOTLIN: Roles = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("object_declaration", Item(ChunkKind::Class, "object", Open)),
    ("companion_object", Item(ChunkKind::Class, "companion object", Open)),
    ("function_declaration", Item(ChunkKind::Function, "fun", Closed)),
    ("property_declaration", Item(ChunkKind::Value, "val", Closed)),
    ("type_alias", Item(ChunkKind::Type, "typealias", Closed)),
    ("class_body", Role::Open),
    ("enum_class_body", Role::Open),
];

const LUA: Roles = &[
    ("comment", Comment),
    ("function_declaration", Item(ChunkKind::Function, "function", Closed)),
    ("variable_declaration", Binding),
    ("assignment_statement", Binding),
];

const SCALA: Roles = &[
    ("comment", Comment),
    ("block_comment", Comment),
    ("package_clause", Role::Open),
    ("package_object", Item(ChunkKind::Module, "package object", Open)),
    ("class_definition", Item(ChunkKind::Class, "class", Open)),
    ("object_definition", Item(ChunkKind::Class, "object", Open)),
    ("trait_definition", Item(ChunkKind::Interface, "trait", Open)),
    ("enum_definition", Item(ChunkKind::Enum, "enum", Open)),
    ("extension_definition", Role::Open),
    ("given_definition", Item(ChunkKind::Value, "given", Open)),
    ("function_definition", Item(ChunkKind::Function, "def", Closed)),
    ("function_declaration", Item(ChunkKind::Function, "def", Closed)),
    ("val_definition", Item(ChunkKind::Value, "val", Closed)),
    ("var_definition", Item(ChunkKind::Value, "var", Closed)),
    ("type_definition", Item(ChunkKind::Type, "type", Closed)),
    ("template_body", Role::Open),
    ("with_template_body", Role::Open),
    ("enum_body", Role::Open),
];

const SWIFT: Roles = &[
    ("comment", Comment),
    ("multiline_comment", Comment),
    ("class_declaration", Item(ChunkKind::Class, "class", Open)),
    ("protocol_declaration", Item(ChunkKind::Interface, "protocol", Open)),
    ("function_declaration", Item(ChunkKind::Function, "func", Closed)),
    ("protocol_function_declaration", Item(ChunkKind::Function, "func", Closed)),
    ("init_declaration", Item(ChunkKind::Method, "", Closed)),
    ("property_declaration", Item(ChunkKind::Value, "var", Closed)),
    ("typealias_declaration", Item(ChunkKind::Type, "typealias", Closed)),
    ("class_body", Role::Open),
    ("enum_class_body", Role::Open),
    ("protocol_body", Role::Open),
];

const ZIG: Roles = &[
    ("comment", Comment),
    ("function_declaration", Item(ChunkKind::Function, "fn", Closed)),
    ("test_declaration", Item(ChunkKind::Function, "test", Closed)),
    ("variable_declaration", Binding),
    ("struct_declaration", Role::Open),
    ("union_declaration", Role::Open),
    ("enum_declaration", Role::Open),
    ("opaque_declaration", Role::Open),
];
