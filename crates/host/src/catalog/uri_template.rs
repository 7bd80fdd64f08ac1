//! Matching URIs against templates, in linear time.

/// A URI template as a row of literals and gaps.
#[derive(Debug, Clone)]
pub(super) struct UriTemplate {
    parts: Vec<UriTemplatePart>,
    /// More literal characters make a better match.
    pub(super) literal_len: usize,
}

#[derive(Debug, Clone)]
enum UriTemplatePart {
    Literal(String),
    /// An expression; only `{+…}`, `{#…}`, `{/…}` and exploded ones may span path segments.
    Gap {
        spans_segments: bool,
    },
}

impl UriTemplate {
    /// Reads a template of RFC 6570. What is no expression is taken literally.
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, expression, after)) = rest.split_once('{').and_then(|(literal, more)| {
            let (expression, after) = more.split_once('}')?;
            Some((literal, expression, after))
        }) {
            if !literal.is_empty() {
                parts.push(UriTemplatePart::Literal(literal.to_owned()));
            }
            let spans_segments =
                expression.starts_with(['+', '#', '/', '?', '&']) || expression.contains('*');
            parts.push(UriTemplatePart::Gap { spans_segments });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(UriTemplatePart::Literal(rest.to_owned()));
        }
        let literal_len = parts
            .iter()
            .map(|part| if let UriTemplatePart::Literal(literal) = part { literal.len() } else { 0 })
            .sum();
        Self { parts, literal_len }
    }

    /// Whether `uri` can come from this template. Each literal is looked for once, from left to right.
    pub(super) fn matches(&self, uri: &str) -> bool {
        let mut rest = uri;
        let mut gap: Option<bool> = None;
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                UriTemplatePart::Gap { spans_segments } => {
                    gap = Some(gap.unwrap_or(false) || *spans_segments)
                }
                UriTemplatePart::Literal(literal) => {
                    let is_last = index + 1 == self.parts.len();
                    let found = match gap {
                        None => rest.starts_with(literal.as_str()).then_some(0),
                        Some(_) if is_last => {
                            rest.ends_with(literal.as_str()).then(|| rest.len() - literal.len())
                        }
                        Some(_) => rest.find(literal.as_str()),
                    };
                    let Some(at) = found else { return false };
                    if gap == Some(false) && rest[..at].contains('/') {
                        return false;
                    }
                    rest = &rest[at + literal.len()..];
                    gap = None;
                }
            }
        }
        match gap {
            None => rest.is_empty(),
            Some(spans_segments) => spans_segments || !rest.contains('/'),
        }
    }
}
