use proptest::prelude::*;

use super::*;
use crate::ToolText;

fn tool(server: &str, name: &str, description: &str) -> ToolText {
    ToolText {
        name: format!("{server}_{name}"),
        bare_name: name.to_owned(),
        server: server.to_owned(),
        description: description.to_owned(),
        ..ToolText::default()
    }
}

/// A few servers as people have them.
fn tools() -> Vec<ToolText> {
    let mut tools = vec![
        tool("files", "read_file", "Read the complete contents of a file from disk."),
        tool("files", "write_file", "Create a new file or overwrite an existing file with new content."),
        tool("files", "list_directory", "List all files and directories in a path."),
        tool("github", "create_issue", "Create a new issue in a GitHub repository."),
        tool("github", "list_commits", "Get the commits of a branch in a GitHub repository."),
        tool("github", "merge_pull_request", "Merge a pull request."),
        tool("weather", "get_forecast", "Weather forecast for a place, hour by hour."),
        tool("mail", "sendMessage", "Send an email to one or more recipients."),
        tool("bing", "search", "使用必应搜索指定的关键词"),
    ];
    tools[6].parameters = vec![("city".to_owned(), "Name of the town".to_owned())];
    tools[6].values = vec!["celsius".to_owned(), "fahrenheit".to_owned()];
    tools
}

fn names(query: &str) -> Vec<String> {
    let tools = tools();
    let found = ToolIndex::new(tools.clone()).search(query, 3, None);
    found.hits.iter().map(|hit| tools[hit.tool].name.clone()).collect()
}

#[test]
fn the_tool_that_is_described_comes_first() {
    for (query, expected) in [
        ("open a new issue on github", "github_create_issue"),
        ("which commits are on this branch?", "github_list_commits"),
        ("weather forecasts", "weather_get_forecast"),
        ("emails", "mail_sendMessage"),
        ("send message", "mail_sendMessage"),
        ("Fahrenheit", "weather_get_forecast"),
        ("towns", "weather_get_forecast"),
        ("必应搜索", "bing_search"),
        ("GITHUB pull requests", "github_merge_pull_request"),
    ] {
        assert_eq!(names(query).first().map(String::as_str), Some(expected), "{query}");
    }
}

#[test]
fn tools_are_found_by_what_is_meant() {
    for (query, expected) in [
        ("will it rain tomorrow or will the sun shine?", "weather_get_forecast"),
        ("show me the folders", "files_list_directory"),
        ("report a bug in the project", "github_create_issue"),
        ("answer what is in my inbox", "mail_sendMessage"),
    ] {
        assert_eq!(names(query).first().map(String::as_str), Some(expected), "{query}");
    }
}

#[test]
fn a_tool_stands_out_or_the_search_says_that_none_does() {
    let index = ToolIndex::new(tools());
    assert!(!index.search("weather forecast", 5, None).is_doubtful);
    assert!(!index.search("read_file", 5, None).is_doubtful);
    assert!(index.search("how do I get a list of people who live in my street?", 5, None).is_doubtful);
}

#[test]
fn tools_that_the_query_names_come_first() {
    assert_eq!(names("read_file")[0], "files_read_file");
    assert_eq!(names("files_read")[0], "files_read_file");
    assert_eq!(
        names("merge_pull_request or list_commits")[..2],
        ["github_list_commits", "github_merge_pull_request"]
    );
    let index = ToolIndex::new(tools());
    assert_eq!(index.search("read_file", 1, None).hits, [Hit { tool: 0, score: 1.0 }]);
    let hit = index.search("github_c", 1, None).hits[0];
    assert!(hit.tool == 3 && hit.score >= PREFIX_SCORE && hit.score < 1.0, "{hit:?}");
}

#[test]
fn a_selection_is_exactly_what_it_lists() {
    let index = ToolIndex::new(tools());
    let found = index.search("select:mail_sendMessage,read_file,no_such_tool", 10, None);
    let expected = [7, 0].map(|tool| Hit { tool, score: 1.0 });
    assert_eq!(
        found,
        FoundTools {
            hits: expected.into(),
            total: 2,
            unmatched_terms: vec!["no_such_tool".to_owned()],
            is_doubtful: false
        }
    );
    assert_eq!(index.search("select:mail_sendMessage,read_file", 1, None).hits, expected[..1]);
    assert_eq!(index.search("select:mail_sendMessage,read_file", 10, Some("files")).hits, expected[1..]);
}

#[test]
fn nothing_is_found_where_nothing_fits() {
    let index = ToolIndex::new(tools());
    for query in ["", "the of", "⚙ …", "zebra quagga"] {
        let found = index.search(query, 5, None);
        assert_eq!((found.hits.len(), found.total), (0, 0), "{query}");
    }
    assert_eq!(index.search("zebra the Quagga zebra", 5, None).unmatched_terms, ["zebra", "quagga"]);
    assert_eq!(ToolIndex::new([]).search("read_file", 5, None).unmatched_terms, ["read", "file"]);
}

