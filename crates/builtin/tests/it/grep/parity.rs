//! The toolset `ripgrep` against the real `rg`, which is what mcp-ripgrep starts. `cargo xtask peers` installs it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolbay_builtin::grep::GrepToolset;

use super::client;

struct Rg(PathBuf);

impl Rg {
    /// Invariant: without it, the tests fail; a suite that skips itself proves nothing.
    #[expect(clippy::disallowed_methods, reason = "where the test command installed it")]
    fn find() -> Self {
        const HINT: &str = "this test needs `rg`: run `cargo xtask test`, \
            or `cargo xtask peers` and then set TOOLBAY_TEST_PEERS=target/peers";
        let peers = std::env::var_os("TOOLBAY_TEST_PEERS").unwrap_or_else(|| panic!("{HINT}"));
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(peers).join("python/bin/rg");
        assert!(program.exists(), "{HINT}");
        Self(program)
    }

    /// What it prints, sorted by path.
    #[expect(clippy::disallowed_methods, reason = "the program to compare with; it ends by itself")]
    fn run(&self, directory: &Path, arguments: &[&str]) -> String {
        let command = ["--no-config", "--sort=path"];
        let output =
            Command::new(&self.0).current_dir(directory).args(command).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Everything that is hard about files, and some sources.
fn corpus(root: &Path) {
    let write = |name: &str, bytes: &[u8]| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let text = "fn main() { let Größe = \"Straße\"; }\nKELVIN 300 K, self\r\nfoo bar foo\n\nlast foo";
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    write("odd/utf8", text.as_bytes());
    write("odd/bom", &[b"\xEF\xBB\xBF", text.as_bytes()].concat());
    write("odd/utf16", &[&b"\xFF\xFE"[..], &utf_16].concat());
    write("odd/latin1", b"gr\xFCn foo\nfoo\n");
    write("odd/empty", b"");
    write("odd/early_nul", b"foo\n\0foo\nfoo\n");
    write("odd/late_nul", &[text.repeat(1_200).as_bytes(), b"\0foo\n"].concat());
    write("odd/ansi", b"\x1b[31mfoo\x1b[0m\n");
    write(".hidden/file", b"foo\n");
    write(".ignore", b"ignored/\n*.log\n");
    write("ignored/file", b"foo\n");
    write("a.log", b"foo\n");
    for file in 0..60 {
        let lines: String = (0..file)
            .map(|line| format!("line {line} {}\n", ["foo", "bar", "Foo foo"][(file + line) % 3]))
            .collect();
        write(&format!("src/{}/{file:02}.rs", file % 7), lines.as_bytes());
        write(&format!("docs/{file:02}.md"), lines.replace("line", "# heading").as_bytes());
    }
    std::os::unix::fs::symlink("odd/utf8", root.join("link")).unwrap();
    std::os::unix::fs::symlink("../src", root.join("docs/src_link")).unwrap();
}

#[tokio::test]
async fn every_option_gives_what_rg_prints() {
    let directory = tempfile::tempdir().unwrap();
    corpus(directory.path());
    let rg = Rg::find();
    let mut server = client(directory.path(), GrepToolset::Ripgrep).await;
    let mut compared = 0;
    let patterns = ["foo", "fo+ bar", "^line 1", "[^o]$", "Straße|300 K", r"\bself\b"];
    let options: [(Value, &[&str]); 12] = [
        (json!({}), &["-n"]),
        (json!({ "caseSensitive": false }), &["-n", "-i"]),
        (json!({ "caseSensitive": true, "context": 1 }), &["-n", "-s", "-C1"]),
        (json!({ "maxResults": 2, "context": 2 }), &["-n", "-m2", "-C2"]),
        (json!({ "filePattern": "*.rs", "useColors": true }), &["-n", "-g*.rs", "--color=always"]),
        (
            json!({ "filePattern": "!src/3/*", "context": 3, "useColors": true }),
            &["-n", "-g!src/3/*", "-C3", "--color=always"],
        ),
        (json!({ "fixedStrings": true, "fileType": "md" }), &["-n", "-F", "-tmd"]),
        (json!({ "invertMatch": true, "maxResults": 3 }), &["-n", "-v", "-m3"]),
        (json!({ "wordMatch": true, "showLineNumbers": false }), &["-N", "-w"]),
        (json!({ "includeHidden": true, "showFilenamesOnly": true }), &["-l", "-."]),
        (json!({ "followSymlinks": true, "maxResults": 1 }), &["-n", "-L", "-m1"]),
        (json!({ "showFilenamesOnly": true, "useColors": true }), &["-l", "--color=always"]),
    ];
    for path in [".", "src/3/", "odd/utf8", "odd/early_nul", "docs"] {
        for pattern in patterns {
            for (arguments, flags) in &options {
                let mut call = arguments.clone();
                call["pattern"] = json!(pattern);
                call["path"] = json!(path);
                let flags = [*flags, &["--", pattern, path]].concat();
                let theirs = rg.run(directory.path(), &flags);
                let theirs = if theirs.is_empty() { "No matches found".to_owned() } else { theirs };
                let (ours, pages) = all_pages(&mut server, "advanced-search", call.clone()).await;
                // Context at the end of a page is not what it is in the middle.
                let is_compared = |line: &&str| pages == 1 || call["context"].is_null() || is_match(line);
                assert_same(ours.lines().filter(is_compared), theirs.lines().filter(is_compared), &call);
                compared += 1;
            }
            for (count_lines, flag) in [(true, "-c"), (false, "--count-matches")] {
                let call = json!({ "pattern": pattern, "path": path, "countLines": count_lines });
                let theirs = rg.run(directory.path(), &[flag, "--", pattern, path]);
                let theirs = if theirs.is_empty() { "No matches found".to_owned() } else { theirs };
                let (ours, _) = all_pages(&mut server, "count-matches", call.clone()).await;
                assert_eq!(ours, theirs, "{call}");
                compared += 1;
            }
        }
        for (arguments, flags) in [
            (json!({}), &[][..]),
            (json!({ "fileType": "rust" }), &["-trust"]),
            (json!({ "filePattern": "*.md", "includeHidden": true }), &["-g*.md", "-."]),
        ] {
            let mut call = arguments;
            call["path"] = json!(path);
            let theirs = rg.run(directory.path(), &[flags, &["--files", path]].concat());
            let theirs = if theirs.is_empty() { "No files found".to_owned() } else { theirs };
            let (ours, _) = all_pages(&mut server, "list-files", call.clone()).await;
            assert_eq!(ours, theirs, "{call}");
            compared += 1;
        }
    }
    println!("{compared} calls equal those of rg");
}

/// The text of a result with all its pages, and how many these are.
async fn all_pages(server: &mut crate::client::Client, tool: &str, mut arguments: Value) -> (String, usize) {
    let mut all = String::new();
    for pages in 1.. {
        let text = server.call(tool, arguments.clone()).await.unwrap();
        let Some((page, rest)) = text.rsplit_once("[up to ") else { return (all + &text, pages) };
        all.push_str(page);
        let offset: usize = rest.rsplit_once("offset=").unwrap().1.trim_end_matches(']').parse().unwrap();
        arguments["offset"] = json!(offset);
    }
    unreachable!()
}

/// Whether a line is a match and not context.
fn is_match(line: &str) -> bool {
    let separator = line.find(|character: char| character.is_ascii_digit()).and_then(|start| {
        let rest = &line[start..];
        rest.find([':', '-']).map(|end| rest.as_bytes()[end])
    });
    line != "--" && separator != Some(b'-')
}

#[track_caller]
fn assert_same<'a>(ours: impl Iterator<Item = &'a str>, theirs: impl Iterator<Item = &'a str>, call: &Value) {
    let (ours, theirs): (Vec<_>, Vec<_>) = (ours.collect(), theirs.collect());
    if let Some(at) = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at)) {
        panic!("{call}: line {at}\nours   {:?}\ntheirs {:?}", ours.get(at), theirs.get(at));
    }
}

