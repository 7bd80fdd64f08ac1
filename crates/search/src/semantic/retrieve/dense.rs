//! The nearest vectors: every row compared, in blocks, on two threads where there are many.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::semantic::{
    embed::BUILT_IN_ROW,
    retrieve::top::Top,
    segment::{Damaged, Section, Segment},
    vector::Probe,
    view::{Place, View},
};
use parking_lot::Mutex;

/// Rows that are read in one go: a quarter of a megabyte, which stays in the cache of a core.
const BLOCK: u32 = 1024;
/// From here on a second thread costs less than it gains.
const MANY: usize = 16 * 1024;

/// Which vectors are compared.
#[derive(Debug, Clone, Copy)]
pub(in crate::semantic) enum Plane {
    BuiltIn,
    /// Of the other embedder.
    Other,
}

impl Plane {
    fn chunks(self, segment: &Segment) -> (Section, usize) {
        match self {
            Self::BuiltIn => (Section::Vectors, BUILT_IN_ROW),
            Self::Other => {
                (Section::OtherVectors, segment.meta().other.as_ref().map_or(0, |other| other.row))
            }
        }
    }

    fn files(self, segment: &Segment) -> (Section, usize) {
        let (_, row) = self.chunks(segment);
        (if matches!(self, Self::BuiltIn) { Section::FileVectors } else { Section::OtherFileVectors }, row)
    }
}

/// A query as a vector of a plane.
#[derive(Debug)]
pub(in crate::semantic) struct Dense {
    pub(in crate::semantic) plane: Plane,
    pub(in crate::semantic) probe: Probe,
}

impl Dense {
    /// The cosine of one chunk.
    pub(in crate::semantic) fn chunk(&self, view: &View, place: Place) -> Result<f32, Damaged> {
        let segment = &view.part(place).segment;
        let (section, row) = self.plane.chunks(segment);
        Ok(self.probe.dot(&segment.rows(section, row, place.chunk..place.chunk + 1)?))
    }

    /// The cosine of one file: of the sum of its chunks.
    pub(in crate::semantic) fn file(&self, view: &View, part: u32, file: u32) -> Result<f32, Damaged> {
        let segment = &view.parts[part as usize].segment;
        let (section, row) = self.plane.files(segment);
        Ok(self.probe.dot(&segment.rows(section, row, file..file + 1)?))
    }

    /// The nearest chunks.
    pub(in crate::semantic) fn top_chunks(
        &self,
        view: &View,
        most: usize,
    ) -> Result<Vec<(f32, Place)>, Damaged> {
        let blocks: Vec<(u32, u32, u32)> = (0..)
            .zip(&view.parts)
            .flat_map(|(part, inside)| {
                let chunks = inside.segment.meta().chunks;
                (0..chunks).step_by(BLOCK as usize).map(move |start| (part, start, chunks.min(start + BLOCK)))
            })
            .collect();
        let next = AtomicUsize::new(0);
        let all = Mutex::new(Ok(Top::new(most)));
        let work = || {
            let mut top = Top::new(most);
            let mut buffer = Vec::new();
            let mut scan = || -> Result<(), Damaged> {
                while let Some((part, start, end)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let inside = &view.parts[*part as usize];
                    let (section, row) = self.plane.chunks(&inside.segment);
                    let bytes = inside.segment.rows_into(section, row, *start..*end, &mut buffer)?;
                    for (row, chunk) in bytes.chunks_exact(row).zip(*start..) {
                        let cosine = self.probe.dot(row);
                        if top.takes(cosine) && inside.has(chunk) {
                            top.put(cosine, Place { part: *part, chunk });
                        }
                    }
                }
                Ok(())
            };
            let scanned = scan();
            let mut all = all.lock();
            match (scanned, &mut *all) {
                (Ok(()), Ok(all)) => all.join(top),
                (Err(damaged), all) => *all = Err(damaged),
                (Ok(()), Err(_)) => {}
            }
        };
        if view.chunks() > MANY {
            std::thread::scope(|threads| {
                threads.spawn(work);
                work();
            });
        } else {
            work();
        }
        Ok(all.into_inner()?.sorted())
    }

    /// The nearest files.
    pub(in crate::semantic) fn top_files(
        &self,
        view: &View,
        most: usize,
    ) -> Result<Vec<(u32, u32)>, Damaged> {
        let mut top = Top::new(most);
        let mut buffer = Vec::new();
        for (part, inside) in (0..).zip(&view.parts) {
            let (section, row) = self.plane.files(&inside.segment);
            let files = inside.segment.meta().files;
            for start in (0..files).step_by(BLOCK as usize) {
                let end = files.min(start + BLOCK);
                let bytes = inside.segment.rows_into(section, row, start..end, &mut buffer)?;
                for (row, file) in bytes.chunks_exact(row).zip(start..end) {
                    let cosine = self.probe.dot(row);
                    if top.takes(cosine) && inside.counts[file as usize] {
                        top.put(cosine, (part, file));
                    }
                }
            }
        }
        Ok(top.sorted().into_iter().map(|(_, file)| file).collect())
    }
}
