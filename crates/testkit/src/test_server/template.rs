//! URI templates with simple variables: `test://user/{id}`.

use serde_json::{Map, Value};

/// The variables of a URI that fits the template. A variable takes one or more characters other than `/`.
pub(super) fn variables(template: &str, uri: &str) -> Option<Value> {
    let mut found = Map::new();
    let (mut template, mut uri) = (template, uri);
    while let Some((literal, rest)) = template.split_once('{') {
        uri = uri.strip_prefix(literal)?;
        let (name, rest) = rest.split_once('}')?;
        let next = rest.split('{').next().unwrap_or_default();
        let end = if next.is_empty() { uri.len() } else { uri.find(next)? };
        let (value, after) = uri.split_at(end);
        if value.is_empty() || value.contains('/') {
            return None;
        }
        found.insert(name.to_owned(), value.into());
        (template, uri) = (rest, after);
    }
    (template == uri).then(|| found.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::variables;

    #[test]
    fn templates_fit_or_not() {
        assert_eq!(variables("t://{a}/{b}.txt", "t://x/y.txt"), Some(json!({"a": "x", "b": "y"})));
        assert_eq!(variables("t://{a}", "t://x"), Some(json!({"a": "x"})));
        assert_eq!(variables("t://fixed", "t://fixed"), Some(json!({})));
        assert_eq!(variables("t://{a}", "t://"), None);
        assert_eq!(variables("t://{a}", "t://x/y"), None);
        assert_eq!(variables("t://{a}/z", "t://x"), None);
        assert_eq!(variables("t://{a", "t://x"), None);
    }
}
