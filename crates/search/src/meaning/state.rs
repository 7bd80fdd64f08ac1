//! The segments of an index at one moment, and how they compare with the files there are.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use super::{
    segment::{Damaged, Segment},
    view::{Part, View},
};
use crate::tree::{Entry, RelPath};

/// A segment that counts.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// Its file in the store; none for one in memory.
    pub(super) name: Option<String>,
    pub(super) segment: Arc<Segment>,
}

/// All segments, oldest first: of two versions of a file, that of the later segment counts.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) kept: Vec<Kept>,
    owners: OnceLock<Owners>,
}

/// Which segment has the version of a file that counts, and its number there.
type Owners = HashMap<RelPath, (u32, u32)>;

/// What there is in the segments, and what is not.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) view: View,
    /// New or changed: what the segments say about them is left out.
    pub(super) pending: Vec<Entry>,
}

impl State {
    pub(super) fn new(kept: Vec<Kept>) -> Self {
        Self { kept, owners: OnceLock::new() }
    }

    /// The names of the segments in the store.
    pub(super) fn names(&self) -> Vec<String> {
        self.kept.iter().filter_map(|kept| kept.name.clone()).collect()
    }

    pub(super) fn owners(&self) -> Result<&Owners, Damaged> {
        if let Some(owners) = self.owners.get() {
            return Ok(owners);
        }
        let mut owners = Owners::new();
        for (part, kept) in (0..).zip(&self.kept) {
            let table = kept.segment.files()?;
            owners.reserve(table.rows.len());
            owners.extend((0..).zip(&table.rows).map(|(file, row)| (row.path.clone(), (part, file))));
        }
        Ok(self.owners.get_or_init(|| owners))
    }

    /// Compares with the files that there are.
    pub(super) fn compare(&self, entries: &[Entry]) -> Result<Comparison, Damaged> {
        let owners = self.owners()?;
        let mut counts = Vec::with_capacity(self.kept.len());
        for kept in &self.kept {
            counts.push(vec![false; kept.segment.files()?.rows.len()]);
        }
        let mut pending = Vec::new();
        for entry in entries {
            let known = owners.get(&entry.path).filter(|(part, file)| {
                let table = self.kept[*part as usize].segment.files();
                table.is_ok_and(|table| table.rows[*file as usize].stamp.is_still(&entry.stamp))
            });
            match known {
                Some((part, file)) => counts[*part as usize][*file as usize] = true,
                None => pending.push(entry.clone()),
            }
        }
        let mut view = View::default();
        for (kept, counts) in self.kept.iter().zip(counts) {
            let files = kept.segment.files()?.clone();
            view.parts.push(Part { segment: kept.segment.clone(), files, counts: counts.into() });
        }
        Ok(Comparison { view, pending })
    }
}
