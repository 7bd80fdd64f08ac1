use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_protocol::Message;

use super::*;
use crate::{PartRequest, ResultPart, read_part};

/// What the store holds in these tests.
const CAPACITY: u64 = 8 << 20;

struct Fixture {
    store: LazyResultStore,
    _directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            store: LazyResultStore::with_capacity(directory.path().join("results"), CAPACITY),
            _directory: directory,
        }
    }

    fn cut_with(
        &self,
        result: &Value,
        limit: usize,
        schema: Option<&SchemaCheck<'_>>,
        has_resource_links: bool,
    ) -> Option<Value> {
        let text = toolbay_protocol::result(&1.into(), &result.to_string());
        let Ok(Message::Response(response)) = Message::parse(text) else { panic!("no response") };
        let options = CutOptions {
            limit,
            store: &self.store,
            principal: "alice",
            has_resource_links,
            matches_schema: schema,
        };
        let cut = cut(&response, &options)?;
        assert!(Message::parse(cut.clone()).is_ok(), "{}", String::from_utf8_lossy(&cut));
        let message: Value = serde_json::from_slice(&cut).unwrap();
        assert_eq!(message["id"], 1);
        Some(message["result"].clone())
    }

    fn cut(&self, result: &Value, limit: usize) -> Option<Value> {
        self.cut_with(result, limit, None, true)
    }

    /// All of the result that a text links to.
    fn whole(&self, text: &str) -> String {
        let id = text.split("toolbay-result://").nth(1).unwrap_or_else(|| panic!("no link: {text}"));
        let id: String = id.chars().take_while(char::is_ascii_alphanumeric).collect();
        let store = self.store.open().unwrap();
        assert!(store.for_principal("bob").find(&id).is_none(), "it is alice's");
        let (mut all, mut offset) = (String::new(), 0);
        loop {
            let request = PartRequest { offset, limit: Some(1 << 20), ..PartRequest::default() };
            let ResultPart::Text(part) = read_part(&store.for_principal("alice"), &id, &request).unwrap()
            else {
                panic!("no text")
            };
            match part.rfind("[bytes ").filter(|_| part.ends_with("]\n") && part.contains("; next: offset "))
            {
                Some(note) => {
                    all.push_str(&part[..note]);
                    offset = all.len() as u64;
                }
                None => return all + &part,
            }
        }
    }
}

fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

