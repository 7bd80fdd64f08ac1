//! Rules about the arguments of calls.
//!
//! Arguments are read where they stand, in the bytes that the server gets, so that no second reading can differ from the server's.
//! Where two readers could disagree (a key that occurs twice, or in another case, which some servers take for the same), the
//! arguments are [unclear](UnclearArguments), and the call is refused.

use std::{borrow::Cow, collections::HashSet, fmt, str::FromStr};

use toolbay_protocol::{ParseError, Scanner, Span, decode_string};

use crate::{Action, Pattern};

/// How many values rules look at in one call. Each rule may look at all of them.
const MAX_VALUES: usize = 1000;
/// The longest text that rules look at.
const MAX_TEXT: usize = 1024 * 1024;

/// Where something is in arguments: a JSON pointer, in which `*` is any key or index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pointer {
    text: Box<str>,
    segments: Box<[Segment]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Segment {
    Any,
    Key(Box<str>),
}

/// A text that is no pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a JSON pointer into the arguments, such as `/path` or `/files/*/name`")]
pub struct InvalidPointer(String);

impl FromStr for Pointer {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        let invalid = || InvalidPointer(text.chars().take(80).collect());
        let path = text.strip_prefix('/').filter(|_| text.len() <= 256).ok_or_else(invalid)?;
        let segment = |written: &str| {
            let is_escaped = |at: usize| written[at + 1..].starts_with(['0', '1']);
            if !written.match_indices('~').all(|(at, _)| is_escaped(at)) {
                return Err(invalid());
            }
            Ok(match written {
                "*" => Segment::Any,
                _ => Segment::Key(written.replace("~1", "/").replace("~0", "~").into()),
            })
        };
        let segments = path.split('/').map(segment).collect::<Result<_, _>>()?;
        Ok(Self { text: text.into(), segments })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What must be at some place in the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentMatcher {
    /// Where.
    pub pointer: Pointer,
    /// What.
    pub condition: Condition,
}

/// What values must be. Items of an array count as values, too.
///
/// Of several values, all must fit in a rule that lets calls through (`allow`, `limit`); in the others one is enough.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// One of these.
    Is(Vec<Scalar>),
    /// None of these. What is missing is none of them, too.
    Not(Vec<Scalar>),
    /// Numbers within these limits.
    Range {
        /// The least.
        min: Option<f64>,
        /// The most.
        max: Option<f64>,
    },
    /// There, or missing.
    Exists(bool),
}

/// A value to compare with.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// Texts that fit a pattern; numbers, `true`, `false` and `null` by how they are written.
    Text(Pattern),
    /// A number.
    Number(f64),
    /// `true` or `false`.
    Bool(bool),
}

/// Of several values, how many must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    One,
    All,
}

impl Quantifier {
    /// A call must not get through because one of its values is harmless.
    pub(crate) fn of(action: Action) -> Self {
        match action {
            Action::Allow | Action::Limit(_) => Self::All,
            Action::Ask | Action::Deny => Self::One,
        }
    }

    fn holds<'a, 'b: 'a>(self, values: &'a [Value<'b>], fits: impl Fn(&Value<'b>) -> bool) -> bool {
        match self {
            Self::One => values.iter().any(fits),
            Self::All => !values.is_empty() && values.iter().all(fits),
        }
    }
}

impl Condition {
    pub(crate) fn holds(&self, values: &[Value<'_>], quantifier: Quantifier) -> bool {
        match self {
            Self::Is(scalars) => quantifier.holds(values, |value| value.is_any_of(scalars)),
            Self::Not(scalars) => {
                values.is_empty() || quantifier.holds(values, |value| !value.is_any_of(scalars))
            }
            Self::Range { min, max } => quantifier.holds(values, |value| {
                let within =
                    |number: f64| min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max);
                value.number().is_some_and(within)
            }),
            Self::Exists(exists) => values.is_empty() != *exists,
        }
    }
}

/// A value in arguments.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    /// A number, `true`, `false` or `null`, as written.
    Literal(&'a str),
    /// An object, or an array in an array or without items.
    Container,
}

