//! `search` and `index` in the terminal.

use super::Project;

/// A text without the escape sequences of colors.
fn without_colors(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn text_is_searched_as_with_ripgrep() {
    let project = Project::new();
    let ran = project.home.run(&["search", "--text", r"fn \w+_limit", "project"]).expect(0);
    assert_eq!(ran.stdout, "src/main.rs:9:pub fn retry_limit() -> u32 {\n");
    let literal = project.home.run(&["search", "-F", "--text", r"fn \w+", "project"]).expect(1);
    assert_eq!((literal.stdout.as_str(), literal.stderr.as_str()), ("", "nothing found\n"));
    let around = project.home.run(&["search", "--text", "retry_limit", "-C", "1", "project"]).expect(0);
    assert!(around.stdout.contains("src/main.rs-10-    5\n"), "{around:?}");
    let coloured =
        project.home.run(&["search", "--color", "always", "--text", "retry_limit", "project"]).expect(0);
    let line = "\u{1b}[35msrc/main.rs\u{1b}[0m:\u{1b}[32m9\u{1b}[0m:pub fn \u{1b}[1m\u{1b}[31mretry_limit\u{1b}[0m() -> u32 {\n";
    assert!(coloured.stdout.contains(line), "{coloured:?}");
    let json = project
        .home
        .run(&["search", "--json", "--text", "number", "-n", "1", "-g", "*.md", "project"])
        .expect(0)
        .json();
    assert_eq!(
        (&json["results"][0]["file_path"], &json["total"], &json["truncated"]),
        (&"README.md".into(), &2.into(), &true.into())
    );
    let file = project.home.run(&["search", "--text", "round", "project/src/shapes.py"]).expect(0);
    assert_eq!(file.stdout.lines().count(), 1);
    for (args, message) in [
        (&["search", "--text", "(", "project"][..], "the query cannot be used: "),
        (&["search", "--text", "x", "no/such"], "cannot read directory `no/such`"),
        (&["search", "x", "no/such"], "cannot read directory `no/such`"),
        (&["search", "--text", "x", "project", "more"], "one PATH"),
    ] {
        let ran = project.home.run(args).expect(2);
        assert!(ran.stderr.contains(message), "{args:?}: {ran:?}");
    }
}

#[test]
fn searches_by_meaning_find_code() {
    let project = Project::new();
    let ran = project.home.run(&["search", "how many retries", "project"]).expect(0);
    let first = ran.stdout.lines().next().unwrap();
    assert!(first.starts_with("src/main.rs:") && first.contains("retry_limit"), "{ran:?}");
    assert!(ran.stdout.contains(" 9 pub fn retry_limit() -> u32 {"), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
    // As ripgrep shows what it finds; nothing else differs.
    let coloured = project.home.run(&["search", "--color", "always", "the retry limit", "project"]).expect(0);
    for part in [
        "\u{1b}[35msrc/main.rs\u{1b}[0m:\u{1b}[32m",
        "\u{1b}[32m 9\u{1b}[0m pub fn \u{1b}[1m\u{1b}[31mretry\u{1b}[0m_\u{1b}[1m\u{1b}[31mlimit\u{1b}[0m() -> u32 {\n",
    ] {
        assert!(coloured.stdout.contains(part), "{part:?}: {coloured:?}");
    }
    let plain = project.home.run(&["search", "the retry limit", "project"]).expect(0);
    assert_eq!(without_colors(&coloured.stdout), plain.stdout);
    let json =
        project.home.run(&["search", "surface of a shape", "project", "--json", "-n", "2"]).expect(0).json();
    assert_eq!(json["results"][0]["file_path"], "src/shapes.py");
    assert_eq!(json["index"]["complete"], true);
    let none = project.home.run(&["search", "shape", "project", "-g", "*.nothing"]).expect(1);
    assert_eq!(none.stderr, "nothing found\n");
    let empty = project.home.run(&["search", " ?", "project"]).expect(2);
    assert_eq!(empty.stderr, "error: the query has no words to search for\n");
}

#[test]
fn an_index_is_built_shown_and_removed() {
    let project = Project::new();
    let none = project.home.run(&["index", "--status", "project"]).expect(0);
    assert!(none.stdout.contains("no index"), "{none:?}");
    let built = project.home.run(&["index", "project"]).expect(0);
    for word in ["3 files", "chunks", "rust", "python", "markdown"] {
        assert!(built.stdout.contains(word), "{word}: {built:?}");
    }
    let status = project.home.run(&["index", "--status", "--json", "project"]).expect(0).json();
    assert_eq!((&status["files"], &status["complete"]), (&3.into(), &true.into()), "{status}");
    assert!(status["chunks"].as_u64().unwrap() >= 3 && status["bytes"].as_u64().unwrap() > 0, "{status}");
    project.home.run(&["index", "--clear", "project"]).expect(0);
    let gone = project.home.run(&["index", "--status", "--json", "project"]).expect(0).json();
    assert_eq!(gone["indexed_files"], 0, "{gone}");
    assert!(project.path("src/main.rs").exists(), "only the index is removed");
    project.home.run(&["index", "no/such"]).expect(2);
}
