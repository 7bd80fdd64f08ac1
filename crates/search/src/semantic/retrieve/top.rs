//! The best of many.

use std::{cmp::Ordering, collections::BinaryHeap};

/// Something with a score. Greater is worse, so that a heap gives up the worst.
#[derive(Debug, Clone, Copy)]
struct Scored<T> {
    score: f32,
    what: T,
}

impl<T: Ord> Ord for Scored<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.what.cmp(&other.what))
    }
}

impl<T: Ord> PartialOrd for Scored<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Scored<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Ord> Eq for Scored<T> {}

/// Keeps the best. Equal scores: the first in order stays.
#[derive(Debug)]
pub(in crate::semantic) struct Top<T> {
    heap: BinaryHeap<Scored<T>>,
    most: usize,
}

impl<T: Ord + Copy> Top<T> {
    pub(in crate::semantic) fn new(most: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(most + 1), most }
    }

    /// Whether something with this score would be kept.
    pub(in crate::semantic) fn takes(&self, score: f32) -> bool {
        self.heap.len() < self.most || self.heap.peek().is_some_and(|worst| score >= worst.score)
    }

    pub(in crate::semantic) fn put(&mut self, score: f32, what: T) {
        if self.takes(score) {
            self.heap.push(Scored { score, what });
            if self.heap.len() > self.most {
                self.heap.pop();
            }
        }
    }

    pub(in crate::semantic) fn join(&mut self, other: Self) {
        for Scored { score, what } in other.heap {
            self.put(score, what);
        }
    }

    /// Best first.
    pub(in crate::semantic) fn sorted(self) -> Vec<(f32, T)> {
        self.heap.into_sorted_vec().into_iter().map(|scored| (scored.score, scored.what)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order() {
        let mut top = Top::new(3);
        for (score, what) in [(1.0, 1), (5.0, 2), (3.0, 4), (3.0, 3), (0.5, 5), (4.0, 6)] {
            top.put(score, what);
        }
        assert_eq!(top.sorted(), [(5.0, 2), (4.0, 6), (3.0, 3)]);
        let mut none = Top::new(0);
        none.put(1.0, 1);
        assert!(none.sorted().is_empty());
    }
}