impl Value<'_> {
    fn is_any_of(&self, scalars: &[Scalar]) -> bool {
        scalars.iter().any(|scalar| match (scalar, self) {
            (Scalar::Text(pattern), Value::Text(text)) => pattern.matches(text),
            (Scalar::Text(pattern), Value::Literal(text)) => pattern.matches(text),
            (Scalar::Number(number), Value::Literal(_)) => self.number() == Some(*number),
            (Scalar::Bool(flag), Value::Literal(text)) => *text == if *flag { "true" } else { "false" },
            (Scalar::Number(_) | Scalar::Bool(_), Value::Text(_)) | (_, Value::Container) => false,
        })
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Literal(text) => text.parse().ok(),
            Self::Text(_) | Self::Container => None,
        }
    }
}

/// Why arguments cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnclearArguments {
    /// A key occurs twice.
    #[error("the key `{0}` occurs twice in them")]
    KeyTwice(String),
    /// A key differs in case from one that a rule names.
    #[error("the key `{found}` must be written `{expected}`")]
    KeyCase {
        /// As it is.
        found: String,
        /// As rules name it.
        expected: String,
    },
    /// There are too many values to look at.
    #[error("more than {MAX_VALUES} values would have to be looked at")]
    TooManyValues,
    /// A text is too long to look at.
    #[error("a text to look at is longer than {MAX_TEXT} bytes")]
    TooLong,
    /// They are no JSON object.
    #[error("they are no JSON object")]
    Malformed,
}

/// The values at some pointers.
#[derive(Debug, Default)]
pub(crate) struct FoundValues<'a> {
    values: Vec<Vec<Value<'a>>>,
    count: usize,
}

impl<'a> FoundValues<'a> {
    /// The values at one of the pointers.
    pub(crate) fn at(&self, index: usize) -> &[Value<'a>] {
        &self.values[index]
    }

    fn add(&mut self, index: usize, value: Value<'a>) -> Result<(), UnclearArguments> {
        self.count += 1;
        if self.count > MAX_VALUES {
            return Err(UnclearArguments::TooManyValues);
        }
        self.values[index].push(value);
        Ok(())
    }
}

/// Finds the values at all pointers, in one walk.
pub(crate) fn find<'a>(
    arguments: &'a [u8],
    pointers: &[Pointer],
) -> Result<FoundValues<'a>, UnclearArguments> {
    let mut walk = ArgumentWalk { text: arguments, found: FoundValues::default(), unclear: None };
    walk.found.values.resize_with(pointers.len(), Vec::new);
    let open: Vec<OpenPointer<'_>> =
        pointers.iter().enumerate().map(|(index, pointer)| (index, &*pointer.segments)).collect();
    let mut scanner = Scanner::new(arguments);
    let walked = walk.descend(&mut scanner, &open);
    match (walk.unclear, walked) {
        (Some(why), _) => Err(why),
        (None, Err(_)) => Err(UnclearArguments::Malformed),
        (None, Ok(())) => Ok(walk.found),
    }
}

/// The index of a pointer, and what is left of it.
type OpenPointer<'p> = (usize, &'p [Segment]);

struct ArgumentWalk<'a> {
    text: &'a [u8],
    found: FoundValues<'a>,
    /// Why it was ended.
    unclear: Option<UnclearArguments>,
}

