//! Rows that are learned.

use std::ops::Range;

use super::{parallel, random::Random};

const MOMENTUM: f32 = 0.9;
const VARIANCE: f32 = 0.999;
const TINY: f32 = 1e-8;

/// How far a step goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    rate: f32,
    first: f32,
    second: f32,
}

impl Pace {
    /// Of step `step`, from 1, at a learning rate.
    pub(crate) fn new(rate: f32, step: usize) -> Self {
        let step = i32::try_from(step).unwrap_or(i32::MAX);
        Self { rate, first: 1.0 / (1.0 - MOMENTUM.powi(step)), second: 1.0 / (1.0 - VARIANCE.powi(step)) }
    }
}

/// Rows with what Adam remembers of each. Only the rows that a batch touches move.
#[derive(Debug)]
pub(crate) struct Table {
    width: usize,
    pub(crate) values: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Table {
    pub(crate) fn new(width: usize, values: Vec<f32>) -> Self {
        Self { width, first: vec![0.0; values.len()], second: vec![0.0; values.len()], values }
    }

    pub(crate) fn random(rows: usize, width: usize, deviation: f32, random: &mut Random) -> Self {
        Self::new(width, (0..rows * width).map(|_| random.normal() * deviation).collect())
    }

    pub(crate) fn row(&self, at: usize) -> &[f32] {
        &self.values[at * self.width..][..self.width]
    }

    /// Moves the rows named in `touched`, which is sorted, each by the sum of the gradients listed for it: `(row, gradient)`.
    pub(crate) fn learn(&mut self, touched: &[(u32, u32)], gradients: &[f32], pace: Pace) {
        let width = self.width;
        let parts = parts_of(touched);
        // Rows of a part are next to each other, so that the parts can be given away one by one.
        let mut ends: Vec<usize> = parts
            .iter()
            .skip(1)
            .map(|part| touched.get(part.start).map_or(usize::MAX, |at| at.0 as usize))
            .collect();
        let rows = self.values.len() / width;
        ends.iter_mut().for_each(|end| *end = (*end).min(rows));
        ends.push(rows);
        let starts: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).take(ends.len()).collect();
        let lengths = || starts.iter().zip(&ends).map(|(start, end)| (end - start) * width);
        let (values, first, second) = (
            parallel::cut(&mut self.values, lengths()),
            parallel::cut(&mut self.first, lengths()),
            parallel::cut(&mut self.second, lengths()),
        );
        let slices = values.into_iter().zip(first).zip(second);
        let jobs = parts.into_iter().zip(starts.iter().copied()).zip(slices).collect();
        parallel::join(jobs, |((part, start), ((values, first), second)): ((Range<usize>, usize), _)| {
            let mut gradient = vec![0.0_f32; width];
            for group in touched[part].chunk_by(|a, b| a.0 == b.0) {
                gradient.fill(0.0);
                for (_, from) in group {
                    let from = &gradients[*from as usize * width..][..width];
                    gradient.iter_mut().zip(from).for_each(|(sum, from)| *sum += from);
                }
                let at = (group[0].0 as usize - start) * width;
                adam(
                    &mut values[at..at + width],
                    &mut first[at..at + width],
                    &mut second[at..at + width],
                    &gradient,
                    pace,
                );
            }
        });
    }
}

/// Cuts where one row ends and the next begins.
fn parts_of(touched: &[(u32, u32)]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut parts = Vec::new();
    for range in parallel::ranges(touched.len()) {
        let mut end = range.end.max(start);
        while end > 0 && end < touched.len() && touched[end].0 == touched[end - 1].0 {
            end += 1;
        }
        parts.push(start..end);
        start = end;
    }
    parts
}

fn adam(values: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32], pace: Pace) {
    for (((value, first), second), gradient) in values.iter_mut().zip(first).zip(second).zip(gradient) {
        *first = MOMENTUM * *first + (1.0 - MOMENTUM) * gradient;
        *second = VARIANCE * *second + (1.0 - VARIANCE) * gradient * gradient;
        *value -= pace.rate * (*first * pace.first) / ((*second * pace.second).sqrt() + TINY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_touched_moves_and_downhill() {
        let mut table = Table::new(2, vec![1.0; 10]);
        let gradients = [1.0, -1.0, 1.0, 1.0, 0.5, 0.5];
        table.learn(&[(1, 0), (3, 1), (3, 2)], &gradients, Pace::new(0.1, 1));
        let expected = [1.0, 1.0, 0.9, 1.1, 1.0, 1.0, 0.9, 0.9, 1.0, 1.0];
        table
            .values
            .iter()
            .zip(expected)
            .for_each(|(is, should)| assert!((is - should).abs() < 1e-4, "{is} {should}"));
    }

    #[test]
    fn many_rows_are_each_moved_once() {
        let mut table = Table::new(1, vec![0.0; 1_000]);
        let touched: Vec<(u32, u32)> = (0..1_000).flat_map(|row| [(row, row), (row, row)]).collect();
        table.learn(&touched, &vec![1.0; 1_000], Pace::new(0.5, 1));
        assert!(table.values.iter().all(|value| (value + 0.5).abs() < 1e-4));
    }
}
