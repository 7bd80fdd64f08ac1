//! [`Segment`]: an immutable part of the index, on disk.
//!
//! Sections: `files` (path, stamp and kind of each file, in the order of their numbers; once for each piece of a large one,
//! one after the other: here, such a piece counts as a file), `trigrams` (sorted: trigram, count,
//! place), `postings` (the packed lists). The first two are held in memory, lists are read on demand.

use super::plan::Plan;
use super::postings::{self, Union};
use super::trigrams::{self, ByteKind as TextKind, Pair, Trigram};
use crate::store::{Container, ContainerKind, ContainerWriter, Section, Store, StoreError, WriterLock};
use crate::tree::Stamp;

const KIND: ContainerKind = ContainerKind { name: *b"tseg", version: 2 };
const ROW: usize = 16;

/// What a segment knows of a file beside its trigrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct File<'a> {
    pub(super) path: &'a [u8],
    pub(super) stamp: Stamp,
    pub(super) kind: TextKind,
}

/// A segment, open for reading.
#[derive(Debug)]
pub(super) struct Segment {
    name: String,
    paths: Vec<u8>,
    files: Vec<Known>,
    rows: Vec<Row>,
    lists: Section,
    container: Container,
}

#[derive(Debug)]
struct Known {
    path_end: usize,
    stamp: Stamp,
    kind: TextKind,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    trigram: Trigram,
    count: u32,
    place: u64,
}

impl Segment {
    pub(super) fn open(store: &Store, name: &str) -> Result<Self, StoreError> {
        let container = store.read(name, KIND)?;
        let known = container.read("files")?;
        let (paths, files) = read_files(&known).ok_or_else(|| container.damaged("files"))?;
        let rows = read_rows(&container.read("trigrams")?).ok_or_else(|| container.damaged("trigrams"))?;
        let lists = container.section("postings")?;
        Ok(Self { name: name.to_owned(), paths, files, rows, lists, container })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Number of files.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn file(&self, number: usize) -> File<'_> {
        let start = number.checked_sub(1).map_or(0, |before| self.files[before].path_end);
        let known = &self.files[number];
        File { path: &self.paths[start..known.path_end], stamp: known.stamp, kind: known.kind }
    }

    /// Numbers of the files that meet the plan, sorted; `None` for all of them.
    pub(super) fn find(&self, plan: &Plan) -> Result<Option<Vec<u32>>, StoreError> {
        match plan {
            Plan::All => Ok(None),
            Plan::Has(trigram) => self.row(*trigram).map_or(Ok(Vec::new()), |row| self.list(row)).map(Some),
            Plan::And(parts) => self.find_all(parts),
            Plan::HasPair(_) | Plan::Or(_) => {
                // Lists so long have nearly every file in them.
                if self.cost(plan) > self.files.len() as u64 * 8 {
                    return Ok(None);
                }
                let mut any = Union::new(self.files.len());
                let known = self.add(plan, &mut any)?;
                Ok(known.then(|| any.files()))
            }
        }
    }

