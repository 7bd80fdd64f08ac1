//! JSON objects and arrays as text: fields are found, set and removed without reading what they hold.
//!
//! This is for the rare message that must change inside. What is not changed keeps its text: order, number formats
//! and unknown fields; only white space around the fields of a changed object is lost.

use std::borrow::Cow;

use toolbay_protocol::{Scanner, Span, decode_string, encode_string};

/// The fields of one object, in the order they were written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    fields: Vec<ObjectField<'a>>,
    changed: bool,
}

#[derive(Debug, Clone)]
struct ObjectField<'a> {
    /// With its quotes.
    key: Cow<'a, str>,
    value: Cow<'a, str>,
}

/// What becomes of a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FieldEdit {
    Stays,
    Goes,
    /// It gets another value (JSON text).
    Becomes(String),
}

impl ObjectField<'_> {
    fn is(&self, name: &str) -> bool {
        decode_string(self.key.as_bytes()).is_some_and(|key| key == name)
    }
}

impl<'a> Object<'a> {
    /// Reads an object; nothing if the text is something else.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut fields = Vec::new();
        let mut scanner = Scanner::new(text.as_bytes());
        scanner
            .object(|scanner, key| {
                let key = Span { start: key.start - 1, end: key.end + 1 };
                fields.push((key, scanner.value()?));
                Ok(())
            })
            .and_then(|_| scanner.end())
            .ok()?;
        let field = |(key, value): (Span, Span)| {
            Some(ObjectField { key: text.get(key.range())?.into(), value: text.get(value.range())?.into() })
        };
        Some(Self { fields: fields.into_iter().map(field).collect::<Option<_>>()?, changed: false })
    }

    /// The value of a field, as JSON text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.is(name)).map(|field| &*field.value)
    }

    /// The value of a field that is a string.
    pub(crate) fn string(&self, name: &str) -> Option<Cow<'_, str>> {
        decode_string(self.get(name)?.as_bytes())
    }

    /// Whether a field is there and is an object.
    pub(crate) fn has_object(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.starts_with('{'))
    }

    /// What its fields are called, and their values as JSON text.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.fields
            .iter()
            .map(|field| (decode_string(field.key.as_bytes()).unwrap_or_default(), &*field.value))
    }

    /// Gives a field another value (JSON text); a field that is not there yet becomes the last.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        self.changed = true;
        match self.fields.iter_mut().find(|field| field.is(name)) {
            Some(field) => field.value = value.into(),
            None => self.push(name, value),
        }
    }

    /// Adds a field that is known not to be there yet: costs nothing, however many there are.
    pub(crate) fn push(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        self.changed = true;
        self.fields.push(ObjectField { key: encode_string(name).into(), value: value.into() });
    }

    /// Decides the fate of each field, by its name and its value (JSON text).
    pub(crate) fn sift(&mut self, mut fate: impl FnMut(&str, &str) -> FieldEdit) {
        let mut changed = false;
        self.fields.retain_mut(|field| {
            let name = decode_string(field.key.as_bytes()).unwrap_or_default();
            let fate = fate(&name, &field.value);
            changed |= fate != FieldEdit::Stays;
            match fate {
                FieldEdit::Stays => true,
                FieldEdit::Goes => false,
                FieldEdit::Becomes(value) => {
                    field.value = value.into();
                    true
                }
            }
        });
        self.changed |= changed;
    }

    /// Removes every field of that name.
    pub(crate) fn remove(&mut self, name: &str) {
        let before = self.fields.len();
        self.fields.retain(|field| !field.is(name));
        self.changed |= self.fields.len() < before;
    }

    /// Replaces the value of a field by what `change` makes of it, if it makes anything.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&str) -> Option<String>) {
        if let Some(new) = self.get(name).and_then(change) {
            self.set(name, new);
        }
    }

    /// The object as JSON text, if anything about it was changed.
    pub(crate) fn changed_text(&self) -> Option<String> {
        self.changed.then(|| self.text())
    }

    /// The object as JSON text.
    pub(crate) fn text(&self) -> String {
        let fields: Vec<_> =
            self.fields.iter().map(|field| format!("{}:{}", field.key, field.value)).collect();
        format!("{{{}}}", fields.join(","))
    }
}

/// An object as `change` leaves it; nothing if it left it alone, or the text is something else.
pub(crate) fn changed(text: &str, change: impl FnOnce(&mut Object<'_>)) -> Option<String> {
    let mut object = Object::parse(text)?;
    change(&mut object);
    object.changed_text()
}

/// The items of an array; nothing if the text is something else.
pub(crate) fn items(text: &str) -> Option<Vec<&str>> {
    let mut spans = Vec::new();
    let mut scanner = Scanner::new(text.as_bytes());
    scanner
        .array(|scanner| {
            spans.push(scanner.value()?);
            Ok(())
        })
        .and_then(|_| scanner.end())
        .ok()?;
    spans.into_iter().map(|span| text.get(span.range())).collect()
}

/// An array of these items.
pub(crate) fn array<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    format!("[{}]", items.join(","))
}

/// An array in which `change` has replaced items; nothing if it replaced none.
pub(crate) fn mapped(text: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let items = items(text)?;
    let changed: Vec<_> = items.iter().map(|item| change(item)).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    let items: Vec<Cow<'_, str>> =
        items.into_iter().zip(changed).map(|(old, new)| new.map_or(Cow::Borrowed(old), Cow::Owned)).collect();
    Some(array(&items))
}
