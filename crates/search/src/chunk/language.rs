//! What language a file is written in, by its name, or by its first line.

/// A language that we know by name. What we parse is in [`crate::chunk`]'s tables; the rest is cut by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

/// One line of the table: name, extensions, whole file names, interpreters.
type Known = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

macro_rules! languages {
    ($($constant:ident: $known:expr;)*) => {
        #[expect(non_upper_case_globals, reason = "they read like the variants of an enum, and match like them")]
        #[allow(missing_docs)]
        impl Language {
            $(pub const $constant: Self = Self(Index::$constant as u8);)*
        }
        enum Index { $($constant,)* }
        const KNOWN: &[Known] = &[$($known,)*];
    };
}

languages! {
    Text: ("text", &["txt", "log"], &["LICENSE", "COPYING", "AUTHORS", "NOTICE"], &[]);
    Bash: ("bash", &["sh", "bash", "zsh", "ksh", "bats", "ebuild"], &[".bashrc", ".bash_profile", ".profile", ".zshrc", "PKGBUILD", "APKBUILD"], &["sh", "bash", "zsh", "dash", "ksh"]);
    C: ("c", &["c", "h"], &[], &[]);
    Cpp: ("cpp", &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "inl", "ipp", "tpp", "cu", "cuh", "ino"], &[], &[]);
    CSharp: ("csharp", &["cs", "csx"], &[], &[]);
    Elixir: ("elixir", &["ex", "exs"], &[], &["elixir"]);
    Go: ("go", &["go"], &[], &[]);
    Haskell: ("haskell", &["hs"], &[], &["runhaskell", "runghc"]);
    Java: ("java", &["java"], &[], &[]);
    JavaScript: ("javascript", &["js", "mjs", "cjs", "jsx", "es6"], &["Jakefile"], &["node", "nodejs", "bun", "deno"]);
    Kotlin: ("kotlin", &["kt", "kts"], &[], &[]);
    Lua: ("lua", &["lua", "rockspec"], &[], &["lua", "luajit"]);
    Markdown: ("markdown", &["md", "markdown", "mkd", "mdx", "mdown", "rmd", "qmd"], &["README", "CHANGELOG"], &[]);
    Php: ("php", &["php", "php3", "php4", "php5", "phtml", "inc"], &[], &["php"]);
    Python: ("python", &["py", "pyi", "pyw", "bzl", "star"], &["SConstruct", "SConscript", "BUILD", "WORKSPACE", "wscript"], &["python", "python2", "python3", "pypy", "pypy3"]);
    Ruby: ("ruby", &["rb", "rake", "gemspec", "ru", "podspec"], &["Rakefile", "Gemfile", "Vagrantfile", "Podfile", "Brewfile", "Guardfile", "Capfile"], &["ruby", "jruby"]);
    Rust: ("rust", &["rs"], &[], &["rust-script"]);
    Scala: ("scala", &["scala", "sc", "sbt"], &[], &["scala"]);
    Swift: ("swift", &["swift"], &[], &["swift"]);
    Tsx: ("tsx", &["tsx"], &[], &[]);
    TypeScript: ("typescript", &["ts", "mts", "cts"], &[], &["ts-node", "tsx"]);
    Zig: ("zig", &["zig", "zon"], &[], &[]);
    Ada: ("ada", &["adb", "ads"], &[], &[]);
    Assembly: ("assembly", &["s", "asm", "nasm"], &[], &[]);
    Awk: ("awk", &["awk"], &[], &["awk", "gawk", "mawk"]);
    Batch: ("batch", &["bat", "cmd"], &[], &[]);
    CMake: ("cmake", &["cmake"], &["CMakeLists.txt"], &[]);
    Clojure: ("clojure", &["clj", "cljs", "cljc", "edn"], &[], &[]);
    Crystal: ("crystal", &["cr"], &[], &["crystal"]);
    Css: ("css", &["css", "scss", "sass", "less", "styl"], &[], &[]);
    Csv: ("csv", &["csv", "tsv"], &[], &[]);
    D: ("d", &["d"], &[], &[]);
    Dart: ("dart", &["dart"], &[], &["dart"]);
    Diff: ("diff", &["diff", "patch"], &[], &[]);
    Dockerfile: ("dockerfile", &["dockerfile"], &["Dockerfile", "Containerfile"], &[]);
    Elm: ("elm", &["elm"], &[], &[]);
    Erlang: ("erlang", &["erl", "hrl"], &["rebar.config"], &["escript"]);
    FSharp: ("fsharp", &["fs", "fsi", "fsx"], &[], &[]);
    Fish: ("fish", &["fish"], &[], &["fish"]);
    Fortran: ("fortran", &["f", "for", "f77", "f90", "f95", "f03", "f08"], &[], &[]);
    GraphQl: ("graphql", &["graphql", "gql"], &[], &[]);
    Groovy: ("groovy", &["groovy", "gradle"], &["Jenkinsfile"], &["groovy"]);
    Hcl: ("hcl", &["tf", "tfvars", "hcl", "nomad"], &[], &[]);
    Html: ("html", &["html", "htm", "xhtml", "ejs", "hbs", "erb", "jinja", "j2", "njk", "twig"], &[], &[]);
    Ini: ("ini", &["ini", "cfg", "conf", "properties", "desktop", "service"], &[".editorconfig", ".gitconfig", ".npmrc"], &[]);
    Json: ("json", &["json", "jsonc", "json5", "geojson", "webmanifest", "ipynb"], &[".babelrc", ".eslintrc", "composer.lock"], &[]);
    Julia: ("julia", &["jl"], &[], &["julia"]);
    Latex: ("latex", &["tex", "sty", "cls", "bib"], &[], &[]);
    Lisp: ("lisp", &["lisp", "lsp", "cl", "el", "scm", "ss", "rkt"], &[".emacs"], &["sbcl", "guile", "racket"]);
    Make: ("make", &["mk", "mak"], &["Makefile", "makefile", "GNUmakefile", "Kbuild", "Kconfig"], &["make"]);
    Meson: ("meson", &[], &["meson.build", "meson_options.txt"], &[]);
    Nim: ("nim", &["nim", "nims", "nimble"], &[], &["nim"]);
    Nix: ("nix", &["nix"], &[], &[]);
    ObjectiveC: ("objective-c", &["m", "mm"], &[], &[]);
    Ocaml: ("ocaml", &["ml", "mli", "mll", "mly"], &[], &["ocaml"]);
    Pascal: ("pascal", &["pas", "pp", "dpr", "lpr"], &[], &[]);
    Perl: ("perl", &["pl", "pm", "pod", "t"], &[], &["perl"]);
    PowerShell: ("powershell", &["ps1", "psm1", "psd1"], &[], &["pwsh"]);
    Prolog: ("prolog", &["pro", "prolog"], &[], &["swipl"]);
    Proto: ("protobuf", &["proto"], &[], &[]);
    R: ("r", &["r"], &[".Rprofile"], &["Rscript"]);
    Rst: ("rst", &["rst", "rest"], &[], &[]);
    Sql: ("sql", &["sql", "ddl", "dml", "psql", "plsql"], &[], &[]);
    Solidity: ("solidity", &["sol"], &[], &[]);
    Starlark: ("starlark", &[], &["BUILD.bazel", "WORKSPACE.bazel", "MODULE.bazel", "Tiltfile"], &[]);
    Svelte: ("svelte", &["svelte"], &[], &[]);
    Tcl: ("tcl", &["tcl", "tk"], &[], &["tclsh", "wish"]);
    Toml: ("toml", &["toml"], &["Cargo.lock", "poetry.lock", "uv.lock"], &[]);
    Verilog: ("verilog", &["v", "sv", "svh", "vh"], &[], &[]);
    Vhdl: ("vhdl", &["vhd", "vhdl"], &[], &[]);
    VimScript: ("vim", &["vim"], &[".vimrc", "vimrc"], &[]);
    Vue: ("vue", &["vue"], &[], &[]);
    Xml: ("xml", &["xml", "xsd", "xsl", "xslt", "svg", "plist", "csproj", "props", "targets", "xaml", "wsdl"], &[], &[]);
    Yaml: ("yaml", &["yaml", "yml"], &[".clang-format", ".clang-tidy"], &[]);
}

