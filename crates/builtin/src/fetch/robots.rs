//! `robots.txt`: what a site asks programs not to fetch (RFC 9309).

/// The most rules that count.
const MAX_RULES: usize = 10_000;

/// The rules for one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Robots {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    /// With `*` for any text and `$` for the end.
    pattern: String,
    is_allowed: bool,
}

impl Robots {
    /// Reads the rules for a program. Those for the longest name that occurs in its own count, else those for `*`.
    pub(super) fn parse(text: &str, user_agent: &str) -> Self {
        let user_agent = user_agent.to_ascii_lowercase();
        let fits = |name: &str| match name {
            "*" => Some(0),
            name if !name.is_empty() && user_agent.contains(name) => Some(name.len()),
            _ => None,
        };
        let (mut best, mut rules) = (None, Vec::new());
        // The best match among the names of the group, and whether its rules have begun.
        let (mut group, mut in_rules) = (None, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((field, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match field.trim().to_ascii_lowercase().as_str() {
                "user-agent" => {
                    if std::mem::take(&mut in_rules) {
                        group = None;
                    }
                    group = group.max(fits(&value.to_ascii_lowercase()));
                }
                field @ ("allow" | "disallow") => {
                    in_rules = true;
                    let Some(quality) = group else { continue };
                    if best < Some(quality) {
                        best = Some(quality);
                        rules.clear(); // groups for a better name replace those before
                    }
                    if best == Some(quality) && !value.is_empty() && rules.len() < MAX_RULES {
                        rules.push(Rule { pattern: value.to_owned(), is_allowed: field == "allow" });
                    }
                }
                _ => {}
            }
        }
        Self { rules }
    }

    /// Whether a path, with its query, may be fetched. The longest pattern decides; if two are equal, the one that allows.
    pub(super) fn allows(&self, path: &str) -> bool {
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, path));
        let decisive = matching.max_by_key(|rule| (rule.pattern.len(), rule.is_allowed));
        decisive.is_none_or(|rule| rule.is_allowed)
    }
}

/// Whether a path begins as a pattern says. In time proportional to both lengths, whatever the pattern is.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if is_whole && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    !is_whole || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_of_the_best_group_decides() {
        let text = "# for all\nUser-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.pdf$\nDisallow: /q?*secret\n\n\
                    User-agent: otherbot\nUser-agent: ModelContextProtocol\nDisallow: /only-us # for models\nDisallow:\n";
        let all = Robots::parse(text, "SomeBot/1.0");
        for (path, expected) in [
            ("/", true),
            ("/private", false),
            ("/private/x", false),
            ("/private/open/x", true),
            ("/a/b.pdf", false),
            ("/a/b.pdf?x", true),
            ("/q?a=secret", false),
            ("/only-us", true),
        ] {
            assert_eq!(all.allows(path), expected, "{path}");
        }
        let ours = Robots::parse(text, "ModelContextProtocol/1.0 (Autonomous)");
        assert_eq!((ours.allows("/only-us/x"), ours.allows("/private")), (false, true));
        assert!(Robots::parse("Disallow: /\n<html>", "x").allows("/"), "no group, no rule");
        assert!(!Robots::parse("user-agent:*\r\ndisallow:/", "x").allows("/"));
    }
}
