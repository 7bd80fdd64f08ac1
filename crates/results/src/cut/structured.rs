//! Shortening structured content: arrays lose items, strings their ends, objects the fields that come last. What remains has the
//! same shape.

use toolbay_protocol::{Scanner, Span, decode_pieces};

/// How much longer than asked for the result may be: brackets and notes that are inevitable.
pub(super) const TOLERANCE: usize = 1024;
/// Values deeper than this are not looked into: they lose all that they have.
const MAX_DEPTH: usize = 16;
/// Fields that are shorter stay, however long the others are.
const SHORT_FIELD: usize = 64;
/// How many places are named.
const MAX_PLACES: usize = 5;

/// A JSON value with at most about `budget` bytes, and what was left out where.
pub(super) fn shorten(value: &[u8], budget: usize) -> (Vec<u8>, String) {
    let mut shortener = Shortener {
        out: Vec::with_capacity(budget + TOLERANCE),
        path: String::new(),
        places: Vec::new(),
        count: 0,
    };
    shortener.write(value, budget, 0);
    let Shortener { out, mut places, count, .. } = shortener;
    if count > places.len() {
        places.push(format!("and {} more places", count - places.len()));
    }
    (out, places.join("; "))
}

struct Shortener {
    out: Vec<u8>,
    /// The JSON pointer of what is written.
    path: String,
    places: Vec<String>,
    count: usize,
}

impl Shortener {
    fn write(&mut self, value: &[u8], budget: usize, depth: usize) {
        if value.len() <= budget {
            return self.out.extend_from_slice(value);
        }
        match value.first() {
            Some(b'[') => self.array(value, budget, depth),
            Some(b'{') => self.object(value, budget, depth),
            Some(b'"') => self.string(value, budget),
            _ => self.out.extend_from_slice(value), // a number is never cut
        }
    }

    /// Keeps the first items that fit; a first one that does not is shortened itself.
    fn array(&mut self, array: &[u8], budget: usize, depth: usize) {
        let end = self.out.len() + budget;
        self.out.push(b'[');
        let (mut kept, mut total) = (0_u64, 0_u64);
        let mut is_full = depth >= MAX_DEPTH;
        let _ = Scanner::new(array).array(|scanner| {
            let span = scanner.value()?;
            let room = end.saturating_sub(self.out.len() + 2);
            let item = &array[span.range()];
            // Room for one item that is long is better used for its beginning than not at all.
            if !is_full && (item.len() <= room || (kept == 0 && room > SHORT_FIELD)) {
                if kept > 0 {
                    self.out.push(b',');
                }
                self.inside(&total.to_string(), |this| this.write(item, room, depth + 1));
                kept += 1;
                is_full = item.len() > room;
            } else {
                is_full = true;
            }
            total += 1;
            Ok(())
        });
        self.out.push(b']');
        if kept < total {
            self.note(format!("{kept} of {total} items"));
        }
    }

    /// Keeps short fields, and shares what is left among the long ones.
    fn object(&mut self, object: &[u8], budget: usize, depth: usize) {
        let (mut total, mut short, mut long) = (0_u64, 0, Vec::new());
        let walk = |on_field: &mut dyn FnMut(Span, Span)| {
            let _ = Scanner::new(object).object(|scanner, key| {
                on_field(key, scanner.value()?);
                Ok(())
            });
        };
        walk(&mut |key, value| {
            total += 1;
            let overhead = key.range().len() + 4;
            let length = value.range().len();
            if length <= SHORT_FIELD {
                short += overhead + length;
            } else {
                short += overhead;
                // Only as many as can have a share are told apart.
                if long.len() <= budget / SHORT_FIELD {
                    long.push(length);
                }
            }
        });
        let end = self.out.len() + budget;
        let share = fair_share(&mut long, budget.saturating_sub(short + 2));
        self.out.push(b'{');
        let mut kept = 0_u64;
        walk(&mut |key, value| {
            let key_text = &object[key.start as usize - 1..key.end as usize + 1];
            let value = &object[value.range()];
            let room = end.saturating_sub(self.out.len() + key_text.len() + 3);
            let allowed = if value.len() <= SHORT_FIELD { SHORT_FIELD } else { share };
            if depth >= MAX_DEPTH || value.len().min(allowed) > room {
                return;
            }
            if kept > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(key_text);
            self.out.push(b':');
            let name = String::from_utf8_lossy(&object[key.range()]).replace('~', "~0").replace('/', "~1");
            self.inside(&name, |this| this.write(value, allowed, depth + 1));
            kept += 1;
        });
        self.out.push(b'}');
        if kept < total {
            self.note(format!("{kept} of {total} fields"));
        }
    }

