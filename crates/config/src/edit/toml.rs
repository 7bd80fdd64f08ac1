//! Changes in TOML, comments kept.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value as Toml};

use super::{Change, export::Pairs};

pub(super) fn write(text: &str, home: &[&str], name: &str, change: &Change<'_>) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let is_new = document.is_empty();
    let mut servers: &mut dyn TableLike = document.as_table_mut();
    for key in home {
        let item = servers.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        servers = item.as_table_like_mut().ok_or_else(|| format!("`{key}` in it is not a table"))?;
    }
    match (change, servers.get_mut(name)) {
        (Change::Put(entry), Some(item)) => merge(entry_of(item)?, entry),
        (Change::Put(entry), None) => {
            let mut table = Table::new();
            merge(&mut table, entry);
            table.decor_mut().set_prefix(if is_new { "" } else { "\n" });
            let inline = servers.iter().any(|(_, item)| item.is_inline_table());
            servers.insert(
                name,
                if inline { Toml::InlineTable(table.into_inline_table()).into() } else { Item::Table(table) },
            );
        }
        (_, None) => {}
        (Change::Remove, Some(_)) => {
            let removed = servers.remove(name);
            if let Some(Item::Table(removed)) = removed {
                keep_comments(&mut document, &removed);
            }
        }
        (Change::Set(key, value), Some(item)) => set(entry_of(item)?, key, value),
        (Change::Unset(keys), Some(item)) => {
            let entry = entry_of(item)?;
            for key in *keys {
                entry.remove(key);
            }
        }
    }
    let written = document.to_string();
    // The parser knows one kind of line ends, and forgets the other.
    Ok(if text.contains("\r\n") { written.replace('\n', "\r\n") } else { written })
}

fn entry_of(item: &mut Item) -> Result<&mut dyn TableLike, String> {
    item.as_table_like_mut().ok_or_else(|| "the entry is not a table".to_owned())
}

/// Changes an entry to the wanted one, and leaves equal values untouched.
fn merge(entry: &mut dyn TableLike, wanted: &Pairs) {
    let there: Vec<String> = entry.iter().map(|(key, _)| key.to_owned()).collect();
    for key in there.iter().filter(|key| !wanted.iter().any(|(it, _)| it == *key)) {
        entry.remove(key);
    }
    for (key, value) in wanted {
        set(entry, key, value);
    }
}

fn set(entry: &mut dyn TableLike, key: &str, wanted: &Value) {
    let Some(new) = value(wanted) else { return };
    match entry.get_mut(key) {
        Some(item) if json(item) == *wanted => {}
        // The comment behind a value stays.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        Some(item) => *item = Item::Value(new),
        None => {
            entry.insert(key, Item::Value(new));
        }
    }
}

fn value(value_of: &Value) -> Option<Toml> {
    Some(match value_of {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Toml::Array(items.iter().filter_map(value).collect::<Array>()),
        Value::Object(entries) => {
            let pairs = entries.iter().filter_map(|(key, it)| Some((key.as_str(), value(it)?)));
            Toml::InlineTable(pairs.collect::<InlineTable>())
        }
    })
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_json(table)).collect(),
        Item::Table(table) => table_json(table),
        Item::Value(it) => value_json(it),
    }
}

fn table_json(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect())
}

fn value_json(it: &Toml) -> Value {
    match it {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(items) => items.iter().map(value_json).collect(),
        Toml::InlineTable(table) => table_json(table),
    }
}

/// Moves comments that an empty line separates from a removed table to the next one: they are not about it.
fn keep_comments(document: &mut DocumentMut, removed: &Table) {
    let prefix = removed.decor().prefix().and_then(RawString::as_str).unwrap_or_default().to_owned();
    let Some(end) = prefix.rfind("\n\n") else { return };
    let kept = &prefix[..end + 1];
    if kept.trim().is_empty() {
        return;
    }
    let after = removed.position();
    match next_table(document.as_table_mut(), after) {
        Some(next) => {
            let own = next.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
            let both = format!("{kept}{own}");
            next.decor_mut().set_prefix(both);
        }
        None => {
            let both = format!("{kept}{}", document.trailing().as_str().unwrap_or_default());
            document.set_trailing(both);
        }
    }
}

/// The table whose header comes first after a place.
fn next_table(table: &mut Table, after: Option<isize>) -> Option<&mut Table> {
    let mut best: Option<&mut Table> = None;
    for (_, item) in table.iter_mut() {
        let Item::Table(child) = item else { continue };
        let own = child.position() > after && !child.is_implicit() && !child.is_dotted();
        let found = if own { Some(child) } else { next_table(child, after) };
        if let Some(found) = found
            && best.as_ref().is_none_or(|best| found.position() < best.position())
        {
            best = Some(found);
        }
    }
    best
}