impl<'a> ArgumentWalk<'a> {
    /// Takes a value that some pointers lead to or through.
    fn value(&mut self, scanner: &mut Scanner<'a>, open: &[OpenPointer<'_>]) -> Result<(), ParseError> {
        if open.iter().any(|(_, rest)| rest.is_empty()) {
            let span = scanner.clone().value()?;
            for (index, _) in open.iter().filter(|(_, rest)| rest.is_empty()) {
                self.take(*index, span)?;
            }
        }
        self.descend(scanner, open)
    }

    /// Walks through a value that pointers may lead into.
    fn descend(&mut self, scanner: &mut Scanner<'a>, open: &[OpenPointer<'_>]) -> Result<(), ParseError> {
        let leads_on = open.iter().any(|(_, rest)| !rest.is_empty());
        match scanner.peek_kind()? {
            b'{' if leads_on => self.object(scanner, open),
            b'[' if leads_on => self.array(scanner, open),
            _ => scanner.value().map(drop),
        }
    }

    fn object(&mut self, scanner: &mut Scanner<'a>, open: &[OpenPointer<'_>]) -> Result<(), ParseError> {
        let text = self.text;
        let mut keys: HashSet<Cow<'a, str>> = HashSet::new();
        let mut next: Vec<OpenPointer<'_>> = Vec::new();
        scanner.object(|scanner, key| {
            let written = &text[key.start as usize - 1..key.end as usize + 1];
            let key = decode_string(written).unwrap_or_default();
            next.clear();
            for (index, rest) in open {
                match rest.split_first() {
                    Some((Segment::Any, rest)) => next.push((*index, rest)),
                    Some((Segment::Key(wanted), rest)) if **wanted == *key => next.push((*index, rest)),
                    Some((Segment::Key(wanted), _)) if is_other_case(wanted, &key) => {
                        let (found, expected) = (key.clone().into_owned(), wanted.to_string());
                        return self.end(UnclearArguments::KeyCase { found, expected });
                    }
                    Some((Segment::Key(_), _)) | None => {}
                }
            }
            if next.is_empty() {
                return scanner.value().map(drop);
            }
            if keys.contains(&key) {
                return self.end(UnclearArguments::KeyTwice(key.into_owned()));
            }
            keys.insert(key);
            self.value(scanner, &next)
        })?;
        Ok(())
    }

    fn array(&mut self, scanner: &mut Scanner<'a>, open: &[OpenPointer<'_>]) -> Result<(), ParseError> {
        let mut position = 0_usize;
        let mut next: Vec<OpenPointer<'_>> = Vec::new();
        scanner.array(|scanner| {
            next.clear();
            for (index, rest) in open {
                match rest.split_first() {
                    Some((Segment::Any, rest)) => next.push((*index, rest)),
                    Some((Segment::Key(wanted), rest)) if wanted.parse() == Ok(position) => {
                        next.push((*index, rest));
                    }
                    Some((Segment::Key(_), _)) | None => {}
                }
            }
            position += 1;
            match next.is_empty() {
                true => scanner.value().map(drop),
                false => self.value(scanner, &next),
            }
        })?;
        Ok(())
    }

    /// Keeps a value; of an array, its items.
    fn take(&mut self, index: usize, span: Span) -> Result<(), ParseError> {
        let text = self.text;
        let written = &text[span.range()];
        if written.first() != Some(&b'[') {
            return self.keep(index, scalar(written));
        }
        let mut items = Scanner::new(written);
        let mut is_empty = true;
        items.array(|items| {
            is_empty = false;
            let item = items.value()?;
            self.keep(index, scalar(&written[item.range()]))
        })?;
        if is_empty { self.keep(index, Value::Container) } else { Ok(()) }
    }

    fn keep(&mut self, index: usize, value: Value<'a>) -> Result<(), ParseError> {
        if matches!(&value, Value::Text(text) if text.len() > MAX_TEXT) {
            return self.end(UnclearArguments::TooLong);
        }
        match self.found.add(index, value) {
            Ok(()) => Ok(()),
            Err(why) => self.end(why),
        }
    }

    /// Ends the walk.
    fn end(&mut self, why: UnclearArguments) -> Result<(), ParseError> {
        self.unclear = Some(why);
        Err(ParseError::Truncated) // whatever it says: the reason is kept
    }
}

/// A value that is no array.
fn scalar(written: &[u8]) -> Value<'_> {
    match written.first() {
        Some(b'"') => Value::Text(decode_string(written).unwrap_or_default()),
        Some(b'{' | b'[') | None => Value::Container,
        Some(_) => Value::Literal(std::str::from_utf8(written).unwrap_or_default()),
    }
}