    /// Keeps the beginning of a string, and says that it is one.
    fn string(&mut self, quoted: &[u8], budget: usize) {
        let inner = &quoted[1..quoted.len() - 1];
        let mark = format!("… [{} bytes in all]", inner.len());
        let room = budget.saturating_sub(mark.len() + 2);
        let mut end = 0;
        decode_pieces(inner, |written, piece| {
            if end + written <= room {
                end += written;
                return true;
            }
            if written == piece.len() {
                end += piece.floor_char_boundary(room - end);
            }
            false
        });
        self.out.push(b'"');
        self.out.extend_from_slice(&inner[..end]);
        self.out.extend_from_slice(mark.as_bytes());
        self.out.push(b'"');
        self.note(format!("{end} of {} bytes", inner.len()));
    }

    fn inside(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        self.path.extend(name.chars().take(60));
        write(self);
        self.path.truncate(length);
    }

    fn note(&mut self, what: String) {
        self.count += 1;
        if self.places.len() < MAX_PLACES {
            let path = if self.path.is_empty() { "/" } else { &self.path };
            self.places.push(format!("{path}: {what}"));
        }
    }
}

/// The most that each of some lengths may have, if those that need less leave the rest to others.
fn fair_share(lengths: &mut [usize], mut room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = lengths.len();
    for length in lengths.iter() {
        let share = room / left;
        if *length > share {
            return share;
        }
        room -= length;
        left -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn shortened(value: &Value, budget: usize) -> (Value, String) {
        let text = value.to_string();
        let (cut, places) = shorten(text.as_bytes(), budget);
        (
            serde_json::from_slice(&cut)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&cut))),
            places,
        )
    }

    #[test]
    fn what_is_long_gives_way_to_what_is_short() {
        let rows: Vec<Value> = (0..10_000).map(|id| json!({"id": id, "name": format!("row {id}")})).collect();
        let value = json!({"count": 10_000, "rows": rows, "title": "x".repeat(5000), "done": true});
        let (cut, places) = shortened(&value, 4000);
        assert_eq!((&cut["count"], &cut["done"]), (&json!(10_000), &json!(true)));
        assert_eq!(cut["rows"][0], json!({"id": 0, "name": "row 0"}));
        let kept = cut["rows"].as_array().unwrap().len();
        assert!(kept > 10 && places.contains(&format!("/rows: {kept} of 10000 items")), "{places}");
        assert!(
            cut["title"].as_str().unwrap().ends_with("… [5000 bytes in all]") && places.contains("/title: ")
        );
        assert!(cut.to_string().len() <= 4000);
    }

    #[test]
    fn the_first_item_is_shortened_where_it_is_the_long_one() {
        let (cut, places) = shortened(&json!([{"text": "y".repeat(10_000)}, 1]), 500);
        assert!(
            cut[0]["text"].as_str().unwrap().starts_with("yyyy") && cut.as_array().unwrap().len() == 1,
            "{cut}"
        );
        assert!(places.contains("/0/text: ") && places.contains("/: 1 of 2 items"), "{places}");
        let map: serde_json::Map<_, _> = (0..5000).map(|n| (format!("key {n}"), json!(n))).collect();
        let (cut, places) = shortened(&map.into(), 1000);
        assert!(cut.as_object().unwrap().len() > 20 && places.contains(" of 5000 fields"), "{places}");
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[ -~ä€😀\n\"\\\\]{0,200}".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 200, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"ä]{1,8}", inner, 0..20)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Whether `cut` has only what `whole` has, in the same places.
    fn is_part(cut: &Value, whole: &Value) -> bool {
        match (cut, whole) {
            (Value::Array(cut), Value::Array(whole)) => {
                cut.len() <= whole.len() && cut.iter().zip(whole).all(|(cut, whole)| is_part(cut, whole))
            }
            (Value::Object(cut), Value::Object(whole)) => {
                cut.iter().all(|(key, cut)| whole.get(key).is_some_and(|whole| is_part(cut, whole)))
            }
            (Value::String(cut), Value::String(whole)) => {
                cut == whole || cut.rsplit_once("… [").is_some_and(|(begin, _)| whole.starts_with(begin))
            }
            _ => cut == whole,
        }
    }

    proptest! {
        #[test]
        fn a_shortened_value_is_a_part_of_the_whole(value in value(), budget in 32_usize..2000) {
            let (cut, _) = shortened(&value, budget);
            prop_assert!(is_part(&cut, &value), "{} of {}", cut, value);
            prop_assert!(cut.to_string().len() <= value.to_string().len().max(budget + TOLERANCE));
            if value.to_string().len() <= budget {
                prop_assert_eq!(cut, value);
            }
        }
    }
}
