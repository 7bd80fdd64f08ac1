//! HTML as Markdown.

use std::{collections::HashMap, thread};

use htmd::{HtmlToMarkdown, options::Options};

/// What there is instead of a page without any content.
pub(super) const FAILED: &str = "<error>Page failed to be simplified from HTML</error>";

/// What is on a page besides its content.
const SKIPPED: [&str; 16] = [
    "script", "style", "noscript", "template", "head", "nav", "footer", "aside", "iframe", "object", "svg",
    "canvas", "button", "select", "input", "textarea",
];
/// Elements that end without an end tag when the next one begins, so that many of them are not deep.
const ENDED_BY_NEXT: [&str; 12] =
    ["p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "colgroup"];
/// Elements without content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// The deepest nesting that is converted. Browsers stop at 512, too.
const MAX_DEPTH: usize = 512;
/// The converter calls itself for each element inside another, and counted depth is not quite the real one.
const STACK: usize = 64 * 1024 * 1024;

/// Converts a page. Nothing if it has no content. A page that is nested too deeply is reduced to its text.
pub(super) fn convert(html: &str) -> Option<String> {
    let markdown = if depth(html) > MAX_DEPTH { plain_text(html) } else { on_large_stack(html)? };
    let markdown = markdown.trim();
    (!markdown.is_empty()).then(|| markdown.to_owned())
}

fn on_large_stack(html: &str) -> Option<String> {
    thread::scope(|scope| {
        let converter = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let options = Options { ul_bullet_spacing: 1, ol_number_spacing: 1, ..Options::default() };
            let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).options(options);
            converter.build().convert(html).ok()
        });
        converter.ok()?.join().ok()?
    })
}

/// How deeply elements are nested, at most. Counted without a parser: parsers take quadratic time for deep nesting.
fn depth(html: &str) -> usize {
    let mut open: HashMap<String, usize> = HashMap::new();
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for tag in tags(html) {
        if ENDED_BY_NEXT.contains(&tag.name.as_str()) || VOID.contains(&tag.name.as_str()) {
            continue;
        }
        let open = open.entry(tag.name).or_default();
        if !tag.is_end {
            *open += 1;
            depth += 1;
            deepest = deepest.max(depth);
        } else if *open > 0 {
            *open -= 1;
            depth -= 1;
        }
    }
    deepest
}

struct Tag {
    name: String,
    is_end: bool,
}

fn tags(html: &str) -> impl Iterator<Item = Tag> {
    memchr::memchr_iter(b'<', html.as_bytes()).filter_map(|at| {
        let rest = &html.as_bytes()[at + 1..];
        let is_end = rest.first() == Some(&b'/');
        let rest = if is_end { &rest[1..] } else { rest };
        let is_name = |byte: &&u8| !matches!(byte, b'>' | b'/') && !byte.is_ascii_whitespace();
        let name: Vec<u8> = rest.iter().take_while(is_name).take(32).copied().collect();
        let name = String::from_utf8(name).ok()?.to_ascii_lowercase();
        name.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(Tag { name, is_end })
    })
}

/// What is between the tags.
fn plain_text(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, after)| after);
        text.push(' ');
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn content_is_kept_and_the_rest_is_not() {
        let html = "<!DOCTYPE html><html><head><title>T</title><style>p {}</style></head><body><nav>Menu</nav><h1>Title</h1>\
                    <p>One <b>two</b> <a href=\"/x\">three</a></p><ul><li>a<li>b</ul><pre><code>x = 1\n</code></pre>\
                    <table><tr><th>n</th><th>m</th></tr><tr><td>1</td><td>2</td></tr></table><script>alert(1)</script>\
                    <footer>Imprint</footer></body></html>";
        let markdown = convert(html).unwrap();
        for expected in ["# Title", "One **two** [three](/x)", "x = 1", "| 1 | 2 |", "a\n"] {
            assert!(markdown.contains(expected), "{expected}: {markdown}");
        }
        for unwanted in ["Menu", "alert", "Imprint", "p {}"] {
            assert!(!markdown.contains(unwanted), "{unwanted}: {markdown}");
        }
        assert_eq!(convert("<html><body><script>x</script></body></html>"), None);
    }

    #[test]
    fn hostile_pages_neither_overflow_the_stack_nor_take_long() {
        let repeat = |text: &str| text.repeat(1_000_000 / text.len());
        for text in
            ["<div>", "<b>", "<div></b>", "<b><div></b>", "<table><td>", "<ul><li>", "<p>", "<li>", "<a>x"]
        {
            let begin = Instant::now();
            let converted = convert(&(repeat(text) + "end")).unwrap_or_default();
            assert!(converted.ends_with("end"), "{text}: {}", &converted[..converted.len().min(80)]);
            assert!(begin.elapsed() < Duration::from_secs(20), "{text}: {:?}", begin.elapsed());
        }
        // As deep as it gets without being refused.
        let deep = "<div>".repeat(MAX_DEPTH) + &"<p>word".repeat(10_000);
        assert!(convert(&deep).unwrap().starts_with("word"));
    }
}