#[tokio::test]
async fn errors_are_those_of_the_original() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = client(directory.path(), GrepToolset::Ripgrep).await;
    for (arguments, expected) in [
        (json!({ "pattern": "", "path": "." }), "Error: Pattern is required"),
        (
            json!({ "pattern": "fo(o", "path": "." }),
            "Error: Command failed with exit code 2\nrg: regex parse error:\n    (?:fo(o)\n    ^\nerror: unclosed group\n",
        ),
        (
            json!({ "pattern": "x", "path": ".", "fileType": "zzz" }),
            "Error: Command failed with exit code 2\nrg: unrecognized file type: zzz\n",
        ),
        (
            json!({ "pattern": "x", "path": ".", "filePattern": "src/[" }),
            "Error: Command failed with exit code 2\nrg: error parsing glob 'src/[': unclosed character class; missing ']'\n",
        ),
        (
            json!({ "pattern": "x", "path": "nope" }),
            "Error: Command failed with exit code 2\nrg: nope: IO error for operation on nope: No such file or directory (os error 2)\n",
        ),
    ] {
        assert_eq!(server.call("advanced-search", arguments).await.unwrap_err(), expected);
    }
    // What the original passes to a shell is only a text here.
    let text = server.call("search", json!({ "pattern": "-e", "path": "." })).await.unwrap();
    assert_eq!(text, "No matches found");
    let types = server.call("list-file-types", json!({})).await.unwrap();
    assert!(types.contains("\nrust: *.rs\n"), "{types}");
}

/// How long a first page takes, beside `rg` on the same files. Only in an optimized build can the two be compared.
#[tokio::test]
async fn a_first_page_is_measured_beside_rg() {
    let directory = tempfile::tempdir().unwrap();
    for folder in 0..100 {
        fs::create_dir(directory.path().join(format!("{folder}"))).unwrap();
        for file in 0..50 {
            let text = format!("use std::io;\nfn function_{file}() {{ todo!() }}\n").repeat(40);
            fs::write(directory.path().join(format!("{folder}/{file}.rs")), text).unwrap();
        }
    }
    let rg = Rg::find();
    let mut server = client(directory.path(), GrepToolset::Grep).await;
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        let begun = Instant::now();
        let text = server
            .call("grep", json!({ "pattern": "function_4[0-9]", "output_mode": "content" }))
            .await
            .unwrap();
        ours = ours.min(begun.elapsed());
        assert!(
            text.contains("[shown 250 of 40000 matches in 1000 files; continue with offset=250]"),
            "{text}"
        );
        let begun = Instant::now();
        let text = rg.run(directory.path(), &["-n", "--sort=none", "function_4[0-9]"]);
        theirs = theirs.min(begun.elapsed());
        assert_eq!(text.lines().count(), 40_000);
    }
    println!("5,000 files: grep {ours:?}, rg {theirs:?}");
    if !cfg!(debug_assertions) {
        assert!(ours <= theirs.mul_f32(1.2), "grep {ours:?}, rg {theirs:?}");
    }
}
