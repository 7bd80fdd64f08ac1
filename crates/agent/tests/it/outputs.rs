//! Results whole and as views, and how long they may be.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use serde_json::json;
use toolbay_agent::{CallToolResult, CompleteResult, GetPromptResult, OutputLimit, ReadResourceResult};
use toolbay_protocol::ServerName;

fn tool_result(json: &str) -> CallToolResult {
    CallToolResult::parse(&ServerName::new("s"), json).unwrap()
}

#[test]
fn nothing_of_a_result_is_lost() {
    let sent = r#"{"content":[{"type":"text","text":"a","x":1}],"structuredContent":{"n":1.50},"_meta":{"k":[]},"new":0}"#;
    let result = tool_result(sent);
    assert_eq!(result.as_json(), sent);
    assert_eq!(result.to_value()["content"][0]["x"], 1);
    assert!(result.to_pretty_json().contains("\n  \"new\": 0"));
    assert_eq!(result.structured_content().unwrap().get(), r#"{"n":1.50}"#);
    assert_eq!(result.content()[0].raw(), r#"{"type":"text","text":"a","x":1}"#);
    assert!(!result.is_error());
}

/// Text wins; structured content is for when there is none.
#[test]
fn models_get_text_and_structured_content_only_without_any() {
    for (sent, text) in [
        (
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"n":1}}"#,
            "a\nb",
        ),
        (r#"{"content":[],"structuredContent":{"n":1}}"#, r#"{"n":1}"#),
        (r#"{"structuredContent":{"n":1}}"#, r#"{"n":1}"#),
        (r#"{"content":[{"type":"text","text":" "}],"structuredContent":{"n":1}}"#, r#"{"n":1}"#),
        (
            r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":{"n":1}}"#,
            "[image image/png, 3 bytes]\n{\"n\":1}",
        ),
        (
            r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":"t"}}],"structuredContent":{"n":1}}"#,
            "t",
        ),
        (r#"{"content":[{"type":"resource_link","uri":"a:b"}]}"#, "[link a:b]"),
        (r#"{"content":[]}"#, ""),
    ] {
        assert_eq!(tool_result(sent).to_text(), text, "{sent}");
    }
}

#[test]
fn an_invalid_result_is_an_error_that_names_the_server() {
    let error = CallToolResult::parse(&ServerName::new("git"), r#"{"content":5}"#).unwrap_err();
    assert!(error.to_string().contains("`git`"), "{error}");
    assert_eq!(error.server(), Some("git"));
}

#[test]
fn the_other_results_have_the_same_views() {
    let server = ServerName::new("s");
    let read = r#"{"contents":[{"uri":"a:1","text":"one"},{"uri":"a:2","blob":"AAAA"}],"ttlMs":5}"#;
    let read = ReadResourceResult::parse(&server, read).unwrap();
    assert_eq!(read.to_text(), "one\n[3 bytes of a:2]");
    assert_eq!((read.to_value()["ttlMs"].clone(), read.contents().len()), (json!(5), 2));
    let prompt = r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}"#;
    let prompt = GetPromptResult::parse(&server, prompt).unwrap();
    assert_eq!((prompt.to_text().as_str(), prompt.description()), ("user: hi", Some("d")));
    let completion = r#"{"completion":{"values":["a","b"],"total":5}}"#;
    let completion = CompleteResult::parse(&server, completion).unwrap();
    assert_eq!((completion.values(), completion.has_more()), (&["a".to_owned(), "b".to_owned()][..], true));
}

#[tokio::test]
async fn a_long_text_is_kept_in_a_file_that_only_its_owner_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let limit = OutputLimit::new(300).spill_to(folder.path().join("new"));
    let short = limit.apply("t", "x".repeat(300)).await;
    assert_eq!((short.text.len(), short.file, short.total_bytes), (300, None, 300));

    // Wherever it is cut, it stays text.
    let text: String = (0..400).map(|n| if n % 2 == 0 { 'ä' } else { '本' }).collect();
    let limited = limit.apply("git/../log ü", text.clone()).await;
    let file = limited.file.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(file.parent().unwrap(), folder.path().join("new"));
    assert!(limited.text.contains(&file.display().to_string()), "{}", limited.text);
    assert!(limited.text.contains("of 1000 bytes"), "{}", limited.text);
    assert!(limited.text.starts_with('ä') && limited.text.ends_with('本'));
    assert!(limited.text.len() < 600, "{}", limited.text.len());
    // The same again is another file.
    assert_ne!(limit.apply("git/../log ü", text).await.file.unwrap(), file);
}

#[tokio::test]
async fn output_that_cannot_be_kept_is_truncated() {
    let lost = OutputLimit::new(30).apply("t", "y".repeat(100)).await;
    assert!(lost.text.contains("the rest is lost") && lost.file.is_none(), "{}", lost.text);
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let lost = OutputLimit::new(30).spill_to(&in_the_way).apply("t", "y".repeat(100)).await;
    assert!(lost.text.contains("cannot write to") && lost.file.is_none(), "{}", lost.text);
}

#[tokio::test]
async fn kept_output_is_removed_when_it_is_old_or_too_much() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("precious.txt"), "x".repeat(5000)).unwrap();
    let limit = OutputLimit { max_total: 2500, ..OutputLimit::new(10).spill_to(folder.path()) };
    let mut kept = Vec::new();
    for age in [30u64, 20, 10] {
        let file = limit.apply("t", "z".repeat(1000)).await.file.unwrap();
        let then = std::time::SystemTime::now() - Duration::from_secs(age);
        fs::File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
        kept.push(file);
    }
    let there = |kept: &[std::path::PathBuf]| kept.iter().map(|file| file.exists()).collect::<Vec<_>>();
    assert_eq!(there(&kept), [false, true, true]);
    let limit = OutputLimit { max_age: Duration::from_secs(15), ..limit };
    let newest = limit.apply("t", "z".repeat(100)).await.file.unwrap();
    assert_eq!(there(&kept), [false, false, true]);
    assert!(newest.exists() && folder.path().join("precious.txt").exists());
}