impl Language {
    /// Its name in lower case, as in results and filters.
    pub fn name(self) -> &'static str {
        KNOWN.get(usize::from(self.0)).map_or("text", |known| known.0)
    }

    /// The language of that name, if we know it. Common other names are understood: `c++`, `c#`, `js`, `py`, `shell`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let name = match name.as_str() {
            "c#" => "csharp",
            "f#" => "fsharp",
            "shell" | "zsh" => "bash",
            "golang" => "go",
            "objc" => "objective-c",
            other => other,
        };
        by(|known| known.0 == name).or_else(|| by(|known| known.1.contains(&name)))
    }

    /// Whether its files are cut along their definitions, and not by lines or headings.
    pub fn is_parsed(self) -> bool {
        super::tables::table(self).is_some()
    }

    /// Every language that we know, parsed or not.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..KNOWN.len()).filter_map(|index| u8::try_from(index).ok()).map(Self)
    }

    /// Its place in [`Language::all`].
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The language of a file, by its name, or else by its first line; [`Language::Text`] if neither decides.
pub fn language(path: &str, text: &str) -> Language {
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some(language) = by(|known| known.2.contains(&name)) {
        return language;
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref() {
        Some("h") if looks_like_cpp(text) => Some(Language::Cpp),
        Some("inc") if !text.contains("<?") => Some(Language::Text),
        Some(extension) => by(|known| known.1.contains(&extension)),
        None => None,
    }
    .or_else(|| {
        by(|known| {
            known.2.iter().any(|file| name.strip_prefix(file).is_some_and(|rest| rest.starts_with('.')))
        })
    })
    .or_else(|| interpreter(text).and_then(|name| by(|known| known.3.contains(&name))))
    .unwrap_or(Language::Text)
}

fn by(matches: impl Fn(&Known) -> bool) -> Option<Language> {
    KNOWN.iter().position(matches).and_then(|index| u8::try_from(index).ok()).map(Language)
}

/// The program of a `#!` line: `#!/usr/bin/env -S python3 -u` is `python3`.
fn interpreter(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    if program != "env" {
        return Some(program);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

/// A header has no language of its own: that of the words at the start of its lines.
fn looks_like_cpp(text: &str) -> bool {
    let mut end = text.len().min(64 * 1024);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].lines().map(str::trim_start).any(|line| {
        [
            "class ",
            "namespace ",
            "template <",
            "template<",
            "using namespace",
            "public:",
            "private:",
            "protected:",
        ]
        .iter()
        .any(|word| line.starts_with(word))
            || line.starts_with("#include <")
                && line.ends_with('>')
                && !line.ends_with(".h>")
                && !line.contains('/')
    })
}
