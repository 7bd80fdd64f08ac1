//! Several segments made one, without the files that are no longer wanted.

use super::{
    format::{ChunkRow, FileRow, Labels, Meta, Section, Sections, TermRow},
    postings::{Postings, TermWriter},
    read::{Damaged, Segment},
};
use std::collections::BTreeMap;

/// Not in the new segment.
const GONE: u32 = u32::MAX;

/// A segment on its way into another one.
struct MergePart<'a> {
    segment: &'a Segment,
    /// New numbers of files and chunks.
    files: Vec<u32>,
    chunks: Vec<u32>,
}

/// Merges segments; `wanted` has the files to keep of each.
///
/// Vectors of another embedder are kept if all parts have those of the same one.
pub(in crate::semantic) fn merge(
    segments: &[&Segment],
    wanted: impl Fn(usize, u32) -> bool,
) -> Result<Sections, Damaged> {
    let mut meta = Meta::default();
    if let Some((first, rest)) = segments.split_first()
        && rest.iter().all(|segment| segment.meta().other == first.meta().other)
    {
        meta.other.clone_from(&first.meta().other);
    }
    let mut sections = Sections::default();
    let mut firsts = vec![0];
    let mut parts = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        parts.push(move_files(segment, |file| wanted(number, file), &mut meta, &mut sections, &mut firsts)?);
    }
    let writer = merge_terms(&parts, &firsts)?;
    meta.terms = writer.count;
    sections[Section::Terms as usize] = writer.terms;
    sections[Section::TermSteps as usize] = writer.steps;
    sections[Section::Postings as usize] = writer.postings;
    sections[Section::Meta as usize] = meta.put();
    Ok(sections)
}

/// Copies all but the terms.
fn move_files<'a>(
    segment: &'a Segment,
    wanted: impl Fn(u32) -> bool,
    meta: &mut Meta,
    sections: &mut Sections,
    firsts: &mut Vec<u32>,
) -> Result<MergePart<'a>, Damaged> {
    let table = segment.files()?;
    let lengths = segment.lengths()?;
    let mut part = MergePart {
        segment,
        files: vec![GONE; table.rows.len()],
        chunks: vec![GONE; segment.meta().chunks as usize],
    };
    let mut planes = vec![(Section::Vectors, Section::FileVectors, crate::semantic::embed::BUILT_IN_ROW)];
    if let Some(other) = &meta.other {
        planes.push((Section::OtherVectors, Section::OtherFileVectors, other.row));
    }
    for (file, row) in table.rows.iter().enumerate().filter(|(file, _)| wanted(*file as u32)) {
        let file = file as u32;
        let range = table.chunks_of(file);
        for (chunks, files, length) in &planes {
            let rows = segment.rows(*chunks, *length, range.clone())?;
            sections[*chunks as usize].extend_from_slice(&rows);
            let rows = segment.rows(*files, *length, file..file + 1)?;
            sections[*files as usize].extend_from_slice(&rows);
        }
        let rows = segment.rows(Section::Chunks, ChunkRow::BYTES, range.clone())?;
        for (bytes, chunk) in rows.chunks_exact(ChunkRow::BYTES).zip(range.clone()) {
            let old = ChunkRow::read(bytes).ok_or(Damaged::Nonsense("where a chunk is"))?;
            let labels: Labels = segment.labels(&old)?;
            let new =
                ChunkRow { file: meta.files, names: sections[Section::Names as usize].len() as u32, ..old };
            new.put(&mut sections[Section::Chunks as usize]);
            labels.put(&mut sections[Section::Names as usize]);
            let length = lengths[chunk as usize];
            sections[Section::Lengths as usize].extend_from_slice(&length.to_le_bytes());
            meta.words += u64::from(length);
            part.chunks[chunk as usize] = meta.chunks;
            meta.chunks += 1;
        }
        FileRow::put(row, &mut sections[Section::Files as usize]);
        part.files[file as usize] = meta.files;
        meta.files += 1;
        meta.bytes += row.stamp.size.min(u64::from(u32::MAX));
        firsts.push(meta.chunks);
    }
    Ok(part)
}