#[test]
fn a_server_narrows_the_search() {
    let index = ToolIndex::new(tools());
    let found = index.search("create a new file", 10, Some("GitHub"));
    assert_eq!(found.hits.iter().map(|hit| hit.tool).collect::<Vec<_>>(), [3]);
    assert_eq!(found.unmatched_terms, ["file"]);
    assert_eq!(index.search("create a new file", 10, Some("nobody")).total, 0);
}

#[test]
fn the_limit_bounds_the_hits_and_not_the_total() {
    let index = ToolIndex::new(tools());
    let all = index.search("file", 10, None);
    assert!(all.total >= 3 && all.hits.len() == all.total);
    let few = index.search("file", 2, None);
    assert_eq!((few.total, few.hits.as_slice()), (all.total, &all.hits[..2]));
    assert_eq!(index.search("file", 0, None).hits, []);
}

#[test]
fn a_score_is_explained() {
    let index = ToolIndex::new(tools());
    let query = "weather in fahrenheit for zebras";
    let explanation = index.explain(query, 6);
    assert_eq!(explanation.score, index.search(query, 1, None).hits[0].score);
    let terms: Vec<(&str, &[Field])> =
        explanation.terms.iter().map(|term| (term.term.as_str(), term.fields.as_slice())).collect();
    let weather = [Field::Server, Field::Description];
    assert_eq!(terms, [("weather", &weather[..]), ("fahrenheit", &[Field::Values]), ("zebras", &[])]);
    assert!(explanation.terms[0].score > explanation.terms[1].score && explanation.terms[2].score == 0.0);
    assert!((explanation.terms.iter().map(|term| term.weight).sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(index.explain("get_forecast", 6).name, Some(NameMatch::Exact));
    assert_eq!(index.explain("anything", 1_000).score, 0.0);
}

#[test]
fn hostile_sizes_are_bounded() {
    let description = "a1 word2wordWord3 ".repeat(1 << 16);
    assert!(description.len() > 1 << 20);
    let huge = (0..10).map(|number| tool("huge", &format!("tool{number}"), &description));
    let many =
        (0..10_000).map(|number| tool("many", &format!("tool_{number}"), "Does one of ten thousand things."));
    let index = ToolIndex::new(huge.chain(many));
    let query = "tool ".repeat(1 << 18);
    assert_eq!(index.search(&query, 5, None).hits.len(), 5);
    let query: String = (0..200_000).map(|number| format!("word{number}_")).collect();
    index.search(&query, 5, None);
    index.search(&format!("select:{}", "tool_1,".repeat(1 << 17)), 5, None);
    // Less than a second without optimization; minutes if all of it were read or anything were quadratic.
    assert!(index.posting_count() < 10 * 700 + 10_000 * 10, "{}", index.posting_count());
}

proptest! {
    #[test]
    fn any_query_is_answered_in_order_and_within_bounds(
        query in "\\PC{0,80}|(select:)?([a-z_]{1,8}[ ,]){0,9}|(file|issue|github|read|a){0,5}",
        limit in 0_usize..12,
        server in prop::option::of("files|github|\\PC{0,4}"),
    ) {
        let tools = tools();
        let index = ToolIndex::new(tools.clone());
        let found = index.search(&query, limit, server.as_deref());
        assert!(found.hits.len() <= limit && found.hits.len() <= found.total && found.total <= tools.len());
        assert!(found.hits.len() == limit.min(found.total));
        assert!(found.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
        if !query.trim().starts_with("select:") {
            assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score));
            for hit in &found.hits {
                assert_eq!(index.explain(&query, hit.tool).score, hit.score);
            }
        }
        let mut seen: Vec<usize> = found.hits.iter().map(|hit| hit.tool).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), found.hits.len(), "no tool stands twice");
    }

    #[test]
    fn any_tool_is_found_by_its_name(name in "[a-zA-Z][a-zA-Z0-9_./-]{2,40}", description in "\\PC{0,60}") {
        let mut tools = tools();
        tools.push(tool("mine", &name, &description));
        let index = ToolIndex::new(tools.clone());
        for query in [&name, &tools[tools.len() - 1].name] {
            let found = index.search(query, 20, None);
            assert!(found.hits.iter().any(|hit| hit.tool == tools.len() - 1 && hit.score == 1.0), "{query}");
        }
    }

    #[test]
    fn the_order_of_tools_changes_no_score(seed in any::<u64>()) {
        let mut shuffled = tools();
        let count = shuffled.len();
        (0..count).for_each(|at| shuffled.swap(at, (seed as usize).wrapping_mul(at + 7) % count));
        let by_name = |tools: Vec<ToolText>| {
            let index = ToolIndex::new(tools.clone());
            let hits = index.search("create a file in a github repository", 20, None).hits;
            let mut scores: Vec<(String, u32)> =
                hits.iter().map(|hit| (tools[hit.tool].name.clone(), (hit.score * 1e5) as u32)).collect();
            scores.sort();
            scores
        };
        assert_eq!(by_name(tools()), by_name(shuffled));
    }
}