    /// Adds the files that meet the plan; `false` if that is all of them.
    fn add(&self, plan: &Plan, any: &mut Union) -> Result<bool, StoreError> {
        match plan {
            Plan::HasPair(pair) => {
                for row in self.beginning(*pair) {
                    any.add(&self.list(*row)?);
                }
            }
            Plan::Or(parts) => {
                for part in parts {
                    if !self.add(part, any)? {
                        return Ok(false);
                    }
                }
            }
            plan => match self.find(plan)? {
                Some(files) => any.add(&files),
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// How many entries of lists are read, at most, to find the files that meet the plan.
    fn cost(&self, plan: &Plan) -> u64 {
        let sum = |rows: &[Row]| rows.iter().map(|row| u64::from(row.count)).sum();
        match plan {
            Plan::All => 0,
            Plan::Has(trigram) => self.row(*trigram).map_or(0, |row| row.count.into()),
            Plan::HasPair(pair) => sum(self.beginning(*pair)),
            Plan::And(parts) => parts.iter().map(|part| self.cost(part)).min().unwrap_or(0),
            Plan::Or(parts) => parts.iter().map(|part| self.cost(part)).sum(),
        }
    }

    /// Rare trigrams first; and no list is read that costs more than looking at the files that are left.
    fn find_all(&self, parts: &[Plan]) -> Result<Option<Vec<u32>>, StoreError> {
        let mut parts: Vec<(u64, &Plan)> = parts.iter().map(|part| (self.cost(part), part)).collect();
        // What must hold and does in no file comes first, whatever it costs to know.
        parts.sort_by_key(|(cost, part)| (*cost, !matches!(part, Plan::Has(_))));
        let mut left: Option<Vec<u32>> = None;
        for (cost, part) in parts {
            if left.as_ref().is_some_and(|left| left.len() as u64 <= 2 + cost / 4096) {
                break;
            }
            left = match (left, self.find(part)?) {
                (Some(left), Some(list)) => Some(postings::in_both(&left, &list)),
                (left, list) => left.or(list),
            };
        }
        Ok(left)
    }

    /// All lists in the order of their trigrams, for a merge.
    pub(super) fn lists(&self) -> impl Iterator<Item = (Trigram, Result<Vec<u32>, StoreError>)> {
        self.rows.iter().map(|row| (row.trigram, self.list(*row)))
    }

    fn row(&self, trigram: Trigram) -> Option<Row> {
        self.rows.binary_search_by_key(&trigram, |row| row.trigram).ok().map(|at| self.rows[at])
    }

    /// Rows of the trigrams that begin with these two bytes.
    fn beginning(&self, pair: Pair) -> &[Row] {
        let wanted = trigrams::beginning(pair);
        let first = self.rows.partition_point(|row| row.trigram < *wanted.start());
        let rest = &self.rows[first..];
        &rest[..rest.partition_point(|row| row.trigram <= *wanted.end())]
    }

    fn list(&self, row: Row) -> Result<Vec<u32>, StoreError> {
        let after = self.rows.partition_point(|it| it.trigram <= row.trigram);
        let end = self.rows.get(after).map_or(self.lists.len(), |row| row.place);
        let packed = self.lists.read(row.place..end)?;
        postings::unpack(&packed, row.count, self.files.len() as u32)
            .ok_or_else(|| self.container.damaged("postings"))
    }
}

/// Writes a segment: first the lists, sorted by trigram, then the files.
pub(super) struct SegmentWriter {
    writer: ContainerWriter,
    all: u32,
    rows: Vec<u8>,
    place: u64,
    packed: Vec<u8>,
}

impl SegmentWriter {
    /// Starts a segment of `all` files.
    pub(super) fn create(
        store: &Store,
        lock: &WriterLock,
        name: &str,
        all: usize,
    ) -> Result<Self, StoreError> {
        let mut writer = store.write(lock, name, KIND)?;
        writer.section("postings")?;
        Ok(Self { writer, all: all as u32, rows: Vec::new(), place: 0, packed: Vec::new() })
    }

    pub(super) fn list(&mut self, trigram: Trigram, files: &[u32]) -> Result<(), StoreError> {
        self.packed.clear();
        postings::pack(files, self.all, &mut self.packed);
        self.writer.put(&self.packed)?;
        self.rows.extend_from_slice(&trigram.to_le_bytes());
        self.rows.extend_from_slice(&(files.len() as u32).to_le_bytes());
        self.rows.extend_from_slice(&self.place.to_le_bytes());
        self.place += self.packed.len() as u64;
        Ok(())
    }

    pub(super) fn finish<'a>(mut self, files: impl Iterator<Item = File<'a>>) -> Result<(), StoreError> {
        self.writer.section("trigrams")?;
        self.writer.put(&self.rows)?;
        self.writer.section("files")?;
        for file in files {
            self.writer.put(&(file.path.len() as u32).to_le_bytes())?;
            self.writer.put(file.path)?;
            self.writer.put(&file.stamp.size.to_le_bytes())?;
            self.writer.put(&file.stamp.mtime_ns.to_le_bytes())?;
            self.writer.put(&file.stamp.ctime_ns.to_le_bytes())?;
            self.writer.put(&file.stamp.inode.to_le_bytes())?;
            self.writer.put(&[u8::from(file.kind == TextKind::Nothing)])?;
        }
        self.writer.finish()
    }
}

fn read_files(mut bytes: &[u8]) -> Option<(Vec<u8>, Vec<Known>)> {
    let mut paths = Vec::with_capacity(bytes.len() / 2);
    let mut files = Vec::new();
    while !bytes.is_empty() {
        let len = u32::from_le_bytes(*take(&mut bytes)?) as usize;
        let (path, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        paths.extend_from_slice(path);
        let stamp = Stamp {
            size: u64::from_le_bytes(*take(&mut bytes)?),
            mtime_ns: i64::from_le_bytes(*take(&mut bytes)?),
            ctime_ns: i64::from_le_bytes(*take(&mut bytes)?),
            inode: u64::from_le_bytes(*take(&mut bytes)?),
        };
        let [kind] = *take(&mut bytes)?;
        let kind = if kind == 0 { TextKind::Text } else { TextKind::Nothing };
        files.push(Known { path_end: paths.len(), stamp, kind });
    }
    Some((paths, files))
}

fn read_rows(bytes: &[u8]) -> Option<Vec<Row>> {
    let mut rows = Vec::with_capacity(bytes.len() / ROW);
    for mut row in bytes.chunks(ROW) {
        rows.push(Row {
            trigram: u32::from_le_bytes(*take(&mut row)?),
            count: u32::from_le_bytes(*take(&mut row)?),
            place: u64::from_le_bytes(*take(&mut row)?),
        });
    }
    Some(rows)
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}