/// Goes through the terms of all parts in order.
fn merge_terms(parts: &[MergePart<'_>], firsts: &[u32]) -> Result<TermWriter, Damaged> {
    let mut sources: Vec<_> = parts.iter().map(|part| part.segment.terms()).collect();
    let mut waiting: BTreeMap<(u64, usize), (TermRow, Postings)> = BTreeMap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        if let Some(next) = source.next().transpose()? {
            waiting.insert((next.0.hash, number), next);
        }
    }
    let mut writer = TermWriter::default();
    let mut all = Postings::default();
    let mut counted = 0;
    while let Some(((hash, number), (row, postings))) = waiting.pop_first() {
        let part = &parts[number];
        if postings.chunks.is_empty() && postings.files.is_empty() {
            counted += row.files;
        }
        all.chunks.extend(moved(&postings.chunks, &part.chunks));
        all.files.extend(moved(&postings.files, &part.files));
        if let Some(next) = sources[number].next().transpose()? {
            if next.0.hash <= hash {
                return Err(Damaged::Nonsense("its words are not in order"));
            }
            waiting.insert((next.0.hash, number), next);
        }
        if waiting.first_key_value().is_none_or(|((next, _), _)| *next != hash) {
            if counted > 0 || !all.chunks.is_empty() || !all.files.is_empty() {
                writer.add(hash, &all, counted, firsts);
            }
            all.chunks.clear();
            all.files.clear();
            counted = 0;
        }
    }
    Ok(writer)
}

/// What is left of postings, under new numbers.
fn moved<T: Copy>(postings: &[(u32, T)], numbers: &[u32]) -> impl Iterator<Item = (u32, T)> {
    postings.iter().filter_map(move |(old, count)| {
        let new = *numbers.get(*old as usize)?;
        (new != GONE).then_some((new, *count))
    })
}

/// Segments do not grow beyond this, so that putting them together needs a bounded amount of memory.
const LARGEST: u32 = 250_000;
/// More segments than this make searches slower than putting some together costs.
const MANY: usize = 6;
/// Smaller ones are put together whatever their proportions.
const SMALL: u32 = 2_000;

/// How large a segment is, and how much of it still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MergeSize {
    pub(crate) chunks: u32,
    pub(crate) wanted: u32,
}

/// Which segments to make one of; none if it is not worth it.
pub(crate) fn choose_merge(sizes: &[MergeSize]) -> Vec<usize> {
    // Mostly about what is gone: worth writing anew alone.
    let is_stale = |size: &MergeSize| {
        size.chunks > 0 && (size.wanted == 0 || (size.chunks > SMALL && size.wanted < size.chunks / 2))
    };
    if let Some(stale) = sizes.iter().position(is_stale) {
        return vec![stale];
    }
    if sizes.len() <= MANY {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes[*at].wanted);
    let mut chosen = Vec::new();
    let mut sum = 0_u32;
    for at in order {
        let next = sizes[at].wanted;
        // A large one is not written anew for the sake of a few small ones.
        let in_proportion = next <= SMALL.max(sum.saturating_mul(2)) || chosen.len() < 2;
        if !in_proportion || sum.saturating_add(next) > LARGEST {
            break;
        }
        sum += next;
        chosen.push(at);
    }
    if chosen.len() < 2 { Vec::new() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(chunks: &[u32]) -> Vec<MergeSize> {
        chunks.iter().map(|chunks| MergeSize { chunks: *chunks, wanted: *chunks }).collect()
    }

    #[test]
    fn small_ones_go_together_and_large_ones_stay() {
        assert_eq!(choose_merge(&sizes(&[200_000, 10, 10, 10])), []);
        assert_eq!(choose_merge(&sizes(&[200_000, 10, 20, 10, 5, 5, 5])), [4, 5, 6, 1, 3, 2]);
        assert_eq!(choose_merge(&sizes(&[240_000; 20])), [], "no segment grows without end");
    }

    #[test]
    fn it_ends_for_any_sizes() {
        let mut all: Vec<MergeSize> = sizes(&[30_000; 40]);
        for _ in 0..100 {
            let chosen = choose_merge(&all);
            if chosen.is_empty() {
                break;
            }
            let sum = chosen.iter().map(|at| all[*at].wanted).sum();
            all = all
                .iter()
                .enumerate()
                .filter(|(at, _)| !chosen.contains(at))
                .map(|(_, size)| *size)
                .collect();
            all.push(MergeSize { chunks: sum, wanted: sum });
        }
        assert!(choose_merge(&all).is_empty());
        assert_eq!(all.iter().map(|size| size.wanted).sum::<u32>(), 1_200_000);
        assert!(all.len() <= 8, "{}", all.len());
    }

    #[test]
    fn what_is_mostly_gone_is_written_anew() {
        assert_eq!(choose_merge(&[MergeSize { chunks: 10_000, wanted: 100 }]), [0]);
        assert_eq!(choose_merge(&[MergeSize { chunks: 100, wanted: 0 }]), [0]);
        assert_eq!(choose_merge(&[MergeSize { chunks: 100, wanted: 1 }]), []);
    }
}
