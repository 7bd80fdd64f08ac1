//! Features of a path.

/// Names that describe nothing, so that the folder counts.
const EMPTY_STEMS: &[&str] = &["index", "mod", "__init__", "lib", "main", "init"];
/// How many of the last folders count.
const FOLDERS: usize = 3;

/// The name of the file without its extension, and the last three folders. Where the name describes nothing, the folder stands
/// for it.
pub(in crate::semantic) fn parts(path: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or_default();
    let stem = match file.find('.') {
        Some(dot) if dot > 0 => &file[..dot],
        _ => file,
    };
    let mut folders = parts.clone();
    let stem = if EMPTY_STEMS.contains(&stem) { folders.next().unwrap_or(stem) } else { stem };
    (stem, parts.take(FOLDERS))
}

/// How deep the file is.
pub(in crate::semantic) fn depth(path: &str) -> usize {
    path.bytes().filter(|byte| *byte == b'/').count()
}

/// What kind of a file a path looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::semantic) struct Role {
    pub(in crate::semantic) test: bool,
    pub(in crate::semantic) example: bool,
    /// Old, vendored or generated.
    pub(in crate::semantic) aside: bool,
}

/// Judges by folders and name.
pub(in crate::semantic) fn role(path: &str) -> Role {
    let lower = path.to_lowercase();
    let mut role = Role::default();
    let mut parts = lower.split('/').peekable();
    while let Some(part) = parts.next() {
        let is_file = parts.peek().is_none();
        role.test |= if is_file { is_test_file(part) } else { TEST_FOLDERS.contains(&part) };
        if !is_file || part.contains("example") {
            role.example |=
                EXAMPLE_FOLDERS.contains(&part) || part.contains("example") || part.contains("benchmark");
        }
        role.aside |= if is_file { is_made_file(part) } else { ASIDE_FOLDERS.contains(&part) };
        role.aside |= ASIDE_WORDS.iter().any(|word| part.contains(word));
    }
    role
}

const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "__tests__",
    "spec",
    "specs",
    "e2e",
    "testdata",
    "fixtures",
    "__mocks__",
    "mocks",
];
const EXAMPLE_FOLDERS: &[&str] = &[
    "example", "examples", "demo", "demos", "sample", "samples", "tutorial", "bench", "benches", "docs",
    "doc",
];
const ASIDE_FOLDERS: &[&str] =
    &["vendor", "vendored", "third_party", "thirdparty", "node_modules", "dist", "generated", "old"];
const ASIDE_WORDS: &[&str] = &["legacy", "deprecated", "compat", "_vendor", "generated"];

fn is_test_file(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || stem == "test"
        || stem == "tests"
        || stem == "conftest"
        || name.contains(".test.")
        || name.contains(".spec.")
        || (stem.ends_with("tests") && name.ends_with(".cs"))
        || (stem.ends_with("test")
            && [".java", ".kt", ".scala", ".php", ".swift"].iter().any(|end| name.ends_with(end)))
}

fn is_made_file(name: &str) -> bool {
    name.contains(".min.")
        || name.contains(".pb.")
        || name.ends_with(".lock")
        || name.contains("_pb2")
        || name.contains(".g.")
}

/// Whether a file mostly re-exports: an index of a folder, nearly all of it imports and exports.
pub(in crate::semantic) fn is_barrel(path: &str, text: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or(file);
    if !EMPTY_STEMS.contains(&stem) {
        return false;
    }
    let (mut lines, mut passing) = (0, 0);
    for line in text.lines().map(str::trim).filter(|line| line.len() > 2) {
        if line.starts_with("//") || line.starts_with('#') || line.starts_with('*') {
            continue;
        }
        lines += 1;
        passing +=
            usize::from(import_words(line) || line.starts_with("mod ") || line.starts_with("pub mod "));
    }
    passing * 2 > lines
}

fn import_words(line: &str) -> bool {
    begins_import(line) || calls_import(line)
}

fn begins_import(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "import ", "from ", "use ", "pub use ", "using ", "#include", "require", "export ", "include ",
        "alias ",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

fn calls_import(text: &str) -> bool {
    text.contains("require(") || text.contains("import(") || text.contains("@import")
}

/// Gives the names in lines that import something.
pub(in crate::semantic) fn each_import(text: &str, mut found: impl FnMut(&str)) {
    // Few files have any, and one look at all of it costs less than one at each line.
    let has_calls = calls_import(text);
    for line in text.lines() {
        let line = line.trim_start();
        if line.len() > 300 || !(begins_import(line) || (has_calls && calls_import(line))) {
            continue;
        }
        for name in line.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-') {
            if name.len() > 1 && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
                found(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_a_name_that_says_nothing() {
        let stem = |path| parts(path).0;
        assert_eq!(stem("src/http/client.rs"), "client");
        assert_eq!(stem("src/http/mod.rs"), "http");
        assert_eq!(stem("index.d.ts"), "index");
        assert_eq!(parts("a/b/c/d/e.rs").1.collect::<Vec<_>>(), ["d", "c", "b"]);
    }

    #[test]
    fn roles() {
        for path in ["tests/it/a.rs", "src/a_test.go", "a.spec.ts", "pkg/FooTest.java", "test_a.py"] {
            assert!(role(path).test, "{path}");
        }
        for path in ["src/testkit.rs", "latest/a.py", "src/contest.js"] {
            assert!(!role(path).test, "{path}");
        }
        assert!(role("examples/a.rs").example && role("vendor/x/a.c").aside && role("a/app.min.js").aside);
        assert_eq!(role("src/main.rs"), Role::default());
    }

    #[test]
    fn barrels() {
        assert!(is_barrel("a/index.ts", "export * from './b'\nexport * from './c'\n"));
        assert!(!is_barrel("a/index.ts", "export * from './b'\nfunction f() {\n  g()\n  h()\n}\n"));
        assert!(!is_barrel("a/b.ts", "export * from './b'\n"));
    }
}
