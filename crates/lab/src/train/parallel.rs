//! Work shared by the cores, always cut in the same way.

use std::{ops::Range, thread};

/// How many parts work is cut into.
pub(super) fn parts() -> usize {
    thread::available_parallelism().map_or(2, |cores| cores.get().clamp(1, 16))
}

/// `count` items as consecutive ranges of about the same length.
pub(super) fn ranges(count: usize) -> Vec<Range<usize>> {
    let parts = parts();
    (0..parts).map(|part| count * part / parts..count * (part + 1) / parts).collect()
}

/// Runs each job on a thread of its own; the results in order.
pub(super) fn join<J: Send, R: Send>(jobs: Vec<J>, work: impl Fn(J) -> R + Sync) -> Vec<R> {
    let work = &work;
    thread::scope(|scope| {
        let running: Vec<_> = jobs.into_iter().map(|job| scope.spawn(move || work(job))).collect();
        running.into_iter().map(|job| job.join().expect("no job panics")).collect()
    })
}

/// Cuts a slice into consecutive pieces of these lengths.
pub(super) fn cut<T>(mut slice: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths
        .map(|length| {
            let (piece, rest) = std::mem::take(&mut slice).split_at_mut(length);
            slice = rest;
            piece
        })
        .collect()
}