fn texts(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap().iter();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_beginning_and_the_end_of_a_long_text_stay_in_one_block() {
    let fixture = Fixture::new();
    let all: String = (0..100_000).map(|line| format!("line {line} \"ä\"\n")).collect();
    let result = json!({
        "_meta": {"a/b": [1]}, "isError": true,
        "content": [{"type": "text", "text": all, "annotations": {"audience": ["user"]}}],
    });
    let cut = fixture.cut(&result, 10_000).unwrap();
    assert_eq!((&cut["_meta"], &cut["isError"]), (&result["_meta"], &result["isError"]));
    assert_eq!(cut["content"].as_array().unwrap().len(), 1);
    assert_eq!(cut["content"][0]["annotations"], result["content"][0]["annotations"]);
    let shown = cut["content"][0]["text"].as_str().unwrap();
    assert!(shown.len() < 10_300 && shown.len() > 9_000, "{}", shown.len());
    assert!(shown.starts_with("line 0 \"ä\"\nline 1 ") && shown.ends_with("line 99999 \"ä\"\n"), "{shown}");
    let (head, rest) = shown.split_once("\n[… ").unwrap();
    let (note, tail) = rest.split_once(" …]\n").unwrap();
    assert!(all.starts_with(head) && all.ends_with(tail) && tail.starts_with("line "), "whole lines");
    let left_out: usize = note.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(left_out + head.len() + tail.len(), all.len());
    assert!(note.contains(&format!(" of {} bytes left out; all of it: ", all.len())), "{note}");
    assert!(fixture.whole(note) == all, "all of it can be read");
}

#[test]
fn what_is_short_is_not_touched() {
    let fixture = Fixture::new();
    let result =
        json!({"content": [text("x".repeat(900)), text("")], "structuredContent": {"a": "y".repeat(900)}});
    assert_eq!(fixture.cut(&result, 1000), None, "each is below the limit");
    assert!(fixture.store.opened().is_none(), "nothing was kept");
    assert_eq!(fixture.cut(&json!({"content": "x".repeat(5000)}), 1000), None, "no content as we know it");
}

#[test]
fn of_many_blocks_whole_ones_stay_at_both_ends() {
    let fixture = Fixture::new();
    let blocks: Vec<Value> = (0..10_000).map(|number| text(format!("block {number}"))).collect();
    let cut = fixture.cut(&json!({"content": blocks}), 3_000).unwrap();
    let content = cut["content"].as_array().unwrap();
    assert!(content.len() > 100 && content.len() < 250, "{}", content.len());
    assert_eq!((&content[0], &content[content.len() - 1]), (&blocks[0], &blocks[9_999]));
    let note = content.iter().find(|block| block["text"].as_str().unwrap().contains(" left out; ")).unwrap();
    let note = note["text"].as_str().unwrap();
    let whole = fixture.whole(note);
    assert_eq!(whole.lines().count(), 10_000);
    let dropped = 10_000 - (content.len() - usize::from(note.starts_with("[…")));
    assert!(note.contains(&format!(" and {dropped} content blocks left out; ")), "{note} {dropped}");
    // Blocks without any text count, too.
    let empty: Vec<Value> = (0..10_000).map(|_| text("")).collect();
    let cut = fixture.cut(&json!({"content": empty}), 1_600).unwrap();
    assert!(cut["content"].as_array().unwrap().len() < 110);
}

#[test]
fn images_stay_whole_or_become_links() {
    let fixture = Fixture::new();
    let image =
        |size: usize| json!({"type": "image", "mimeType": "image/png", "data": "QUJD".repeat(size / 4)});
    let blob = json!({"type": "resource", "resource": {"uri": "x://y", "mimeType": "application/pdf", "blob": "QUJD".repeat(500)}});
    let result = json!({"content": [text("before"), image(400), image(40_000), blob, text("after")]});
    let cut = fixture.cut(&result, 1_000).unwrap();
    let content = cut["content"].as_array().unwrap();
    assert_eq!(content.len(), 5);
    assert_eq!((&content[0], &content[1], &content[4]), (&text("before"), &image(400), &text("after")));
    for (index, media_type) in [(2, "image/png"), (3, "application/pdf")] {
        let link = &content[index];
        assert_eq!((&link["type"], &link["mimeType"]), (&json!("resource_link"), &json!(media_type)));
        let store = fixture.store.open().unwrap().for_principal("alice");
        let part = read_part(&store, link["uri"].as_str().unwrap(), &PartRequest::default()).unwrap();
        let ResultPart::Base64 { data, media_type: read } = part else { panic!("{part:?}") };
        assert!(data.starts_with("QUJDQUJD") && read == media_type);
    }
    // A client that knows no links gets the same as text.
    let cut = fixture.cut_with(&result, 1_000, None, false).unwrap();
    let note = cut["content"][2]["text"].as_str().unwrap();
    assert!(note.starts_with("[image/png, about 30000 bytes: toolbay-result://"), "{note}");
    // Among too much text, the image is named in what was kept.
    let cut = fixture
        .cut(&json!({"content": [text("x\n".repeat(5_000)), image(400), text("y\n".repeat(5_000))]}), 1_000);
    let cut = cut.unwrap();
    assert!(fixture.whole(&texts(&cut)).contains("[image/png, about 300 bytes: toolbay-result://"), "{cut}");
}

#[test]
fn structured_content_keeps_its_shape_or_is_left_out_as_an_error() {
    let fixture = Fixture::new();
    let rows: Vec<Value> = (0..10_000).map(|id| json!({"id": id})).collect();
    let result = json!({"content": [text("short")], "structuredContent": {"rows": rows}});
    let has_rows = |text: &[u8]| {
        let value: Value = serde_json::from_slice(text).unwrap();
        value["rows"].as_array().is_some_and(|rows| rows.iter().all(|row| row["id"].is_number()))
    };
    let cut = fixture.cut_with(&result, 2_000, Some(&has_rows), true).unwrap();
    let kept = cut["structuredContent"]["rows"].as_array().unwrap().len();
    assert!(kept > 100 && kept < 250 && cut.get("isError").is_none(), "{cut}");
    let note = cut["content"][1]["text"].as_str().unwrap();
    assert!(note.contains(&format!("/rows: {kept} of 10000 items")), "{note}");
    assert_eq!(serde_json::from_str::<Value>(&fixture.whole(note)).unwrap(), result["structuredContent"]);
    // No shorter form is allowed: clients do not check results of failed calls.
    let cut = fixture.cut_with(&result, 2_000, Some(&|_| false), true).unwrap();
    assert!(cut.get("structuredContent").is_none() && cut["isError"] == true, "{cut}");
    let note = cut["content"][1]["text"].as_str().unwrap();
    assert!(
        note.contains("The call succeeded, do not repeat it") && note.contains("toolbay-result://"),
        "{note}"
    );
    // Content need not be there.
    let cut = fixture.cut(&json!({"structuredContent": {"rows": rows}}), 2_000).unwrap();
    assert!(texts(&cut).contains("structuredContent was shortened"), "{cut}");
}

#[test]
fn what_cannot_be_kept_is_said_to_be_lost() {
    let fixture = Fixture::new();
    let store = LazyResultStore::new("/proc/no/such/place".into());
    let text =
        toolbay_protocol::result(&1.into(), &json!({"content": [text("z".repeat(5_000))]}).to_string());
    let Ok(Message::Response(response)) = Message::parse(text) else { panic!() };
    let options = CutOptions {
        limit: 1_000,
        store: &store,
        principal: "a",
        has_resource_links: true,
        matches_schema: None,
    };
    let cut = cut(&response, &options).unwrap();
    assert!(String::from_utf8_lossy(&cut).contains("the rest is lost, it could not be kept: "));
    // A store that is full keeps the beginning.
    let opened = fixture.store.open().unwrap();
    let mut filling = opened.create(ResultFormat::Text).unwrap();
    filling.write(&vec![0; CAPACITY as usize - 100]).unwrap();
    let cut = fixture.cut(&json!({"content": [{"type": "text", "text": "z".repeat(5_000)}]}), 1_000).unwrap();
    assert!(texts(&cut).contains("the store of results is full, only the beginning was kept"), "{cut}");
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => "[ -~ä€😀\n\\\\\"]{0,120}".prop_map(text),
        1 => (0_usize..300).prop_map(|size| json!({"type": "image", "mimeType": "image/png", "data": "QUJD".repeat(size)})),
        1 => "[a-z]{0,40}".prop_map(|uri| json!({"type": "resource_link", "uri": uri, "name": "n"})),
        1 => "[a-z\n]{0,90}".prop_map(|text| json!({"type": "resource", "resource": {"uri": "u:", "text": text}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_cut_is_short_valid_and_says_so(blocks in prop::collection::vec(block(), 0..40), limit in 64_usize..2_000) {
        let fixture = Fixture::new();
        let result = json!({"content": blocks});
        let length = |block: &Value| {
            let text = block["text"].as_str().or_else(|| block["resource"]["text"].as_str());
            let data = block["data"].as_str().map(str::len);
            text.map(str::len).or(data).unwrap_or_else(|| block.to_string().len()).max(16)
        };
        let total: usize = blocks.iter().map(length).sum();
        match fixture.cut(&result, limit) {
            None => prop_assert!(total <= limit),
            Some(cut) => {
                let content = cut["content"].as_array().unwrap();
                let shown: usize = content.iter().filter(|block| !block.to_string().contains("toolbay-result://")).map(length).sum();
                // What is left of a block at either end of the gap may be shorter than what a block counts at least.
                prop_assert!(total > limit && shown <= limit + 32, "{} of {}", shown, limit);
                prop_assert!(cut.to_string().contains("toolbay-result://"));
            }
        }
    }
}
