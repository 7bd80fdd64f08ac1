//! The languages we parse: which nodes of each grammar are definitions, and of what kind.

use tree_sitter_language::LanguageFn;

use super::grammar::Members::{Closed, Open};
use super::grammar::Role::{self, Binding, Call, Comment, Item, Prefix, Wrap};
use super::{Kind, Language};

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
    ("statement_block", Role::Open),
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

const BASH: Roles =
    &[("comment", Comment), ("function_definition", Item(Kind::Function, "function", Closed))];

const CPP: Roles = &[
    ("comment", Comment),
    ("template_declaration", Wrap),
    ("namespace_definition", Item(Kind::Module, "namespace", Open)),
    ("class_specifier", Item(Kind::Class, "class", Open)),
    ("struct_specifier", Item(Kind::Struct, "struct", Open)),
    ("union_specifier", Item(Kind::Struct, "union", Closed)),
    ("enum_specifier", Item(Kind::Enum, "enum", Closed)),
    ("type_definition", Item(Kind::Type, "typedef", Closed)),
    ("alias_declaration", Item(Kind::Type, "using", Closed)),
    ("concept_definition", Item(Kind::Type, "concept", Closed)),
    ("function_definition", Item(Kind::Function, "", Closed)),
    ("preproc_def", Item(Kind::Macro, "#define", Closed)),
    ("preproc_function_def", Item(Kind::Macro, "#define", Closed)),
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
    ("namespace_declaration", Item(Kind::Module, "namespace", Open)),
    ("class_declaration", Item(Kind::Class, "class", Open)),
    ("struct_declaration", Item(Kind::Struct, "struct", Open)),
    ("record_declaration", Item(Kind::Class, "record", Open)),
    ("interface_declaration", Item(Kind::Interface, "interface", Open)),
    ("enum_declaration", Item(Kind::Enum, "enum", Closed)),
    ("delegate_declaration", Item(Kind::Type, "delegate", Closed)),
    ("method_declaration", Item(Kind::Method, "", Closed)),
    ("constructor_declaration", Item(Kind::Method, "", Closed)),
    ("destructor_declaration", Item(Kind::Method, "~", Closed)),
    ("local_function_statement", Item(Kind::Function, "", Closed)),
    ("property_declaration", Item(Kind::Value, "", Closed)),
    ("event_declaration", Item(Kind::Value, "event", Closed)),
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
    ("function", Item(Kind::Function, "", Closed)),
    ("bind", Item(Kind::Function, "", Closed)),
    ("data_type", Item(Kind::Type, "data", Closed)),
    ("newtype", Item(Kind::Type, "newtype", Closed)),
    ("type_synomym", Item(Kind::Type, "type", Closed)),
    ("class", Item(Kind::Interface, "class", Open)),
    ("instance", Item(Kind::Impl, "instance", Open)),
];

const JAVA: Roles = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("class_declaration", Item(Kind::Class, "class", Open)),
    ("record_declaration", Item(Kind::Class, "record", Open)),
    ("interface_declaration", Item(Kind::Interface, "interface", Open)),
    ("annotation_type_declaration", Item(Kind::Interface, "@interface", Open)),
    ("enum_declaration", Item(Kind::Enum, "enum", Open)),
    ("method_declaration", Item(Kind::Method, "", Closed)),
    ("constructor_declaration", Item(Kind::Method, "", Closed)),
    ("compact_constructor_declaration", Item(Kind::Method, "", Closed)),
    ("class_body", Role::Open),
    ("interface_body", Role::Open),
    ("annotation_type_body", Role::Open),
    ("enum_body", Role::Open),
    ("enum_body_declarations", Role::Open),
];

const KOTLIN: Roles = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("class_declaration", Item(Kind::Class, "class", Open)),
    ("object_declaration", Item(Kind::Class, "object", Open)),
    ("companion_object", Item(Kind::Class, "companion object", Open)),
    ("function_declaration", Item(Kind::Function, "fun", Closed)),
    ("property_declaration", Item(Kind::Value, "val", Closed)),
    ("type_alias", Item(Kind::Type, "typealias", Closed)),
    ("class_body", Role::Open),
    ("enum_class_body", Role::Open),
];

const LUA: Roles = &[
    ("comment", Comment),
    ("function_declaration", Item(Kind::Function, "function", Closed)),
    ("variable_declaration", Binding),
    ("assignment_statement", Binding),
];

const SCALA: Roles = &[
    ("comment", Comment),
    ("block_comment", Comment),
    ("package_clause", Role::Open),
    ("package_object", Item(Kind::Module, "package object", Open)),
    ("class_definition", Item(Kind::Class, "class", Open)),
    ("object_definition", Item(Kind::Class, "object", Open)),
    ("trait_definition", Item(Kind::Interface, "trait", Open)),
    ("enum_definition", Item(Kind::Enum, "enum", Open)),
    ("extension_definition", Role::Open),
    ("given_definition", Item(Kind::Value, "given", Open)),
    ("function_definition", Item(Kind::Function, "def", Closed)),
    ("function_declaration", Item(Kind::Function, "def", Closed)),
    ("val_definition", Item(Kind::Value, "val", Closed)),
    ("var_definition", Item(Kind::Value, "var", Closed)),
    ("type_definition", Item(Kind::Type, "type", Closed)),
    ("template_body", Role::Open),
    ("with_template_body", Role::Open),
    ("enum_body", Role::Open),
];

const SWIFT: Roles = &[
    ("comment", Comment),
    ("multiline_comment", Comment),
    ("class_declaration", Item(Kind::Class, "class", Open)),
    ("protocol_declaration", Item(Kind::Interface, "protocol", Open)),
    ("function_declaration", Item(Kind::Function, "func", Closed)),
    ("protocol_function_declaration", Item(Kind::Function, "func", Closed)),
    ("init_declaration", Item(Kind::Method, "", Closed)),
    ("property_declaration", Item(Kind::Value, "var", Closed)),
    ("typealias_declaration", Item(Kind::Type, "typealias", Closed)),
    ("class_body", Role::Open),
    ("enum_class_body", Role::Open),
    ("protocol_body", Role::Open),
];

const ZIG: Roles = &[
    ("comment", Comment),
    ("function_declaration", Item(Kind::Function, "fn", Closed)),
    ("test_declaration", Item(Kind::Function, "test", Closed)),
    ("variable_declaration", Binding),
    ("struct_declaration", Role::Open),
    ("union_declaration", Role::Open),
    ("enum_declaration", Role::Open),
    ("opaque_declaration", Role::Open),
];