/// Whether two keys are the same to a reader that ignores case, as some JSON libraries do.
fn is_other_case(wanted: &str, key: &str) -> bool {
    if wanted.is_ascii() && key.is_ascii() {
        return wanted.eq_ignore_ascii_case(key);
    }
    // Upper and then lower case: the long s and the Kelvin sign are letters of ASCII then.
    let fold = |text: &str| text.to_uppercase().to_lowercase();
    fold(wanted) == fold(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(pointer: &str, condition: Condition, quantifier: Quantifier, arguments: &str) -> bool {
        let pointer: Pointer = pointer.parse().unwrap();
        let found = find(arguments.as_bytes(), &[pointer]).unwrap();
        condition.holds(found.at(0), quantifier)
    }

    fn text(pattern: &str) -> Vec<Scalar> {
        vec![Scalar::Text(pattern.parse().unwrap())]
    }

    #[test]
    fn values_are_found_by_pointers() {
        let arguments = r#"{"a":{"b/c":["x",{"d":1}]},"e":"\u0041","f":[],"g":[["y"]]}"#;
        for (pointer, pattern, is_there) in [
            ("/a/b~1c", "x", true),
            ("/a/b~1c/0", "x", true),
            ("/a/b~1c/1/d", "1", true),
            ("/a/*/*", "x", true),
            ("/*", "A", true),
            ("/e", "A", true),
            ("/e", "\\u0041", false),
            ("/f", "*", false),
            ("/g", "y", false),
            ("/g/*", "y", true),
            ("/x", "*", false),
        ] {
            assert_eq!(
                holds(pointer, Condition::Is(text(pattern)), Quantifier::One, arguments),
                is_there,
                "{pointer} {pattern}"
            );
        }
    }

    #[test]
    fn several_values_are_judged_by_what_the_rule_does() {
        let paths = r#"{"paths":["/home/a","/etc/b"]}"#;
        for (condition, one, all) in [
            (Condition::Is(text("/home/*")), true, false),
            (Condition::Not(text("/home/*")), true, false),
            (Condition::Is(text("/*")), true, true),
            (Condition::Not(text("/var/*")), true, true),
            (Condition::Exists(true), true, true),
        ] {
            assert_eq!(holds("/paths", condition.clone(), Quantifier::One, paths), one, "{condition:?}");
            assert_eq!(holds("/paths", condition.clone(), Quantifier::All, paths), all, "{condition:?}");
        }
        for quantifier in [Quantifier::One, Quantifier::All] {
            assert!(!holds("/x", Condition::Is(text("*")), quantifier, paths));
            assert!(holds("/x", Condition::Not(text("*")), quantifier, paths));
            assert!(holds("/x", Condition::Exists(false), quantifier, paths));
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let range = |min, max| Condition::Range { min, max };
        for (condition, arguments, expected) in [
            (Condition::Is(vec![Scalar::Number(5.0)]), r#"{"n":5.0}"#, true),
            (Condition::Is(vec![Scalar::Number(5.0)]), r#"{"n":"5"}"#, false),
            (Condition::Is(vec![Scalar::Bool(true)]), r#"{"n":true}"#, true),
            (Condition::Is(vec![Scalar::Bool(true)]), r#"{"n":"true"}"#, false),
            (range(Some(1.0), None), r#"{"n":0.5}"#, false),
            (range(None, Some(1e3)), r#"{"n":1000}"#, true),
            (range(None, Some(1e3)), r#"{"n":"x"}"#, false),
        ] {
            assert_eq!(holds("/n", condition.clone(), Quantifier::One, arguments), expected, "{condition:?}");
        }
    }

    #[test]
    fn what_servers_may_read_differently_is_unclear() {
        let find = |arguments: &str| find(arguments.as_bytes(), &["/a/path".parse().unwrap()]).map(drop);
        assert_eq!(find(r#"{"a":{"path":1},"b":1,"b":2}"#), Ok(()));
        assert_eq!(find(r#"{"a":1,"\u0061":2}"#), Err(UnclearArguments::KeyTwice("a".into())));
        for key in ["Path", "PATH", "\\u0050ath"] {
            let unclear = find(&format!(r#"{{"a":{{"{key}":1}}}}"#)).unwrap_err();
            assert!(matches!(unclear, UnclearArguments::KeyCase { .. }), "{key}");
        }
        assert_eq!(find("[1]"), Ok(()), "the caller has refused it before");
        assert_eq!(find(r#"{"a":"#), Err(UnclearArguments::Malformed));
        assert!(is_other_case("mask", "maſK"));
        let many = format!(r#"{{"a":{{"path":[{}1]}}}}"#, "1,".repeat(1000));
        assert_eq!(find(&many), Err(UnclearArguments::TooManyValues));
        let long = format!(r#"{{"a":{{"path":"{}"}}}}"#, "x".repeat(MAX_TEXT + 1));
        assert_eq!(find(&long), Err(UnclearArguments::TooLong));
    }

    #[test]
    fn pointers_are_those_of_json() {
        for pointer in ["", "a", "/a~", "/a~2", "/~"] {
            assert!(pointer.parse::<Pointer>().is_err(), "{pointer}");
        }
        assert_eq!("/~01/~1".parse::<Pointer>().unwrap().segments.len(), 2);
    }
}
