//! Whether a licence expression can be satisfied with the licences that are allowed.

/// `MIT OR (Apache-2.0 AND Unicode-3.0)`: true if some choice uses allowed licences only.
/// The old `MIT/Apache-2.0` means OR. An exception is part of its licence: `Apache-2.0 WITH LLVM-exception`.
pub(crate) fn satisfied(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().collect::<Vec<_>>();
    words.reverse();
    let met = either(&mut words, allowed);
    met && words.is_empty()
}

fn either(words: &mut Vec<&str>, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = both(words, allowed);
    while words.pop_if(|word| *word == "OR").is_some() {
        met |= both(words, allowed);
    }
    met
}

fn both(words: &mut Vec<&str>, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = one(words, allowed);
    while words.pop_if(|word| *word == "AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Vec<&str>, allowed: &dyn Fn(&str) -> bool) -> bool {
    match words.pop() {
        Some("(") => {
            let met = either(words, allowed);
            words.pop() == Some(")") && met
        }
        Some(licence) => match words.pop_if(|word| *word == "WITH").and_then(|_| words.pop()) {
            Some(exception) => allowed(&format!("{licence} WITH {exception}")),
            None => allowed(licence),
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn an_expression_is_satisfied_by_some_choice_of_allowed_licences() {
        let allowed = |licence: &str| ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&licence);
        let cases = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("MIT/Apache-2.0", true),
            ("MIT AND Zlib", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND Zlib", true),
            ("MIT AND (GPL-3.0 OR BSD-3-Clause)", false),
            ("Apache-2.0", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT MIT", false),
            ("(MIT", false),
            ("", false),
        ];
        for (expression, wanted) in cases {
            assert_eq!(satisfied(expression, &allowed), wanted, "{expression}");
        }
    }
}
