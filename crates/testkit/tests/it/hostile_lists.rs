//! Lists of the hostile server.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::program::Program;

/// All pages, at most `limit`, with their cursors.
fn pages(flags: &[&str], limit: usize) -> (Vec<Value>, Vec<String>) {
    let mut server = Program::hostile(flags);
    let (mut pages, mut cursors) = (Vec::new(), Vec::<String>::new());
    while pages.len() < limit {
        let params = cursors.last().map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let mut answer = server.ask("tools/list", params);
        pages.push(answer["result"]["tools"].take());
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => cursors.push(cursor.to_owned()),
            None => break,
        }
    }
    (pages, cursors)
}

#[test]
fn behaviours_are_listed() {
    let (pages, _) = pages(&[], 10);
    assert_eq!(pages.len(), 1);
    assert_eq!(pages[0][0]["name"], "ok");
}

#[test]
fn a_thousand_tools_of_4_kb_on_20_pages() {
    let (pages, _) = pages(&["--tools", "1000", "--tool-bytes", "4096", "--page-size", "50"], 100);
    assert_eq!(pages.len(), 20);
    let tools: Vec<&Value> = pages.iter().flat_map(|page| page.as_array().unwrap()).collect();
    let names: HashSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 1000);
    assert!(tools.iter().all(|tool| tool.to_string().len() == 4096));
}

#[test]
fn pages_run_in_a_circle_or_never_end() {
    let (_, cursors) = pages(&["--paging-loop"], 4);
    assert_eq!(cursors, ["1", "2", "1", "2"]);
    let (_, cursors) = pages(&["--paging-endless"], 120);
    assert_eq!(cursors.iter().collect::<HashSet<_>>().len(), 120);
}

#[test]
fn schemas_are_big_or_bad() {
    let (big, _) = pages(&["--big-schema"], 1);
    let big = big[0].as_array().unwrap().last().unwrap();
    assert_eq!(big["name"], "big_schema");
    assert!(big["inputSchema"].to_string().len() >= 100 * 1024);
    let (bad, _) = pages(&["--tools", "0", "--bad-schema"], 1);
    assert_eq!(bad[0].as_array().unwrap().len(), 20);
    assert_eq!(bad[0][19]["inputSchema"]["type"], 42);
}
