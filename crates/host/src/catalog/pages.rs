//! Merged lists, cut into pages.

use bytes::{Bytes, BytesMut};
use toolbay_protocol::{ObjectBuilder, Rope};

/// How long the items of one page may be together.
const PAGE: usize = 1024 * 1024;

/// A list as JSON arrays, ready to be sent.
///
/// Invariant: there is always a first page, if an empty one; a client may ask before any server is up.
#[derive(Debug, PartialEq, Eq)]
pub struct ListPages {
    pages: Vec<Bytes>,
    items: Vec<Bytes>,
}

impl Default for ListPages {
    fn default() -> Self {
        Self::new(std::iter::empty())
    }
}

impl ListPages {
    /// Lays items out.
    pub fn new(items: impl Iterator<Item = Rope>) -> Self {
        let mut pages = Vec::new();
        let mut page = BytesMut::from(&b"["[..]);
        let mut places = Vec::new();
        for item in items {
            if page.len() > 1 {
                if page.len() + item.len() > PAGE {
                    page.extend_from_slice(b"]");
                    pages.push(std::mem::replace(&mut page, BytesMut::from(&b"["[..])).freeze());
                } else {
                    page.extend_from_slice(b",");
                }
            }
            let start = page.len();
            for piece in item.pieces() {
                page.extend_from_slice(piece);
            }
            places.push((pages.len(), start..page.len()));
        }
        page.extend_from_slice(b"]");
        pages.push(page.freeze());
        let items = places.into_iter().map(|(page, range)| pages[page].slice(range)).collect();
        Self { pages, items }
    }

    /// Its items, in order.
    pub fn items(&self) -> &[Bytes] {
        &self.items
    }

    /// Items as one page, however long they are.
    pub(super) fn one(items: impl Iterator<Item = Rope>) -> Bytes {
        let mut page = BytesMut::from(&b"["[..]);
        for item in items {
            if page.len() > 1 {
                page.extend_from_slice(b",");
            }
            item.pieces().iter().for_each(|piece| page.extend_from_slice(piece));
        }
        page.extend_from_slice(b"]");
        page.freeze()
    }

    /// The page for a cursor, and the cursor of the next one. `version` tells cursors of an older list apart.
    pub fn get(&self, cursor: Option<&str>, version: u64) -> Option<(&Bytes, Option<String>)> {
        let index = match cursor {
            None => 0,
            Some(cursor) => {
                let (of, index) = cursor.split_once('.')?;
                if of.parse() != Ok(version) {
                    return None;
                }
                index.parse::<usize>().ok()?
            }
        };
        let page = self.pages.get(index)?;
        let next = (index + 1 < self.pages.len()).then(|| format!("{version}.{}", index + 1));
        Some((page, next))
    }
}

/// The result of a list: the page under its name, and the cursor of the next one.
pub fn list_page(field: &str, page: &Bytes, next: Option<&str>) -> ObjectBuilder {
    let page = std::str::from_utf8(page).unwrap_or("[]");
    let result = ObjectBuilder::with_capacity(page.len() + 64).raw(field, page);
    match next {
        Some(next) => result.string("nextCursor", next),
        None => result,
    }
}
