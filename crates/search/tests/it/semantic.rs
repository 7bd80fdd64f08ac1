//! Search by meaning over small trees: what is found, and that nothing is shown that is not there.

mod embedders;
mod freshness;
mod robust;
mod trees;

use toolbay_search::{
    semantic::{Feature, Features, Query, Weights},
    tree::RelPath,
};

use self::trees::{Files, paths, sample};

#[test]
fn the_function_that_does_it_comes_first() {
    let files = sample();
    let index = files.indexed();
    for (question, path) in [
        ("where are retries limited", "src/http/retry.rs"),
        ("parse the configuration file", "src/config.py"),
        ("open a connection to the database", "db/pool.go"),
    ] {
        let results = files.search(&index, question);
        assert_eq!(paths(&results)[0], path, "{question}");
        let first = &results.hits[0];
        let lines: Vec<String> = files.content(path).lines().map(str::to_owned).collect();
        let shown = lines[first.start_line as usize - 1..first.end_line as usize].join("\n");
        assert_eq!(shown.trim(), first.content.trim(), "lines and content agree");
        assert!(first.score > 0.0 && first.score < 1.0);
    }
}

#[test]
fn hits_have_path_lines_symbol_and_language() {
    let files = sample();
    let results = files.search(&files.indexed(), "limit retries of a request");
    let first = &results.hits[0];
    assert_eq!(first.language, "rust");
    assert!(
        first.symbol.as_deref().is_some_and(|symbol| symbol.contains("limit_retries")),
        "{:?}",
        first.symbol
    );
    assert!(results.total >= results.hits.len() && results.pending == 0 && !results.partial);
}

#[test]
fn every_part_of_a_long_function_is_known_by_its_name() {
    let files = sample();
    let body: String =
        (0..120).map(|number| format!("    total_{number} = first({number}) + second({number})\n")).collect();
    files.write("src/aside.py", &format!("def paint_window():\n{body}\n\ndef compact_journal():\n{body}"));
    let index = files.indexed().with_weights(only(Feature::Cosine));
    let results = files.search_with(&index, &Query::new("compact the journal", 4));
    let symbols: Vec<_> = results.hits.iter().map(|hit| hit.symbol.clone().unwrap_or_default()).collect();
    assert!(symbols.iter().all(|symbol| symbol.contains("compact_journal")), "{symbols:?}");
}

#[test]
fn a_name_is_found_where_it_is_defined() {
    let files = sample();
    let index = files.indexed();
    for name in ["limit_retries", "limitRetries", "retry::limit_retries()", "LIMIT_RETRIES"] {
        let results = files.search(&index, name);
        assert_eq!(paths(&results)[0], "src/http/retry.rs", "{name}");
        assert!(results.hits[0].content.contains("fn limit_retries"), "{name}");
    }
}

#[test]
fn a_name_is_found_wherever_it_stands() {
    let files = sample();
    for number in 0..40 {
        files.write(
            &format!("src/noise{number}.py"),
            &format!("def save_just_now_{number}x():\n    saved = just_now()\n    return saved\n"),
        );
    }
    files.write("tests/old/config", "colour = blue\n# saved_just_now_7\nsize = 3\n");
    let index = files.indexed();
    assert_eq!(paths(&files.search(&index, "saved_just_now_7"))[0], "tests/old/config");
}

#[test]
fn a_message_is_found_word_for_word() {
    let files = sample();
    // Many files have the words of the message, one has the message.
    for number in 0..60 {
        files.write(
            &format!("src/noise{number}.py"),
            &format!("def pool_{number}():\n    \"\"\"The pool was left, all connections busy or closed.\"\"\"\n    pool = connections.left(busy=all)\n    return pool\n"),
        );
    }
    files.write(
        "src/deep/in/odd.go",
        "package odd\n\nfunc Work() {\n\tpanic(\"pool left: all connections busy\")\n}\n",
    );
    let index = files.indexed();
    for question in
        ["pool left: all connections busy", "who says \"pool left: all connections busy\" and why"]
    {
        assert_eq!(paths(&files.search(&index, question))[0], "src/deep/in/odd.go", "{question}");
    }
}

#[test]
fn filters_leave_out_the_rest() {
    let files = sample();
    let index = files.indexed();
    let ask = |query: Query| {
        let mut paths = paths(&files.search_with(&index, &query));
        paths.sort();
        paths.dedup();
        paths
    };
    let query = Query::new("open connection parse retries", 50);
    assert_eq!(ask(query.clone()).len(), files.count());
    let path = Some(RelPath::parse("src/http").unwrap());
    assert_eq!(ask(Query { path, ..query.clone() }), ["src/http/client.rs", "src/http/retry.rs"]);
    assert_eq!(ask(Query { globs: vec!["*.go".into()], ..query.clone() }), ["db/pool.go"]);
    let without = ask(Query { globs: vec!["!*.rs".into(), "!docs".into()], ..query.clone() });
    assert_eq!(without, ["db/pool.go", "src/config.py"]);
    assert_eq!(ask(Query { language: Some("Python".into()), ..query.clone() }), ["src/config.py"]);
    let broken = Query { globs: vec!["a[".into()], ..query };
    assert!(index.search(&broken, &files.entries(), &files).is_err());
}

#[test]
fn pages_follow_each_other() {
    let files = sample();
    let index = files.indexed();
    let all = files.search_with(&index, &Query::new("open connection", 50)).hits;
    assert!(all.len() > 3);
    for offset in 0..all.len() {
        let page = files.search_with(&index, &Query { offset, ..Query::new("open connection", 2) });
        assert_eq!(page.hits, all[offset..all.len().min(offset + 2)]);
    }
}

/// Weights by which one feature alone decides.
fn only(feature: Feature) -> Weights {
    let mut features = Features::default();
    features[feature as usize] = 1.0;
    Weights { features, repeat: 0.0, again: 0.0 }
}

#[test]
fn words_and_vectors_alone_find_the_plain_case() {
    let files = sample();
    for weights in [only(Feature::Words), only(Feature::Cosine), Weights::FITTED] {
        let index = files.indexed().with_weights(weights);
        let results = files.search_with(&index, &Query::new("limit retries", 5));
        assert_eq!(paths(&results)[0], "src/http/retry.rs", "{weights:?}");
    }
}

#[test]
fn empty_queries_and_empty_trees_have_empty_results() {
    let files = sample();
    let index = files.indexed();
    for question in ["", "   ", "?!", "\"\"", "```"] {
        files.search(&index, question);
    }
    let nothing = Files::default();
    assert_eq!(nothing.search(&nothing.indexed(), "anything").hits, []);
}
