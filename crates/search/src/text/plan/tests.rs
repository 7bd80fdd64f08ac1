use super::*;

fn shown(plan: &Plan) -> String {
    let all = |parts: &[Plan], between: &str| parts.iter().map(shown).collect::<Vec<_>>().join(between);
    match plan {
        Plan::All => "all".to_owned(),
        Plan::HasPair(pair) => String::from_utf8_lossy(&pair.to_be_bytes()).into_owned(),
        Plan::Has(trigram) => String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned(),
        Plan::And(parts) => all(parts, " "),
        Plan::Or(parts) => format!("({})", all(parts, "|")),
    }
}

#[track_caller]
fn check(pattern: &str, wanted: &str) {
    assert_eq!(shown(&plan(&Query::regex(pattern))), wanted, "{pattern}");
}

#[test]
fn literals() {
    check("Hello", "hel ell llo");
    check("Ab", "ab");
    check("", "all");
    check("a", "all");
    check("tasks", "tas ask sks");
    check("a.c", "all");
}

#[test]
fn around_what_is_unknown() {
    check(r"fn \w+_total", "fn  _to tot ota tal");
    check("abc.*def", "abc def");
    check("ab(c|d)ef", "(abc bce cef|abd bde def)");
    check("(abc)+", "abc");
    check("(abc){2}", "abc bca cab");
    check("abc(def)?", "(abc|abc bcd cde def)");
    check(
        "ab[0-9]cd",
        "(ab0 b0c 0cd|ab1 b1c 1cd|ab2 b2c 2cd|ab3 b3c 3cd|ab4 b4c 4cd|ab5 b5c 5cd|ab6 b6c 6cd|ab7 b7c 7cd|ab8 b8c 8cd|ab9 b9c 9cd)",
    );
}

#[test]
fn alternatives() {
    check("abc|def", "(abc|def)");
    check("abc|d", "all");
    check("(foo|bar)baz", "(bar arb rba baz|foo oob oba baz)");
}

#[test]
fn bytes_that_are_no_text_say_nothing() {
    check(r"(?-u:\xE2\x84)abc", "abc");
    check(r"(?-u:\xFF)", "all");
}

#[test]
fn borders_say_nothing() {
    check(r"^\babc\b$", "abc");
    check("x*", "all");
}
